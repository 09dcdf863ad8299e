import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { command, emptyHome, temporaryFolder } from './heddle.ts';

/** The embedded service as a server of its own, on an empty file or as `env` says; its base URL. It ends with the test. */
export async function startTestService(env = emptyHome(temporaryFolder())): Promise<string> {
  const child = spawn(process.execPath, [command, 'service', 'start', '--port', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill());
  for await (const line of createInterface(child.stderr)) {
    const found = /^listening on (\S+)$/.exec(line);
    if (found) return found[1]!;
  }
  throw new Error('the service did not start');
}
