import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseErrorText } from '../../support/error-text.ts';
import { beginStream, chunked, sendResponse, startFakeService } from '../../support/fake-service.ts';
import { temporaryFolder } from '../../support/heddle.ts';
import { ask, startHttpProcess } from '../../support/http-server.ts';
import { LineProcess } from '../../support/line-client.ts';
import { plainItem } from '../../support/plain-item.ts';
import { addAccount, startServiceProcess } from '../../support/service-process.ts';
import { tally } from '../../support/tally.ts';

/** Longer than any of these takes on a slow machine; each took a minute or more, or all memory, without its limit. */
const hangMs = 45_000;

const toolCall = (name: string, args: object) => ({ id: 1, method: 'tools/call', params: { name, arguments: args } });
const manyVariables = {
  model: 'heddle/echo',
  messages: [{ role: 'user', content: '{a}'.repeat(36_000) }],
  template_vars: { a: { b: 'x'.repeat(110_000) } },
};
const manyChoices = {
  model: 'heddle/echo',
  messages: [{ role: 'user', content: 'y'.repeat(3_900_000) }],
  n: 128,
  stream: true,
};

describe('sizes that are products of inputs', () => {
  it('are refused by the embedded service with 413 or 422', async () => {
    const home = temporaryFolder();
    const environment = { HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home, PATH: process.env.PATH ?? '' };
    const { password, token } = await addAccount('ada', environment);
    const { url, child } = await startServiceProcess(environment);
    const basic = `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`;
    const send = (path: string, body: unknown, authorization = basic) =>
      ask(url + path, { headers: { 'content-type': 'application/json', authorization }, body });
    const infer = (body: unknown) => send('/inference/v1/chat/completions', body, `Bearer ${token}`);
    const project_id = 'a/b';
    const large = 'z'.repeat(10_000_000);
    const stored = await send('/obj/create', { obj: { project_id, object_id: 'large', val: { text: large } } });
    const reference = `weave:///a/b/object/large:${JSON.parse(stored.body).digest}`;
    const ones = (count: number): string => `[${'1,'.repeat(count)}1]`;

    const answers = {
      'template variables': await infer(manyVariables),
      'choices of a stream': await infer(manyChoices),
      'choices in one piece': await infer({ ...manyChoices, stream: false }),
      'indentation of nested messages': await infer(
        `{"model":"heddle/echo","messages":${'['.repeat(490)}${ones(5_000_000)}${']'.repeat(490)}}`,
      ),
      'references to one value': await send('/refs/read_batch', { refs: Array(1000).fill(reference) }),
      'faults of a list': await send(
        '/annotation_queues/stats',
        `{"project_id":"a/b","queue_ids":${ones(10_000_000)}}`,
      ),
      'columns of calls': await send('/calls/stream_query', { project_id, columns: Array(100_000).fill('inputs.a') }),
      'sort keys of calls': await send('/calls/stream_query', {
        project_id,
        sort_by: Array(50_000).fill({ field: 'id', direction: 'asc' }),
      }),
    };
    const statuses = Object.fromEntries(Object.entries(answers).map(([name, { status }]) => [name, status]));
    expect(statuses).toEqual({
      'template variables': 413,
      'choices of a stream': 413,
      'choices in one piece': 413,
      'indentation of nested messages': 413,
      'references to one value': 413,
      'faults of a list': 422,
      'columns of calls': 422,
      'sort keys of calls': 422,
    });
    expect(answers['template variables'].body).toContain('The template variables add more than 33554432 characters');
    expect(answers['choices of a stream'].body).toContain('send shorter messages, or a smaller n');
    expect(child.exitCode).toBeNull();
    expect((await ask(`${url}/health`, { method: 'GET' })).status).toBe(200);
    tally('faults', Object.keys(answers).length);
  });

  it('are refused in a tool call on stdio and over HTTP', async () => {
    const client = new LineProcess(temporaryFolder());
    const { url, child } = await startHttpProcess();
    await client.initialize();
    for (const args of [manyVariables, manyChoices]) {
      const { result } = await client.ask(toolCall('run_inference', args));
      expect(JSON.stringify(result)).toContain('status 413');
      const { status, body } = await ask(url, { body: { jsonrpc: '2.0', ...toolCall('run_inference', args) } });
      expect(status).toBe(200);
      expect(body).toContain('status 413');
    }
    const values = Array.from({ length: 400_000 }, () => 1);
    const { result } = await client.ask(toolCall('add_queue_items', { queue_id: 'q', call_ids: values }));
    expect(JSON.stringify(result)).toContain('More than 200000 values');
    const path = `inputs${'.a'.repeat(150_000)}`;
    const { result: tooLong } = await client.ask(toolCall('query_calls', { fields: [path] }));
    expect(JSON.stringify(tooLong)).toContain('fields.0: Must have at most');
    expect(child.exitCode).toBeNull();
    expect(await client.end()).toBe(0);
    tally('faults', 6);
  });
});

const service = await startFakeService();

