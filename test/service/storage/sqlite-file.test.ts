import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadSqlite, openConnection } from '../../../src/service/storage/sqlite/connection.ts';
import { basic, execute, startTestService, temporaryFile, withStore } from '../../support/embedded-service.ts';
import { outcome, workerFile } from '../../support/storage-worker-process.ts';

describe('the data file', () => {
  it('is rejected and not changed if a newer version wrote it', async () => {
    const data = temporaryFile('heddle.db');
    await withStore(data, async () => {});
    await execute(data, 'update schema_version set version = 99');
    const before = readFileSync(data);
    await expect(startTestService({ data })).rejects.toMatchObject({
      code: 'not_configured',
      message: expect.stringMatching(
        /^The data file has schema version 99; this heddle supports versions up to \d+\.$/,
      ),
    });
    expect(readFileSync(data).equals(before)).toBe(true);
  });

  it('is rejected and not changed if it belongs to another program', async () => {
    const data = temporaryFile('heddle.db');
    await execute(data, 'create table notes (text)');
    const before = readFileSync(data);
    await expect(startTestService({ data })).rejects.toMatchObject({ code: 'not_configured' });
    expect(readFileSync(data).equals(before)).toBe(true);
  });

  it('is rejected and not changed if it is damaged', async () => {
    const data = temporaryFile('heddle.db');
    writeFileSync(data, 'this is no database '.repeat(1000));
    await expect(startTestService({ data })).rejects.toMatchObject({
      code: 'internal',
      message: 'The data file is damaged or is not a heddle data file.',
    });
    expect(readFileSync(data, 'utf8')).toBe('this is no database '.repeat(1000));
  });

  it('gives an error after 10 s if another process keeps it locked, without blocking the event loop', async () => {
    const service = await startTestService({ data: temporaryFile('heddle.db') });
    const blocker = openConnection(await loadSqlite(), service.data);
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
  it.skipIf(process.platform === 'win32')(
    'answers 503 when the disk is full, and keeps every acknowledged write',
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

  it.skipIf(process.getuid?.() === 0)('gives an error if its folder cannot be written (skipped for root)', async () => {
    const data = temporaryFile('locked/heddle.db');
    mkdirSync(fileURLToPath(new URL('.', `file://${data}`)), { mode: 0o500 });
    await expect(startTestService({ data })).rejects.toMatchObject({ code: 'service_unavailable' });
    chmodSync(fileURLToPath(new URL('.', `file://${data}`)), 0o700);
  });

  it('is not given text that it would change: NUL characters and unpaired surrogates', async () => {
    const service = await startTestService({ data: temporaryFile('heddle.db') });
    const feedback = { project_id: 'p/q', weave_ref: 'weave:///p/q/call/c', feedback_type: 'note', payload: {} };
    for (const id of ['a\0b', 'a\ud800b']) {
      expect(await service.send('POST', '/feedback/create', basic, { ...feedback, id })).toMatchObject({ status: 400 });
    }
  });

  it('and its folder are accessible to their owner only', async () => {
    const data = temporaryFile('data/heddle.db');
    await withStore(data, async () => {});
    expect(statSync(data).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(data)).mode & 0o777).toBe(0o700);
  });
});
