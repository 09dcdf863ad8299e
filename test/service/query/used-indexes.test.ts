import type { KyselyPlugin } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { CallsFilter } from '../../../src/contract/calls.ts';
import { queryQueueItems } from '../../../src/service/operations/queue-items.ts';
import { queryThreads } from '../../../src/service/operations/threads.ts';
import { countFoundCalls, findCalls } from '../../../src/service/query/find-calls.ts';
import { MemoryPool, RequestBudget } from '../../../src/service/request-budget.ts';
import type { Database } from '../../../src/service/storage/database.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { execute, onPostgres, temporaryData, withStore } from '../../support/embedded-service.ts';
import { onEnd } from '../../support/on-end.ts';

const project_id = 'acme/support';
const budget = new RequestBudget(new MemoryPool(), 'ada');

/** Returns the steps by which SQLite runs the statements of a query, in a project with the calls of some items. */
async function stepsOf(
  read: (database: Database) => AsyncIterable<unknown> | Promise<unknown>,
  items: object[] = [],
): Promise<string[]> {
  const data = await temporaryData();
  const lines = items.map((item) => JSON.stringify(item));
  await withStore(data, (store) => store.importItems(lines, { projectId: project_id, queueId: 'queue' }));
  const database = await openDatabase(data);
  onEnd(() => database.close());
  const compiled = new WeakMap<object, string>();
  const statements: string[] = [];
  const watched: Database = {
    ...database,
    read: (work) =>
      database.read((transaction) => {
        const transformQuery: KyselyPlugin['transformQuery'] = ({ node, queryId }) => {
          const { sql, parameters } = transaction.getExecutor().compileQuery(node, queryId);
          const values = parameters.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
          compiled.set(
            queryId,
            sql.replaceAll('?', () => values.shift()!),
          );
          return node;
        };
        // Parts of a statement are compiled, too, but only the whole has a result.
        const transformResult: KyselyPlugin['transformResult'] = async ({ queryId, result }) => {
          statements.push(compiled.get(queryId)!);
          return result;
        };
        return work(transaction.withPlugin({ transformQuery, transformResult }));
      }),
  };
  const values = await read(watched);
  if (Symbol.asyncIterator in Object(values)) for await (const _ of values as AsyncIterable<unknown>);
  const plans = await Promise.all(statements.map((statement) => execute(data, `explain query plan ${statement}`)));
  return plans.flat().map(({ detail }) => String(detail));
}

const newest = (filter: CallsFilter) => (database: Database) =>
  findCalls(
    database,
    { project_id, filter, sort_by: [{ field: 'started_at', direction: 'desc' }], limit: 50 },
    { budget },
  );
const manyIds = Array.from({ length: 50 }, (_, n) => `id-${n}`);

const oneItem = [
  { call_id: 'a', call_op_name: 'answer', call_trace_id: 'trace', call_started_at: '2026-01-01T00:00:00Z' },
];

/** Returns the steps by which SQLite finds the items of a page past the end of those that match a filter, and counts these. */
async function stepsPastEnd(filter: object): Promise<string[]> {
  const input = {
    path: { queue_id: 'queue' },
    body: { project_id, filter, offset: 10, limit: 5 },
    account: 'ada',
    budget,
  };
  const steps = await stepsOf(
    (database) =>
      queryQueueItems(
        input as Parameters<typeof queryQueueItems>[0],
        { database } as Parameters<typeof queryQueueItems>[1],
      ) as Promise<unknown>,
    oneItem,
  );
  return steps.filter((step) => step.startsWith('SEARCH queue_items')).map((step) => step.replace(/.* INDEX /, ''));
}

describe.skipIf(onPostgres)('the index that SQLite reads', () => {
  it.each([
    ['trace_ids', 'calls_by_trace_id'],
    ['parent_ids', 'calls_by_parent_id'],
    ['thread_ids', 'calls_by_thread_id'],
  ])('for the newest calls of some %s has these calls side by side', async (member, index) => {
    const steps = await stepsOf(newest({ [member]: manyIds }));
    expect(steps.filter((step) => step.includes('calls_by_start'))).toEqual([]);
    expect(steps.filter((step) => step.includes(index)).length).toBeGreaterThan(0);
  });

  it('for named calls that are searched for a text is that of their ids', async () => {
    const $contains = { input: { $getField: 'inputs' }, substr: { $literal: 'charger' } };
    const body = { project_id, filter: { call_ids: manyIds }, query: { $expr: { $contains } } };
    const items = manyIds.map((call_id, second) => ({
      call_id,
      call_op_name: 'answer',
      call_trace_id: 'trace',
      call_started_at: new Date(1_767_225_600_000 + second * 1000).toISOString(),
    }));
    const steps = await stepsOf((database) => findCalls(database, body, { budget }), items);
    expect(steps.filter((step) => step.includes('calls_by_start'))).toEqual([]);
    expect(steps.filter((step) => step.includes('SEARCH calls'))).not.toEqual([]);
  });

  it('for the queues of calls is that of these calls', async () => {
    const isInQueue = { $eq: [{ $getField: 'annotation_queue_items.queue_id' }, { $literal: 'queue' }] };
    const $contains = { input: { $getField: 'inputs' }, substr: { $literal: '{}' } };
    const body = { project_id, query: { $expr: { $or: [isInQueue, { $contains }] } } };
    const steps = await stepsOf((database) => findCalls(database, body, { budget }), oneItem);
    const ofItems = steps.filter((step) => step.includes('queue_items'));
    expect(ofItems.length).toBeGreaterThan(1);
    expect(ofItems.filter((step) => !step.includes('queue_id=? AND call_id=?'))).toEqual([]);
  });

  it('for a count of calls that did not fail is that of the failed ones', async () => {
    const query = { $expr: { $eq: [{ $getField: 'exception' }, { $literal: null }] } };
    const steps = await stepsOf((database) =>
      countFoundCalls(database, { project_id, query }, Number.MAX_SAFE_INTEGER, { budget }),
    );
    expect(steps).toHaveLength(2);
    expect(steps[0]).toContain('COVERING INDEX');
    expect(steps[1]).toContain('calls_with_exception');
  });

  it('for items that failed has these alone', async () => {
    const ofQueue = (await stepsPastEnd({ has_error: true })).filter((step) => step.includes('queue_id'));
    expect(ofQueue).toEqual([
      'queue_items_failed (project_id=? AND queue_id=?)',
      'queue_items_failed (project_id=? AND queue_id=?)',
    ]);
  });

  it('for counts without disputed items is that of all items, and that of calls for the disputed ones', async () => {
    expect((await stepsPastEnd({ disagreement: false })).slice(-2)).toEqual([
      'queue_items_by_state (project_id=? AND queue_id=?)',
      'sqlite_autoindex_queue_items_2 (project_id=? AND queue_id=? AND call_id=?)',
    ]);
  });

  it('for threads has their turns alone', async () => {
    const input = { body: { project_id }, budget } as Parameters<typeof queryThreads>[0];
    const steps = await stepsOf(
      (database) => queryThreads(input, { database } as Parameters<typeof queryThreads>[1]) as Promise<unknown>,
    );
    expect(steps).toEqual(['SEARCH calls USING INDEX calls_by_turn (project_id=? AND thread_id>?)']);
  });
});
