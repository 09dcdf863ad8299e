import { expect, test } from 'vitest';
import { connect, loadSqlite } from '../../src/service/sqlite.ts';
import { basic, startTestService, temporaryFile, withStore } from './helpers.ts';
import { schema1 } from './schema-1.ts';

async function schemaOf(dataFile: string): Promise<string[]> {
  const connection = connect(await loadSqlite(), dataFile);
  const rows = connection.prepare('select sql from sqlite_master where sql is not null').all() as { sql: string }[];
  connection.close();
  return rows.map(({ sql }) => sql.replaceAll(/\s+/g, ' ').replaceAll('( ', '(')).sort();
}

async function version1(): Promise<string> {
  const dataFile = temporaryFile('heddle.db');
  const connection = connect(await loadSqlite(), dataFile);
  connection.exec(`pragma journal_mode = wal; ${schema1}
    insert into queues values ('p/q', 'old', 'old', null, '[]', '2026-01-01T00:00:00.000Z', 'x', '2026-01-01T00:00:00.000Z', null);
    insert into calls values ('p/q', 'c', 'op', 't', '2026-01-01T00:00:00.000Z', null, '{"inputs":{"x":1}}');
    insert into queue_items values ('item', 'p/q', 'old', 'c', '2026-01-01T00:00:00.000Z', null, 'op', 't', '[]', 'completed',
      null, null, '2026-01-01T00:00:00.000Z', 'x', '2026-01-01T00:00:00.000Z', null);`);
  connection.close();
  return dataFile;
}

test('a file of version 1 keeps what it has and gets what it lacks', async () => {
  const dataFile = await version1();
  const service = await startTestService({ dataFile });
  expect((await service.send('GET', '/health', undefined)).body.schema_version).toBe(2);
  const post = (path: string, body: object) => service.send('POST', path, basic, { project_id: 'p/q', ...body });
  expect((await post('/call/read', { id: 'c' })).body.call).toMatchObject({ id: 'c', inputs: { x: 1 } });
  expect((await service.query('old', { project_id: 'p/q' })).body.items).toMatchObject([{ id: 'item', call_id: 'c' }]);
  const progress = '/annotation_queues/old/items/item/progress';
  expect((await post(progress, { annotation_state: 'in_progress' })).status).toBe(400);
  const feedback = { weave_ref: 'weave:///p/q/call/c', feedback_type: 'note', payload: {} };
  expect((await post('/feedback/create', feedback)).status).toBe(200);
  const fresh = temporaryFile('heddle.db');
  await withStore(fresh, async () => {});
  expect(await schemaOf(dataFile)).toEqual(await schemaOf(fresh));
});

test('several may upgrade a file at once', async () => {
  const dataFile = await version1();
  const services = await Promise.all([1, 2, 3, 4].map(() => startTestService({ dataFile })));
  for (const service of services)
    expect((await service.query('old', { project_id: 'p/q' })).body.items).toHaveLength(1);
  const connection = connect(await loadSqlite(), dataFile);
  expect(connection.prepare('select version from schema_version').all()).toMatchObject([{ version: 2 }]);
  connection.close();
});
