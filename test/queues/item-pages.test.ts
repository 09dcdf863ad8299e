import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ServiceClient } from '../../src/client/service-client.ts';
import type { QueueItem } from '../../src/contract/queue-items.ts';
import { createClient } from '../../src/library.ts';
import { readItemPage } from '../../src/queues/item-pages.ts';
import { itemsFilter } from '../../src/queues/items-filter.ts';
import { matchingItems } from '../../src/queues/matching-items.ts';
import { caseCount } from '../support/cases.ts';
import { callIds, projectId, startServiceWithCalls } from '../support/service-with-calls.ts';

const service = await startServiceWithCalls();

/** Returns a client of the service; one that applies conditions itself believes that the service ignores them. */
function clientOf(appliesConditions: boolean): ServiceClient {
  const baseUrl = service.service.running.url;
  const { ada } = service.passwords;
  // The package exports a narrower type.
  const client = createClient({ baseUrl, username: 'ada', password: ada }) as unknown as ServiceClient;
  // Whatever the service says.
  if (!appliesConditions) {
    Object.defineProperty(client.facts, 'appliesItemConditions', { get: () => false, set() {} });
    client.facts.unsupportedOperations.add('summarizeQueueItems');
  }
  return client;
}

const clients = [clientOf(true), clientOf(false)];

/** Returns the calls of the items that match with their positions, as each client finds them page by page, or the message of its error. */
function foundBy(id: string, filter: object, sort_by: { field: string; direction: 'asc' | 'desc' }[]) {
  return Promise.all(
    clients.map(async (client) => {
      client.facts.userId = 'ada';
      const queue = { id, project: projectId, service: client, clientName: 'claude', maxResultChars: 40_000 };
      // A service that cannot sort by latency has other positions.
      const include_position = sort_by.every(({ field }) => field !== 'latency');
      const request = { filter: itemsFilter.parse(filter), sort_by, limit: 4, include_position };
      const calls: string[] = [];
      const named = (items: QueueItem[]) => items.map((item) => `${item.call_id} ${item.position_in_queue}`);
      try {
        for (let hasMore = true; hasMore; ) {
          const page = await readItemPage({ ...request, offset: calls.length }, queue);
          calls.push(...named(page.items));
          hasMore = page.hasMore;
        }
        if (sort_by.some(({ field }) => field === 'disagreement')) return calls;
        const { items } = await matchingItems(queue, request.filter, { sort_by, include_position });
        expect(named(items)).toEqual(calls);
        return calls;
      } catch (error) {
        return (error as Error).message;
      }
    }),
  );
}

const judgement = fc.record({
  call: fc.constantFrom(...callIds),
  field: fc.constantFrom('tone', 'quality'),
  creator: fc.constantFrom(undefined, 'ada', 'claude via heddle', 'gpt via heddle'),
  who: fc.constantFrom('ada', 'bob'),
  value: fc.constantFrom<unknown>(true, false, 1, 2, 'good', { a: 1, b: 2 }),
});
/** Most queries have two or three of the conditions: with more of them, hardly an item would match. */
const optional = <T>(...values: T[]) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...values) });
const filter = fc.record({
  ids: optional(['call-1', 'call-4', 'nothing']),
  call_op_name: optional('plan', 'chat'),
  has_error: optional(true, false),
  started_after: optional('2026-01-02', '2026-01-03T00:00:00Z'),
  started_before: optional('2026-01-05'),
  latency_above: optional(0),
  text: optional('PROMPT', 'response 3', '"n"'),
  judged_by: optional('me', 'bob', 'ada', 'ada (claude*', 'ada*', 'gpt via heddle', 'nobody'),
  judged_at_least: optional(1, 2),
  field: optional('tone', 'pitch'),
  disagreement: optional(true, false),
  unjudged_by_me: optional(true, false),
});
const direction = fc.constantFrom('asc' as const, 'desc' as const);
const keysOf = (...fields: string[]) => fc.record({ field: fc.constantFrom(...fields), direction });
const order = fc.tuple(
  keysOf('disagreement', 'disagreement', 'call_op_name', 'latency', 'created_at'),
  keysOf('call_started_at', 'call_started_at', 'disagreement'),
);

