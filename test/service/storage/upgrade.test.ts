import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  basic,
  execute,
  onPostgres,
  startTestService,
  temporaryData,
  withStore,
} from '../../support/embedded-service.ts';
import { schema1 } from '../../support/schema-1.ts';

/** Returns the definitions of the tables, sorted and with normalised white space. */
async function schemaOf(data: string): Promise<string[]> {
  const rows = await execute(data, onPostgres ? postgresSchema : 'select sql from sqlite_master where sql is not null');
  return rows.map(({ sql }) => String(sql).replaceAll(/\s+/g, ' ').replaceAll('( ', '(')).sort();
}

const postgresSchema = `
  select concat_ws(' ', table_name, column_name, data_type, collation_name, is_nullable) as sql
    from information_schema.columns where table_schema = current_schema()
  union all select indexdef from pg_indexes where schemaname = current_schema()
  union all select conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint
    where connamespace = current_schema()::regnamespace`;

const rows = `
  insert into queues values ('p/q', 'old', 'old', null, '[]', '2026-01-01T00:00:00.000Z', 'x', '2026-01-01T00:00:00.000Z', null);
  insert into calls values ('p/q', 'c', 'op', 't', '2026-01-01T00:00:00.000Z', null, '{"inputs":{"x":1}}');
  insert into queue_items values ('item', 'p/q', 'old', 'c', '2026-01-01T00:00:00.000Z', null, 'op', 't', '[]', 'completed',
    null, null, '2026-01-01T00:00:00.000Z', 'x', '2026-01-01T00:00:00.000Z', null);`;

async function version1(): Promise<string> {
  const data = await temporaryData();
  if (!onPostgres) mkdirSync(dirname(data));
  const schema = onPostgres
    ? schema1.replaceAll('" text', '" text collate "C"')
    : `pragma journal_mode = wal; ${schema1}`;
  for (const statement of `${schema} ${rows}`.split(';').slice(0, -1)) await execute(data, statement);
  return data;
}

describe('a database of schema version 1', () => {
  it('keeps its data and gets the current schema', async () => {
    const data = await version1();
    const service = await startTestService({ data });
    expect((await service.send('GET', '/health', undefined)).body.schema_version).toBe(2);
    const post = (path: string, body: object) => service.send('POST', path, basic, { project_id: 'p/q', ...body });
    expect((await post('/call/read', { id: 'c' })).body.call).toMatchObject({ id: 'c', inputs: { x: 1 } });
    expect((await service.query('old', { project_id: 'p/q' })).body.items).toMatchObject([
      { id: 'item', call_id: 'c' },
    ]);
    const progress = '/annotation_queues/old/items/item/progress';
    expect((await post(progress, { annotation_state: 'in_progress' })).status).toBe(400);
    const feedback = { weave_ref: 'weave:///p/q/call/c', feedback_type: 'note', payload: {} };
    expect((await post('/feedback/create', feedback)).status).toBe(200);
    const fresh = await temporaryData();
    await withStore(fresh, async () => {});
    expect(await schemaOf(data)).toEqual(await schemaOf(fresh));
  });

  it('can be upgraded by several processes at once', async () => {
    const data = await version1();
    const services = await Promise.all([1, 2, 3, 4].map(() => startTestService({ data })));
    for (const service of services)
      expect((await service.query('old', { project_id: 'p/q' })).body.items).toHaveLength(1);
    expect(await execute(data, 'select version from schema_version')).toMatchObject([{ version: 2 }]);
  });
});
