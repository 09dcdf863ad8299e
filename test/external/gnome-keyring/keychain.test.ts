import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { type FakeService, startFakeService } from '../../support/fake-service.ts';
import { call, command, emptyHome, type Finished, runProcess, temporaryFolder } from '../../support/heddle.ts';
import { hasSecretService, type KeyringSession, startSession } from '../../support/keychain-session.ts';

const right = { username: 'mia', password: 'correct-horse', token: 'tok-11112222' };

// The library that reads the keychain finds the session in the environment of its process.
describe.skipIf(!hasSecretService)('the keychain in a real Secret Service', () => {
  let service: FakeService;
  let session: KeyringSession;
  beforeEach(async () => {
    [service, session] = await Promise.all([startFakeService({ credentials: right }), startSession()]);
  });

  const login = (stdin: string, ...args: string[]): Promise<Finished> =>
    runProcess(
      ['login', '--base-url', service.url, '--username', 'mia', '--password-stdin', '--token-stdin', ...args],
      session.environment,
      stdin,
    );
  const query = (extra: Record<string, string> = {}) =>
    call('query_queue_items', { queue_id: 'q', project_id: 'a/b' }, { ...session.environment, ...extra }, runProcess);
  const lookup = (profile: string): string | undefined =>
    session.secretTool('lookup', 'service', `heddle/${profile}`, 'username', service.url);

  it('keeps the secrets of a login for later processes until the logout', async () => {
    const { code, stdout } = await login('correct-horse\ntok-11112222\n');
    expect(code).toBe(0);
    expect(stdout).toContain(`Stored in the keychain, profile "default", for ${service.url}.`);
    expect(lookup('default')).toBe('{"username":"mia","password":"correct-horse","token":"tok-11112222"}');
    expect(JSON.parse(readFileSync(join(session.home, 'heddle', 'config.json'), 'utf8'))).toEqual({
      profiles: { default: { base_url: service.url, username: 'mia', store: 'keychain' } },
    });
    expect(readdirSync(join(session.home, 'heddle'))).toEqual(['config.json']);

    expect((await query()).code).toBe(0);
    expect((await call('run_inference', { model: 'm' }, session.environment, runProcess)).code).toBe(0);
    expect(service.requestLines().slice(2)).toEqual([
      'POST /annotation_queues/q/items/query Basic bWlhOmNvcnJlY3QtaG9yc2U=',
      'POST /inference/v1/chat/completions Bearer tok-11112222',
    ]);
    const status = JSON.parse((await runProcess(['status', '--json'], session.environment)).stdout);
    expect(status.secrets).toMatchObject({
      password: { source: 'keychain', name: 'default' },
      token: { source: 'keychain', name: 'default' },
    });
    const doctor = JSON.parse((await runProcess(['doctor', '--json'], session.environment)).stdout);
    expect(doctor.findings).toContainEqual({
      check: 'keychain',
      state: 'ok',
      message: 'can be read, and this profile uses it',
    });

    expect((await runProcess(['logout'], session.environment)).code).toBe(0);
    expect(lookup('default')).toBeUndefined();
    expect(session.secretTool('search', '--all', 'service', 'heddle/default')).toBeUndefined();
  });

  it('keeps profiles apart, and replaces the secrets of a profile at its next login', async () => {
    await login('correct-horse\ntok-11112222\n');
    await login('correct-horse\ntok-11112222\n', '--profile', 'work');
    service.credentials = { ...right, password: 'second-horse' };
    expect((await login('second-horse\ntok-11112222\n', '--profile', 'work')).code).toBe(0);
    expect(lookup('default')).toBe('{"username":"mia","password":"correct-horse","token":"tok-11112222"}');
    expect(lookup('work')).toBe('{"username":"mia","password":"second-horse","token":"tok-11112222"}');
    expect((await query({ HEDDLE_PROFILE: 'work' })).code).toBe(0);
    expect((await query()).result.code).toBe('unauthorized');
    await runProcess(['logout', '--profile', 'work'], session.environment);
    expect(lookup('work')).toBeUndefined();
    expect(lookup('default')).toContain('correct-horse');
  });

  it('returns secrets of 4 kB and non-ASCII secrets unchanged', async () => {
    service.credentials = { username: 'mía 🧵', password: 'påß-🔑-"\\ '.repeat(320), token: 'T0ken~'.repeat(700) };
    const { code, stderr } = await login(
      `${service.credentials.password}\n${service.credentials.token}\n`,
      '--username',
      'mía 🧵',
    );
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect((await query()).code).toBe(0);
  });

  it('is empty after a login with --store file', async () => {
    await login('correct-horse\ntok-11112222\n');
    expect((await login('correct-horse\ntok-11112222\n', '--store', 'file')).code).toBe(0);
    expect(lookup('default')).toBeUndefined();
    expect((await query()).code).toBe(0);
  });

  it('keeps secrets out of files, logs and argument lists', async () => {
    const child = spawn(process.execPath, [command, 'serve', '--log-level', 'debug'], { env: session.environment });
    const logs = text(child.stderr);
    child.stdout.resume();
    const seen: string[] = [];
    service.respond = (request) => {
      // The login has read the secrets and not stored them yet.
      seen.push(...argumentLists(), ...filesBelow(session.home));
      service.respondNormally(request);
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

  it('reports that it is locked, and opens no prompt', async () => {
    await login('correct-horse\ntok-11112222\n');
    session.lock();
    const { code, result } = await query();
    expect(code).toBe(1);
    expect(result.code).toBe('credentials_missing');
    expect(result.message).toContain('The keychain is locked');
    expect(result.hint).toContain('Unlock it, or allow access');
    const doctor = JSON.parse((await runProcess(['doctor', '--json'], session.environment)).stdout);
    expect(doctor.findings).toContainEqual(expect.objectContaining({ check: 'keychain', state: 'failure' }));
    expect(session.output()).not.toContain('SystemPrompter');
    // Credentials in the environment still work.
    expect((await query({ HEDDLE_PASSWORD: 'correct-horse', HEDDLE_USERNAME: 'mia' })).code).toBe(0);
  });

  it('stores nothing when it is locked', async () => {
    session.lock();
    const { code, stderr } = await login('correct-horse\ntok-11112222\n');
    expect(code).toBe(1);
    expect(stderr).toContain('The keychain refused access');
    expect(stderr).toContain('login --store file`');
    expect(existsSync(join(session.home, 'heddle'))).toBe(false);
  });

  it('reports that it hangs after the deadline, and the process exits', async () => {
    await login('correct-horse\ntok-11112222\n');
    session.freeze();
    const { code, result } = await query();
    expect(code).toBe(1);
    expect(result.message).toContain('The keychain hangs: it did not respond within 5000 ms.');
    const again = await login('correct-horse\ntok-11112222\n', '--keychain-timeout-ms', '1000');
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('The keychain hangs: it did not respond within 1000 ms.');
  });

  it('is reported as missing without a message bus, and no other store is used instead', async () => {
    await login('correct-horse\ntok-11112222\n');
    const { DBUS_SESSION_BUS_ADDRESS: _, ...environment } = session.environment;
    const { result } = await call('query_queue_items', { queue_id: 'q', project_id: 'a/b' }, environment, runProcess);
    expect(result.code).toBe('not_configured');
    expect(result.message).toContain('There is no keychain on this machine');
    const home = temporaryFolder();
    const args = ['login', '--base-url', service.url, '--token-stdin'];
    expect((await runProcess(args, emptyHome(home), 'tok-11112222\n')).code).toBe(2);
    expect(existsSync(join(home, 'heddle'))).toBe(false);
  });
});

/** Returns the arguments of every process that this user may inspect. */
function argumentLists(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        return [readFileSync(`/proc/${id}/cmdline`, 'latin1')];
      } catch {
        // The process has ended.
        return [];
      }
    });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
}
