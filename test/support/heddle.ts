import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** The built command. */
export const command = fileURLToPath(new URL('../../dist/heddle.js', import.meta.url));

/** An empty folder that goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An environment with an empty home and nothing of the machine's but PATH. */
export function emptyHome(folder: string, extra: Record<string, string> = {}): Record<string, string> {
  const homes = ['HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'];
  return { PATH: process.env.PATH ?? '', ...Object.fromEntries(homes.map((name) => [name, folder])), ...extra };
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the command to its end. */
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
    child.stdin?.end(stdin);
  });
}

/** Runs `heddle call` and reads its JSON. */
export async function call(
  tool: string,
  args: unknown,
  environment: Record<string, string>,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
): Promise<{ code: number | null; result: any }> {
  const { code, stdout } = await run(['call', tool, '-'], environment, JSON.stringify(args));
  return { code, result: JSON.parse(stdout) };
}
