import { describe, expect, it } from 'vitest';
import { type ClientOptions, connectClient } from '../support/client.ts';
import { sendResponse } from '../support/fake-service.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { startRecordedService } from '../support/recorded-service.ts';

/** The 25 calls `call-0` and on, which are in the queue `q`. The sample project adds twelve with another operation. */
const environment = await importNumberedQueue(25);

let queues = 0;

/** Connects a client, and creates an empty queue for it. */
async function connect(options?: ClientOptions) {
  const client = await connectClient(environment, options);
  queues += 1;
  const name = `Queue ${queues}`;
  const { queue_id } = await client.call('create_queue', { name });
  const callsIn = async (): Promise<string[]> => {
    const { items } = await client.call('query_queue_items', { queue_id });
    return items.map((item: { call_id: string }) => item.call_id).sort();
  };
  return { ...client, queue_id, name, callsIn };
}

describe('add_queue_items', () => {
  it.each([
    [7, ['call-12', 'call-14', 'call-16', 'call-22']],
    [8, ['call-16', 'call-18', 'call-20', 'call-24']],
  ])('takes the same sample for the seed %i every time', async (seed, expected) => {
    const { call, queue_id, callsIn } = await connect();
    const request = { queue_id, filter: { op_name: 'answer' }, sample: { n: 4, seed } };
    expect(await call('add_queue_items', request)).toMatchObject({ matched: 25, added: 4 });
    expect(await callsIn()).toEqual(expected);
    expect(await call('add_queue_items', request)).toMatchObject({ matched: 25, added: 0, duplicates: 4 });
  });

  it('adds nothing in a dry run, and reports what it would add', async () => {
    const { call, queue_id, callsIn } = await connect();
    const result = await call('add_queue_items', { queue_id, filter: { op_name: 'answer' }, dry_run: true });
    const first_call_ids = ['call-0', 'call-1', 'call-2'];
    expect(result).toMatchObject({ dry_run: true, matched: 25, selected: 25, first_call_ids });
    expect(result).not.toHaveProperty('added');
    expect(result.text).toContain('Nothing was added (dry_run). Would add 25 calls');
    expect(result.text).toContain('The first are call-0, call-1, call-2. Matching calls: 25.');
    expect(await callsIn()).toEqual([]);
    await call('add_queue_items', { queue_id, call_ids: ['call-0', 'call-7'] });
    expect(await call('add_queue_items', { queue_id, filter: { op_name: 'answer' }, dry_run: true })).toMatchObject({
      selected: 23,
      duplicates: 2,
      first_call_ids: ['call-1', 'call-2', 'call-3'],
      text: expect.stringContaining('2 of these calls are in it already.'),
    });
  });

  it('names the first 20 calls that do not exist, and counts them all', async () => {
    const { call, queue_id } = await connect();
    const unknown = Array.from({ length: 21 }, (_, n) => `none-${n}`);
    expect(await call('add_queue_items', { queue_id, call_ids: ['call-1', ...unknown], confirm: true })).toMatchObject({
      added: 1,
      unknown: unknown.slice(0, 20),
      unknown_count: 21,
    });
  });

  it('refuses a display field that no call has, with the nearest', async () => {
    const { call, queue_id, callsIn } = await connect();
    const display_fields = ['output', 'inputs.questoin'];
    const { error } = await call('add_queue_items', { queue_id, call_ids: ['call-1', 'call-2'], display_fields });
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      message: 'Nothing was added: none of these calls has a value at "inputs.questoin".',
      hint: expect.stringMatching(/^The nearest paths are inputs\.question, /),
    });
    expect(await callsIn()).toEqual([]);
  });

  it('keeps the display fields of the items that the queue has', async () => {
    const { call, queue_id } = await connect();
    await call('add_queue_items', { queue_id, call_ids: ['call-1'], display_fields: ['inputs.question'] });
    const { display_fields } = await call('add_queue_items', { queue_id, call_ids: ['call-2'] });
    expect(display_fields).toEqual(['inputs.question']);
    const { items } = await call('query_queue_items', { queue_id, include_call: true });
    expect(items).toMatchObject([
      { call_values: { 'inputs.question': expect.stringMatching(/^Question [12][?]$/) } },
      { call_values: { 'inputs.question': expect.stringMatching(/^Question [12][?]$/) } },
    ]);
  });

  it.each<[string, ClientOptions['mode']]>([
    ['a protocol version before 2026-07-28', 'legacy'],
    ['2026-07-28', { pin: '2026-07-28' }],
  ])('asks the user before it adds more than 20 calls, with %s', async (_, mode) => {
    const add = async (answer?: 'accept' | 'decline', args = {}) => {
      const { call, queue_id, name, questions } = await connect({ mode, answer });
      const result = await call('add_queue_items', { queue_id, filter: { op_name: 'answer' }, ...args });
      const question = `Add 25 calls to queue "${name}" (${queue_id})?`;
      return { result, asked: questions.filter((text) => text === question).length, total: questions.length };
    };
    const unable = await add();
    expect(unable.result.error).toMatchObject({
      code: 'invalid_arguments',
      message: "Nothing was changed: adding 25 calls needs the user's agreement.",
      hint: expect.stringContaining('confirm: true'),
    });
    expect(await add('decline')).toMatchObject({ result: { error: { code: 'cancelled' } }, asked: 1, total: 1 });
    expect(await add('accept')).toMatchObject({ result: { added: 25 }, asked: 1, total: 1 });
    expect(await add('decline', { confirm: true })).toMatchObject({ result: { added: 25 }, total: 0 });
    expect(await add('decline', { sample: { n: 20 } })).toMatchObject({ result: { added: 20 }, total: 0 });
  });

  it.each([
    ['neither call_ids nor filter', {}],
    ['both call_ids and filter', { call_ids: ['call-1'], filter: {} }],
  ])('refuses %s', async (_, args) => {
    const { call } = await connectClient(environment);
    const { error } = await call('add_queue_items', { queue_id: 'q', ...args });
    expect(error.code).toBe('invalid_arguments');
    expect(error.message).toContain('needs either call_ids or filter');
  });
});

