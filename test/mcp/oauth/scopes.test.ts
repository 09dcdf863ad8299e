import { describe, expect, it } from 'vitest';
import { pinnedTools } from '../../pins/tools.ts';
import { exampleFor } from '../../support/call-every-tool.ts';
import { ask, jsonHeaders, newerRequest, startHttp } from '../../support/http-server.ts';
import { askAs, startIssuer } from '../../support/issuer.ts';

const challenge = (url: string, scope: string): string =>
  `Bearer resource_metadata="${new URL('/.well-known/oauth-protected-resource/mcp', url)}", scope="${scope}", error="insufficient_scope", error_description="The scope ${scope} is needed"`;

describe('OAuth scopes', () => {
  it("requires the scope that a tool's hints imply, in every protocol revision", async () => {
    const server = await startIssuer();
    const { url } = await startHttp(['--oauth-issuer', server.issuer]);
    const [reader, writer] = await Promise.all(
      ['openid heddle:read', 'heddle:write'].map((scope) => server.token({ aud: url, scope })),
    );
    for (const { name, isReadOnly } of pinnedTools) {
      const params = { name, arguments: exampleFor(name) };
      const older = await askAs(url, reader!, 'tools/call', params);
      const request = newerRequest('tools/call', params);
      const headers = { ...request.headers, authorization: `Bearer ${reader}` };
      const newer = await ask(url, { ...request, headers });
      for (const answer of [older, newer]) {
        const { status, headers: given, body } = answer;
        if (isReadOnly) {
          expect([name, status, body.includes('"isError":true')]).toEqual([name, 200, false]);
        } else {
          expect([name, status, given['www-authenticate']]).toEqual([name, 403, challenge(url, 'heddle:write')]);
          expect(body).toContain('Forbidden: the access token lacks the scope heddle:write');
        }
      }
      const written = await askAs(url, writer!, 'tools/call', params);
      expect([name, written.status, written.body.includes('"isError":true')]).toEqual([name, 200, false]);
    }
  });

  it('requires heddle:read for every method', async () => {
    const server = await startIssuer();
    const { url } = await startHttp(['--oauth-issuer', server.issuer]);
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
    const requests: [string, object?][] = [
      ['initialize', initialize],
      ['ping'],
      ['tools/list'],
      ['tools/call', { name: 'no_such_tool', arguments: {} }],
      ['prompts/list'],
      ['prompts/get', { name: 'set_up_evaluation', arguments: { goal: 'x' } }],
      ['resources/list'],
      ['resources/templates/list'],
      ['resources/read', { uri: 'heddle://demo/support/queues/support-triage' }],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'triage_queue' }, argument: { name: 'model', value: '' } },
      ],
      ['no/such/method'],
    ];
    const token = (scope?: string) => server.token({ aud: url, scope });
    const [none, other, reader] = await Promise.all([
      token(),
      token('openid heddle heddle:reads'),
      token('heddle:read'),
    ]);
    for (const [method, params] of requests) {
      for (const insufficient of [none, other]) {
        const { status, headers } = await askAs(url, insufficient!, method, params);
        expect([method, status, headers['www-authenticate']]).toEqual([method, 403, challenge(url, 'heddle:read')]);
      }
      expect([method, (await askAs(url, reader!, method, params)).status]).toEqual([method, 200]);
    }
  });

  it('cannot be bypassed by an unusual form of a message', async () => {
    const server = await startIssuer();
    const { url } = await startHttp(['--oauth-issuer', server.issuer]);
    const authorization = `Bearer ${await server.token({ aud: url, scope: 'heddle:read' })}`;
    const call = (id: number, name: unknown): object => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: { model: 'heddle/echo', messages: [{ role: 'user', content: 'said aloud' }] } },
    });
    const write = call(1, 'run_inference');
    const read = call(2, 'list_queues');
    const bodies: [string, unknown][] = [
      ['a batch', [write]],
      ['a batch that begins with a read', [read, null, { jsonrpc: '2.0', method: 'notifications/initialized' }, write]],
      ['a repeated member', JSON.stringify(read).replace('"list_queues"', '"list_queues","name":"run_inference"')],
      ['a name in a list', call(1, ['run_inference'])],
      ['an escaped name', JSON.stringify(write).replace('run_inference', 'run\\u005finference')],
      ['a notification', { ...write, id: undefined }],
    ];
    for (const revision of ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']) {
      for (const [what, body] of bodies) {
        const headers = { ...jsonHeaders, authorization, 'mcp-protocol-version': revision };
        const { status } = await ask(url, { headers, body });
        expect([revision, what, status]).toEqual([revision, what, 403]);
      }
    }
    // The headers do not decide.
    const disguised = newerRequest('tools/call', { name: 'run_inference' });
    const headers = { ...disguised.headers, authorization, 'mcp-method': 'tools/list', 'mcp-name': 'list_queues' };
    expect((await ask(url, { ...disguised, headers })).status).toBe(403);
    // Near misses of a tool's name must not run it.
    for (const name of [
      'run_inference ',
      'RUN_INFERENCE',
      'run_inference\u200b',
      '__proto__',
      'constructor',
      7,
      null,
    ]) {
      const { body } = await ask(url, { headers: { ...jsonHeaders, authorization }, body: call(1, name) });
      expect(body).not.toContain('said aloud');
    }
    expect((await ask(url, { headers: { ...jsonHeaders, authorization }, body: [read] })).status).toBe(200);
  });
});
