import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ServiceClient } from '../../src/client/service-client.ts';
import { createClient } from '../../src/library.ts';
import { findDisagreements } from '../../src/queues/disagreements.ts';
import { itemsFilter, judgementCondition } from '../../src/queues/items-filter.ts';
import { latestJudgements } from '../../src/queues/judgements.ts';
import {
  compareAnnotators,
  countItems,
  dimensions,
  judgedItems,
  summaryTables,
} from '../../src/queues/queue-summary.ts';
import { readSummarized } from '../../src/queues/summarized-items.ts';
import { caseCount } from '../support/cases.ts';
import { projectId, startServiceWithCalls } from '../support/service-with-calls.ts';

const service = await startServiceWithCalls();

/** Returns a client of the service; one that pages believes that the service does not count. */
function clientOf({ pages }: { pages: boolean }): ServiceClient {
  const baseUrl = service.service.running.url;
  // The package exports a narrower type.
  const client = createClient({
    baseUrl,
    username: 'ada',
    password: service.passwords.ada,
  }) as unknown as ServiceClient;
  if (pages) {
    client.facts.unsupportedOperations.add('summarizeQueueItems');
    // Only ids of judgements would tell, and those of the test are made by the service.
    client.facts.userId = 'ada';
  }
  return client;
}

const clients = [clientOf({ pages: false }), clientOf({ pages: true })];

/** Returns all that a summary shows of a queue, as each client reads it. */
function summariesOf(id: string, filter: object) {
  return Promise.all(
    clients.map(async (client) => {
      const queue = { id, project: projectId, service: client, signal: new AbortController().signal };
      const condition = itemsFilter.parse(filter);
      const parts = { judgements: true, gold: true, days: true, paces: true };
      const { items: found, judgements, gold, seconds } = await readSummarized(queue, condition, parts);
      const matches = await judgementCondition(condition, judgements, queue);
      const items = found.filter(({ call_id }) => matches(call_id));
      const calls = new Set(items.map(({ call_id }) => call_id));
      const counted = latestJudgements(judgements.filter(({ call_id }) => calls.has(call_id)));
      const judged = judgedItems(items, counted);
      const all = { limit: 100, offset: 0 };
      const pairs = dimensions.flatMap((first) => dimensions.map((second) => [...new Set([first, second])]));
      return {
        items: countItems(items),
        tables: pairs.map((by) => summaryTables(by, items, judged, all, { all: judged, today: '2026-01-01', seconds })),
        comparison: compareAnnotators(judged, all, true),
        disagreements: findDisagreements(judged, gold, []),
      };
    }),
  );
}

const value = fc.constantFrom<unknown>(true, false, 1, 2, 'good', 'bad', ['a', 'b'], { a: 1, b: 2 });
const judgement = fc.record({
  call: fc.integer({ min: 0, max: 5 }),
  type: fc.constantFrom('heddle.judgement.tone', 'heddle.judgement.quality', 'heddle.gold.tone', 'wandb.note.1'),
  creator: fc.constantFrom(undefined, 'ada', 'claude', 'heddle'),
  who: fc.constantFrom('ada', 'bob'),
  value,
});
const filter = fc.constantFrom(
  {},
  { call_op_name: 'chat' },
  { judged_by: 'bob' },
  { field: 'tone' },
  { field: 'tone', value: 'good' },
  { call_op_name: 'plan', judged_by: 'claude' },
  { annotation_states: ['unstarted'], field: 'quality' },
  { judged_by: 'me' },
  { unjudged_by_me: true, field: 'tone' },
);

describe('readSummarized', () => {
  it('leads to the same summary from groups of items as from all of them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(judgement, { maxLength: 25 }), filter, async (judgements, condition) => {
        const queue_id = await service.createQueue({ calls: ['call-0', 'call-1', 'call-2', 'call-3', 'call-5'] });
        await service.move(queue_id, 'call-1', 'completed');
        for (const { call, type, creator, who, value } of judgements) {
          const body = {
            weave_ref: `weave:///${projectId}/call/call-${call}`,
            feedback_type: type,
            payload: type === 'wandb.note.1' ? { note: 'x' } : { value },
            queue_id,
            creator,
          };
          expect((await service.post('/feedback/create', body, who)).status).toBe(200);
        }
        const [grouped, paged] = await summariesOf(queue_id, condition);
        expect(grouped).toEqual(paged);
        expect([...clients[0]!.facts.unsupportedOperations]).toEqual([]);
      }),
      { numRuns: caseCount(50) },
    );
  });
});
