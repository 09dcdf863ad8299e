import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ServiceClient } from '../../src/client/service-client.ts';
import { createClient } from '../../src/library.ts';
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
  if (!appliesConditions) Object.defineProperty(client.facts, 'appliesItemConditions', { get: () => false, set() {} });
  return client;
}

const clients = [clientOf(true), clientOf(false)];

/** Returns the calls of the items that match, as each client finds them, or the message of its error. */
function foundBy(id: string, filter: object, sort_by: { field: string; direction: 'asc' | 'desc' }[]) {
  return Promise.all(
    clients.map(async (client) => {
      client.facts.userId = 'ada';
      const queue = { id, project: projectId, service: client, clientName: 'claude' };
      try {
        const { items } = await matchingItems(queue, itemsFilter.parse(filter), { sort_by });
        return items.map(({ call_id }) => call_id);
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
const optional = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined, freq: 2 });
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
const sort = fc.constantFrom('call_started_at', 'latency', 'disagreement', 'created_at');

describe('matchingItems', () => {
  it('finds the same items in the same order whether the service applies the conditions or not', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(judgement, { maxLength: 20 }),
        fc.array(fc.tuple(filter, sort), { minLength: 5, maxLength: 5 }),
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
          for (const [conditions, field] of queries) {
            const [atService, here] = await foundBy(queue_id, conditions, [
              { field, direction: 'desc' },
              { field: 'call_started_at', direction: 'asc' },
            ]);
            expect(atService).toEqual(here);
          }
        },
      ),
      { numRuns: caseCount(30) },
    );
    expect(clients.map(({ facts }) => facts.appliesItemConditions)).toEqual([true, false]);
  });

  it('asks for one of several annotators of an account', async () => {
    const queue_id = await service.createQueue({ calls: ['call-0'] });
    for (const creator of ['claude', 'gpt']) {
      const body = { feedback_type: 'heddle.judgement.tone', payload: { value: 1 }, queue_id, creator };
      await service.post('/feedback/create', { ...body, weave_ref: `weave:///${projectId}/call/call-0` }, 'bob');
    }
    const sort_by: [] = [];
    expect(await foundBy(queue_id, { judged_by: 'Bob (GPT)' }, sort_by)).toEqual([['call-0'], ['call-0']]);
    expect(await foundBy(queue_id, { judged_by: 'bob*' }, sort_by)).toEqual([['call-0'], ['call-0']]);
    const message = `"bob" names 2 annotators of queue ${queue_id}: bob (claude), bob (gpt).`;
    expect(await foundBy(queue_id, { judged_by: 'bob' }, sort_by)).toEqual([message, message]);
  });
});
