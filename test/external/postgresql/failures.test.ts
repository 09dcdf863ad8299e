import { sql } from 'kysely';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { startService } from '../../../src/service/start-service.ts';
import type { Database, Transaction } from '../../../src/service/storage/database.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { account, execute, TestService, withStore } from '../../support/embedded-service.ts';
import { Cluster } from '../../support/postgres-cluster.ts';
import { proxyTo } from '../../support/tcp-proxy.ts';

const cluster = await Cluster.make();
afterAll(() => cluster.remove());
const root = cluster.url;
let databases = 0;

async function database(): Promise<string> {
  const name = `d${databases++}`;
  await execute(root, `create database ${name}`);
  return Object.assign(new URL(root), { pathname: name }).href;
}

async function serve(data: string): Promise<TestService> {
  const running = await startService({ data, account });
  onTestFinished(() => running.close());
  return new TestService(running, data);
}

/** Opens a database as ten processes would. */
async function openTenTimes(data: string): Promise<Database[]> {
  const processes: Database[] = [];
  for (let n = 0; n < 10; n += 1) processes.push(await openDatabase(data));
  onTestFinished(async () => void (await Promise.all(processes.map((open) => open.close()))));
  return processes;
}

const countDeleted = (transaction: Transaction) =>
  transaction
    .selectFrom('deleted_calls')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();

const version = (description: string) => ({ name: 'e', dataset: 'x:///d', description });
const schema = (url: string, path: string) => `${url}?options=${encodeURIComponent(`-c search_path=${path}`)}`;

