import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EndpointName, endpoints } from '../../../src/contract/endpoints.ts';
import { caseCount } from '../../support/cases.ts';
import { type Answer, execute, startTestService, withStore } from '../../support/embedded-service.ts';
import {
  contentOf,
  fillProject,
  type Ids,
  openProject as open,
  reference,
  sendRequest,
} from '../../support/every-endpoint.ts';
import { tally } from '../../support/tally.ts';

/** Occurs in every text of the hidden project, and nowhere else. */
const marker = 'quokka';
const hidden = 'acme/hidden';
const missing = 'acme/missing';

const service = await startTestService();
const ids = { [hidden]: await fillProject(service, hidden, marker), [open]: await fillProject(service, open, 'plain') };
const { ada, bob } = await withStore(service.data, async (store) => ({
  ada: await store.addUser('ada', [open]),
  bob: await store.addUser('bob', 'all'),
}));

const names = Object.keys(endpoints) as EndpointName[];

/** Endpoints that answer about other things than a project; what they say of one is tested by the texts of the answer. */
const unbound: readonly EndpointName[] = [
  'listProjects',
  'listModels',
  'readModel',
  'readReferences',
  'runInference',
  'answerGraphql',
];

const send = (name: EndpointName, project: string, named: Ids, account = ada): Promise<Answer> =>
  sendRequest(service, name, { project, named, account });

/** Returns everything that is stored in the hidden project. */
async function stored(): Promise<string> {
  const ofCalls = ['calls', 'early_call_ends', 'deleted_calls', 'feedback'];
  const tables = ['queues', 'queue_items', ...ofCalls, 'objects', 'row_tables', 'row_contents', 'files'];
  const rows = tables.map((table) => execute(service.data, `select * from ${table} where project_id = '${hidden}'`));
  const progress = execute(service.data, `select * from annotator_progress where item_id = '${ids[hidden]!.item}'`);
  return (await Promise.all([...rows, progress]))
    .map((list) => list.map((row) => JSON.stringify(row)).sort())
    .join('\n');
}

const before = await stored();

describe('an account without access to a project', () => {
  it.each(names)('gets the same response from %s as for a project that does not exist', async (name) => {
    const named = ids[hidden]!;
    const [about, other] = await Promise.all([send(name, hidden, named), send(name, missing, named)]);
    const text = JSON.stringify(about.body).replaceAll('hidden', 'missing');
    // An echo of the request tells nothing new.
    expect([about.status, text]).toEqual([other.status, JSON.stringify(other.body)]);
    if (!unbound.includes(name)) expect([about.status, about.body]).toEqual([403, { reason: 'Forbidden' }]);
    expect(await stored()).toBe(before);
  });

  it.each(names)('finds nothing of the project when it passes its ids to %s in a project of its own', async (name) => {
    const answer = await send(name, open, ids[hidden]!);
    const echoes = JSON.stringify([contentOf(name, open, ids[hidden]!), ids[hidden]]);
    const foreign = (JSON.stringify(answer.body).match(/[\w-]*quokka[\w-]*/g) ?? []).filter(
      (word) => !echoes.includes(word),
    );
    expect(foreign).toEqual([]);
    expect(await stored()).toBe(before);
  });

  it("gets no access through a name that resembles the project's, or its own project's", async () => {
    const spelling = fc.oneof(
      fc.constantFrom('acme/openness', 'acme/ope', 'ACME/open', 'acme/Open', 'acme/open ', 'bacme/open'),
      fc.constantFrom(
        'ACME/hidden',
        'acme/Hidden',
        'acme/hidden ',
        'acme//hidden',
        'acme/./hidden',
        'acme/open/../hidden',
      ),
      fc.constantFrom(
        'acme%2Fhidden',
        'acme/hidden%00',
        'acme/hidde\u006e',
        'acme/ｈidden',
        '*',
        '*/*',
        'acme/*',
        '%/%',
      ),
      fc.string({ maxLength: 8 }).map((text) => `acme/hidden${text}`),
      fc.string({ maxLength: 8 }).map((text) => `${text}acme/hidden`),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), spelling, async (name, project) => {
        const { status, body } = await send(name, project, ids[hidden]!);
        if (!unbound.includes(name)) expect([403, 404, 422]).toContain(status);
        expect(JSON.stringify(body)).not.toMatch(/"quokka|[^-]quokka"/);
      }),
      { numRuns: caseCount(150) },
    );
    tally('property runs', 150);
    expect(await stored()).toBe(before);
  });

  it('gets the same result for references to the project as for broken ones', async () => {
    const to = reference(hidden, ids[hidden]!);
    const asAda = `Basic ${btoa(`ada:${ada.password}`)}`;
    const line = {
      call_id: 'referring',
      call_op_name: 'op',
      call_trace_id: 't',
      call_started_at: '2026-01-01T00:00:00Z',
    };
    await withStore(service.data, (store) =>
      store.importItems([JSON.stringify({ ...line, call: { inputs: { row: to } } })], {
        projectId: open,
        queueId: 'refs',
      }),
    );
    const query = { project_id: open, filter: { call_ids: ['referring'] }, expand_columns: ['inputs.row'] };
    const expanded = await service.send('POST', '/calls/stream_query', asAda, query);
    expect(JSON.parse(expanded.body).inputs).toEqual({ row: to });
    const own = reference(open, ids[open]!);
    const read = await service.send('POST', '/refs/read_batch', asAda, {
      refs: [`${own}/attr/text`],
    });
    expect(read.body).toEqual({ vals: ['plain'] });
    for (const ref of [to, `${to}/attr/text`, `${to}-unknown`]) {
      const refused = await service.send('POST', '/refs/read_batch', asAda, { refs: [ref] });
      expect([refused.status, refused.body]).toEqual([404, { reason: `Ref not found: ${ref}` }]);
    }
    const prompt = `weave:///${hidden}/object/prompt-${marker}:latest`;
    const inference = { model: 'heddle/echo', prompt };
    expect(
      await service.send('POST', '/inference/v1/chat/completions', `Bearer ${ada.token}`, inference),
    ).toMatchObject({
      status: 404,
      body: { reason: `Prompt ${prompt} not found` },
    });
  });

  it('does not find the project in the list of projects', async () => {
    expect((await send('listProjects', open, ids[open]!)).body.projects.map(projectOf)).toEqual([open]);
    expect((await send('listProjects', open, ids[open]!, bob)).body.projects.map(projectOf)).toEqual([hidden, open]);
  });
});

