import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { basic, bearer, startTestService, withStore } from '../../support/embedded-service.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';

const service = await startTestService();
const query = '/annotation_queues/q/items/query';
const body = { project_id: 'a/b' };

describe('embedded service over HTTP', () => {
  it('serves /health without credentials', async () => {
    const { status, body } = await service.send('GET', '/health', undefined);
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'ok',
      version: expect.stringMatching(/^\d/),
      schema: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
      build: 'source',
    });
  });

  it('ends the line of /health, which people ask for in a terminal', async () => {
    const response = await fetch(`${service.running.url}/health`);
    expect(await response.text()).toMatch(/^\{"status":"ok",.*\}\n$/);
    expect(response.headers.get('content-type')).toBe('application/json');
  });

  it('keeps idle connections for 75 seconds and announces it', async () => {
    const { headers } = await service.send('GET', '/health', undefined);
    expect(headers.get('keep-alive')).toBe('timeout=75');
  });

  it('answers requests on kept connections after close() was called', async () => {
    const { running } = await startTestService();
    const agent = new Agent({ keepAlive: true });
    const asked = async (): Promise<{ status?: number; reused: boolean }> => {
      const sent = httpRequest(`${running.url}/health`, { agent }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
      return { status: response.statusCode, reused: sent.reusedSocket };
    };
    const several = () => Promise.all(Array.from({ length: 8 }, asked));
    await several();
    const closed = running.close();
    expect(await several()).toEqual(Array(8).fill({ status: 200, reused: true }));
    await closed;
    agent.destroy();
    await expect(asked()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('lets a running request finish after close() was called', async () => {
    let reply = (_text: string) => {};
    const held = new Promise<string>((resolve) => {
      reply = resolve;
    });
    const model = await startScriptedModel(() => held);
    const closing = await startTestService({ modelProvider: { url: model.url } });
    const answer = closing.infer({ model: 'm' });
    await expect.poll(() => model.openRequests).toBe(1);
    const closed = closing.running.close();
    await expect(fetch(`${closing.running.url}/health`)).rejects.toThrow();
    reply('late');
    expect(await answer).toMatchObject({ status: 200, body: { choices: [{ message: { content: 'late' } }] } });
    await closed;
  });

  it.each([
    ['POST', query, 'Basic realm="heddle"'],
    ['POST', '/v2/a/b/evaluations', 'Basic realm="heddle"'],
    ['POST', '/inference/v1/chat/completions', 'Bearer realm="heddle"'],
    ['GET', '/inference/v1/models', 'Bearer realm="heddle"'],
  ])('%s %s refuses missing and wrong credentials with a challenge', async (method, path, challenge) => {
    const missing = await service.send(method, path, undefined, method === 'GET' ? undefined : {});
    expect(missing).toMatchObject({ status: 401, body: { detail: 'Not authenticated' } });
    expect(missing.headers.get('www-authenticate')).toBe(challenge);
    const wrong = challenge.startsWith('Basic') ? `Basic ${btoa('tester:wrong')}` : 'Bearer wrong';
    for (const given of [wrong, challenge.startsWith('Basic') ? bearer : basic, 'Basic', 'nonsense']) {
      const refused = await service.send(method, path, given, method === 'GET' ? undefined : {});
      expect(refused).toMatchObject({ status: 401, body: { reason: '401 Error' } });
      expect(refused.headers.get('www-authenticate')).toBe(challenge);
    }
  });

  it('tells the SDK, without credentials, that it requires no recent version', async () => {
    const { status, body } = await service.send('GET', '/server_info', undefined);
    expect([status, body]).toEqual([200, { min_required_weave_python_version: '0.0.1' }]);
  });

  it('accepts a stored account immediately, with either of its secrets, under any name or as a bearer token', async () => {
    const made = await withStore(service.data, async (store) => {
      const made = await store.addUser('ada', 'all');
      await expect(store.addUser('ada', 'all')).rejects.toMatchObject({ code: 'conflict' });
      await expect(store.addUser('a:b')).rejects.toMatchObject({ code: 'invalid_arguments' });
      return made;
    });
    expect(made).toMatchObject({ name: 'ada', password: expect.stringMatching(/^[\w-]{43}$/) });
    const login = (name: string, password: string) => `Basic ${btoa(`${name}:${password}`)}`;
    expect(await service.send('POST', query, login('ada', made.password), body)).toMatchObject({ status: 200 });
    expect(await service.send('POST', query, login('ada', made.token), body)).toMatchObject({ status: 200 });
    for (const name of ['api', '', 'tester', 'a b']) {
      expect(await service.send('POST', query, login(name, made.password), body)).toMatchObject({ status: 200 });
    }
    expect(await service.send('POST', query, `Basic ${btoa(made.password)}`, body)).toMatchObject({ status: 401 });
    for (const key of [made.token, made.password]) {
      expect(await service.send('GET', '/inference/v1/models', `Bearer ${key}`)).toMatchObject({ status: 200 });
    }
  });

  it('reports each fault of a body with its location and type', async () => {
    const refused = await service.query('q', {
      limit: -1,
      filter: { annotation_states: ['done'], call_id: 5 },
      sort_by: [{ field: 5, direction: 'up' }],
    });
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toEqual([
      { loc: ['body', 'project_id'], msg: 'Required member is missing', type: 'missing' },
      { loc: ['body', 'filter', 'call_id'], msg: expect.any(String), type: 'string_type' },
      { loc: ['body', 'filter', 'annotation_states', 0], msg: expect.stringContaining('"unstarted"'), type: 'enum' },
      { loc: ['body', 'sort_by', 0, 'field'], msg: expect.any(String), type: 'string_type' },
      { loc: ['body', 'sort_by', 0, 'direction'], msg: expect.stringContaining('"asc"'), type: 'enum' },
      { loc: ['body', 'limit'], msg: expect.any(String), type: 'greater_than_equal' },
    ]);
    for (const text of ['{', '', 'nul', '{"a":1}}']) {
      expect(await service.query('q', text)).toMatchObject({
        status: 422,
        body: { detail: [{ type: 'json_invalid' }] },
      });
    }
  });

  it('adds an error in the form that OpenAI clients show to refused inference requests', async () => {
    const none = { param: null, code: null };
    expect((await service.send('GET', '/inference/v1/models', 'Bearer wrong')).body).toEqual({
      reason: '401 Error',
      error: {
        message: 'The key is missing or unknown to this service.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_api_key',
      },
    });
    expect((await service.infer({ model: 'm', n: 'two', seed: [] })).body).toEqual({
      detail: [
        { loc: ['body', 'n'], msg: 'Invalid input: expected number, received string', type: 'number_type' },
        { loc: ['body', 'seed'], msg: 'Invalid input: expected number, received array', type: 'number_type' },
      ],
      error: {
        message:
          'body.n: Invalid input: expected number, received string; body.seed: Invalid input: expected number, received array',
        type: 'invalid_request_error',
        ...none,
      },
    });
    expect((await service.infer({ model: 'm', prompt: 'greet' })).body).toEqual({
      reason: 'Invalid URI: greet',
      error: { message: 'Invalid URI: greet', type: 'invalid_request_error', ...none },
    });
    expect((await service.send('POST', query, 'Basic wrong', body)).body).toEqual({ reason: '401 Error' });
  });

  it('ignores unknown members of a body, of a filter and of the query parameters', async () => {
    const unknown = { filter: { colour: 'red' }, colour: 'red', wb_user_id: null };
    expect(await service.query('q', { ...body, ...unknown })).toMatchObject({ status: 200, body: { items: [] } });
    expect(await service.send('GET', '/v2/a/b/scorers?colour=red', basic)).toMatchObject({ status: 200 });
  });

  it('identifies the account by its password, whatever the user name', async () => {
    const { password } = await withStore(service.data, (store) => store.addUser('grace', 'all'));
    const queue = { project_id: 'a/named', name: 'named', scorer_refs: [] };
    const created = async (credentials: string) => {
      const answer = await service.send('POST', '/annotation_queues', `Basic ${btoa(credentials)}`, queue);
      const path = `/annotation_queues/${answer.body.id}?project_id=a/named`;
      return (await service.send('GET', path, basic)).body.queue.created_by;
    };
    expect(await created(`api:${password}`)).toBe('grace');
    expect(await created(`tester:${password}`)).toBe('grace');
    // The password of the account of this process has a colon in it.
    expect(await created('grace:pass:word')).toBe('tester');
  });

  it('refuses a body that is nested deeper than 500 levels', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(await service.infer(`{"model":"heddle/echo","messages":[${deep}],"template_vars":{"a":1}}`)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body'], msg: 'The body is nested deeper than 500 levels', type: 'value_error' }] },
    });
  });

  it('reports a path parameter that is not a plain identifier as a fault of the path', async () => {
    expect(await service.query('a%2F..%2Fb', body)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['path', 'queue_id'] }] },
    });
    expect(await service.query('%zz', body)).toMatchObject({ status: 422 });
    for (const path of ['/a//b', '/..%2F..%2Fhealth', '/a%2F%2E%2E%2Fb', '/%252e%252e']) {
      expect(await service.infer({ model: 'm' }, path)).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['path', 'path'] }] },
      });
    }
  });

  it.each([
    ...['POST /trace/stats', 'POST /feedback/stats', 'POST /feedback/aggregate', 'POST /feedback/payload_schema'],
    ...['PUT /objs/o/versions/v1/tags', 'PUT /objs/o/aliases', 'GET /tags', 'GET /aliases'],
    ...['GET /v2/a/b/models', 'GET /v2/a/b/ops', 'GET /v2/a/b/scorers/s/versions/v1', 'DELETE /v2/a/b/datasets/d'],
    ...['GET /v2/a/b/evaluations/e/versions/v1', 'DELETE /v2/a/b/evaluations/e', 'DELETE /v2/a/b/scorers/s'],
    ...['POST /completions/create', 'POST /completions/create_stream', 'POST /image/create'],
    ...['POST /actions/execute_batch', 'POST /service/projects_info'],
  ])('does not have %s of the public service', async (request) => {
    const [method, path] = request.split(' ') as ['GET' | 'POST', string];
    expect((await service.send(method, path, basic, method === 'GET' ? undefined : body)).status).toBe(404);
  });

  it.each([
    'POST /v2/a/b/scorers',
    'DELETE /v2/a/b/evaluation_runs',
    'DELETE /v2/a/b/predictions',
    'DELETE /v2/a/b/scores',
  ])('does not have %s of the public service, but another method of it', async (request) => {
    const [method, path] = request.split(' ') as ['POST', string];
    expect((await service.send(method, path, basic, body)).status).toBe(405);
  });

  it('refuses unknown paths with 404 and unknown methods with 405 and Allow', async () => {
    expect(await service.send('GET', '/nothing', basic)).toMatchObject({ status: 404, body: { detail: 'Not Found' } });
    const wrong = await service.send('GET', query, basic);
    expect(wrong).toMatchObject({ status: 405, body: { detail: 'Method Not Allowed' } });
    expect(wrong.headers.get('allow')).toBe('POST');
    expect((await service.send('PATCH', '/annotation_queues/q', basic)).headers.get('allow')).toBe('DELETE, GET, PUT');
    expect((await service.send('DELETE', '/inference/v1/models', bearer)).headers.get('allow')).toBe('GET, POST');
    expect((await service.send('POST', '/health', undefined, {})).headers.get('allow')).toBe('GET');
  });

  it('refuses a body over 32 MiB, with or without a Content-Length', async () => {
    const size = 32 * 1024 * 1024 + 1;
    const announced = await fetch(service.running.url + query, {
      method: 'POST',
      headers: { authorization: basic },
      body: 'x'.repeat(size),
    });
    expect(announced.status).toBe(413);
    expect(await announced.json()).toEqual({ reason: 'Payload too large: a request body may have 33554432 bytes' });
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(service.running.url + query, { method: 'POST', headers: { authorization: basic } });
      request.on('response', (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.on('error', reject);
      for (let sent = 0; sent < size; sent += 2 ** 20) request.write('x'.repeat(2 ** 20));
      request.end();
    });
    expect(status).toBe(413);
  });
});
