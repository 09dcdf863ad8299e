import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type FakeService, sendResponse, startFakeService } from '../support/fake-service.ts';
import { call, command, emptyHome, type Finished, run, standIn, temporaryFolder } from '../support/heddle.ts';

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

const logout = (...args: string[]): Promise<Finished> => run(['logout', ...args], environment, '', standIn);

describe('heddle login', () => {
  it('checks both secrets and stores them in private files that later commands read', async () => {
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

  it('warns of secrets that are too short to be removed from what a service sends', async () => {
    service.credentials = { username: 'mia', password: 'abcde', token: 'tok-1' };
    const { code, stdout, stderr } = await login(['--password-stdin', '--token-stdin'], 'abcde\ntok-1\n');
    expect(code).toBe(0);
    expect(stdout).toContain('Stored in the credentials file');
    expect(stderr.trim().split('\n')).toEqual(
      ['password', 'token'].map(
        (name) =>
          `heddle: the ${name} has fewer than 6 characters, so heddle cannot remove it from what a service sends back. Choose a longer one.`,
      ),
    );
  });

  it('stores nothing if the service rejects the password', async () => {
    const { code, stderr } = await login(['--password-stdin', '--token-stdin'], 'wrong-horse\ntok-11112222\n');
    expect(code).toBe(1);
    expect(stderr).toContain('The service rejected the credentials (Basic), status 401');
    expect(stderr).toContain('Nothing was stored.');
    expect(stored()).toEqual([]);
  });

  it('stores nothing if the service rejects the token', async () => {
    const { code, stderr } = await login(['--password-stdin', '--token-stdin'], 'correct-horse\ntok-wrong-one\n');
    expect(code).toBe(1);
    expect(stderr).toContain('The service rejected the credentials (Bearer), status 401');
    expect(stored()).toEqual([]);
  });

  it('succeeds with a notice if the service lacks an operation', async () => {
    service.respond = (request) => {
      if (request.path === '/inference/v1/models') sendResponse(request, 404);
      else service.respondNormally(request);
    };
    const { code, stdout } = await login(['--password-stdin', '--token-stdin'], 'correct-horse\ntok-11112222\n');
    expect(code).toBe(0);
    expect(stdout).toContain('password (Basic): accepted by the service');
    expect(stdout).toMatch(/token \(Bearer\): could not be verified\. The service .* status 404/);
    expect(stored()).toEqual(['config.json', 'credentials.json']);
  });

  it('stores nothing if the service fails', async () => {
    service.respond = (request) => sendResponse(request, 500);
    const { code, stderr } = await login(['--password-stdin'], 'correct-horse\n');
    expect(code).toBe(1);
    expect(stderr).toContain('status 500');
    expect(stored()).toEqual([]);
  });

  it('uses one Weave API key as password and token, and lets WANDB_API_KEY override it', async () => {
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

  describe('with a separate inference URL', () => {
    const both = ['--password-stdin', '--token-stdin'];
    const lines = 'correct-horse\ntok-11112222\n';
    const model = { model: 'm', messages: [] };

    it('checks the token there, and stores the address', async () => {
      const inference = await startFakeService({ credentials: right });
      const { code, stdout } = await login(['--inference-url', `${inference.url}/v1/`, ...both], lines);
      expect(code).toBe(0);
      expect(stdout).toContain(`token (Bearer): accepted by ${inference.url}/v1\n`);
      expect(inference.requestLines()).toEqual(['GET /v1/models Bearer tok-11112222']);
      expect(readJson(configFile())).toEqual({
        profiles: {
          default: { base_url: service.url, inference_url: `${inference.url}/v1`, username: 'mia', store: 'file' },
        },
      });
      expect((await call('run_inference', model, environment)).code).toBe(0);
      expect(inference.requestLines().at(-1)).toBe('POST /v1/chat/completions Bearer tok-11112222');

      // A second login keeps the address.
      expect((await login(both, lines)).code).toBe(0);
      expect(inference.requestLines().at(-1)).toBe('GET /v1/models Bearer tok-11112222');
      expect(service.requestLines().join('\n')).not.toContain('Bearer');
    });

    it('forgets the address when the profile logs in to another service', async () => {
      const [inference, other] = await Promise.all([
        startFakeService({ credentials: right }),
        startFakeService({ credentials: right }),
      ]);
      await login(['--inference-url', `${inference.url}/v1`, ...both], lines);
      inference.requests.length = 0;
      const args = ['login', '--store', 'file', '--base-url', other.url, '--username', 'mia', ...both];
      expect((await run(args, environment, lines)).code).toBe(0);
      expect(inference.requests).toEqual([]);
      expect(readJson(configFile())).toEqual({
        profiles: { default: { base_url: other.url, username: 'mia', store: 'file' } },
      });
    });

    it('never sends a stored token to another address', async () => {
      const [inference, other] = await Promise.all([startFakeService(), startFakeService()]);
      await login(['--inference-url', `${inference.url}/v1`, ...both], lines);
      for (const HEDDLE_INFERENCE_URL of [`${other.url}/v1`, `${service.url}/inference/v1`]) {
        const { result } = await call('run_inference', model, { ...environment, HEDDLE_INFERENCE_URL });
        expect(result).toMatchObject({
          code: 'credentials_missing',
          message: `The token of profile "default" in the credentials file belongs to ${inference.url}/v1; it is not sent to ${HEDDLE_INFERENCE_URL}.`,
        });
      }
      await login(both, lines, { HEDDLE_INFERENCE_URL: `${service.url}/inference/v1` });
      const elsewhere = { ...environment, HEDDLE_INFERENCE_URL: `${other.url}/v1`, HEDDLE_PROJECT: 'a/b' };
      expect((await call('run_inference', model, elsewhere)).result.message).toBe(
        `The token of profile "default" in the credentials file belongs to ${service.url}/inference/v1; it is not sent to ${other.url}/v1.`,
      );
      expect((await call('query_queue_items', { queue_id: 'q' }, elsewhere)).code).toBe(0);
      expect(other.requests).toEqual([]);
    });

    it('stores the secrets if only inference cannot be reached, and nothing if it rejects the token', async () => {
      const inference = await startFakeService({ credentials: { ...right, token: 'another-token' } });
      const rejected = await login(['--inference-url', `${inference.url}/v1`, ...both], lines);
      expect(rejected).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('status 401, on GET /v1/models: "401 Error". Nothing was stored.'),
      });
      expect(stored()).toEqual([]);
      await inference.stop();
      const { code, stdout } = await login(['--inference-url', `${inference.url}/v1`, ...both], lines);
      expect(stdout).toContain(
        `token (Bearer): could not be verified. No complete response from ${inference.url} to GET /v1/models: `,
      );
      expect(code).toBe(0);
      expect(stored()).toEqual(['config.json', 'credentials.json']);
    });
  });

  it('exits with 2 before sending anything if there is no keychain, and names both alternatives', async () => {
    const args = ['login', '--base-url', service.url, '--username', 'mia', '--password-stdin'];
    const { code, stderr } = await run(args, environment, 'correct-horse\n', standIn);
    expect(code).toBe(2);
    expect(stderr).toContain('There is no keychain on this machine');
    expect(stderr).toContain('set HEDDLE_USERNAME, HEDDLE_PASSWORD and HEDDLE_TOKEN in the environment');
    expect(stderr).toContain('`heddle login --store file`');
    expect(service.requestLines()).toEqual([]);
  });

  it.each([
    [['login', '--store', 'file', '--password-stdin'], 'pw\n', 'no service: pass --base-url or --weave'],
    [['login', '--store', 'file', '--base-url', 'http://h', '--password-stdin'], 'pw\n', 'a password needs --username'],
    [['login', '--store', 'file', '--base-url', 'http://h', '--token-stdin'], '', 'no token on stdin'],
    [['login', '--store', 'file', '--base-url', 'http://h', '--token-stdin'], 'a b\n', 'the token must be one line'],
    [['login', '--store', 'file', '--base-url', 'http://h'], '', 'stdin is not a terminal'],
    [['login', '--store', 'cloud'], '', 'Allowed choices are keychain, file'],
  ])('exits with 2 for %j', async (args, stdin, message) => {
    const { code, stderr } = await run(args, environment, stdin);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('keeps profiles apart: a new login replaces only its profile, and logout removes only its profile', async () => {
    await login(['--password-stdin', '--token-stdin'], 'correct-horse\ntok-11112222\n');
    await login(['--profile', 'work', '--password-stdin'], 'correct-horse\n');
    await login(['--token-stdin'], 'tok-11112222\n');
    expect(readJson(credentialsFile())).toEqual({
      default: { [service.url]: { token: 'tok-11112222' } },
      work: { [service.url]: { username: 'mia', password: 'correct-horse' } },
    });
    expect((await logout()).stdout).toBe('Removed profile "default" and its secrets.\n');
    expect(readJson(configFile())).toEqual({
      profiles: { work: { base_url: service.url, username: 'mia', store: 'file' } },
    });
    expect(readFileSync(credentialsFile(), 'utf8')).not.toContain('tok-11112222');
    expect((await logout('--profile', 'work')).code).toBe(0);
    expect(stored()).toEqual(['config.json']);
    expect((await logout()).stdout).toBe('There is no profile "default".\n');
  });

  it('removes the secrets of the previous service when the profile logs in to another one', async () => {
    await login(['--password-stdin'], 'correct-horse\n');
    const other = await startFakeService({ credentials: { ...right, password: 'second-horse' } });
    const args = ['login', '--store', 'file', '--base-url', other.url, '--username', 'mia', '--password-stdin'];
    expect((await run(args, environment, 'second-horse\n')).code).toBe(0);
    expect(readJson(credentialsFile())).toEqual({
      default: { [other.url]: { username: 'mia', password: 'second-horse' } },
    });
  });

  it('sends stored secrets only to the service they were stored for', async () => {
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

  it('does not combine a stored password with another user name', async () => {
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

  it('stores nothing if it is interrupted while it checks the credentials', async () => {
    const requested = new Promise<void>((resolve) => {
      service.respond = () => resolve();
    });
    const args = ['login', '--store', 'file', '--base-url', service.url, '--username', 'mia', '--password-stdin'];
    const child = spawn(process.execPath, [command, ...args], { env: environment });
    child.stdin.end('correct-horse\n');
    await requested;
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([null, 'SIGINT']);
    expect(stored()).toEqual([]);
  });

  it('warns about an environment variable that overrides the stored secret', async () => {
    const { stdout } = await login(['--token-stdin'], 'tok-11112222\n', { HEDDLE_TOKEN: 'tok-99998888' });
    expect(stdout).toContain('Note: HEDDLE_TOKEN is set in this environment and overrides what is stored.');
  });
});