describe('the embedded service on PostgreSQL', () => {
  it('reports an unknown outcome, without Retry-After, if the connection is lost during a commit', async () => {
    let cutting = false;
    const service = await serve(
      await proxyTo(await database(), (sent) => (cutting && /commit/.test(sent) ? 'cut' : 'pass')),
    );
    cutting = true;
    const lost = await service.evaluate('p/q', version('lost'));
    cutting = false;
    expect(lost).toMatchObject({
      status: 503,
      body: { reason: expect.stringContaining('may or may not have been saved') },
    });
    expect(lost.headers.get('retry-after')).toBeNull();
    expect(await service.evaluate('p/q', version('next'))).toMatchObject({ status: 200 });
  });

  it('saves nothing and sends Retry-After if the connection is lost before the commit', async () => {
    let cutting = false;
    const service = await serve(
      await proxyTo(await database(), (sent) => (cutting && /insert/.test(sent) ? 'cut' : 'pass')),
    );
    cutting = true;
    const lost = await service.evaluate('p/q', version('lost'));
    cutting = false;
    expect(lost).toMatchObject({
      status: 503,
      body: { reason: expect.stringMatching(/^The database cannot be reached/) },
    });
    expect(lost.headers.get('retry-after')).toBe('1');
    expect(await service.evaluate('p/q', version('next'))).toMatchObject({ status: 200, body: { version_index: 0 } });
  });

  it('reads while any number of changes is in progress', async () => {
    const open = await openDatabase(await database());
    onTestFinished(() => open.close());
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const writes = Array.from({ length: 30 }, () => open.write(() => released));
    expect(await open.read(async () => 'read')).toBe('read');
    release();
    await Promise.all(writes);
  });

  it('repeats changes of ten processes that conflict once each, one after another', async () => {
    const processes = await openTenTimes(await database());
    let waiting = processes.length;
    let proceed = (): void => {};
    const allHaveRead = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    let attempts = 0;
    await Promise.all(
      processes.map((open) =>
        open.write(async (transaction) => {
          attempts += 1;
          const { count } = await countDeleted(transaction);
          if (--waiting === 0) proceed();
          await allHaveRead;
          await transaction.insertInto('deleted_calls').values({ project_id: 'p/q', id: count }).execute();
        }),
      ),
    );
    expect(await processes[0]!.read(countDeleted)).toEqual({ count: '10' });
    // One of the first ten succeeds.
    expect(attempts).toBe(19);
  });

  it('runs work in turn once, whatever ten processes do at the same time', async () => {
    const processes = await openTenTimes(await database());
    const counts: string[] = [];
    await Promise.all(
      processes.map((open) =>
        open.writeInTurn(async (transaction) => {
          const { count } = await countDeleted(transaction);
          counts.push(count);
          await transaction.insertInto('deleted_calls').values({ project_id: 'p/q', id: count }).execute();
        }),
      ),
    );
    expect(counts).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
  });

  it('gives up on a server that accepts connections but never responds', async () => {
    const silent = await proxyTo(root, () => 'swallow');
    const started = performance.now();
    await expect(withStore(silent, async () => {})).rejects.toMatchObject({
      code: 'service_unavailable',
      retryable: true,
    });
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it('queues requests when all connections are in use', async () => {
    const service = await serve(await database());
    const answers = await Promise.all(Array.from({ length: 200 }, () => service.query('q', { project_id: 'p/q' })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const [row] = await execute(
      service.data,
      'select count(*) from pg_stat_activity where datname = current_database()',
    );
    expect(Number(row!.count)).toBeLessThanOrEqual(11);
  });

  it('gives an error after 10 s if another client keeps a lock, while reads continue', async () => {
    const service = await serve(await database());
    const blocker = execute(service.data, 'begin; lock table objects in exclusive mode; select pg_sleep(12)');
    await new Promise((resolve) => setTimeout(resolve, 300));
    const waiting = service.evaluate('p/q', version('waits'));
    expect((await service.send('GET', '/v2/p/q/scorers', `Basic ${btoa('tester:pass:word')}`)).status).toBe(200);
    const answer = await waiting;
    expect(answer).toMatchObject({
      status: 503,
      body: { reason: expect.stringContaining('in the way for 10 seconds') },
    });
    expect(answer.headers.get('retry-after')).toBe('1');
    await blocker;
    expect((await service.evaluate('p/q', version('waits'))).status).toBe(200);
  });

  it('rejects text that PostgreSQL cannot store', async () => {
    const service = await serve(await database());
    const random = Array.from({ length: 400 }, () => Math.random().toString(36)).join('');
    const body = {
      project_id: 'p/q',
      weave_ref: 'weave:///p/q/call/c',
      feedback_type: 'note',
      payload: { text: 'a\0b' },
    };
    const create = (members: object) =>
      service.send('POST', '/feedback/create', `Basic ${btoa('tester:pass:word')}`, { ...body, ...members });
    expect(await create({})).toMatchObject({ status: 200, body: { payload: { text: 'a\0b' } } });
    for (const id of ['a\0b', random]) expect(await create({ id })).toMatchObject({ status: 400 });
  });

  it('can use its own schema in a shared database', async () => {
    const data = await database();
    await execute(data, 'create table notes (text text); create schema heddle');
    await expect(withStore(data, async () => {})).rejects.toMatchObject({
      code: 'not_configured',
      message: 'The database belongs to another program.',
      hint: expect.stringContaining('search_path'),
    });
    const url = schema(data, 'heddle');
    await withStore(url, (store) => store.addUser('ada', 'all'));
    expect(await execute(data, 'select name from heddle.accounts')).toEqual([{ name: 'ada' }]);
    await execute(data, 'delete from heddle.schema_version');
    await expect(withStore(url, async () => {})).rejects.toMatchObject({
      code: 'not_configured',
      message: 'The database was made by another version of heddle and has a different schema.',
    });
    await expect(withStore(schema(data, 'nowhere'), async () => {})).rejects.toMatchObject({ code: 'not_configured' });
  });

  it('explains a wrong URL without showing its secrets', async () => {
    const wrong = (change: Partial<URL>) => Object.assign(new URL(root), change).href;
    for (const [url, code] of [
      [wrong({ password: 'not-the-password' }), 'not_configured'],
      [wrong({ username: 'nobody' }), 'not_configured'],
      [wrong({ pathname: 'nothing' }), 'not_configured'],
      [wrong({ port: '1' }), 'service_unavailable'],
      [wrong({ hostname: 'nowhere.invalid' }), 'service_unavailable'],
      [`${root}?sslmode=verify-full`, 'service_unavailable'],
    ] as const) {
      const error = await withStore(url, async () => {}).then(
        () => undefined,
        (error) => error,
      );
      expect(error, url).toMatchObject({ code, status: 503 });
      const everything = JSON.stringify(error) + String(error.cause) + error.stack;
      expect(everything).not.toContain(new URL(url).password);
    }
  });

  it('finds invalid indexes and wrong collations in its integrity check', async () => {
    const data = await database();
    await withStore(data, async (store) => {
      expect(await store.integrityCheck()).toEqual([]);
      await execute(data, 'alter table accounts alter column name type text collate "en-x-icu"');
      await execute(data, "update pg_index set indisvalid = false where indexrelid = 'queue_items_by_trace'::regclass");
      expect((await store.integrityCheck()).sort()).toEqual([
        'column accounts.name is not in byte order',
        'index queue_items_by_trace is invalid',
      ]);
    });
  });

  it('compiles no statement and starts no workers for a short one, which would take longer than it saves', async () => {
    const db = await openDatabase(await database());
    onTestFinished(() => db.close());
    const settings = [db.read, db.write].map((transact) =>
      transact(async (transaction) => {
        const shown = sql`select current_setting('jit') as jit, current_setting('parallel_setup_cost') as workers`;
        return (await shown.execute(transaction)).rows;
      }),
    );
    const expected = [{ jit: 'off', workers: '10000' }];
    expect(await Promise.all(settings)).toEqual([expected, expected]);
  });
});
