import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'vitest';
import { command } from './heddle.ts';
import { requireProgram } from './require-program.ts';

/** A step of a user, who waits for a text and then types. */
export type Step = [appears: string, types: string];

export const enter = '\r';
export const controlC = '\x03';

/** True if a pseudo-terminal can be made: with `script` of bsdutils. */
export const hasTerminal = requireProgram('script', 'script', 'apt-get install bsdutils');

/** Runs heddle in a pseudo-terminal, and returns its exit code and everything on the screen. */
export async function converse(
  args: string[],
  environment: Record<string, string>,
  steps: Step[] = [],
  { columns = 120, script = command } = {},
): Promise<{ code: unknown; screen: string }> {
  const words = [process.execPath, script, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  return converseWith(`exec ${words}`, environment, steps, columns);
}

/** Runs a line of the shell in a pseudo-terminal. */
export async function converseWith(
  typed: string,
  environment: Record<string, string>,
  steps: Step[] = [],
  columns = 120,
): Promise<{ code: unknown; screen: string }> {
  // A new pseudo-terminal has no width, so it would wrap after every character.
  const line = `stty columns ${columns} rows 30; ${typed}`;
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    env: { TERM: 'xterm', SHELL: '/bin/sh', ...environment },
  });
  let screen = '';
  let read = 0;
  const waiting = [...steps];
  child.stdout.on('data', (bytes: Buffer) => {
    screen += bytes;
    const step = waiting[0];
    const at = step ? screen.indexOf(step[0], read) : -1;
    if (!step || at < 0) return;
    waiting.shift();
    read = at + step[0].length;
    child.stdin.write(step[1]);
  });
  const [code] = await once(child, 'close');
  expect(waiting, screen).toEqual([]);
  return { code, screen };
}
