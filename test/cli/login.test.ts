import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type FakeService, sendResponse, startFakeService } from '../support/fake-service.ts';
import { call, command, emptyHome, type Finished, run, temporaryFolder } from '../support/heddle.ts';

const right = { username: 'mia', password: 'correct-horse', token: 'tok-11112222' };

let service: FakeService;
let home: string;
let environment: Record<string, string>;
const configFile = (): string => join(home, 'heddle', 'config.json');
const credentialsFile = (): string => join(home, 'heddle', 'credentials.json');
const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
const stored = (): string[] => (existsSync(join(home, 'heddle')) ? readdirSync(join(home, 'heddle')).sort() : []);

beforeEach(async () => {
  service = await startFakeService({ credentials: right });
  home = temporaryFolder();
  environment = emptyHome(home);
});

function login(args: string[], stdin: string, extra: Record<string, string> = {}): Promise<Finished> {
  return run(
    ['login', '--store', 'file', '--base-url', service.url, '--username', 'mia', ...args],
    { ...environment, ...extra },
    stdin,
  );
}

test('login checks both secrets, stores them privately, and later processes use them', async () => {
  const { code, stdout } = await login(
    ['--project', 'team/app', '--password-stdin', '--token-stdin'],
    'correct-horse\ntok-11112222\n',
  );
  expect(stdout).toContain('password (Basic): accepted by the service\ntoken (Bearer): accepted by the service\n');
  expect(code).toBe(0);
  expect(service.requestLines()).toEqual([
    'POST /annotation_queues/00000000-0000-0000-0000-000000000000/items/query Basic bWlhOmNvcnJlY3QtaG9yc2U=',
    'GET /inference/v1/models Bearer tok-11112222',
  ]);
  expect(readJson(configFile())).toEqual({
    profiles: { default: { base_url: service.url, project: 'team/app', username: 'mia', store: 'file' } },
  });
  expect(statSync(credentialsFile()).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, 'heddle')).mode & 0o777).toBe(0o700);

  service.requests.length = 0;
  expect((await call('query_queue_items', { queue_id: 'q' }, environment)).code).toBe(0);
  expect(service.requestLines()).toEqual(['POST /annotation_queues/q/items/query Basic bWlhOmNvcnJlY3QtaG9yc2U=']);
});

test('a wrong password stores nothing and says who rejected it', async () => {
  const { code, stderr } = await login(['--password-stdin', '--token-stdin'], 'wrong-horse\ntok-11112222\n');
  expect(code).toBe(1);
  expect(stderr).toContain('The service rejected the credentials (Basic), status 401');
  expect(stderr).toContain('Nothing was stored.');
  expect(stored()).toEqual([]);
});

test('a wrong token stores nothing and names its scheme', async () => {
  const { code, stderr } = await login(['--password-stdin', '--token-stdin'], 'correct-horse\ntok-wrong-one\n');
  expect(code).toBe(1);
  expect(stderr).toContain('The service rejected the credentials (Bearer), status 401');
  expect(stored()).toEqual([]);
});

test('a service that lacks an operation is said, not failed', async () => {
  service.respond = (request) => {
    if (request.path === '/inference/v1/models') sendResponse(request, 404);
    else service.respondNormally(request);
  };
  const { code, stdout } = await login(['--password-stdin', '--token-stdin'], 'correct-horse\ntok-11112222\n');
  expect(code).toBe(0);
  expect(stdout).toContain('password (Basic): accepted by the service');
  expect(stdout).toMatch(/token \(Bearer\): not proven\. The service .* status 404/);
  expect(stored()).toEqual(['config.json', 'credentials.json']);
});

test('a service that fails proves nothing, and nothing is stored', async () => {
  service.respond = (request) => sendResponse(request, 500);
  const { code, stderr } = await login(['--password-stdin'], 'correct-horse\n');
  expect(code).toBe(1);
  expect(stderr).toContain('status 500');
  expect(stored()).toEqual([]);
});