describe('add_queue_items at a service that answers as the public one', () => {
  const numbered = (count: number): string[] => Array.from({ length: count }, (_, number) => `c${number}`);

  it('sends 1,000 calls a request, with progress', async () => {
    const service = await startRecordedService();
    service.calls = numbered(2500);
    const { client } = await connectClient(service.environmentOf('ada'));
    const progress: unknown[] = [];
    const { structuredContent } = await client.callTool(
      { name: 'add_queue_items', arguments: { queue_id: 'q', filter: {}, confirm: true } },
      { onprogress: (update) => progress.push(update) },
    );
    expect(structuredContent).toEqual({
      queue_id: 'q',
      matched: 2500,
      added: 2500,
      duplicates: 0,
      display_fields: ['inputs.row.question'],
    });
    const sent = service.bodiesOf('/annotation_queues/q/items');
    expect(sent.map(({ call_ids }) => [call_ids[0], call_ids.length])).toEqual([
      ['c0', 1000],
      ['c1000', 1000],
      ['c2000', 500],
    ]);
    expect(progress[0]).toEqual({ progress: 1000, total: 2500, message: '1000 of 2500 calls' });
  });

  it('reads at most 10,000 matching calls, and says how many there are', async () => {
    const service = await startRecordedService();
    service.calls = numbered(10_007);
    const { call } = await connectClient(service.environmentOf('ada'));
    const result = await call('add_queue_items', { queue_id: 'q', filter: {}, dry_run: true });
    const warning =
      '10007 calls match, of which only the 10000 that started first were read. Narrow the filter to reach the others.';
    expect(result).toMatchObject({ matched: 10_007, selected: 10_000, warnings: [warning] });
    expect(result.text).toContain(warning);
    // The first request asks for the traces of evaluations.
    expect(service.bodiesOf('/calls/stream_query').slice(1)).toEqual([
      {
        project_id: 'team/project',
        sort_by: [{ field: 'started_at', direction: 'asc' }],
        columns: ['id'],
        limit: 10_001,
      },
    ]);
  });

  it('looks up 500 ids a request', async () => {
    const service = await startRecordedService();
    service.calls = numbered(1001);
    const { call } = await connectClient(service.environmentOf('ada'));
    const added = await call('add_queue_items', { queue_id: 'q', call_ids: numbered(1001), dry_run: true });
    expect(added).toMatchObject({ matched: 1001 });
    const lookUps = service.bodiesOf('/calls/stream_query');
    expect(lookUps.map(({ filter, columns }) => [filter.call_ids.length, columns])).toEqual([
      [500, ['id']],
      [500, ['id']],
      [1, ['id']],
    ]);
  });

  it('looks for the calls in the queue, which it reads once because the service ignores lists of calls', async () => {
    const service = await startRecordedService();
    service.calls = numbered(1300);
    const { call } = await connectClient(service.environmentOf('ada'));
    await call('add_queue_items', { queue_id: 'q', call_ids: numbered(1200), confirm: true });
    service.requests.length = 0;
    const again = await call('add_queue_items', { queue_id: 'q', call_ids: numbered(1300).slice(50), dry_run: true });
    expect(again).toMatchObject({ selected: 100, duplicates: 1150 });
    const pages = service.bodiesOf('/annotation_queues/q/items/query');
    expect(pages.map(({ filter, limit }) => [filter?.call_ids?.length, limit])).toEqual([
      [1000, 1000],
      [undefined, 5000],
    ]);
  });

  it('says how many calls are in the queue when a later batch fails', async () => {
    const service = await startRecordedService();
    service.calls = numbered(2500);
    const { respond } = service;
    service.respond = (request) => {
      const isSecondBatch = request.path === '/annotation_queues/q/items' && request.body.includes('"c1000"');
      if (isSecondBatch) sendResponse(request, 403, { reason: 'No access' });
      else respond(request);
    };
    const { call } = await connectClient(service.environmentOf('ada'));
    const { error } = await call('add_queue_items', { queue_id: 'q', filter: {}, confirm: true });
    expect(error).toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(
        /^1000 of 2500 calls are in the queue; the next batch failed[.] The service refused/,
      ),
      hint: expect.stringContaining('call again with the same arguments'),
    });
  });

  it('warns when the service skips calls', async () => {
    const service = await startRecordedService();
    const { respond } = service;
    service.respond = (request) => {
      if (request.path !== '/annotation_queues/q/items') respond(request);
      else sendResponse(request, 200, { added_count: 2, duplicates: 0 });
    };
    const { call } = await connectClient(service.environmentOf('ada'));
    const result = await call('add_queue_items', { queue_id: 'q', filter: {} });
    expect(result).toMatchObject({
      added: 2,
      warnings: ['The service skipped 1 call: deleted in the meantime.'],
    });
  });
});
