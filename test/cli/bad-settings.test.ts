import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HeddleError } from '../../src/core/errors.ts';
import { createClient, createServer } from '../../src/library.ts';
import { resolveSettings } from '../../src/settings/resolve-settings.ts';
import { type Setting, type SettingName, settingDefinitions, settingNames } from '../../src/settings/settings.ts';
import { emptyHome, noFolders, run, runProcess, temporaryFolder } from '../support/heddle.ts';

const planted = 'Zq7wKxV3pTn9RbYc5';

/** Values of every kind, each with a secret that was put in the wrong place. */
const badValues = {
  'a secret': planted,
  'a URL with a secret in its query': `http://host.example/?key=${planted}`,
  'a URL with a secret in its fragment': `http://host.example/#${planted}`,
  'a URL with a password': `http://user:${planted}@host.example`,
  'a URL of another scheme': `ftp://${planted}.example`,
  'a database URL with an invalid password': `postgres://user:${planted}%zz@host/db`,
  'several lines': `${planted}\nsecond line`,
  'characters beyond ASCII': `${planted}é`,
  'a number with a unit': `10s${planted}`,
  'a negative number': `-1${planted}`,
  'a project with too many parts': `a/b/${planted}`,
};

/** Returns the error of resolving one setting from a source, or undefined if the value is valid. */
function faultOf(
  name: SettingName,
  value: string,
  source: 'flag' | 'environment' | 'profile',
): HeddleError | undefined {
  const { environment, profile }: Setting = settingDefinitions[name];
  try {
    resolveSettings({
      flags: source === 'flag' ? { [name]: value } : {},
      environment: source === 'environment' ? { [environment]: value } : {},
      folders: noFolders,
      profiles: { default: source === 'profile' && profile ? { [profile]: value } : {} },
    });
    return undefined;
  } catch (error) {
    if (error instanceof HeddleError) return error;
    throw error;
  }
}

/** Settings that refuse at least one of the values. The others are free text or lists, which are judged on use. */
const checkedSettings = settingNames.filter((name) =>
  Object.values(badValues).some((value) => faultOf(name, value, 'environment') !== undefined),
);

/** Command lines of every command that reads settings. */
const commandLines: string[][] = [
  [],
  ['serve', '--http', '--port', '0'],
  ['call', 'list_queues'],
  ['tools'],
  ['login', '--password-stdin'],
  ['logout'],
  ['status'],
  ['doctor'],
  ['setup', 'cursor', '--print'],
  ['service', 'start', '--port', '0'],
  ['service', 'add-user', 'ada'],
  ['service', 'list'],
  ['service', 'import', '-', '--queue', 'q'],
  ['service', 'put-prompt', 'p', '-'],
];

/** Fails unless a command ended with exit code 2, a message, a hint, and neither the secret nor a stack. */
function expectRefusal({ code, stdout, stderr }: Awaited<ReturnType<typeof run>>, place: string): void {
  const written = stdout + stderr;
  expect({ code, written }).toMatchObject({ code: 2, written: expect.stringContaining(place) });
  expect(written).not.toContain(planted.slice(0, 8));
  expect(written).not.toMatch(/^\s+at |install heddle again|unexpected failure/m);
  expect(written.trim().split('\n').length).toBeGreaterThanOrEqual(2);
}

describe('a setting with a bad value', () => {
  it('is tested for every setting that restricts its values', () => {
    expect(checkedSettings).toEqual([
      'profile',
      'baseUrl',
      'inferenceUrl',
      'weave',
      'project',
      'token',
      'httpToken',
      'oauthIssuer',
      'publicUrl',
      'loginIssuer',
      'databaseUrl',
      'textIndex',
      'timeoutMs',
      'inferenceTimeoutMs',
      'keychainTimeoutMs',
      'maxResultChars',
      'text',
      'readOnly',
      'logLevel',
      'logFormat',
      'modelProviderUrl',
      'modelProviderKey',
      'scorerEndpoints',
    ]);
  });

  it.each(checkedSettings)('names %s, what it must be and the next step, but not the value', (name) => {
    const { flag, environment, profile }: Setting = settingDefinitions[name];
    const places = { flag: flag?.split(' ')[0] ?? '', environment, profile: `"${profile}" of profile "default"` };
    let refused = 0;
    for (const value of Object.values(badValues)) {
      for (const source of ['flag', 'environment', 'profile'] as const) {
        if ((source === 'flag' && !flag) || (source === 'profile' && !profile)) continue;
        const fault = faultOf(name, value, source);
        if (fault === undefined) continue;
        refused += 1;
        expect(fault.code).toBe('not_configured');
        expect(fault.message).toContain(places[source]);
        expect(fault.hint).toMatch(/^[A-Z].*\.$/);
        expect(JSON.stringify(fault)).not.toContain(planted.slice(0, 8));
      }
    }
    expect(refused).toBeGreaterThan(0);
  });

  it.each(commandLines.map((args) => [args.join(' ') || 'no command', args] as const))(
    'ends `%s` with exit code 2, a message and a hint',
    async (_, args) => {
      const environment = { HEDDLE_BASE_URL: badValues['a URL with a secret in its query'] };
      expectRefusal(await run([...args], emptyHome(temporaryFolder(), environment)), 'HEDDLE_BASE_URL');
    },
  );

  it.each([[], ['serve', '--http', '--port', '0'], ['service', 'start', '--port', '0'], ['status']])(
    'ends %j with exit code 2 for a configuration file that is not JSON, without quoting it',
    async (...args) => {
      const home = temporaryFolder();
      mkdirSync(join(home, 'heddle'));
      writeFileSync(join(home, 'heddle', 'config.json'), `{"profiles": ${planted}`);
      expectRefusal(await run(args, emptyHome(home)), 'config.json');
    },
  );

  it.each([
    ['an unknown flag', ['serve', `--token=${planted}`], "unknown option '--token'"],
    ['a flag that is no number', ['serve', '--http', '--port', planted], "option '--port <port>' is invalid"],
    ['an unknown profile', ['serve', '--profile', planted], '--profile names a profile that does not exist.'],
  ])('ends the command with exit code 2 for %s, without repeating it', async (_, args, message) => {
    expectRefusal(await run(args, emptyHome(temporaryFolder())), message);
  });

  it('ends the command with exit code 2 when the home folder cannot be used', async () => {
    const result = await runProcess(['serve'], { PATH: process.env.PATH!, HOME: `/${'x'.repeat(5_000)}` });
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Set HOME') });
    expect(result.stderr).not.toMatch(/^\s+at /m);
  });

  it('makes the library throw immediately, without repeating the value', () => {
    const url = badValues['a URL with a secret in its query'];
    for (const create of [
      () => createServer({ baseUrl: url }),
      () => createClient({ baseUrl: url }),
      () => createServer({ token: `${planted}\n` }),
      () => createServer({ nonsense: planted } as never),
      () => createClient({} as never),
    ]) {
      try {
        create();
        expect.unreachable();
      } catch (error) {
        expect(error).toMatchObject({ name: 'HeddleError', code: 'not_configured' });
        expect(`${(error as Error).message} ${(error as HeddleError).hint}`).not.toContain(planted.slice(0, 8));
      }
    }
  });
});
