import { describe, expect, it } from 'vitest';
import { basic, startTestService } from '../../support/embedded-service.ts';

const warnings: unknown[] = [];
const service = await startTestService({
  log: (level, message, ...fields) => {
    if (level === 'warn') warnings.push([message, Object.assign({}, ...fields)]);
  },
});

describe('the links that SDKs print', () => {
  it.each(['/team/support/r/call/c1', '/team/support/weave/calls/c1'])(
    '%s names the call and how to read it',
    async (path) => {
      const response = await fetch(service.running.url + path);
      const page = await response.text();
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page).toContain('<h1>Call c1 of project team/support</h1>');
      expect(page).toContain(
        'heddle call read_call &#39;{&quot;project_id&quot;:&quot;team/support&quot;,&quot;call_id&quot;:&quot;c1&quot;}&#39;',
      );
    },
  );

  it('name the project alone, without an account', async () => {
    expect(await (await fetch(`${service.running.url}/team/support/weave`)).text()).toContain(
      '<h1>Project team/support</h1>',
    );
  });

  it('contain no markup from the address', async () => {
    const page = await (await fetch(`${service.running.url}/team/%3Cscript%3E/r/call/'"%3Cb%3E`)).text();
    expect(page).not.toMatch(/<script|<b>/);
    expect(page).toContain('&lt;script&gt;');
  });
});

describe('calls with ids that the public service refuses', () => {
  it('are stored, with one warning for each project', async () => {
    const start = (project_id: string, id: string, trace_id: string) => ({
      start: {
        project_id,
        id,
        trace_id,
        op_name: 'op',
        started_at: '2026-01-01T00:00:00Z',
        attributes: {},
        inputs: {},
      },
    });
    const ids = ['01900000-0000-7000-8000-000000000001', '0808080808080808'];
    for (const id of ids) await service.send('POST', '/call/start', basic, start('p/fit', id, ids[0]!));
    for (const id of ['abc', 'abd']) {
      expect((await service.send('POST', '/call/start', basic, start('p/own', id, 't'))).status).toBe(200);
    }
    expect(warnings).toEqual([
      [
        'calls are stored with ids that the public service refuses: use UUIDs, or ids of OpenTelemetry',
        expect.objectContaining({ project_id: 'p/own', id: 'abc' }),
      ],
    ]);
  });
});

describe('POST /graphql', () => {
  const ask = (query: string, variables: object = {}) => service.send('POST', '/graphql', basic, { query, variables });

  it('creates a project that the account may see', async () => {
    const { status, body } = await ask('mutation UpsertModel { upsertModel { model { name } } }', {
      name: 'new',
      entity: 'team',
    });
    expect([status, body.data.upsertModel.model]).toMatchObject([200, { name: 'new', entityName: 'team' }]);
  });

  it('refuses any other document', async () => {
    expect(await ask('query { runs }')).toMatchObject({
      status: 400,
      body: { errors: [{ message: expect.any(String) }] },
    });
  });
});
