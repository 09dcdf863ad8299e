import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** The program of the processes that {@link worker} starts. */
export const workerFile = fileURLToPath(new URL('evaluation-worker.ts', import.meta.url));

/** Starts a process that works on a storage; see worker.ts. */
export function worker(...args: string[]): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', workerFile, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** How a process ended, and what it wrote. */
export async function outcome(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  return { code: await code, stdout, stderr };
}
