import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { Cluster } from '../../support/postgres-cluster.ts';
import { startServiceProcess } from '../../support/service-process.ts';

const cluster = await Cluster.make();
afterAll(() => cluster.remove());
const { password, host } = new URL(cluster.url);
const withoutPassword = `postgres://postgres@${host}/postgres`;

test('a password in the flag is refused, and not repeated', async () => {
  for (const url of [cluster.url, `${withoutPassword}?password=${password}`]) {
    const { code, stdout, stderr } = await run(['service', 'list', '--database', url], emptyHome(temporaryFolder()));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('--database must not hold a password');
    expect(stderr).not.toContain(password);
  }
});

test('what is no address of PostgreSQL is refused, without its secrets', async () => {
  for (const url of [`mysql://a:${password}@b/c`, password, 'postgres://', `postgres://a:${password}%zz@b/c`]) {
    const { code, stderr } = await run(['service', 'list'], emptyHome(temporaryFolder(), { HEDDLE_DATABASE_URL: url }));
    expect(code, url).toBeGreaterThan(0);
    expect(stderr).not.toContain(password);
  }
});

test('the password may come from PGPASSWORD or ~/.pgpass instead', async () => {
  const args = ['service', 'list', '--database', withoutPassword];
  expect(await run(args, emptyHome(temporaryFolder(), { PGPASSWORD: password }))).toMatchObject({
    code: 0,
    stderr: 'nothing is stored\n',
  });
  const environment = emptyHome(temporaryFolder());
  writeFileSync(join(environment.HOME!, '.pgpass'), `*:*:*:postgres:${password}\n`, { mode: 0o600 });
  expect(await run(args, environment)).toMatchObject({ code: 0 });
  const started = performance.now();
  const { code, stderr } = await run(args, emptyHome(temporaryFolder()));
  // The server would wait a minute for the password.
  expect(performance.now() - started).toBeLessThan(20_000);
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('PGPASSWORD')]);
  expect(code).toBeGreaterThan(0);
});

test('status and doctor show where the address is from, and not the address', async () => {
  const environment = emptyHome(temporaryFolder(), { HEDDLE_DATABASE_URL: cluster.url });
  const status = await run(['status'], environment);
  expect(status.stdout).toMatch(/database_url +set +.*HEDDLE_DATABASE_URL/);
  const doctor = await run(['doctor'], environment);
  expect(doctor.stdout).toContain('PostgreSQL answers, and its tables are as they have to be');
  for (const { stdout, stderr } of [status, doctor]) expect(stdout + stderr).not.toContain(password);
});

test('service start with the flag; its log at level debug does not hold the password', async () => {
  const { url, stderr: serviceStderr } = await startServiceProcess({ PGPASSWORD: password }, [
    '--database',
    withoutPassword,
    '--log-level',
    'debug',
  ]);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  cluster.kill();
  expect((await fetch(`${url}/health`)).status).toBe(503);
  cluster.start();
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(serviceStderr()).toContain('health check failed');
  expect(serviceStderr()).not.toContain(password);
});
