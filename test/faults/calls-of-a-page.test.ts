import { once } from 'node:events';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  type FakeService,
  type RecordedRequest,
  type Responder,
  sendGoodResponse,
  sendResponse,
  startFakeService,
} from '../support/fake-service.ts';
import { goodResponse } from '../support/good-responses.ts';
import { temporaryFolder } from '../support/heddle.ts';
import { bodies, others, statuses } from '../support/service-faults.ts';
import { startToolServer, type ToolServer } from '../support/tool-server.ts';

// A page of three items whose calls are read together; the page itself always comes. The service has no call c3.

const home = temporaryFolder();
const service: FakeService = await startFakeService();
let server: ToolServer;
beforeAll(async () => {
  server = await startToolServer(service.url, home, { HEDDLE_MAX_RESULT_CHARS: '1000000' });
});
afterAll(async () => {
  await server.client.close();
  await service.stop();
});

const batch = '/calls/stream_query';
const single = '/call/read';
const few = ['c1', 'c2', 'c3'];
let ids = few;
const callOf = (id: string) => ({ id, inputs: { question: `Why ${id}?` }, output: 'Because.' });
const lines = (calls: object[]) => calls.map((call) => `${JSON.stringify(call)}\n`).join('');

/** Answers everything well but the request for the calls together. */
function serve(fault: Responder, displayFields = ['inputs.question']): void {
  service.requests.length = 0;
  service.respond = (request) => {
    const { path, body } = request;
    if (path === batch) return fault(request);
    if (path === single) {
      const { id } = JSON.parse(body);
      return sendResponse(request, 200, JSON.stringify({ call: id === 'c3' ? null : callOf(id) }));
    }
    const [item] = JSON.parse(goodResponse(request).body).items;
    const items = ids.map((id) => ({ ...item, id: `item-${id}`, call_id: id, display_fields: displayFields }));
    sendResponse(request, 200, JSON.stringify({ items }));
  };
}

interface Shown {
  call_values?: Record<string, unknown>;
  call_error?: { code: string };
}

/** What a page shows of each of its calls: a value, or the code of the failure. */
async function page({ client }: ToolServer = server): Promise<unknown[]> {
  const { isError, structuredContent } = await client.callTool({
    name: 'query_queue_items',
    arguments: { project_id: 'a/b', queue_id: 'q', include_call: true, limit: 200 },
  });
  expect(isError).toBeUndefined();
  const { items } = structuredContent as { items: Shown[] };
  return items.map(({ call_values, call_error }) => call_error?.code ?? call_values?.['inputs.question']);
}

const asked = (path: string): RecordedRequest[] => service.requests.filter((request) => request.path === path);
const one = ['Why c1?', 'Why c2?', 'not_found'];

test('the calls of a page are one request, for what the items show of them, in any order of the answer', async () => {
  serve((request) => sendResponse(request, 200, lines([callOf('other'), callOf('c2'), callOf('c1')])));
  expect(await page()).toEqual(one);
  expect(asked(batch).map(({ body }) => JSON.parse(body))).toEqual([
    { project_id: 'a/b', filter: { call_ids: ['c1', 'c2', 'c3'] }, limit: 3, columns: ['id', 'inputs.question'] },
  ]);
  expect(asked(single)).toEqual([]);
});

test.each([
  [
    ['output', 'inputs.messages[0].content', 'inputs.x.y', 'summary[0]', 'inputs.messages[1]'],
    ['id', 'output', 'inputs.messages', 'inputs.x.y', 'summary'],
  ],
  [[], ['id']],
  // A member that the interface does not name: all of the call is asked for.
  [['inputs.question', 'thread.id'], undefined],
])('of display fields %j the columns are %j', async (displayFields, columns) => {
  serve((request) => sendResponse(request, 200, lines(ids.map(callOf))), displayFields);
  await page();
  expect(asked(batch).map(({ body }) => JSON.parse(body).columns)).toEqual([columns]);
});

