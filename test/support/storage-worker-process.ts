import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** Path of storage-worker.ts. */
export const workerFile = fileURLToPath(new URL('storage-worker.ts', import.meta.url));

/** Starts storage-worker.ts with these arguments. */
export function worker(...args: string[]): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', workerFile, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Waits for a process and returns its exit code and output. */
export async function outcome(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!)]);
  return { code: await code, stdout, stderr };
}
