import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';
import {
  type FakeService,
  type RecordedRequest,
  type Responder,
  sendGoodResponse,
  sendResponse,
  startFakeService,
} from '../support/fake-service.ts';
import { otherFaults, statusFaults, toldApart } from '../support/fault-table.ts';
import { goodResponse } from '../support/good-responses.ts';
import { startToolServer, type ToolServer } from '../support/tool-server.ts';

// The service responds well to the request for a page of three items; the request for their calls goes wrong. The
// service has no call c3.

const service: FakeService = await startFakeService();
let server: ToolServer;
beforeAll(async () => {
  server = await startToolServer(service.url, { HEDDLE_MAX_RESULT_CHARS: '1000000' });
});
afterAll(() => server.client.close());

const batch = '/calls/stream_query';
const single = '/call/read';
const threeIds = ['c1', 'c2', 'c3'];
let ids = threeIds;
const callOf = (id: string) => ({ id, inputs: { question: `Why ${id}?` }, output: 'Because.' });
const lines = (calls: object[]) => calls.map((call) => `${JSON.stringify(call)}\n`).join('');

/** Responds well to everything but the request for all calls of a page. */
function serve(fault: Responder, displayFields = ['inputs.question']): void {
  service.requests.length = 0;
  service.respond = (request) => {
    const { path, body } = request;
    if (path === batch) return fault(request);
    if (path === single) {
      const { id } = JSON.parse(body);
      return sendResponse(request, 200, JSON.stringify({ call: id === 'c3' ? null : callOf(id) }));
    }
    if (!path.endsWith('/items/query')) return sendGoodResponse(request);
    const [item] = JSON.parse(goodResponse(request).body).items;
    const items = ids.map((id) => ({ ...item, id: `item-${id}`, call_id: id, display_fields: displayFields }));
    sendResponse(request, 200, JSON.stringify({ items }));
  };
}

interface Shown {
  call_values?: Record<string, unknown>;
  call_error?: { code: string };
}

/** Returns for each call of the page its value, or the code of its error. */
async function page({ client }: ToolServer = server): Promise<unknown[]> {
  const { isError, structuredContent } = await client.callTool({
    name: 'query_queue_items',
    arguments: { project_id: 'a/b', queue_id: 'q', include_call: true, limit: 200 },
  });
  expect(isError).toBeUndefined();
  const { items, common } = structuredContent as { items: Shown[]; common?: Shown };
  const shown = items.map((item) => ({ ...common, ...item }));
  return shown.map(({ call_values, call_error }) => call_error?.code ?? call_values?.['inputs.question']);
}

const requestsTo = (path: string): RecordedRequest[] => service.requests.filter((request) => request.path === path);
const expectedPage = ['Why c1?', 'Why c2?', 'not_found'];

