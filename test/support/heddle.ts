import { execFile } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Invocation, type TerminalSide, withInvocation } from '../../src/cli/invocation.ts';
import { run as runProgram } from '../../src/cli/run.ts';
import { Redactor } from '../../src/core/secrets/redaction.ts';
import type { Folders } from '../../src/settings/profiles.ts';
import { onEnd } from './on-end.ts';

/** Path of the built command, for the tests whose subject is the process. */
export const command = fileURLToPath(new URL('../../dist/heddle.js', import.meta.url));

/** Path of a program that commands start quickly in place of another heddle. It is a machine without a keychain, and an MCP server. */
export const standIn = fileURLToPath(new URL('stand-in.mjs', import.meta.url));

/** Creates an empty folder. It is removed at the end of the test, or of the file when called at its top level. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-test-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

/** Returns an environment with `folder` as home and nothing of this machine but PATH. */
export function emptyHome(folder: string, extra: Record<string, string> = {}): Record<string, string> {
  const homes = ['HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'];
  return { PATH: process.env.PATH ?? '', ...Object.fromEntries(homes.map((name) => [name, folder])), ...extra };
}

/** Returns the folders of heddle in an environment of {@link emptyHome}, and temporary ones for any other. */
function foldersOf({ XDG_CONFIG_HOME, XDG_DATA_HOME }: Record<string, string>): Folders {
  const folderIn = (home: string | undefined): string => join(home ?? temporaryFolder(), 'heddle');
  return { config: folderIn(XDG_CONFIG_HOME), data: folderIn(XDG_DATA_HOME) };
}

/** Folders for settings that are resolved without a file. */
export const noFolders: Folders = { config: '/nowhere', data: '/nowhere' };

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A command that runs in this process. */
export interface RunningCommand {
  stdin: Readable;
  stdout: Readable;
  stderr: Readable;
  /** Output so far. */
  output: { stdout: string; stderr: string };
  /** Acts as a signal to its process. */
  signal: (name: 'SIGINT' | 'SIGTERM') => void;
  /** Acts as an error that nothing in its process catches. */
  crash: (error: Error) => void;
  /** Resolves when it has ended. */
  finished: Promise<Finished>;
  /** Resolves to the first match in what it writes. Rejects if it ends before. */
  reports: (pattern: RegExp) => Promise<RegExpExecArray>;
}

/** An invocation with streams of its own, which are read as they are written. */
interface Given {
  given: Invocation;
  stdout: PassThrough;
  stderr: PassThrough;
  control: EventEmitter;
  output: { stdout: string; stderr: string };
}

function invocationOf(
  args: string[],
  environment: Record<string, string>,
  stdin: Readable,
  script = command,
  terminal: TerminalSide = {},
): Given {
  const stdout = Object.assign(new PassThrough(), terminal);
  const stderr = Object.assign(new PassThrough(), terminal);
  const output = { stdout: '', stderr: '' };
  for (const [name, stream] of Object.entries({ stdout, stderr }) as ['stdout' | 'stderr', PassThrough][]) {
    const decoder = new TextDecoder();
    stream.on('data', (bytes: Buffer) => {
      output[name] += decoder.decode(bytes, { stream: true });
    });
  }
  let exitCode = 0;
  let exitedWith: number | undefined;
  const control = Object.assign(new EventEmitter(), {
    exit(code: number) {
      exitedWith ??= code;
    },
  });
  const given: Invocation = {
    args,
    script,
    environment,
    folders: foldersOf(environment),
    home: environment.HOME ?? '',
    stdin,
    stdout,
    stderr,
    control,
    redactor: new Redactor(),
    // The code of a process is settled once it exits.
    get exitCode() {
      return exitedWith ?? exitCode;
    },
    set exitCode(code) {
      exitCode = code;
    },
  };
  return { given, stdout, stderr, control, output };
}

/** Does work of heddle in this process as a command does it, and returns what was made with what is written meanwhile and later. */
export function inInvocation<T>(
  environment: Record<string, string>,
  work: (given: Invocation) => T,
): { made: T; output: { stdout: string; stderr: string } } {
  const { given, output } = invocationOf([], environment, Readable.from([]));
  return { made: withInvocation(given, () => work(given)), output };
}

/**
 * Runs a command in this process, with streams of its own. It is asked to end with the test, or with the file when called at its
 * top level.
 * @param script runs instead of the built command where the command starts another heddle.
 */
export function startCommand(
  args: string[],
  environment: Record<string, string>,
  stdin: Readable = Readable.from([]),
  script = command,
  terminal: TerminalSide = {},
): RunningCommand {
  const { given, stdout, stderr, control, output } = invocationOf(args, environment, stdin, script, terminal);
  const end = async (): Promise<Finished> => {
    const ended = [stdout, stderr].map((stream) => once(stream, 'end'));
    stdout.end();
    stderr.end();
    await Promise.all(ended);
    return { code: given.exitCode, ...output };
  };
  let isRunning = true;
  const finished = withInvocation(given, runProgram)
    .then(end)
    .finally(() => {
      isRunning = false;
    });
  const emit = (event: string, ...args: unknown[]): void => {
    withInvocation(given, () => control.emit(event, ...args));
  };
  const signal: RunningCommand['signal'] = (name) => emit(name);
  const crash: RunningCommand['crash'] = (error) => emit('uncaughtException', error);
  onEnd(async () => {
    if (isRunning) signal('SIGTERM');
    await finished;
  });
  const reports: RunningCommand['reports'] = (pattern) =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(output.stderr) ?? pattern.exec(output.stdout);
        if (match) resolve(match);
      };
      for (const stream of [stdout, stderr]) stream.on('data', look);
      look();
      finished.then(() => reject(new Error(`ended before it reported ${pattern}: ${output.stderr}`)));
    });
  return { stdin, stdout, stderr, output, signal, crash, finished, reports };
}

/** Runs a command in this process until it ends; see {@link startCommand}. */
export function run(
  args: string[],
  environment: Record<string, string>,
  stdin = '',
  script = command,
): Promise<Finished> {
  return startCommand(args, environment, Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]), script).finished;
}

/**
 * Runs a command in this process at a terminal.
 * @param answer what a person types at its question.
 */
export function runAtTerminal(
  args: string[],
  environment: Record<string, string>,
  { columns = 120, answer }: { columns?: number; answer?: string } = {},
): Promise<Finished> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const running = startCommand(args, environment, stdin, command, { isTTY: true, columns });
  if (answer !== undefined) void running.reports(/\?/).then(() => stdin.write(answer));
  return running.finished;
}

/** Runs heddle as a process until it exits. `script` may name another build of it. */
export function runProcess(
  args: string[],
  environment: Record<string, string>,
  stdin = '',
  script = command,
): Promise<Finished> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [script, ...args],
      { env: environment, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
    // A command may end before it has read its input.
    child.stdin?.on('error', () => {}).end(stdin);
  });
}

/** Runs `heddle call --json`, by default in this process, and parses the result that it prints on stdout, or the error on stderr. */
export async function call(
  tool: string,
  args: unknown,
  environment: Record<string, string>,
  runCommand: typeof run = run,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
): Promise<{ code: number | null; result: any }> {
  const { code, stdout, stderr } = await runCommand(['call', '--json', tool, '-'], environment, JSON.stringify(args));
  // Lines of the log come before the error.
  const printed = stdout !== '' ? stdout : stderr.trim().split('\n').at(-1)!;
  return { code, result: JSON.parse(printed) };
}
