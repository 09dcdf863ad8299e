import { afterEach, describe, expect, it } from 'vitest';
import { type Migration, migrations } from '../../../src/service/storage/migrations.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { execute, onPostgres, temporaryData, withStore } from '../../support/embedded-service.ts';

// A test puts its migrations in the place of the declared ones until its end.
const declared = [...migrations];
const replaceable = migrations as Migration[];

function declare(...ofTest: Migration[]): void {
  replaceable.splice(0, replaceable.length, ...ofTest);
}

const line = { call_id: 'c', call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };

/** Creates data with one item, says that an earlier version made it, and returns it with the digest of the current schema. */
async function earlierData(): Promise<{ data: string; current: string }> {
  const data = await temporaryData();
  await withStore(data, (store) => store.importItems([JSON.stringify(line)], { projectId: 'p/q', queueId: 'kept' }));
  const [row] = await execute(data, 'select digest from schema_version');
  await execute(data, "update schema_version set digest = 'first'");
  return { data, current: row?.digest as string };
}

async function open(data: string): Promise<void> {
  await (await openDatabase(data)).close();
}

function queuesWithNotes(data: string): Promise<Record<string, unknown>[]> {
  return execute(data, 'select id, note from queues');
}

describe('a migration', () => {
  afterEach(() => declare(...declared));

  it('runs with those after it, once, when four open data of an earlier version at once', async () => {
    const { data, current } = await earlierData();
    declare(
      { from: 'older', to: 'first', statements: () => ['drop table calls'] },
      {
        from: 'first',
        to: 'second',
        statements: ({ textType }) => [
          `alter table queues add column note ${textType}`,
          "update queues set note = 'second'",
        ],
      },
      { from: 'second', to: current, statements: () => ["update queues set note = note || ', third'"] },
    );
    await Promise.all([1, 2, 3, 4].map(() => open(data)));
    expect(await queuesWithNotes(data)).toEqual([{ id: 'kept', note: 'second, third' }]);
    expect(await execute(data, 'select digest from schema_version')).toEqual([{ digest: current }]);
    expect(await execute(data, 'select call_id from queue_items')).toEqual([{ call_id: 'c' }]);
    await open(data);
    expect(await queuesWithNotes(data)).toEqual([{ id: 'kept', note: 'second, third' }]);
  });

  it('that fails leaves the data as they were', async () => {
    const { data, current } = await earlierData();
    declare(
      { from: 'first', to: 'second', statements: () => ["update queues set id = 'changed'"] },
      { from: 'second', to: current, statements: () => ['alter table no_table add column note text'] },
    );
    await expect(open(data)).rejects.toThrow();
    expect(await execute(data, 'select id from queues')).toEqual([{ id: 'kept' }]);
    expect(await execute(data, 'select digest from schema_version')).toEqual([{ digest: 'first' }]);
  });

  it('does not run if the last one leads to another schema than this version has', async () => {
    const { data } = await earlierData();
    declare({ from: 'first', to: 'second', statements: () => ["update queues set id = 'changed'"] });
    await expect(open(data)).rejects.toMatchObject({
      code: 'not_configured',
      message: `The ${onPostgres ? 'database' : 'data file'} was made by another version of heddle and has a different schema.`,
    });
    expect(await execute(data, 'select id from queues')).toEqual([{ id: 'kept' }]);
  });
});
