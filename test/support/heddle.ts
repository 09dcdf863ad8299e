import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onEnd } from './on-end.ts';

/** Path of the built command. */
export const command = fileURLToPath(new URL('../../dist/heddle.js', import.meta.url));

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

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs heddle until it exits. `script` may name another build of it. */
export function run(
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

/** Runs `heddle call --json` and parses the result that it prints on stdout, or the error on stderr. */
export async function call(
  tool: string,
  args: unknown,
  environment: Record<string, string>,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
): Promise<{ code: number | null; result: any }> {
  const { code, stdout, stderr } = await run(['call', '--json', tool, '-'], environment, JSON.stringify(args));
  // Lines of the log come before the error.
  const printed = code === 0 ? stdout : stderr.trim().split('\n').at(-1)!;
  return { code, result: JSON.parse(printed) };
}
