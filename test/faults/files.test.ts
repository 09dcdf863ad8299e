import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startFakeService } from '../support/fake-service.ts';
import { emptyHome, type Finished, run, runProcess, temporaryFolder } from '../support/heddle.ts';
import { onEnd } from '../support/on-end.ts';
import { tally } from '../support/tally.ts';

const service = await startFakeService({
  credentials: { username: 'mia', password: 'correct-horse', token: 'unused' },
});
const login = ['login', '--store', 'file', '--base-url', service.url, '--username', 'mia', '--password-stdin'];

/** Every file that heddle writes: the file, the command that writes it, and its usual content. */
const written = {
  "a client's configuration": { file: '.cursor/mcp.json', args: ['setup', 'cursor', '--yes'], content: '{}' },
  'the configuration file': { file: 'heddle/config.json', args: login, content: '{"profiles":{}}' },
  'the credentials file': { file: 'heddle/credentials.json', args: login, content: '{}' },
  'the data file': { file: 'heddle/heddle.db', args: ['service', 'list'], content: '' },
};
type Written = (typeof written)[keyof typeof written];
const everyFile = Object.entries(written);
const configuration = everyFile.filter(([what]) => what !== 'the data file');

const isRoot = process.getuid?.() === 0;
/** The user and group `nobody` of most systems; any other than root will do. */
const other = 65534;

function write({ args }: Written, home: string): Promise<Finished> {
  return run(args, emptyHome(home), 'correct-horse\n');
}

/** Creates a home with the folder of a file, and returns the path of the file. */
function place({ file }: Written): { home: string; path: string } {
  const home = temporaryFolder();
  const path = join(home, file);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return { home, path };
}

/** Describes everything in a folder: kind, permissions, owner and, of files and links, content. */
function snapshot(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return ['.', ...names].map((name) => {
    const path = join(folder, name);
    const stats = lstatSync(path);
    const { mode, uid, gid, ino } = stats;
    const content = stats.isSymbolicLink() ? readlinkSync(path) : stats.isFile() ? readFileSync(path, 'utf8') : '';
    return `${name} ${mode.toString(8)} ${uid}:${gid} ${ino} ${content}`;
  });
}

async function listenAt(path: string): Promise<void> {
  const server = createServer().listen(path);
  await once(server, 'listening');
  onEnd(() => void server.close());
}

const unusable: [string, (path: string, content: string) => void | Promise<void>][] = [
  ['a folder', (path) => void mkdirSync(path)],
  ['a socket', listenAt],
  [
    'a link to a socket',
    async (path) => {
      await listenAt(`${path}.socket`);
      symlinkSync(`${path}.socket`, path);
    },
  ],
  ['a pipe', (path) => void execFileSync('mkfifo', [path])],
  ['a dangling link', (path) => symlinkSync(`${path}.missing`, path)],
  ['a link to itself', (path) => symlinkSync(path, path)],
];

describe.each(everyFile)('%s', (what, file) => {
  it.each(unusable)('is refused and left as it is if it is %s', async (_, spoil) => {
    const { home, path } = place(file);
    await spoil(path, file.content);
    const before = snapshot(home);
    tally('faults', 1);
    const { code, stdout, stderr } = await write(file, home);
    expect([code === 0, stdout.includes('Done')]).toEqual([false, false]);
    expect(stderr).toContain(path);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(snapshot(home)).toEqual(before);
  });

  it.runIf(isRoot && what !== 'the data file')('is refused if it belongs to another user', async () => {
    const { home, path } = place(file);
    writeFileSync(path, file.content, { mode: 0o600 });
    chownSync(path, other, other);
    const before = snapshot(home);
    const { code, stderr } = await write(file, home);
    expect(code).not.toBe(0);
    expect(stderr).toContain(path);
    expect(stderr).toContain('belongs to another user');
    expect(snapshot(home)).toEqual(before);
  });

  it.runIf(isRoot)('is not created by root in a new folder in the home of another user', async () => {
    const home = temporaryFolder();
    chownSync(home, other, other);
    const { code, stderr } = await write(file, home);
    expect(code).not.toBe(0);
    expect(stderr).toContain(`the folder ${home} belongs to another user (uid 65534); run heddle as that user`);
    expect(readdirSync(home)).toEqual([]);
  });
});

describe('a change of a file', () => {
  it.each(configuration.slice(0, 2))('follows a link to %s', async (_, file) => {
    const { home, path } = place(file);
    const target = join(temporaryFolder(), 'dotfile.json');
    writeFileSync(target, file.content, { mode: 0o600 });
    symlinkSync(target, path);
    expect(await write(file, home)).toMatchObject({ code: 0, stderr: '' });
    expect(readlinkSync(path)).toBe(target);
    expect(readFileSync(target, 'utf8').length).toBeGreaterThan(file.content.length);
  });

  it('keeps the permissions of a configuration file, whatever the umask is', async () => {
    const file = written["a client's configuration"];
    const { home, path } = place(file);
    writeFileSync(path, '{}');
    chmodSync(path, 0o666);
    expect((await write(file, home)).code).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o666);
  });

  it.runIf(isRoot)('keeps the owner and the group of a configuration file', async () => {
    const file = written["a client's configuration"];
    const { home, path } = place(file);
    writeFileSync(path, '{}');
    chownSync(path, 0, other);
    chmodSync(path, 0o640);
    expect((await write(file, home)).code).toBe(0);
    const { uid, gid, mode } = statSync(path);
    expect([uid, gid, mode & 0o777]).toEqual([0, other, 0o640]);
  });

  it.runIf(isRoot)('by root makes the owner of the folder the owner of a new data file', async () => {
    const file = written['the data file'];
    const { home, path } = place(file);
    chownSync(dirname(path), other, other);
    // The write-ahead log goes with the last connection, which the end of the process closes at the latest.
    expect((await runProcess(file.args, emptyHome(home))).code).toBe(0);
    const { uid, gid, mode } = statSync(path);
    expect([uid, gid, mode & 0o777]).toEqual([other, other, 0o600]);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });
});