test('one Weave API key is password and token, and WANDB_API_KEY counts for that profile', async () => {
  service.credentials = { username: 'api', password: 'weave-key-1234', token: 'weave-key-1234' };
  const args = ['login', '--store', 'file', '--weave', '--base-url', service.url, '--password-stdin'];
  expect((await run(args, environment, 'weave-key-1234\n')).code).toBe(0);
  expect(readJson(configFile())).toEqual({
    profiles: { default: { base_url: service.url, username: 'api', weave: true, store: 'file' } },
  });
  expect(readJson(credentialsFile())).toEqual({
    default: { [service.url]: { username: 'api', password: 'weave-key-1234', token: 'weave-key-1234' } },
  });

  service.requests.length = 0;
  const withKey = { ...environment, HEDDLE_PROJECT: 'a/b', WANDB_API_KEY: 'other-key-5678' };
  expect((await call('query_queue_items', { queue_id: 'q' }, withKey)).result.code).toBe('unauthorized');
  expect(service.requestLines()).toEqual(['POST /annotation_queues/q/items/query Basic YXBpOm90aGVyLWtleS01Njc4']);
});

test('without a keychain login exits 2 and says both ways out, before anything is sent', async () => {
  const args = ['login', '--base-url', service.url, '--username', 'mia', '--password-stdin'];
  const { code, stderr } = await run(args, environment, 'correct-horse\n');
  expect(code).toBe(2);
  expect(stderr).toContain('There is no keychain on this machine');
  expect(stderr).toContain('set HEDDLE_USERNAME, HEDDLE_PASSWORD and HEDDLE_TOKEN in the environment');
  expect(stderr).toContain('`heddle login --store file`');
  expect(service.requestLines()).toEqual([]);
});

test.each([
  [['login', '--store', 'file', '--password-stdin'], 'pw\n', 'no service: give --base-url or --weave'],
  [['login', '--store', 'file', '--base-url', 'http://h', '--password-stdin'], 'pw\n', 'a password needs --username'],
  [['login', '--store', 'file', '--base-url', 'http://h', '--token-stdin'], '', 'no token on stdin'],
  [['login', '--store', 'file', '--base-url', 'http://h', '--token-stdin'], 'a b\n', 'the token must be one line'],
  [['login', '--store', 'file', '--base-url', 'http://h'], '', 'stdin is no terminal'],
  [['login', '--store', 'cloud'], '', 'Allowed choices are keychain, file'],
])('%j is wrong usage', async (args, stdin, says) => {
  const { code, stderr } = await run(args, environment, stdin);
  expect(stderr).toContain(says);
  expect(code).toBe(2);
});

test('profiles stand side by side; a new login replaces its own, logout removes all of its own', async () => {
  await login(['--password-stdin', '--token-stdin'], 'correct-horse\ntok-11112222\n');
  await login(['--profile', 'work', '--password-stdin'], 'correct-horse\n');
  await login(['--token-stdin'], 'tok-11112222\n');
  expect(readJson(credentialsFile())).toEqual({
    default: { [service.url]: { token: 'tok-11112222' } },
    work: { [service.url]: { username: 'mia', password: 'correct-horse' } },
  });
  expect((await run(['logout'], environment)).stdout).toBe('Profile "default" and its secrets are removed.\n');
  expect(readJson(configFile())).toEqual({
    profiles: { work: { base_url: service.url, username: 'mia', store: 'file' } },
  });
  expect(readFileSync(credentialsFile(), 'utf8')).not.toContain('tok-11112222');
  expect((await run(['logout', '--profile', 'work'], environment)).code).toBe(0);
  expect(stored()).toEqual(['config.json']);
  expect((await run(['logout'], environment)).stdout).toBe('There is no profile "default".\n');
});