describe('large answers of a service', () => {
  // Far above what the calls take, so that a busy machine does not end them: a hang is caught by the test's own limit.
  const limits = { HEDDLE_TIMEOUT_MS: '25000', HEDDLE_INFERENCE_TIMEOUT_MS: '25000' };
  const client = new LineProcess(temporaryFolder(), { ...service.environment, ...limits });
  beforeAll(() => client.initialize());
  afterAll(async () => {
    expect(client.stderr).not.toContain('"level":"error"');
    expect(await client.end()).toBe(0);
  });

  /** Calls a tool, and returns the code of its error, or `ok`. */
  async function outcome(name: string, args: object): Promise<string> {
    const { result } = await client.ask(toolCall(name, args));
    const [{ text }] = result!.content as [{ text: string }];
    tally('faults', 1);
    return result!.isError ? parseErrorText(text).code : 'ok';
  }

  it.each([
    ['parts of as many tool calls', (index: number) => ({ index })],
    ['parts with one index and different ids', (index: number) => ({ index: 0, id: `id${index}` })],
    ['parts without an id or an index', () => ({ function: { arguments: 'x' } })],
    ['parts with ids only', (index: number) => ({ id: `id${index}` })],
  ])(
    'assembles or refuses a stream with 150,000 %s',
    async (_, part) => {
      const parts = Array.from({ length: 150_000 }, (_, index) => part(index));
      service.respond = (request) => {
        beginStream(request);
        const chunk = { choices: [{ index: 0, delta: { tool_calls: parts }, finish_reason: 'tool_calls' }] };
        request.socket.write(chunked(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`));
        request.socket.write(chunked(''));
      };
      expect(['ok', 'too_large']).toContain(await outcome('run_inference', { model: 'm', messages: [], stream: true }));
    },
    hangMs,
  );

  const members = (count: number, prefix = 'member') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, index]));

  it(
    'refuses an item of 120,000 members only when all of its fields are requested, and shows such calls',
    async () => {
      service.respond = (request) => sendResponse(request, 200, { items: [{ ...plainItem, ...members(120_000) }] });
      expect(await outcome('query_queue_items', { queue_id: 'q' })).toBe('ok');
      expect(await outcome('query_queue_items', { queue_id: 'q', fields: ['*'] })).toBe('too_large');
      service.respond = (request) =>
        sendResponse(request, 200, `${JSON.stringify({ id: 'c', ...members(120_000) })}\n`);
      expect(await outcome('query_calls', { fields: ['*'] })).toBe('ok');
      service.respond = (request) => sendResponse(request, 200, { call: { id: 'c', inputs: members(120_000) } });
      expect(await outcome('read_call', { call_id: 'c' })).toBe('ok');
    },
    hangMs,
  );

  it(
    'returns a result for 250 rows, each with 400 members that no other row has',
    async () => {
      const items = Array.from({ length: 250 }, (_, row) => ({
        ...plainItem,
        id: `i${row}`,
        ...members(400, `m${row}x`),
      }));
      service.respond = (request) => sendResponse(request, 200, { items });
      expect(await outcome('query_queue_items', { queue_id: 'q', limit: 250 })).toBe('ok');
    },
    hangMs,
  );

  it(
    'refuses a list of millions of values of the wrong kind',
    async () => {
      service.respond = (request) => sendResponse(request, 200, `{"items":[${'1,'.repeat(5_000_000)}1]}`);
      expect(await outcome('query_queue_items', { queue_id: 'q' })).toBe('bad_response');
    },
    hangMs,
  );

  it(
    'reads calls at hundreds of thousands of display fields',
    async () => {
      const display_fields = Array.from({ length: 150_000 }, (_, index) => `inputs.a${index}`);
      const long = `inputs${'.a'.repeat(200_000)}`;
      service.respond = (request) =>
        request.path.startsWith('/calls')
          ? sendResponse(request, 200, `${JSON.stringify({ id: 'c', inputs: members(100_000, 'a') })}\n`)
          : sendResponse(request, 200, {
              items: [
                { ...plainItem, display_fields },
                { ...plainItem, display_fields: [long] },
              ],
            });
      expect(['ok', 'too_large']).toContain(await outcome('query_queue_items', { queue_id: 'q', include_call: true }));
    },
    hangMs,
  );

  it(
    'names the nearest of queues with long names',
    async () => {
      const queue = { id: 'n'.repeat(250), project_id: 'a/b', name: 'n'.repeat(200_000), scorer_refs: [] };
      const line = JSON.stringify({
        ...queue,
        created_at: plainItem.created_at,
        created_by: 'me',
        updated_at: plainItem.created_at,
      });
      service.respond = (request) =>
        request.path === '/annotation_queues/query'
          ? sendResponse(request, 200, `${line}\n`.repeat(100))
          : sendResponse(request, 404, { reason: 'no queue' });
      expect(await outcome('summarize_queue', { queue_id: 'q'.repeat(256) })).toBe('not_found');
    },
    hangMs,
  );
});
