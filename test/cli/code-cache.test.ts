import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { command, emptyHome, run, temporaryFolder } from '../support/heddle.ts';

const requests = [
  {
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
  },
  { method: 'tools/call', params: { name: 'list_queues', arguments: {} } },
].map((request, id) => `${JSON.stringify({ jsonrpc: '2.0', id, ...request })}\n`);

/** A whole session with one call; stderr and exit code are looked at, so that a crash cannot hide. */
async function session(env: Record<string, string>, flags: string[] = []): Promise<void> {
  const { code, stdout, stderr } = await run(['serve', ...flags], env, requests.join(''));
  const [, answer] = stdout.trim().split('\n');
  expect(JSON.parse(answer!).result.structuredContent.queues[0].name).toBe('support-triage');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

/** The folder of kept code in a home, and its files. */
function keptIn(home: string): { folder: string; files: string[] } {
  const caches = join(home, '.cache/heddle');
  const folders = existsSync(caches) ? readdirSync(caches) : [];
  expect(folders.length).toBeLessThan(2);
  return folders[0]
    ? { folder: join(caches, folders[0]), files: readdirSync(join(caches, folders[0])) }
    : { folder: '', files: [] };
}

test('a server keeps compiled code that only its user can read, and the next one starts with it', async () => {
  const home = temporaryFolder();
  await session(emptyHome(home));
  const { folder, files } = keptIn(home);
  expect(files).toContain('serve.cjs');
  expect(files.filter((name) => !name.endsWith('.cjs'))).toEqual([]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const name of files) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  // The second finds the embedded service's file and so does something else. From then on nothing more is compiled: the
  // kept code is taken, and stays as it is.
  await session(emptyHome(home));
  const longAgo = new Date(2020, 0, 1);
  for (const name of files) utimesSync(join(folder, name), longAgo, longAgo);
  await session(emptyHome(home));
  for (const name of files) expect(statSync(join(folder, name)).mtime).toEqual(longAgo);
});

const damages: [string, (code: Buffer) => Buffer][] = [
  ['was cut', (code) => code.subarray(0, code.length / 2)],
  ['is empty', () => Buffer.alloc(0)],
  ['has three bytes', (code) => code.subarray(0, 3)],
  ['has a wrong sector', (code) => Buffer.from(code).fill(0xa5, 100 * 512, 101 * 512)],
  ['has a wrong bit', (code) => Buffer.from(code).fill(code[50_001]! ^ 1, 50_001, 50_002)],
  ['is of zeros', (code) => Buffer.alloc(code.length)],
  ['has more at its end', (code) => Buffer.concat([code, Buffer.from('more')])],
];

test.each(damages)('kept code that %s is not run, and replaced', async (_, damage) => {
  const home = temporaryFolder();
  await session(emptyHome(home));
  const file = join(keptIn(home).folder, 'serve.cjs');
  const whole = readFileSync(file);
  writeFileSync(file, damage(whole));
  await session(emptyHome(home));
  expect(readFileSync(file).length).toBeGreaterThan(whole.length / 2);
  expect(readFileSync(file).equals(damage(whole))).toBe(false);
});

test('code that another version kept is removed after a month without use', async () => {
  const home = temporaryFolder();
  const [old, recent, foreign] = ['0123456789ab-v20.18.1-x64', 'ba9876543210-v22.13.0-x64', 'notes'].map((name) =>
    join(home, '.cache/heddle', name),
  );
  for (const folder of [old!, recent!, foreign!]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(old!, 'serve.cjs'), 'old');
  const days = (count: number): Date => new Date(Date.now() - count * 24 * 3600_000);
  for (const folder of [old!, foreign!]) utimesSync(folder, days(31), days(31));
  utimesSync(recent!, days(29), days(29));
  await session(emptyHome(home));
  expect([old, recent, foreign].map((folder) => existsSync(folder!))).toEqual([false, true, true]);
});

test.runIf(process.getuid?.() === 0)('in the home of another user nothing is kept and nothing is run', async () => {
  const home = temporaryFolder();
  chownSync(home, 1000, 1000);
  await session(emptyHome(home));
  expect(keptIn(home).files).toEqual([]);
});

test('an installation whose files are missing says so, on stderr and by its exit code', async () => {
  const folder = temporaryFolder();
  copyFileSync(command, join(folder, 'heddle.cjs'));
  for (const args of [['serve'], ['status']]) {
    const { code, stdout, stderr } = await run(args, emptyHome(folder), '', join(folder, 'heddle.cjs'));
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^heddle: cannot be loaded, install it anew: /),
    });
  }
});

test('NODE_DISABLE_COMPILE_CACHE=1 keeps nothing, and a cache folder that cannot be made is no failure', async () => {
  const home = temporaryFolder();
  await session(emptyHome(home, { NODE_DISABLE_COMPILE_CACHE: '1' }));
  expect(keptIn(home).files).toEqual([]);
  const file = join(home, 'file');
  writeFileSync(file, '');
  await session(emptyHome(home, { XDG_CACHE_HOME: file }));
});

test('a server with flags as setup writes them starts with kept code too; other forms are left to the parser', async () => {
  const flags = ['--read-only', '--project', 'demo/support', '--tools', 'list_queues'];
  for (const [given, isKept] of [
    [flags, true],
    [[...flags, '--text=json'], false],
  ] as const) {
    const home = temporaryFolder();
    await session(emptyHome(home, { HEDDLE_PROJECT: 'nobody/nowhere' }), [...given]);
    // What a call needs is kept by a server that was loaded with kept code, and not by one of the parser's.
    expect(keptIn(home).files.some((name) => name.startsWith('service-client'))).toBe(isKept);
  }
  const { code, stderr } = await run(['serve', '--read-only', '--project'], emptyHome(temporaryFolder()));
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining("option '--project <entity/project>' argument missing"),
  });
});
