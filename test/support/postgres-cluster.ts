import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { freePort } from './free-port.ts';

const password = 'the-password-of-the-tests';
const debian = '/usr/lib/postgresql';

/** A PostgreSQL server in a temporary folder, on a loopback port that it keeps across restarts. */
export class Cluster {
  readonly url: string;
  readonly #folder: string;
  #isRunning = false;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  }

  /** Creates a server and starts it. */
  static async make(): Promise<Cluster> {
    const cluster = new Cluster(newFolder(), await freePort());
    const secret = join(cluster.#folder, 'password');
    writeFileSync(secret, password);
    if (isRoot) chownSync(secret, idOf('-u'), idOf('-g'));
    run('initdb', ...cluster.#at, '--username=postgres', `--pwfile=${secret}`, ...initOptions);
    cluster.start();
    return cluster;
  }

  /** Creates a standby of this server and starts it. From then on, a change waits until the standby has it. */
  async makeSynchronousStandby(): Promise<Cluster> {
    const standby = new Cluster(newFolder(), await freePort());
    run('pg_basebackup', ...standby.#at, `--dbname=${this.url}`, '--write-recovery-conf', '--no-sync');
    standby.start();
    const settings = ["alter system set synchronous_standby_names = '*'", 'select pg_reload_conf()'];
    run('psql', this.url, '--quiet', ...settings.map((statement) => `--command=${statement}`));
    return standby;
  }

  /** Stops the server as a crash would: connections break, and nothing is finished. */
  kill(): void {
    this.#isRunning = false;
    run('pg_ctl', 'stop', '--wait', '--mode=immediate', ...this.#at);
  }

  /** Sends SIGKILL to every process of the server, as if its machine had lost its power. */
  killProcesses(): void {
    this.#isRunning = false;
    const postmaster = Number(readFileSync(join(this.#folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
    for (const pid of [postmaster, ...childrenOf(postmaster)]) process.kill(pid, 'SIGKILL');
  }

  /** Makes a standby accept changes. */
  promote(): void {
    run('pg_ctl', 'promote', '--wait', ...this.#at);
  }

  start(): void {
    const settings = `-c port=${new URL(this.url).port} -c unix_socket_directories=${this.#folder} ${quick}`;
    run('pg_ctl', 'start', '--wait', ...this.#at, '--log', join(this.#folder, 'log'), '--options', settings);
    this.#isRunning = true;
  }

  remove(): void {
    if (this.#isRunning) this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #at(): string[] {
    return ['--pgdata', join(this.#folder, 'data')];
  }
}

/** Creates a folder for the user who runs the server: initdb and postgres refuse to run as root. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-postgres-'));
  if (isRoot) chownSync(folder, idOf('-u'), idOf('-g'));
  return folder;
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // The name of the program, in parentheses, may have spaces in it.
      const [, parentOfProcess] = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]!.split(' ');
      return Number(parentOfProcess) === parent ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
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

/** Returns the folder with initdb and the other programs, which Debian keeps out of PATH. */
function binaries(): string {
  const packaged = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...packaged.map((name) => join(debian, name, 'bin'))];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')));
  if (found === undefined) throw new Error('PostgreSQL is missing; install it with: apt-get install postgresql');
  // In PATH there may be links to some of the programs only.
  return dirname(realpathSync(join(found, 'initdb')));
}