const projectOf = ({ project_id }: { project_id: string }): string => project_id;

describe('an account without access to any project', () => {
  it('sees no project', async () => {
    const { password } = await withStore(service.data, (store) => store.addUser('eve'));
    const asEve = `Basic ${btoa(`eve:${password}`)}`;
    for (const project_id of [hidden, open, missing]) {
      expect(await service.send('POST', '/annotation_queues/query', asEve, { project_id })).toMatchObject({
        status: 403,
        body: { reason: 'Forbidden' },
      });
    }
    expect((await service.send('GET', '/projects', asEve)).body).toEqual({ projects: [] });
  });
});

describe('access to a project', () => {
  const asAda = `Basic ${btoa(`ada:${ada.password}`)}`;
  const queues = async (): Promise<number> =>
    (await service.send('POST', '/annotation_queues/query', asAda, { project_id: hidden })).status;

  it('takes effect with the next request, as does its removal', async () => {
    await withStore(service.data, async (store) => {
      expect(await queues()).toBe(403);
      expect(await store.grant('ada', [hidden])).toEqual([hidden, open]);
      expect(await queues()).toBe(200);
      expect(await store.revoke('ada', [hidden])).toEqual([open]);
      expect(await queues()).toBe(403);
      expect(await store.grant('ada', 'all')).toBe('all');
      expect(await queues()).toBe(200);
      await expect(store.revoke('ada', [hidden])).rejects.toMatchObject({ code: 'conflict' });
      expect(await store.revoke('ada', 'all')).toEqual([open]);
      expect(await queues()).toBe(403);
    });
  });

  // Others need the object and the queue.
  const deletions: readonly EndpointName[] = ['deleteObject', 'deleteQueue'];

  it.each(names.filter((name) => !deletions.includes(name)))('allows %s', async (name) => {
    const answer = await send(name, hidden, ids[hidden]!, bob);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  });

  it.each(deletions)('allows %s', async (name) => {
    expect((await send(name, hidden, ids[hidden]!, bob)).status).toBe(200);
    expect(await stored()).not.toBe(before);
  });
});