test('a login at another service removes the secrets of the one before', async () => {
  await login(['--password-stdin'], 'correct-horse\n');
  const other = await startFakeService({ credentials: { ...right, password: 'second-horse' } });
  const args = ['login', '--store', 'file', '--base-url', other.url, '--username', 'mia', '--password-stdin'];
  expect((await run(args, environment, 'second-horse\n')).code).toBe(0);
  expect(readJson(credentialsFile())).toEqual({
    default: { [other.url]: { username: 'mia', password: 'second-horse' } },
  });
});

test('stored secrets never go to another service than the one they were stored for', async () => {
  await login(['--password-stdin', '--token-stdin'], 'correct-horse\ntok-11112222\n');
  const other = await startFakeService({ credentials: right });
  const elsewhere = { ...environment, HEDDLE_BASE_URL: other.url, HEDDLE_PROJECT: 'a/b' };
  const { result } = await call('query_queue_items', { queue_id: 'q' }, elsewhere);
  expect(result).toMatchObject({ code: 'credentials_missing', retryable: false });
  expect(result.message).toBe(
    `The credentials of profile "default" in the credentials file belong to ${service.url}; they are not sent to ${other.url}.`,
  );
  expect(other.requestLines()).toEqual([]);
});

test('a stored password is not paired with the name of somebody else', async () => {
  await login(['--password-stdin'], 'correct-horse\n');
  service.requests.length = 0;
  const { result } = await call(
    'query_queue_items',
    { queue_id: 'q', project_id: 'a/b' },
    {
      ...environment,
      HEDDLE_USERNAME: 'zoe',
    },
  );
  expect(result.code).toBe('credentials_missing');
  expect(result.message).toBe('The stored password belongs to user "mia", not to "zoe".');
  expect(service.requestLines()).toEqual([]);
});

test('an interrupt while the service is asked leaves nothing behind', async () => {
  const asked = new Promise<void>((resolve) => {
    service.respond = () => resolve();
  });
  const args = ['login', '--store', 'file', '--base-url', service.url, '--username', 'mia', '--password-stdin'];
  const child = spawn(process.execPath, [command, ...args], { env: environment });
  child.stdin.end('correct-horse\n');
  await asked;
  child.kill('SIGINT');
  await once(child, 'close');
  expect(stored()).toEqual([]);
});

test('a crash while the file is replaced leaves the old secrets or the new ones, whole', async () => {
  await login(['--password-stdin'], 'correct-horse\n');
  let killed = 0;
  for (let round = 0; round < 8; round++) {
    const password = `horse-number-${round}`;
    service.credentials = { ...right, password };
    const args = ['login', '--store', 'file', '--base-url', service.url, '--username', 'mia', '--password-stdin'];
    const child = spawn(process.execPath, [command, ...args], {
      env: environment,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // The first sign of writing is the end of the process.
    const watcher = watch(join(home, 'heddle'), () => child.kill('SIGKILL'));
    onTestFinished(() => watcher.close());
    child.stdin.end(`${password}\n`);
    const [, signal] = await once(child, 'close');
    if (signal === 'SIGKILL') killed++;
    watcher.close();
    const { default: records } = readJson(credentialsFile()) as { default: Record<string, { password: string }> };
    const found = records[service.url]!.password;
    expect(['correct-horse', ...Array.from({ length: round + 1 }, (_, n) => `horse-number-${n}`)]).toContain(found);
    expect((await run(['status', '--json'], environment)).code).toBe(0);
  }
  expect(killed).toBeGreaterThan(0);
  // What a crash left beside the file goes with the next change.
  service.credentials = right;
  expect((await login(['--password-stdin'], 'correct-horse\n')).code).toBe(0);
  expect(stored()).toEqual(['config.json', 'credentials.json']);
});

test('a variable that goes before the store is said', async () => {
  const { stdout } = await login(['--token-stdin'], 'tok-11112222\n', { HEDDLE_TOKEN: 'tok-99998888' });
  expect(stdout).toContain('Note: HEDDLE_TOKEN is set in this environment and goes before what is stored.');
});
