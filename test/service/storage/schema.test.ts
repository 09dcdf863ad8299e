import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import {
  basic,
  execute,
  onPostgres,
  startTestService,
  temporaryData,
  withStore,
} from '../../support/embedded-service.ts';

const container = onPostgres ? 'database' : 'data file';

const line = { call_id: 'c', call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };

/** Creates data with a queue and an item. */
async function storedData(): Promise<string> {
  const data = await temporaryData();
  await withStore(data, (store) => store.importItems([JSON.stringify(line)], { projectId: 'p/q', queueId: 'kept' }));
  return data;
}

async function open(data: string): Promise<void> {
  await (await openDatabase(data)).close();
}

/** Returns everything that a refused start must leave as it is: the definitions and the rows of a few tables. */
async function contentsOf(data: string): Promise<string> {
  const definitions = onPostgres
    ? `select concat_ws(' ', table_name, column_name, data_type) as sql from information_schema.columns
        where table_schema = current_schema() order by 1`
    : 'select sql from sqlite_master order by name';
  const tables = ['schema_version', 'queues', 'queue_items', 'calls'].map((table) => `select * from ${table}`);
  return JSON.stringify(await Promise.all([definitions, ...tables].map((sql) => execute(data, sql))));
}

describe('the schema', () => {
  it('is created once when four open empty data at once', async () => {
    const data = await temporaryData();
    await Promise.all([1, 2, 3, 4].map(() => open(data)));
    expect(await execute(data, 'select * from schema_version')).toEqual([
      { digest: expect.stringMatching(/^[A-Za-z0-9]{43}$/) },
    ]);
    const created = await temporaryData();
    await open(created);
    expect(await contentsOf(created)).toBe(await contentsOf(data));
  });

  it('and the data are kept when they are opened again', async () => {
    const data = await storedData();
    const before = await contentsOf(data);
    await open(data);
    expect(await contentsOf(data)).toBe(before);
  });

  it.each([
    ['was made by another version', ["update schema_version set digest = 'of another schema'"]],
    ['has no digest', ['delete from schema_version']],
    [
      'was made by an early development version',
      [
        'drop table schema_version',
        'create table schema_version (version integer)',
        'insert into schema_version values (9)',
      ],
    ],
  ])('is refused and not changed if it %s', async (_, changes) => {
    const data = await storedData();
    for (const sql of changes) await execute(data, sql);
    const before = await contentsOf(data);
    await expect(open(data)).rejects.toMatchObject({
      code: 'not_configured',
      message: `The ${container} was made by another version of heddle and has a different schema.`,
      hint: onPostgres
        ? 'Use the version that made it, or set HEDDLE_DATABASE_URL or --database to another database, or to a schema with ?options=-csearch_path%3DNAME.'
        : 'Use the version that made it, or run `heddle service reset`, which keeps it under another name and begins with a new one.',
    });
    expect(await contentsOf(data)).toBe(before);
  });
});

describe('a process whose data another version has migrated since it started', () => {
  it('stores nothing more, and says so in /health', async () => {
    const data = await storedData();
    const service = await startTestService({ data });
    const create = () =>
      service.send('POST', '/annotation_queues', basic, { project_id: 'p/q', name: 'New', scorer_refs: [] });
    expect((await create()).status).toBe(200);
    await execute(data, "update schema_version set digest = 'of a later version'");
    const before = await contentsOf(data);
    expect(await create()).toMatchObject({
      status: 503,
      body: {
        reason: `Another version of heddle has changed the schema of the ${container} since this process started. Nothing was stored.`,
      },
    });
    expect(await contentsOf(data)).toBe(before);
    expect(await service.send('GET', '/health', undefined)).toMatchObject({
      status: 503,
      body: {
        status: 'unavailable',
        reason: 'Another version of heddle has changed the schema of the data',
        schema: 'of a later version',
      },
    });
  });

  it('keeps a migration waiting while it stores something', async () => {
    const data = await storedData();
    const database = await openDatabase(data);
    const migration = onPostgres
      ? 'lock table schema_version in exclusive mode nowait'
      : "update schema_version set digest = 'of a later version'";
    const attempt = () => execute(data, onPostgres ? `begin; ${migration}; commit` : migration);
    await database.write(async () => {
      await expect(attempt()).rejects.toThrow(onPostgres ? 'could not obtain lock' : 'is locked');
    });
    await attempt();
    await database.close();
  });
});
