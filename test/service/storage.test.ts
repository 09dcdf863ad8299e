import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { connect, loadSqlite } from '../../src/service/sqlite.ts';
import { type Answer, startTestService, type TestService, temporaryFile, withStore } from './helpers.ts';

const workerFile = fileURLToPath(new URL('worker.ts', import.meta.url));

function worker(...args: string[]): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', workerFile, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function outcome(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  return { code: await code, stdout, stderr };
}

const four = [0, 1, 2, 3];

test('several processes may make the same fresh file at once', async () => {
  for (let round = 0; round < 3; round += 1) {
    const dataFile = temporaryFile('new/data/heddle.db');
    const outcomes = await Promise.all(four.map(() => outcome(worker('open', dataFile))));
    for (const { code, stdout, stderr } of outcomes) expect([code, stdout, stderr]).toEqual([0, '', '']);
    await withStore(dataFile, async (store) => {
      expect(await store.integrityCheck()).toEqual([]);
      expect((await store.list()).map(({ project_id, queues }) => [project_id, queues[0]?.items])).toEqual([
        ['demo/support', 12],
      ]);
    });
  }
}, 60_000);

test('4 processes make 250 versions each of one name: 1000 different indices from 0 to 999', async () => {
  const dataFile = temporaryFile('heddle.db');
  const outcomes = await Promise.all(four.map((number) => outcome(worker('create', dataFile, String(number), '250'))));
  for (const { code, stderr } of outcomes) expect([code, stderr]).toEqual([0, '']);
  const indices = outcomes.flatMap(({ stdout }) =>
    stdout
      .trim()
      .split('\n')
      .map((line) => Number(line.split(' ')[0])),
  );
  expect(indices.sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, index) => index));
}, 120_000);

test('imports by several processes wait for one another', async () => {
  const dataFile = temporaryFile('heddle.db');
  const outcomes = await Promise.all(
    four.map((number) => outcome(worker('import', dataFile, String(number % 2), '3000'))),
  );
  for (const { code, stderr } of outcomes) expect([code, stderr]).toEqual([0, '']);
  const [listing] = await withStore(dataFile, (store) => store.list());
  expect(listing?.queues[0]?.items).toBe(6000);
}, 60_000);

test('what was acknowledged is there after kill -9', async () => {
  const dataFile = temporaryFile('heddle.db');
  for (let round = 0; round < 3; round += 1) {
    const child = worker('create', dataFile, String(round), '100000');
    const acknowledged = await new Promise<string[]>((resolve) => {
      let seen = '';
      child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
        seen += chunk;
        if (seen.split('\n').length > 30 + round * 17) child.kill('SIGKILL');
      });
      child.once('close', () => resolve(seen.split('\n').slice(0, -1)));
    });
    expect(acknowledged.length).toBeGreaterThan(29);
    await withStore(dataFile, async (store) => {
      const [listing] = await store.list();
      const versions = listing!.objects[0]!.versions;
      expect(await store.integrityCheck()).toEqual([]);
      for (const line of acknowledged) {
        const [index, digest] = line.split(' ');
        expect(versions[Number(index)]).toMatchObject({ digest, version_index: Number(index) });
      }
      expect(versions.map(({ version_index }) => version_index)).toEqual(versions.map((_, index) => index));
    });
  }
}, 60_000);

test('a file of a newer version is refused and left as it is', async () => {
  const dataFile = temporaryFile('heddle.db');
  await withStore(dataFile, async () => {});
  const database = connect(await loadSqlite(), dataFile);
  database.exec('update schema_version set version = 99');
  database.close();
  const before = readFileSync(dataFile);
  await expect(startTestService({ dataFile })).rejects.toMatchObject({
    code: 'not_configured',
    message: expect.stringMatching(/^The data file has schema version 99; this heddle knows versions up to \d+\.$/),
  });
  expect(readFileSync(dataFile).equals(before)).toBe(true);
});

test('a database of another program is refused and left as it is', async () => {
  const dataFile = temporaryFile('other.db');
  const database = connect(await loadSqlite(), dataFile);
  database.exec('create table notes (text)');
  database.close();
  const before = readFileSync(dataFile);
  await expect(startTestService({ dataFile })).rejects.toMatchObject({ code: 'not_configured' });
  expect(readFileSync(dataFile).equals(before)).toBe(true);
});

test('a damaged file is refused and left as it is', async () => {
  const dataFile = temporaryFile('heddle.db');
  writeFileSync(dataFile, 'this is no database '.repeat(1000));
  await expect(startTestService({ dataFile })).rejects.toMatchObject({
    code: 'internal',
    message: 'The data file is damaged or is not a heddle data file.',
  });
  expect(readFileSync(dataFile, 'utf8')).toBe('this is no database '.repeat(1000));
});

test('a file that another process keeps locked is an error after a while, and the event loop stays free', async () => {
  const service = await startTestService();
  const blocker = connect(await loadSqlite(), service.dataFile);
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
    const dataFile = temporaryFile('heddle.db');
    await withStore(dataFile, async () => {});
    const command = [process.execPath, '--import', 'tsx', workerFile, 'create', dataFile, 'x', '100000'].join(' ');
    const child = spawn('sh', ['-c', `trap '' XFSZ; ulimit -f 800; exec ${command}`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout, stderr } = await outcome(child);
    expect(code).toBe(1);
    expect(stderr).toContain('503 {"reason":"The data file could not be written: the disk is full or failing."}');
    const acknowledged = stdout.trim().split('\n');
    expect(acknowledged.length).toBeGreaterThan(3);
    await withStore(dataFile, async (store) => {
      expect(await store.integrityCheck()).toEqual([]);
      expect((await store.list())[0]!.objects[0]!.versions).toHaveLength(acknowledged.length);
    });
  },
);

test.skipIf(process.getuid?.() === 0)('a folder that cannot be written (skipped for root)', async () => {
  const dataFile = temporaryFile('locked/heddle.db');
  mkdirSync(fileURLToPath(new URL('.', `file://${dataFile}`)), { mode: 0o500 });
  await expect(startTestService({ dataFile })).rejects.toMatchObject({ code: 'service_unavailable' });
  chmodSync(fileURLToPath(new URL('.', `file://${dataFile}`)), 0o700);
});

test('close lets a running request finish', async () => {
  let finish = () => {};
  const arrived = new Promise<void>((resolve) => {
    const upstream = createServer((_, response) => {
      finish = () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"late":true}');
      resolve();
    });
    upstream.listen(0, '127.0.0.1', async () => {
      const { port } = upstream.address() as AddressInfo;
      service = await startTestService({ upstream: { url: `http://127.0.0.1:${port}` } });
      answer = service.infer({ model: 'm' });
    });
    afterAll(() => upstream.close());
  });
  let service: TestService | undefined;
  let answer: Promise<Answer> | undefined;
  await arrived;
  const closed = service!.running.close();
  await new Promise((resolve) => setTimeout(resolve, 100));
  finish();
  expect(await answer).toMatchObject({ status: 200, body: { late: true } });
  await closed;
  await expect(fetch(`${service!.running.url}/health`)).rejects.toThrow();
});
