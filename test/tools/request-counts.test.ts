import { describe, expect, it } from 'vitest';
import { bulkCalls, createQueue, type EitherService, startBothServices, startProxy } from '../support/both-services.ts';
import { type ConnectedClient, connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { startServiceWithCalls } from '../support/service-with-calls.ts';

const services = await startBothServices();
const change = { judgements: { helpful: true }, annotation_state: 'completed' };

/** A client whose requests to the service are counted. */
interface CountedClient {
  call: ConnectedClient['call'];
  /** Returns the number of requests since it was asked before. */
  count: () => number;
}

async function connectCounted(
  url: string,
  environment: Record<string, string>,
  fateOf: (path: string) => 'pass' | 'refuse' | 'miss' = () => 'pass',
): Promise<CountedClient> {
  let requests = 0;
  const proxy = await startProxy(url, (path) => {
    requests += 1;
    return fateOf(path);
  });
  const { call } = await connectClient({ ...environment, HEDDLE_BASE_URL: proxy });
  const count = (): number => {
    const counted = requests;
    requests = 0;
    return counted;
  };
  return { call, count };
}

const connect = (service: EitherService) => connectCounted(service.url, service.environmentOf('ada'));

const expected = {
  'the embedded service': {
    page: 1,
    // One of them looks whether the name of the queue, which is not its id, is unique.
    board: 6,
    nextPage: 5,
    judgement: 3,
    items: [6, 5, 5],
    filter: 5,
    retraction: 3,
    claimedBoard: [undefined, 7],
    prolonging: 1,
  },
  // It has no batch of states, which is asked for once, and sends feedback separately from items.
  'the recorded public service': {
    page: 2,
    // It does not know what the account has finished, which follows from the judgements.
    board: 9,
    nextPage: 8,
    judgement: 4,
    items: [8, 12, 56],
    filter: 56,
    retraction: 4,
    // The board is not claimed there; the failed claim is one request, once.
    claimedBoard: ['unsupported', 10],
    prolonging: 0,
  },
};

describe.each(services)('requests to $name', (service) => {
  const counts = expected[service.name];

  it('read a page of items with its judgements', async () => {
    const { queue_id } = await createQueue(service, bulkCalls(50));
    const { call, count } = await connect(service);
    const { items } = await call('query_queue_items', { queue_id, limit: 50, include_judgements: true });
    expect(items).toHaveLength(50);
    expect(count()).toBe(counts.page);
  });

  it('show the review board, and write a judgement of it', async () => {
    const { queue_id, ids } = await createQueue(service, bulkCalls(50));
    const { call, count } = await connect(service);
    const { as_of } = await call('review_queue', { queue_id, limit: 20 });
    expect(count()).toBe(counts.board);
    await call('review_queue', { queue_id, limit: 20, offset: 20 });
    expect(count()).toBe(counts.nextPage);
    const items = [{ item_id: ids[0], ...change }];
    const { counts: results } = await call('update_queue_items', { queue_id, items, as_of, by_user: true });
    expect(results).toEqual({ done: 1 });
    expect(count()).toBe(counts.judgement);
  });

  it('claim the items of a page of the board, and read them', async () => {
    const { queue_id } = await createQueue(service, bulkCalls(50));
    const { call, count } = await connect(service);
    const claim = { queue_id, filter: {}, n: 50, minutes: 15, prolong: true, by_user: true };
    const { items, error } = await call('claim_queue_items', claim);
    const ids = items?.map(({ id }: { id: string }) => id);
    await call('review_queue', { queue_id, limit: 100, ...(ids && { filter: { ids } }) });
    expect([error?.code, count()]).toEqual(counts.claimedBoard);
    await call('claim_queue_items', claim);
    expect(count()).toBe(counts.prolonging);
  });

  it('change 1, 5 and 50 items as they were shown', async () => {
    const { queue_id, ids } = await createQueue(service, bulkCalls(56));
    const { call, count } = await connect(service);
    const { as_of } = await call('query_queue_items', { queue_id, limit: 56 });
    count();
    const sent: number[] = [];
    for (const [from, to] of [
      [0, 1],
      [1, 6],
      [6, 56],
    ]) {
      const items = ids.slice(from, to).map((item_id) => ({ item_id, ...change }));
      const result = await call('update_queue_items', { queue_id, items, as_of, confirm: true });
      expect(result.counts).toEqual({ done: items.length });
      sent.push(count());
    }
    expect(sent).toEqual(counts.items);
  });

  it('change the 50 items that match a filter, and retract the change', async () => {
    const { queue_id } = await createQueue(service, bulkCalls(50));
    const { call, count } = await connect(service);
    const result = await call('update_queue_items', { queue_id, filter: {}, change, confirm: true });
    expect(result).toMatchObject({ matched: 50, counts: { done: 50 } });
    expect(count()).toBe(counts.filter);
    const retracted = await call('update_queue_items', {
      queue_id,
      filter: {},
      change: { retract: ['helpful'] },
      confirm: true,
    });
    expect(retracted.counts).toEqual({ done: 50 });
    expect(count()).toBe(counts.retraction);
  });
});

describe('query_queue_items at a service that counts', () => {
  it('finds nothing by this client, by a field or past the end with 4, 5 and 2 requests, and lists no judgements', async () => {
    const [service] = services;
    const { queue_id, ids } = await createQueue(service!, bulkCalls(50));
    const asUser = await connect(service!);
    const items = [{ item_id: ids[0], ...change }];
    await asUser.call('update_queue_items', { queue_id, items, by_user: true });
    const { call, count } = await connectCounted(service!.url, service!.environmentOf('ada'), (path) =>
      path === '/feedback/query' ? 'refuse' : 'pass',
    );
    const byDisagreement = { sort_by: [{ field: 'disagreement', direction: 'desc' }] };
    const pages = [
      { filter: { judged_by: 'me' } },
      { filter: { field: 'helpful', value: false } },
      { offset: 50 },
      { offset: 50, filter: { judged_by: 'ada' } },
      { offset: 50, ...byDisagreement },
      { offset: 50, filter: { field: 'helpful', value: false } },
    ];
    const found = [];
    for (const page of pages) {
      const { items: none, hint, matching } = await call('query_queue_items', { queue_id, ...page });
      found.push({ none, hint, matching, requests: count() });
    }
    const underName = 'Here, me is this client; the user\'s own judgements are under judged_by "ada".';
    const whoJudged = 'Call summarize_queue by annotator and field to see who judged what.';
    expect(found).toEqual([
      { none: [], hint: underName, matching: 0, requests: 4 },
      { none: [], hint: whoJudged, matching: 0, requests: 5 },
      { none: [], hint: undefined, matching: 50, requests: 2 },
      { none: [], hint: undefined, matching: 1, requests: 2 },
      { none: [], hint: undefined, matching: 50, requests: 3 },
      { none: [], hint: whoJudged, matching: 0, requests: 4 },
    ]);
  });
});

/** Connects to the embedded service, and creates a queue of three items there, the first of which the user has judged. */
async function connectToJudgedQueue() {
  const service = services[0]!;
  const { queue_id, ids } = await createQueue(service, bulkCalls(3));
  const { call, count } = await connect(service);
  await call('update_queue_items', { queue_id, items: [{ item_id: ids[0], ...change }], by_user: true });
  count();
  return { service, queue_id, ids, call, count };
}

describe('tools at a service that counts', () => {
  it('find what an annotator judged with one request by the whole name, and with two more by another case', async () => {
    const { queue_id, ids, call, count } = await connectToJudgedQueue();
    const requests = [];
    for (const judged_by of ['ada', 'ADA']) {
      const args = { queue_id, filter: { judged_by } };
      expect((await call('query_queue_items', args)).items).toEqual([expect.objectContaining({ id: ids[0] })]);
      const page = count();
      expect(await call('summarize_queue', { ...args, by: ['state'] })).toMatchObject({ total_items: 1 });
      requests.push([page, count()]);
    }
    expect(requests).toEqual([
      [1, 1],
      [3, 3],
    ]);
  });

  it('look all names up with one request where a filter finds nothing, and with none where the summary has them', async () => {
    const { queue_id, call, count } = await connectToJudgedQueue();
    const requests = [];
    for (const filter of [{ judged_by: 'adda' }, { judged_by: 'ada', field: 'helpful', value: false }]) {
      for (const [tool, args] of [
        ['query_queue_items', {}],
        ['summarize_queue', { by: ['state'] }],
        ['summarize_queue', { by: ['annotator', 'field'] }],
      ] as const) {
        const { error, total_items, matching } = await call(tool, { queue_id, filter, ...args });
        requests.push([error?.message ?? total_items ?? matching, count()]);
      }
    }
    const nobody = `No annotator "adda" has judged in queue ${queue_id}.`;
    expect(requests).toEqual([
      [nobody, 2],
      [nobody, 2],
      [nobody, 1],
      [0, 4],
      [0, 4],
      [0, 2],
    ]);
  });

  it('ask for no judgements to know a field of the queue', async () => {
    const { queue_id, service } = await connectToJudgedQueue();
    const paths: string[] = [];
    const { call } = await connectCounted(service.url, service.environmentOf('ada'), (path) => {
      paths.push(path.replace(queue_id, 'QUEUE').replace(/\?.*/, ''));
      return 'pass';
    });
    const filter = { field: 'helpful', annotation_states: ['skipped'] };
    expect(await call('query_queue_items', { queue_id, filter })).toMatchObject({ items: [], matching: 0 });
    expect([...new Set(paths)]).toEqual([
      '/annotation_queues/QUEUE/items/query',
      '/annotation_queues/QUEUE',
      '/refs/read_batch',
    ]);
  });
});

describe('query_queue_items at a service that does not count', () => {
  it('finds nothing by a known annotator in a known field without reading all judgements', async () => {
    const { queue_id, service } = await connectToJudgedQueue();
    const paths: string[] = [];
    const { call } = await connectCounted(service.url, service.environmentOf('ada'), (path) => {
      paths.push(path.replace(queue_id, 'QUEUE'));
      return path.endsWith('/summary') ? 'miss' : 'pass';
    });
    const filter = { judged_by: 'ada', field: 'helpful', value: false };
    expect(await call('query_queue_items', { queue_id, filter })).toMatchObject({ items: [], matching: 0 });
    expect(paths).toContain('/annotation_queues/QUEUE/items/summary');
    expect(paths).not.toContain('/feedback/query');
  });
});

describe('update_queue_items at a service that sets many states at once', () => {
  it('changes 500 items with 8 requests, and continues after the last round that was done', async () => {
    const started = await startServiceWithCalls();
    const calls = Array.from({ length: 500 }, (_, index) => ({ call_id: `call-${index}` }));
    await started.importCalls('acme/many', calls);
    let batches = 0;
    const environment = emptyHome(temporaryFolder(), {
      HEDDLE_PROJECT: 'acme/many',
      HEDDLE_USERNAME: 'ada',
      HEDDLE_PASSWORD: started.passwords.ada,
    });
    const { call, count } = await connectCounted(started.service.running.url, environment, (path) => {
      if (path.endsWith('/progress')) batches += 1;
      return batches === 2 ? 'refuse' : 'pass';
    });
    const bulk = { queue_id: 'seed', filter: {}, change, confirm: true };
    expect(await call('update_queue_items', bulk)).toMatchObject({
      matched: 500,
      counts: { done: 250 },
      remaining: 250,
      items: [],
    });
    batches = 3;
    count();
    expect((await call('update_queue_items', bulk)).counts).toEqual({ unchanged: 250, done: 250 });
    // The judgements of the second round were stored before its states were refused.
    expect(count()).toBe(4);
    const again = { ...bulk, change: { judgements: { helpful: false } } };
    expect((await call('update_queue_items', again)).counts).toEqual({ done: 500 });
    expect(count()).toBe(8);
  });
});
