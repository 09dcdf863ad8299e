import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadSqlite, openConnection } from '../../../src/service/storage/sqlite/sqlite-connection.ts';
import {
  basic,
  changeFile,
  execute,
  startTestService,
  temporaryFile,
  withStore,
} from '../../support/embedded-service.ts';
import { emptyHome, runProcess, temporaryFolder } from '../../support/heddle.ts';

describe('the data file', () => {
  it.each([
    [
      'it was made with another schema',
      "update schema_version set digest = 'of another schema'",
      'The data file was made by another version of heddle and has a different schema.',
    ],
    [
      'it has no digest of its schema',
      'delete from schema_version',
      'The data file was made by another version of heddle and has a different schema.',
    ],
  ])('is rejected without a change and without a log file beside it if %s', async (_, change, message) => {
    const folder = temporaryFolder();
    const data = join(folder, 'heddle', 'heddle.db');
    // In processes of their own: Node 20's package closes a file only at the end of its process.
    const listQueues = () => runProcess(['call', 'list_queues'], emptyHome(folder));
    expect(await listQueues()).toMatchObject({ code: 0 });
    await changeFile(data, change);
    const before = readFileSync(data);
    expect(readdirSync(dirname(data))).toEqual(['heddle.db']);
    const { code, stderr } = await listQueues();
    expect([code, stderr]).toEqual([1, expect.stringContaining(`heddle: ${message}\n`)]);
    expect(stderr).toContain('(not_configured)');
    expect(readFileSync(data).equals(before)).toBe(true);
    expect(readdirSync(dirname(data))).toEqual(['heddle.db']);
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

  it('stops waiting after 10 s for another process that keeps it locked, and answers other requests meanwhile', async () => {
    const service = await startTestService({ data: temporaryFile('heddle.db') });
    const blocker = openConnection(await loadSqlite(), service.data);
    blocker.exec('begin immediate');
    const startedAt = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: startedAt });
    onTestFinished(() => void vi.useRealTimers());
    let hasAnswer = false;
    const waiting = service.evaluate('p/q', { name: 'waits', dataset: 'x:///d' }).finally(() => {
      hasAnswer = true;
    });
    const isOthersAnswered = async () => (await service.query('q', { project_id: 'p/q' })).status === 200;
    expect([await isOthersAnswered(), await isOthersAnswered(), hasAnswer]).toEqual([true, true, false]);
    vi.setSystemTime(startedAt + 9_000);
    expect([await isOthersAnswered(), await isOthersAnswered(), hasAnswer]).toEqual([true, true, false]);
    vi.setSystemTime(startedAt + 10_001);
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

  it.skipIf(process.getuid?.() === 0)('gives an error if its folder cannot be written (skipped for root)', async () => {
    const data = temporaryFile('locked/heddle.db');
    mkdirSync(fileURLToPath(new URL('.', `file://${data}`)), { mode: 0o500 });
    await expect(startTestService({ data })).rejects.toMatchObject({ code: 'service_unavailable' });
    chmodSync(fileURLToPath(new URL('.', `file://${data}`)), 0o700);
  });

  it.skipIf(process.platform !== 'linux').each([
    ['/dev/null/x/heddle.db', '/dev/null/x is not a folder'],
    ['/proc/x/y/heddle.db', 'ENOENT'],
  ])('is reported as impossible at %s', async (data, reason) => {
    await expect(startTestService({ data })).rejects.toMatchObject({
      code: 'service_unavailable',
      message: `The data file ${data} cannot be created (${reason}).`,
    });
  });

  it('rejects text that SQLite would alter: NUL characters and unpaired surrogates', async () => {
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
