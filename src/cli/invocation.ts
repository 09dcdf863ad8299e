import { AsyncLocalStorage } from 'node:async_hooks';
import { homedir } from 'node:os';
import { delimiter, parse, relative } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { Redactor } from '../core/secrets/redaction.ts';
import type { ProcessControl } from '../runtime/process-lifecycle.ts';
import { type Folders, userFolders } from '../settings/profiles.ts';
import { shellWord, withProgram } from '../tools/definition/terminal-command.ts';

/** Describes the terminal behind a stream, if there is one. */
export interface TerminalSide {
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** One run of the command line: what it is given, and where it writes. */
export interface Invocation {
  /** Arguments after the name of the program. */
  args: readonly string[];
  /** Path of the built command, for commands that start another heddle. */
  script: string;
  environment: NodeJS.ProcessEnv;
  folders: Folders;
  /** The user's home folder, below which MCP clients keep their configuration. */
  home: string;
  stdin: Readable & TerminalSide;
  stdout: Writable & TerminalSide;
  stderr: Writable & TerminalSide;
  control: ProcessControl;
  /** Knows the secrets of this run. */
  redactor: Redactor;
  exitCode: number;
  /** True once a change has been confirmed, which a reader that closes its pipe must not interrupt. */
  isChanging?: boolean;
}

const current = new AsyncLocalStorage<Invocation>();

let ofProcess: Invocation | undefined;

/** Returns the run of the command line to which the caller belongs, by default that of this process. */
export function invocation(): Invocation {
  const given = current.getStore();
  if (given) return given;
  ofProcess ??= processInvocation();
  return ofProcess;
}

/** Returns whether a command line has an option, which is a word before `--`. */
export function hasOption(option: string, { args } = invocation()): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end).includes(option);
}

/**
 * Returns what the user types before the arguments of a command: a path unless heddle is installed.
 * @param isAnywhere true if the user may type it in another folder than that of this process.
 */
export function programName(isAnywhere = false): string {
  const { script, environment } = invocation();
  const { base, dir } = parse(script);
  if (base === 'heddle') return environment.PATH?.split(delimiter).includes(dir) ? base : shellWord(script);
  if (!/^heddle\.m?js$/.test(base) || (!isAnywhere && dir.includes('node_modules'))) return 'heddle';
  const path = relative(process.cwd(), script);
  const isBelow = !isAnywhere && !path.startsWith('..');
  return `node ${shellWord((isBelow ? path : script).replaceAll('\\', '/'))}`;
}

/** Returns a text whose commands begin as the user types them. */
export function withProgramName(text: string): string {
  return withProgram(text, programName());
}

/** Runs `work` as another run of the command line than that of this process. */
export function withInvocation<T>(given: Invocation, work: () => T): T {
  return current.run(given, work);
}

/** Runs `work` with a signal that Ctrl-C aborts. */
export async function withInterrupt<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { control } = invocation();
  const abort = new AbortController();
  const stop = (): void => abort.abort();
  control.once('SIGINT', stop);
  try {
    return await work(abort.signal);
  } finally {
    control.off('SIGINT', stop);
  }
}

function processInvocation(): Invocation {
  const { argv, env: environment } = process;
  return {
    args: argv.slice(2),
    script: argv[1]!,
    environment,
    folders: userFolders,
    get home() {
      return homedir();
    },
    // Node opens each standard stream when it is first read.
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    control: process,
    redactor: new Redactor(),
    get exitCode() {
      return Number(process.exitCode ?? 0);
    },
    set exitCode(code) {
      process.exitCode = code;
    },
  };
}