describe('readItemPage', () => {
  it('finds the same items in the same order whether the service applies the conditions or not', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(judgement, { maxLength: 20, size: 'max' }),
        fc.array(fc.tuple(filter, order), { minLength: 5, maxLength: 5 }),
        async (judgements, queries) => {
          const queue_id = await service.createQueue({ calls: callIds });
          for (const { call, field, creator, who, value } of judgements) {
            const body = {
              weave_ref: `weave:///${projectId}/call/${call}`,
              feedback_type: `heddle.judgement.${field}`,
              payload: { value },
              queue_id,
              creator,
            };
            expect((await service.post('/feedback/create', body, who)).status).toBe(200);
          }
          for (const [conditions, order] of queries) {
            const [atService, here] = await foundBy(queue_id, conditions, order);
            expect(atService).toEqual(here);
          }
        },
      ),
      { numRuns: caseCount(30) },
    );
    expect(clients.map(({ facts }) => facts.appliesItemConditions)).toEqual([true, false]);
  });

  it('begins or ends with the items on which annotators differ most, with positions in the order of the other keys', async () => {
    const queue_id = await service.createQueue({ calls: callIds.slice(0, 6) });
    const judge = async (call: string, field: string, value: unknown, who: string, creator?: string) => {
      const weave_ref = `weave:///${projectId}/call/${call}`;
      const body = { weave_ref, feedback_type: `heddle.judgement.${field}`, payload: { value }, queue_id, creator };
      await service.post('/feedback/create', body, who);
    };
    // Numbers differ by a share of the largest difference, which is 4.
    const given = { 'call-1': [2, 3], 'call-2': [5, 1], 'call-3': [3, 3], 'call-4': [3, 3], 'call-5': [1, 3] };
    for (const [call, [first, second]] of Object.entries(given)) {
      await judge(call, 'tone', first, 'ada');
      await judge(call, 'tone', second, 'bob');
    }
    await judge('call-3', 'quality', true, 'ada');
    await judge('call-3', 'quality', false, 'ada', 'claude');
    for (const [filter, direction, expected] of [
      [{}, 'desc', ['call-3 3', 'call-2 4', 'call-5 1', 'call-1 5', 'call-4 2', 'call-0 6']],
      [{}, 'asc', ['call-4 2', 'call-0 6', 'call-1 5', 'call-5 1', 'call-3 3', 'call-2 4']],
      // That of others about a field that bob has not judged does not count.
      [{ judged_by: 'bob' }, 'desc', ['call-2 4', 'call-5 1', 'call-1 5', 'call-4 2', 'call-3 3']],
      [{ field: 'quality' }, 'desc', ['call-3 3']],
    ] as const) {
      const keys = [
        { field: 'disagreement', direction },
        { field: 'call_started_at', direction: 'desc' as const },
      ];
      expect(await foundBy(queue_id, filter, keys)).toEqual([expected, expected]);
    }
  });

  it('puts items on which annotators differ in free text alone after all others on which they differ', async () => {
    const fields = Object.entries({ tone: 'integer', remark: 'string' }).map(([name, type]) =>
      service.createObject(name, { _class_name: 'AnnotationSpec', name, field_schema: { type } }),
    );
    const queue_id = await service.createQueue({ calls: callIds.slice(0, 4), scorer_refs: await Promise.all(fields) });
    const given = [
      ['call-0', 'tone', 1, 1],
      ['call-1', 'remark', 'Kind.', 'Rude.'],
      ['call-2', 'tone', 4, 5],
      ['call-3', 'tone', 1, 5],
      ['call-3', 'remark', 'Kind.', 'Rude.'],
    ] as const;
    for (const [call, field, ...values] of given)
      for (const [place, value] of values.entries()) {
        const weave_ref = `weave:///${projectId}/call/${call}`;
        const body = { weave_ref, feedback_type: `heddle.judgement.${field}`, payload: { value }, queue_id };
        await service.post('/feedback/create', body, ['ada', 'bob'][place]);
      }
    const ordered = ['call-3 4', 'call-2 3', 'call-1 2', 'call-0 1'];
    expect(await foundBy(queue_id, {}, [{ field: 'disagreement', direction: 'desc' }])).toEqual([ordered, ordered]);
  });

  it('asks for one of several annotators of an account', async () => {
    const queue_id = await service.createQueue({ calls: ['call-0'] });
    for (const creator of ['claude', 'gpt']) {
      const body = { feedback_type: 'heddle.judgement.tone', payload: { value: 1 }, queue_id, creator };
      await service.post('/feedback/create', { ...body, weave_ref: `weave:///${projectId}/call/call-0` }, 'bob');
    }
    const sort_by: [] = [];
    expect(await foundBy(queue_id, { judged_by: 'Bob (GPT)' }, sort_by)).toEqual([['call-0 1'], ['call-0 1']]);
    expect(await foundBy(queue_id, { judged_by: 'bob*' }, sort_by)).toEqual([['call-0 1'], ['call-0 1']]);
    const message = `"bob" names 2 annotators of queue ${queue_id}: bob (claude), bob (gpt).`;
    expect(await foundBy(queue_id, { judged_by: 'bob' }, sort_by)).toEqual([message, message]);
  });
});
