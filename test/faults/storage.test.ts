import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { loadSqlite, openConnection } from '../../src/service/storage/sqlite/connection.ts';
import { command, emptyHome, temporaryFolder } from '../support/heddle.ts';
import { tally } from '../support/tally.ts';

const evaluation = { name: 'E', dataset: 'weave:///demo/support/object/tickets:latest' };

/** A server whose embedded service keeps its data in a folder; `shell` goes before it, to take something away. */
async function start(dataDir: string, shell?: string) {
  const home = temporaryFolder();
  chmodSync(home, 0o755);
  const env = emptyHome(home, { HEDDLE_DATA_DIR: dataDir });
  const [file, args] = shell
    ? ['sh', ['-c', `${shell}; exec "$0" "$@"`, process.execPath, command]]
    : [process.execPath, [command]];
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: file, args, env, stderr: 'ignore' }));
  onTestFinished(() => client.close());
  tally('faults', 1);
  return async (name: string, args: Record<string, unknown>) => {
    const { isError, content, structuredContent } = await client.callTool({ name, arguments: args });
    const [block] = content as unknown as [{ text: string }];
    return isError ? JSON.parse(block.text.split('\n').at(-1)!) : { code: 'ok', ...(structuredContent as object) };
  };
}

test.skipIf(process.platform === 'win32')(
  'a disk that is full: told to the caller, and no index is used up',
  async () => {
    const folder = temporaryFolder();
    // A limit on the size of files fails writes like a full disk does.
    const call = await start(folder, `trap '' XFSZ; ulimit -f 1000`);
    const acknowledged: number[] = [];
    let failure: { code: string } | undefined;
    for (let index = 0; !failure; index += 1) {
      const told = await call('create_evaluation', { ...evaluation, description: `${index} ${'x'.repeat(20_000)}` });
      if (told.code === 'ok') acknowledged.push(told.version_index);
      else failure = told;
    }
    expect(failure).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('could not be written: the disk is full or failing'),
    });
    // Reading goes on.
    expect(await call('query_queue_items', { queue_id: 'support-triage' })).toMatchObject({ code: 'ok' });
    const after = await start(folder);
    expect(await after('create_evaluation', { ...evaluation, description: 'there is room again' })).toMatchObject({
      version_index: acknowledged.length,
    });
    expect(acknowledged).toEqual(acknowledged.map((_, index) => index));
  },
);

test('a data folder that cannot be: told to the caller', async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, 'data');
  writeFileSync(dataDir, 'a file in the place of the folder');
  const call = await start(dataDir);
  for (const [name, args] of [
    ['create_evaluation', evaluation],
    ['list_queues', {}],
  ] as const) {
    const told = await call(name, args);
    expect(told).toMatchObject({ code: 'service_unavailable', hint: expect.stringContaining('HEDDLE_DATA_DIR') });
    expect(JSON.stringify(told)).not.toContain('at ');
  }
  expect(readFileSync(dataDir, 'utf8')).toBe('a file in the place of the folder');
});

test.skipIf(process.platform === 'win32')('a data folder that cannot be written', async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir, { mode: 0o555 });
  chmodSync(folder, 0o755);
  // Root may write everywhere, so that the server runs as somebody else.
  const nobody = 'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0" "$@"';
  const call = await start(dataDir, process.getuid?.() === 0 ? nobody : undefined);
  for (const [name, args] of [
    ['create_evaluation', evaluation],
    ['list_queues', {}],
  ] as const) {
    expect(await call(name, args)).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('cannot be created (EACCES)'),
      hint: expect.stringContaining('permissions'),
    });
  }
  // The same server works once the folder can be written.
  chmodSync(dataDir, 0o777);
  expect(await call('list_queues', {})).toMatchObject({ code: 'ok' });
});

test('a data file of a newer version: told to the caller, not damaged, and nothing beside it', async () => {
  const folder = temporaryFolder();
  const first = await start(folder);
  await first('create_evaluation', evaluation);
  const file = join(folder, 'heddle.db');
  const database = openConnection(await loadSqlite(), file);
  database.exec('update schema_version set version = 99; pragma wal_checkpoint(truncate)');
  database.close();
  const before = readFileSync(file);
  const call = await start(folder);
  for (let time = 0; time < 2; time += 1) {
    expect(await call('create_evaluation', { ...evaluation, name: 'other' })).toMatchObject({
      code: 'not_configured',
      message: expect.stringContaining('schema version 99'),
    });
  }
  expect(readFileSync(file).equals(before)).toBe(true);
  if (existsSync(`${file}-wal`)) expect(readFileSync(`${file}-wal`)).toHaveLength(0);
});