describe('query_queue_items with include_call', () => {
  it('reads the displayed fields of all calls with one request, whose response may have any order', async () => {
    serve((request) => sendResponse(request, 200, lines([callOf('other'), callOf('c2'), callOf('c1')])));
    expect(await page()).toEqual(expectedPage);
    expect(requestsTo(batch).map(({ body }) => JSON.parse(body))).toEqual([
      {
        project_id: 'a/b',
        filter: { call_ids: ['c1', 'c2', 'c3'] },
        limit: 3,
        columns: ['id', 'exception', 'inputs.question'],
        expand_columns: ['inputs.question'],
      },
    ]);
    expect(requestsTo(single)).toEqual([]);
  });

  it.each([
    [
      ['output', 'inputs.messages[0].content', 'inputs.x.y', 'summary[0]', 'inputs.messages[1]'],
      ['id', 'exception', 'output', 'inputs.messages', 'inputs.x.y', 'summary'],
    ],
    [[], ['id', 'exception']],
    // `thread` is not a column of the interface, so the whole call is requested.
    [['inputs.question', 'thread.id'], undefined],
  ])('for the display fields %j requests the columns %j', async (displayFields, columns) => {
    serve((request) => sendResponse(request, 200, lines(ids.map(callOf))), displayFields);
    await page();
    expect(requestsTo(batch).map(({ body }) => JSON.parse(body).columns)).toEqual([columns]);
  });

  /** Errors that concern the request for many calls and no single call, so each call is then read by itself. */
  const errorsOfTheWhole = ['bad_response', 'invalid_request', 'not_found', 'too_large', 'validation_failed'];
  /** One fault for each code of an error, since nothing else decides; `list_queues`, which reads lines too, meets all of them. */
  const cases = [...statusFaults, ...otherFaults]
    .filter(({ name }) => toldApart.has(name) && name !== '404 with empty')
    .map((fault) => {
      // The operation for the calls responds with lines, as that of query_calls does.
      const [code, , requests] = fault.expected(endpoints.queryCalls);
      return { name: fault.name, fault: fault.respond, code, requests };
    });

  it.each(cases)(
    'shows a result for every item when the request for the calls meets: $name',
    async ({ name, fault, code, requests }) => {
      serve(fault);
      const together = !errorsOfTheWhole.includes(code);
      // The good response has only c1, with another question.
      const good = [name === 'an empty body with 200' ? 'not_found' : 'Why?', 'not_found', 'not_found'];
      expect(await page()).toEqual(together ? (code === 'ok' ? good : [code, code, code]) : expectedPage);
      expect([requestsTo(batch).length, requestsTo(single).length]).toEqual([requests, together ? 0 : 3]);
    },
  );

  it('requests the calls of a large page a hundred at a time', async () => {
    serve((request) => {
      const { filter } = JSON.parse(request.body);
      sendResponse(request, 200, lines(filter.call_ids.map(callOf)));
    });
    ids = Array.from({ length: 120 }, (_, index) => `many-${index}`);
    onTestFinished(() => {
      ids = threeIds;
    });
    expect(await page()).toEqual(ids.map((id) => `Why ${id}?`));
    const counts = requestsTo(batch).map(({ body }) => JSON.parse(body).filter.call_ids.length);
    expect(counts).toEqual([100, 20]);
  });

  it('shows the other calls when one is nested too deeply', async () => {
    serve((request) =>
      sendResponse(
        request,
        200,
        `${lines([callOf('c1')])}{"id":"c2","inputs":${'['.repeat(5000)}${']'.repeat(5000)}}\n`,
      ),
    );
    expect(await page()).toEqual(expectedPage);
  });

  it.each([
    ['404 of a router', (request: RecordedRequest) => sendResponse(request, 404, '{"detail":"Not Found"}')],
    ['405', (request: RecordedRequest) => sendResponse(request, 405, '{"detail":"Method Not Allowed"}')],
    ['501', (request: RecordedRequest) => sendResponse(request, 501)],
  ])('reads calls one by one from a service without the operation, and remembers that (%s)', async (_name, fault) => {
    const own = await startToolServer(service.url);
    onTestFinished(() => own.client.close());
    serve(fault);
    expect(await page(own)).toEqual(expectedPage);
    expect([requestsTo(batch).length, requestsTo(single).length]).toEqual([1, 3]);
    expect(await page(own)).toEqual(expectedPage);
    expect([requestsTo(batch).length, requestsTo(single).length]).toEqual([1, 6]);
  });

  it('shows the items with a timeout each when the calls do not arrive in time', async () => {
    const impatient = await startToolServer(service.url, { HEDDLE_TIMEOUT_MS: '2000' });
    onTestFinished(() => impatient.client.close());
    serve(() => {});
    expect(await page(impatient)).toEqual(['timeout', 'timeout', 'timeout']);
  });

  it('aborts the request for the calls when the tool call is cancelled', async () => {
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
    expect([requestsTo(batch).length, requestsTo(single).length]).toEqual([1, 0]);
    service.respond = (request) => sendGoodResponse(request);
  });
});
