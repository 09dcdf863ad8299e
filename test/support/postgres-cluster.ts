import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

import { freePort } from './free-port.ts';

const password = 'the-password-of-the-tests';
const debian = '/usr/lib/postgresql';

/** A PostgreSQL server in a temporary folder, on a loopback port that it keeps across restarts. */
export class Cluster {
  readonly url: string;
  readonly #folder: string;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  }

  /** Creates a server and starts it. */
  static async make(): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), 'heddle-postgres-'));
    const port = await freePort();
    const secret = join(folder, 'password');
    writeFileSync(secret, password);
    // initdb and postgres refuse to run as root.
    if (isRoot) for (const path of [folder, secret]) chownSync(path, idOf('-u'), idOf('-g'));
    run('initdb', '--pgdata', join(folder, 'data'), '--username=postgres', `--pwfile=${secret}`, ...initOptions);
    const cluster = new Cluster(folder, port);
    cluster.start();
    return cluster;
  }

  /** Stops the server as a crash would: connections break, and nothing is finished. */
  kill(): void {
    run('pg_ctl', 'stop', '--wait', '--mode=immediate', ...this.#at);
  }

  start(): void {
    const settings = `-c port=${new URL(this.url).port} -c unix_socket_directories=${this.#folder} ${quick}`;
    run('pg_ctl', 'start', '--wait', ...this.#at, '--log', join(this.#folder, 'log'), '--options', settings);
  }

  remove(): void {
    this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #at(): string[] {
    return ['--pgdata', join(this.#folder, 'data')];
  }
}

/** Sorts text by language, so that queries that rely on the byte order fail. */
const initOptions = [
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  '--locale-provider=icu',
  '--icu-locale=en',
  '--no-sync',
];
/** No test crashes the machine, so nothing has to reach the disk. */
const quick = '-c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off -c max_connections=200';

const isRoot = process.getuid?.() === 0;

function idOf(which: '-u' | '-g'): number {
  return Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }));
}

function run(program: string, ...args: string[]): void {
  const file = join(binaries(), program);
  const command = isRoot ? ['runuser', '-u', 'postgres', '--', file, ...args] : [file, ...args];
  // The server would keep inherited pipes open.
  execFileSync(command[0]!, command.slice(1), { cwd: tmpdir(), stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Returns the folder with initdb and pg_ctl, which Debian keeps out of PATH. */
function binaries(): string {
  const packaged = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...packaged.map((name) => join(debian, name, 'bin'))];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')));
  if (found === undefined) throw new Error('PostgreSQL is missing; install it with: apt-get install postgresql');
  return found;
}