/** What may be said of the request for many, and not of any call: each is then read by itself. */
const ofTheWhole = ['bad_response', 'invalid_request', 'not_found', 'too_large', 'validation_failed'];
/** What makes a server remember that the operation is not there: those have servers of their own below. */
const unsupportedOperations = new Set(['405', '501']);

const cases = [
  ...Object.entries(statuses)
    .filter(([status]) => !unsupportedOperations.has(status))
    .map(([status, [code, , requests]]) => ({
      name: `status ${status}`,
      fault: ((request) =>
        sendResponse(request, Number(status), status === '304' ? '' : bodies.reason![0])) as Responder,
      code,
      requests,
    })),
  ...Object.entries(others).map(([name, { fault, expected, lines: ofLines }]) => {
    const [code, , requests] = ofLines ?? expected;
    return { name, fault, code, requests };
  }),
];

test.each(cases)('the request for the calls meets: $name', async ({ name, fault, code, requests }) => {
  serve(fault);
  const together = !ofTheWhole.includes(code);
  // The good answer is of c1 alone, with a question of its own.
  const good = [name.startsWith('nothing with') ? 'not_found' : 'Why?', 'not_found', 'not_found'];
  expect(await page()).toEqual(together ? (code === 'ok' ? good : [code, code, code]) : one);
  expect([asked(batch).length, asked(single).length]).toEqual([requests, together ? 0 : 3]);
});

test('a large page asks for its calls by the hundred', async () => {
  serve((request) => {
    const { filter } = JSON.parse(request.body);
    sendResponse(request, 200, lines(filter.call_ids.map(callOf)));
  });
  ids = Array.from({ length: 120 }, (_, index) => `many-${index}`);
  onTestFinished(() => {
    ids = few;
  });
  expect(await page()).toEqual(ids.map((id) => `Why ${id}?`));
  const counts = asked(batch).map(({ body }) => JSON.parse(body).filter.call_ids.length);
  expect(counts).toEqual([100, 20]);
});

test('one call that is nested too deeply leaves the others readable', async () => {
  serve((request) =>
    sendResponse(request, 200, `${lines([callOf('c1')])}{"id":"c2","inputs":${'['.repeat(5000)}${']'.repeat(5000)}}\n`),
  );
  expect(await page()).toEqual(one);
});

test.each([
  ['404 of the router', (request: RecordedRequest) => sendResponse(request, 404, '{"detail":"Not Found"}')],
  ['405', (request: RecordedRequest) => sendResponse(request, 405, '{"detail":"Method Not Allowed"}')],
  ['501', (request: RecordedRequest) => sendResponse(request, 501)],
])('a service without the operation is asked for it once (%s)', async (_name, fault) => {
  const own = await startToolServer(service.url, home);
  onTestFinished(() => own.client.close());
  serve(fault);
  expect(await page(own)).toEqual(one);
  expect([asked(batch).length, asked(single).length]).toEqual([1, 3]);
  expect(await page(own)).toEqual(one);
  expect([asked(batch).length, asked(single).length]).toEqual([1, 6]);
});

test('a page whose calls do not come within the deadline is still a page', async () => {
  const hasty = await startToolServer(service.url, home, { HEDDLE_TIMEOUT_MS: '1000' });
  onTestFinished(() => hasty.client.close());
  serve(() => {});
  expect(await page(hasty)).toEqual(['timeout', 'timeout', 'timeout']);
});

test('a cancelled page ends the request for its calls', async () => {
  const cancel = new AbortController();
  const arrived = new Promise<RecordedRequest>((resolve) => serve(resolve));
  const outcome = server.client
    .callTool(
      { name: 'query_queue_items', arguments: { project_id: 'a/b', queue_id: 'q', include_call: true } },
      { signal: cancel.signal },
    )
    .catch(() => 'cancelled');
  const { socket } = await arrived;
  const closed = once(socket, 'close');
  cancel.abort();
  await closed;
  expect(await outcome).toBe('cancelled');
  expect([asked(batch).length, asked(single).length]).toEqual([1, 0]);
  service.respond = (request) => sendGoodResponse(request);
});
