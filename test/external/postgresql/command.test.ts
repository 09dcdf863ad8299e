import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { emptyHome, run, runProcess, temporaryFolder } from '../../support/heddle.ts';
import { Cluster } from '../../support/postgres-cluster.ts';
import { startServiceProcess } from '../../support/service-process.ts';

const cluster = await Cluster.make();
afterAll(() => cluster.remove());
const { password, host } = new URL(cluster.url);
const withoutPassword = `postgres://postgres@${host}/postgres`;

describe('--database and HEDDLE_DATABASE_URL', () => {
  it('rejects a password in the flag without repeating it', async () => {
    for (const url of [cluster.url, `${withoutPassword}?password=${password}`]) {
      const { code, stdout, stderr } = await run(['service', 'list', '--database', url], emptyHome(temporaryFolder()));
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('--database must not contain a password');
      expect(stderr).not.toContain(password);
    }
  });

  it('rejects other URLs without showing their secrets', async () => {
    for (const url of [`mysql://a:${password}@b/c`, password, 'postgres://', `postgres://a:${password}%zz@b/c`]) {
      const { code, stderr } = await run(
        ['service', 'list'],
        emptyHome(temporaryFolder(), { HEDDLE_DATABASE_URL: url }),
      );
      expect(code, url).toBeGreaterThan(0);
      expect(stderr).not.toContain(password);
    }
  });

  it('takes the password from PGPASSWORD or ~/.pgpass, and fails soon without one', async () => {
    // The driver reads both from the environment of its process.
    const args = ['service', 'list', '--database', withoutPassword];
    expect(await runProcess(args, emptyHome(temporaryFolder(), { PGPASSWORD: password }))).toMatchObject({
      code: 0,
      stdout: '[]\n',
    });
    const environment = emptyHome(temporaryFolder());
    writeFileSync(join(environment.HOME!, '.pgpass'), `*:*:*:postgres:${password}\n`, { mode: 0o600 });
    expect(await runProcess(args, environment)).toMatchObject({ code: 0 });
    const started = performance.now();
    const { code, stderr } = await runProcess(args, emptyHome(temporaryFolder()));
    // The server would wait a minute for the password.
    expect(performance.now() - started).toBeLessThan(20_000);
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('PGPASSWORD')]);
    expect(code).toBeGreaterThan(0);
  });

  it('shows the source of the URL in status and doctor, but not the URL', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_DATABASE_URL: cluster.url });
    const status = await run(['status', '--table'], environment);
    expect(status.stdout).toMatch(/database_url +set +.*HEDDLE_DATABASE_URL/);
    const doctor = await run(['doctor'], environment);
    expect(doctor.stdout).toContain('PostgreSQL is reachable, and its tables and indexes are in order');
    for (const { stdout, stderr } of [status, doctor]) expect(stdout + stderr).not.toContain(password);
  });

  it('survives the loss of the database without logging the password at level debug', async () => {
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
});
