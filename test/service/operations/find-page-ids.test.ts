import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findPageIds } from '../../../src/service/operations/find-page-ids.ts';
import { selectItems } from '../../../src/service/operations/select-items.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import type { OrderKey } from '../../../src/service/storage/total-order.ts';
import { caseCount } from '../../support/cases.ts';
import { account, startTestService, withStore } from '../../support/embedded-service.ts';
import { onEnd } from '../../support/on-end.ts';

const { data } = await startTestService();
const database = await openDatabase(data);
onEnd(() => database.close());

type Field = 'call_started_at' | 'call_op_name' | 'created_at' | 'updated_at' | 'latency';
const time = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`;
const state = fc.constantFrom('unstarted', 'in_progress', 'completed' as const);
// Fields with one value, a few and mostly different ones.
const item = fc.record({
  call_started_at: fc.nat(59).map(time),
  call_op_name: fc.constantFrom('a', 'B', 'é', '😀'),
  created_at: fc.constant(time(7)),
  updated_at: fc.nat(2).map(time),
  latency: fc.option(fc.nat(3), { nil: -1 }),
  annotation_state: state,
});
const directed = fc.constantFrom('asc', 'desc' as const);
const order = fc
  .uniqueArray(
    fc.record({
      column: fc.constantFrom<Field>('call_started_at', 'call_op_name', 'created_at', 'updated_at', 'latency'),
      direction: directed,
    }),
    { selector: ({ column }) => column, minLength: 1 },
  )
  .map((keys): OrderKey<Field>[] => [...keys, { column: 'id', direction: 'asc' }]);
const request = fc.record({
  order,
  annotation_states: fc.array(state, { maxLength: 2 }),
  isIndexed: fc.boolean(),
  maxItems: fc.constantFrom(Infinity, 70),
  offset: fc.oneof(fc.nat(70), fc.constant(Number.MAX_SAFE_INTEGER)),
  limit: fc.oneof(fc.nat(70), fc.constant(Number.MAX_SAFE_INTEGER)),
  maxSorted: fc.integer({ min: 1, max: 12 }),
});

describe('findPageIds', () => {
  it('finds the ids and positions that sorting gives, however few items are sorted at once', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { minLength: 20, maxLength: 70 }),
        fc.array(request, { minLength: 10, maxLength: 40 }),
        async (items, requests) => {
          const queue = { project_id: 'p/q', queue_id: `queue-${run++}` };
          const lines = items.map(({ created_at, updated_at, latency, ...rest }, index) => {
            const end = latency < 0 ? {} : { call_ended_at: new Date(Date.parse(rest.call_started_at) + latency) };
            return JSON.stringify({ call_id: `${run}-${index}`, call_trace_id: 'trace', ...rest, ...end });
          });
          await withStore(data, (store) =>
            store.importItems(lines, { projectId: queue.project_id, queueId: queue.queue_id }),
          );
          const rows = await database.write(async (transaction) => {
            const stored = await selectItems(transaction, queue).select(['id', 'call_id']).execute();
            const rows = stored.map(({ id, call_id }) => ({ ...items[Number(call_id.split('-')[1])]!, id }));
            for (const { id, created_at, updated_at } of rows) {
              await transaction
                .updateTable('queue_items')
                .set({ created_at, updated_at })
                .where('id', '=', id)
                .execute();
            }
            return rows;
          });
          for (const { order, annotation_states, isIndexed, maxItems, offset, limit, maxSorted } of requests) {
            const sorted = rows.toSorted((a, b) => {
              for (const { column, direction } of order) {
                const compared =
                  column === 'latency'
                    ? a[column] - b[column]
                    : Buffer.compare(Buffer.from(a[column]), Buffer.from(b[column]));
                if (compared !== 0) return direction === 'asc' ? compared : -compared;
              }
              return 0;
            });
            const expected = sorted
              .map((row, index) => ({ ...row, position: index + 1 }))
              .filter((row) => annotation_states.length === 0 || annotation_states.includes(row.annotation_state))
              .slice(offset, offset + limit)
              .map(({ id, position }) => ({ id, position }));
            const conditions = { filter: { annotation_states }, account: account.name, database, lists: [] };
            const find = (isNumbered: boolean) =>
              database.read(async (transaction) => {
                let held = 0;
                const found = await findPageIds(
                  {
                    items: selectItems(transaction, queue, conditions),
                    all: selectItems(transaction, queue),
                    among: (some) => selectItems(transaction, queue, conditions, some),
                    isNumbered,
                    isIndexed,
                    maxItems,
                    offset,
                    limit,
                  },
                  order,
                  { transaction, database, maxSorted, hold: (count) => (held += count) },
                );
                const ofList = Math.max(0, Math.min(limit, maxItems - offset));
                if (maxItems !== Infinity) expect(held).toBe(ofList);
                else if (limit > maxSorted) expect(held).toBe(expected.length);
                else expect([0, expected.length, limit]).toContain(held);
                expect(held).toBeGreaterThanOrEqual(expected.length);
                return found;
              });
            expect(await find(true)).toEqual(expected);
            expect(await find(false)).toEqual(expected.map(({ id }) => ({ id, position: null })));
          }
        },
      ),
      { numRuns: caseCount(60) },
    );
  });
});
