import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, test } from 'vitest';
import { call, command, emptyHome, type Finished, run, temporaryFolder } from '../../support/heddle.ts';
import { type KeyringSession, ready, startSession } from '../../support/keychain-session.ts';
import { type Stub, startStub } from '../../support/stub-service.ts';

const right = { username: 'mia', password: 'correct-horse', token: 'tok-11112222' };

describe.runIf(ready)('a real Secret Service', () => {
  let stub: Stub;
  let session: KeyringSession;
  beforeEach(async () => {
    [stub, session] = await Promise.all([startStub(right), startSession()]);
  });

  const login = (stdin: string, ...args: string[]): Promise<Finished> =>
    run(
      ['login', '--base-url', stub.url, '--username', 'mia', '--password-stdin', '--token-stdin', ...args],
      session.environment,
      stdin,
    );
  const query = (extra: Record<string, string> = {}) =>
    call('query_queue_items', { queue_id: 'q', project_id: 'a/b' }, { ...session.environment, ...extra });
  const lookup = (profile: string): string | undefined =>
    session.secretTool('lookup', 'service', `heddle/${profile}`, 'username', stub.url);

  test('login puts secrets in, a later process finds them, secret-tool sees them, logout removes them', async () => {
    const { code, stdout } = await login('correct-horse\ntok-11112222\n');
    expect(code).toBe(0);
    expect(stdout).toContain(`Stored in the keychain, profile "default", for ${stub.url}.`);
    expect(lookup('default')).toBe('{"username":"mia","password":"correct-horse","token":"tok-11112222"}');
    expect(JSON.parse(readFileSync(join(session.home, 'heddle', 'config.json'), 'utf8'))).toEqual({
      profiles: { default: { base_url: stub.url, username: 'mia', store: 'keychain' } },
    });
    expect(readdirSync(join(session.home, 'heddle'))).toEqual(['config.json']);

    expect((await query()).code).toBe(0);
    expect((await call('run_inference', { model: 'm' }, session.environment)).result.code).toBe('validation_failed');
    expect(stub.requests.slice(2)).toEqual([
      'POST /annotation_queues/q/items/query Basic bWlhOmNvcnJlY3QtaG9yc2U=',
      'POST /inference/v1/chat/completions Bearer tok-11112222',
    ]);
    const status = JSON.parse((await run(['status', '--json'], session.environment)).stdout);
    expect(status.secrets).toMatchObject({
      password: { source: 'keychain', name: 'default' },
      token: { source: 'keychain', name: 'default' },
    });
    const doctor = JSON.parse((await run(['doctor', '--json'], session.environment)).stdout);
    expect(doctor.findings).toContainEqual({
      check: 'keychain',
      state: 'ok',
      says: 'can be read, and this profile uses it',
    });

    expect((await run(['logout'], session.environment)).code).toBe(0);
    expect(lookup('default')).toBeUndefined();
    expect(session.secretTool('search', '--all', 'service', 'heddle/default')).toBeUndefined();
  });

  test('profiles are kept apart, and a new login replaces its own', async () => {
    await login('correct-horse\ntok-11112222\n');
    await login('correct-horse\ntok-11112222\n', '--profile', 'work');
    stub.credentials = { ...right, password: 'second-horse' };
    expect((await login('second-horse\ntok-11112222\n', '--profile', 'work')).code).toBe(0);
    expect(lookup('default')).toBe('{"username":"mia","password":"correct-horse","token":"tok-11112222"}');
    expect(lookup('work')).toBe('{"username":"mia","password":"second-horse","token":"tok-11112222"}');
    expect((await query({ HEDDLE_PROFILE: 'work' })).code).toBe(0);
    expect((await query()).result.code).toBe('unauthorized');
    await run(['logout', '--profile', 'work'], session.environment);
    expect(lookup('work')).toBeUndefined();
    expect(lookup('default')).toContain('correct-horse');
  });

  test('secrets of 4 kB and beyond ASCII come back as they were', async () => {
    stub.credentials = { username: 'mía 🧵', password: 'påß-🔑-"\\ '.repeat(320), token: 'T0ken~'.repeat(700) };
    const { code, stderr } = await login(
      `${stub.credentials.password}\n${stub.credentials.token}\n`,
      '--username',
      'mía 🧵',
    );
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect((await query()).code).toBe(0);
  });

  test('--store file after the keychain leaves nothing in the keychain', async () => {
    await login('correct-horse\ntok-11112222\n');
    expect((await login('correct-horse\ntok-11112222\n', '--store', 'file')).code).toBe(0);
    expect(lookup('default')).toBeUndefined();
    expect((await query()).code).toBe(0);
  });

  test('no file, log or argument list holds a secret during a run', async () => {
    const child = spawn(process.execPath, [command, 'serve', '--log-level', 'debug'], { env: session.environment });
    const logs = text(child.stderr);
    child.stdout.resume();
    const seen: string[] = [];
    stub.intercept = () => {
      // While login is checking, with everything read and nothing stored yet.
      seen.push(...argumentLists(), ...filesBelow(session.home));
      return false;
    };
    expect((await login('correct-horse\ntok-11112222\n')).code).toBe(0);
    expect((await query()).code).toBe(0);
    child.stdin.end();
    await once(child, 'close');
    seen.push(...filesBelow(session.home), await logs);
    expect(seen.length).toBeGreaterThan(20);
    expect(seen.some((written) => written.includes('heddle.js'))).toBe(true);
    const forms = ['correct-horse', 'tok-11112222', 'bWlhOmNvcnJlY3QtaG9yc2U', 'Y29ycmVjdC1ob3JzZ'];
    expect(seen.filter((written) => forms.some((form) => written.includes(form)))).toEqual([]);
  });

  test('a locked keychain is an error that says so, and nobody is asked', async () => {
    await login('correct-horse\ntok-11112222\n');
    session.lock();
    const { code, result } = await query();
    expect(code).toBe(1);
    expect(result.code).toBe('credentials_missing');
    expect(result.message).toContain('The keychain is locked');
    expect(result.hint).toContain('Unlock it, or allow access');
    const doctor = JSON.parse((await run(['doctor', '--json'], session.environment)).stdout);
    expect(doctor.findings).toContainEqual(expect.objectContaining({ check: 'keychain', state: 'failure' }));
    expect(session.said()).not.toContain('SystemPrompter');
    // What the environment has is used all the same.
    expect((await query({ HEDDLE_PASSWORD: 'correct-horse', HEDDLE_USERNAME: 'mia' })).code).toBe(0);
  });

  test('a login that may not unlock the keychain stores nothing', async () => {
    session.lock();
    const { code, stderr } = await login('correct-horse\ntok-11112222\n');
    expect(code).toBe(1);
    expect(stderr).toContain('The keychain refused access');
    expect(stderr).toContain('`heddle login --store file`');
    expect(existsSync(join(session.home, 'heddle'))).toBe(false);
  });

  test('a keychain that hangs is an error after the deadline, and every process exits', async () => {
    await login('correct-horse\ntok-11112222\n');
    session.freeze();
    const { code, result } = await query();
    expect(code).toBe(1);
    expect(result.message).toContain('The keychain hangs: it did not respond within 5000 ms.');
    const again = await login('correct-horse\ntok-11112222\n', '--keychain-timeout-ms', '1000');
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('The keychain hangs: it did not respond within 1000 ms.');
  });

  test('without a message bus there is no keychain, and no other store takes its place', async () => {
    await login('correct-horse\ntok-11112222\n');
    const { DBUS_SESSION_BUS_ADDRESS: _, ...environment } = session.environment;
    const { result } = await call('query_queue_items', { queue_id: 'q', project_id: 'a/b' }, environment);
    expect(result.code).toBe('not_configured');
    expect(result.message).toContain('There is no keychain on this machine');
    const home = temporaryFolder();
    const args = ['login', '--base-url', stub.url, '--token-stdin'];
    expect((await run(args, emptyHome(home), 'tok-11112222\n')).code).toBe(2);
    expect(existsSync(join(home, 'heddle'))).toBe(false);
  });
});

/** The arguments of every process of this machine that may be looked at. */
function argumentLists(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        return [readFileSync(`/proc/${id}/cmdline`, 'latin1')];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
}
