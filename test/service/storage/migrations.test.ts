import { describe, expect, it } from 'vitest';
import type { Database } from '../../../src/service/storage/database.ts';
import { type Migration, migrate, migrations } from '../../../src/service/storage/migrations.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { postgresEngine } from '../../../src/service/storage/postgres/open-postgres.ts';
import { sqliteEngine } from '../../../src/service/storage/sqlite/open-sqlite.ts';
import { execute, onPostgres, temporaryData, withStore } from '../../support/embedded-service.ts';

const container = onPostgres ? 'database' : 'data file';

/** Changes the tables and the rows, so that running it twice fails or shows. */
const addColour: Migration = ({ textType }) => [
  `alter table queues add column colour ${textType}`,
  "update queues set name = name || ' (red)', colour = 'red'",
];

const line = { call_id: 'c', call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };

/** Creates data of schema version 1 with a queue and an item. */
async function dataOfVersion1(): Promise<string> {
  const data = await temporaryData();
  await withStore(data, (store) => store.importItems([JSON.stringify(line)], { projectId: 'p/q', queueId: 'kept' }));
  return data;
}

async function open(data: string, list?: readonly Migration[]): Promise<void> {
  await (await openDatabase(data, list)).close();
}

/** Returns the schema version and the digest that are stored. */
const stored = (data: string) => execute(data, 'select * from schema_version');

/** Returns everything that a refused or failed start must leave as it is: the definitions and the rows of a few tables. */
async function contentsOf(data: string): Promise<string> {
  const definitions = onPostgres
    ? `select concat_ws(' ', table_name, column_name, data_type) as sql from information_schema.columns
        where table_schema = current_schema() order by 1`
    : 'select sql from sqlite_master order by name';
  const tables = ['schema_version', 'queues', 'queue_items', 'calls'].map((table) => `select * from ${table}`);
  return JSON.stringify(await Promise.all([definitions, ...tables].map((sql) => execute(data, sql))));
}

describe('a second migration', () => {
  it('runs once and keeps the data when four open the data at once', async () => {
    const data = await dataOfVersion1();
    const [before] = await stored(data);
    const opened: Database[] = await Promise.all(
      [1, 2, 3, 4].map(() => openDatabase(data, [...migrations, addColour])),
    );
    for (const database of opened) {
      const rows = await database.read((transaction) => transaction.selectFrom('queues').selectAll().execute());
      expect(rows).toMatchObject([{ project_id: 'p/q', id: 'kept', name: 'kept (red)', colour: 'red' }]);
      await database.close();
    }
    expect(await execute(data, 'select queue_id, call_id from queue_items')).toEqual([
      { queue_id: 'kept', call_id: 'c' },
    ]);
    const created = await temporaryData();
    await open(created, [...migrations, addColour]);
    expect(await stored(data)).toEqual(await stored(created));
    expect(await stored(data)).toEqual([{ version: 2, digest: expect.stringMatching(/^[A-Za-z0-9]{43}$/) }]);
    expect(await stored(data)).not.toMatchObject([{ digest: before!.digest }]);
  });

  it('is not run again by a process that waited while another one upgraded', async () => {
    const data = await dataOfVersion1();
    const list = [...migrations, addColour];
    const database = await openDatabase(data, list);
    const before = await contentsOf(data);
    const engine = onPostgres ? postgresEngine : sqliteEngine;
    await database.write((transaction) => migrate(transaction, engine, list));
    await database.close();
    expect(await contentsOf(data)).toBe(before);
  });

  it('changes nothing if one of its statements fails', async () => {
    const data = await dataOfVersion1();
    const before = await contentsOf(data);
    const failing: Migration = (engine) => [...addColour(engine), 'insert into no_table values (1)'];
    await expect(open(data, [...migrations, failing])).rejects.toThrow(/no_table/);
    expect(await contentsOf(data)).toBe(before);
    await open(data, [...migrations, addColour]);
    expect(await stored(data)).toMatchObject([{ version: 2 }]);
  });

  it('makes a heddle without the migration refuse the data', async () => {
    const data = await dataOfVersion1();
    await open(data, [...migrations, addColour]);
    const before = await contentsOf(data);
    await expect(open(data)).rejects.toMatchObject({
      code: 'not_configured',
      message: `The ${container} has schema version 2; this heddle supports versions up to 1.`,
    });
    expect(await contentsOf(data)).toBe(before);
  });
});

describe('data with a different schema of the same version', () => {
  const refused = {
    code: 'not_configured',
    message: `The ${container} was made by an unreleased version of heddle and has a different schema.`,
    hint: onPostgres
      ? 'Use the version that made it, or set HEDDLE_DATABASE_URL or --database to another database, or to a schema with ?options=-csearch_path%3DNAME.'
      : 'Use the version that made it, or run `heddle service reset`, which keeps it under another name and begins with a new one.',
  };
  const [createTables] = migrations as [Migration];
  const withIndex: Migration = (engine) => [...createTables(engine), 'create index added on queues (name)'];

  it.each<[string, readonly Migration[], readonly Migration[]]>([
    ['the first migration was another', [withIndex], [createTables]],
    ['the first migration was another, and there is a second now', [withIndex], [createTables, addColour]],
    ['the first of two migrations was another', [withIndex, addColour], [createTables, addColour]],
    ['the second migration was another', [createTables, () => []], [createTables, addColour]],
  ])('is refused and not changed if %s', async (_, made, used) => {
    const data = await temporaryData();
    await open(data, made);
    const before = await contentsOf(data);
    await expect(open(data, used)).rejects.toMatchObject(refused);
    expect(await contentsOf(data)).toBe(before);
    await open(data, made);
  });

  it('is refused and not changed if it has no digest', async () => {
    const data = await dataOfVersion1();
    await execute(data, 'alter table schema_version drop column digest');
    await execute(data, 'update schema_version set version = 9');
    const before = await contentsOf(data);
    await expect(open(data)).rejects.toMatchObject(refused);
    expect(await contentsOf(data)).toBe(before);
  });

  it('is accepted if only the white space of the statements differs', async () => {
    const data = await dataOfVersion1();
    await open(data, [(engine) => createTables(engine).map((statement) => statement.replaceAll(/\s+/g, '\n'))]);
  });
});
