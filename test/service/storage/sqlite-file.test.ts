import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { connect, loadSqlite } from '../../../src/service/storage/sqlite/connection.ts';
import { execute, startTestService, temporaryFile, withStore } from '../../support/embedded-service.ts';
import { outcome, workerFile } from '../../support/storage-worker-process.ts';

test('a file of a newer version is refused and left as it is', async () => {
  const data = temporaryFile('heddle.db');
  await withStore(data, async () => {});
  await execute(data, 'update schema_version set version = 99');
  const before = readFileSync(data);
  await expect(startTestService({ data })).rejects.toMatchObject({
    code: 'not_configured',
    message: expect.stringMatching(/^The data file has schema version 99; this heddle knows versions up to \d+\.$/),
  });
  expect(readFileSync(data).equals(before)).toBe(true);
});

test('a database of another program is refused and left as it is', async () => {
  const data = temporaryFile('heddle.db');
  await execute(data, 'create table notes (text)');
  const before = readFileSync(data);
  await expect(startTestService({ data })).rejects.toMatchObject({ code: 'not_configured' });
  expect(readFileSync(data).equals(before)).toBe(true);
});

test('a damaged file is refused and left as it is', async () => {
  const data = temporaryFile('heddle.db');
  writeFileSync(data, 'this is no database '.repeat(1000));
  await expect(startTestService({ data })).rejects.toMatchObject({
    code: 'internal',
    message: 'The data file is damaged or is not a heddle data file.',
  });
  expect(readFileSync(data, 'utf8')).toBe('this is no database '.repeat(1000));
});

test('a file that another process keeps locked is an error after a while, and the event loop stays free', async () => {
  const service = await startTestService({ data: temporaryFile('heddle.db') });
  const blocker = connect(await loadSqlite(), service.data);
  blocker.exec('begin immediate');
  const waiting = service.evaluate('p/q', { name: 'waits', dataset: 'x:///d' });
  await new Promise((resolve) => setTimeout(resolve, 200));
  const started = performance.now();
  expect((await service.query('q', { project_id: 'p/q' })).status).toBe(200);
  expect(performance.now() - started).toBeLessThan(500);
  const answer = await waiting;
  blocker.exec('rollback');
  blocker.close();
  expect(answer).toMatchObject({
    status: 503,
    body: { reason: 'The data file stayed locked by another process for 10 seconds.' },
  });
  expect(answer.headers.get('retry-after')).toBe('1');
  expect((await service.evaluate('p/q', { name: 'waits', dataset: 'x:///d' })).status).toBe(200);
});

// A limit on the size of files fails writes like a full disk does.
test.skipIf(process.platform === 'win32')(
  'a write that fails is a 503 that says so, and nothing is half written',
  async () => {
    const data = temporaryFile('heddle.db');
    await withStore(data, async () => {});
    const command = [process.execPath, '--import', 'tsx', workerFile, 'create', data, 'x', '100000'].join(' ');
    const child = spawn('sh', ['-c', `trap '' XFSZ; ulimit -f 800; exec ${command}`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout, stderr } = await outcome(child);
    expect(code).toBe(1);
    expect(stderr).toContain('503 {"reason":"The data file could not be written: the disk is full or failing."}');
    const acknowledged = stdout.trim().split('\n');
    expect(acknowledged.length).toBeGreaterThan(3);
    await withStore(data, async (store) => {
      expect(await store.integrityCheck()).toEqual([]);
      expect((await store.list())[0]!.objects[0]!.versions).toHaveLength(acknowledged.length);
    });
  },
);

test.skipIf(process.getuid?.() === 0)('a folder that cannot be written (skipped for root)', async () => {
  const data = temporaryFile('locked/heddle.db');
  mkdirSync(fileURLToPath(new URL('.', `file://${data}`)), { mode: 0o500 });
  await expect(startTestService({ data })).rejects.toMatchObject({ code: 'service_unavailable' });
  chmodSync(fileURLToPath(new URL('.', `file://${data}`)), 0o700);
});

test('folder and file belong to the user alone', async () => {
  const data = temporaryFile('data/heddle.db');
  await withStore(data, async () => {});
  expect(statSync(data).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(data)).mode & 0o777).toBe(0o700);
});
