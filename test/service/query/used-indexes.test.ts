import type { KyselyPlugin } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { CallsFilter } from '../../../src/contract/calls.ts';
import { queryThreads } from '../../../src/service/operations/threads.ts';
import { findCalls } from '../../../src/service/query/find-calls.ts';
import { MemoryPool, RequestBudget } from '../../../src/service/request-budget.ts';
import type { Database } from '../../../src/service/storage/database.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { execute, onPostgres, temporaryData } from '../../support/embedded-service.ts';
import { onEnd } from '../../support/on-end.ts';

const project_id = 'acme/support';
const budget = new RequestBudget(new MemoryPool(), 'ada');

/** Returns the steps by which SQLite runs the statements of a query. */
async function stepsOf(read: (database: Database) => AsyncIterable<unknown> | Promise<unknown>): Promise<string[]> {
  const data = await temporaryData();
  const database = await openDatabase(data);
  onEnd(() => database.close());
  const statements: string[] = [];
  const watched: Database = {
    ...database,
    read: (work) =>
      database.read((transaction) => {
        const transformQuery: KyselyPlugin['transformQuery'] = ({ node, queryId }) => {
          const { sql, parameters } = transaction.getExecutor().compileQuery(node, queryId);
          const values = parameters.map((value) => (typeof value === 'string' ? `'${value}'` : String(value)));
          statements.push(sql.replaceAll('?', () => values.shift()!));
          return node;
        };
        return work(transaction.withPlugin({ transformQuery, transformResult: async ({ result }) => result }));
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

  it('for threads has their turns alone', async () => {
    const input = { body: { project_id }, budget } as Parameters<typeof queryThreads>[0];
    const steps = await stepsOf(
      (database) => queryThreads(input, { database } as Parameters<typeof queryThreads>[1]) as Promise<unknown>,
    );
    expect(steps).toEqual(['SEARCH calls USING INDEX calls_by_turn (project_id=? AND thread_id>?)']);
  });
});
