import { type ChildProcess, spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFile } from './embedded-service.ts';
import { command } from './heddle.ts';

/** Home and configuration of the commands of these tests: nothing of the machine's. */
export function environmentWith(extra: Record<string, string>): Record<string, string> {
  const home = dirname(temporaryFile('home'));
  return { PATH: process.env.PATH ?? '', HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, ...extra };
}

export interface ServiceProcess {
  url: string;
  child: ChildProcess;
  /** What it wrote on stderr so far. */
  said(): string;
}

/** Starts `heddle service start`, which ends with the test. */
export async function startServiceProcess(
  environment: Record<string, string>,
  args: string[] = [],
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [command, 'service', 'start', '--port', '0', ...args], {
    env: environmentWith(environment),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
      const address = /^listening on (http:\S+)$/m.exec(said)?.[1];
      if (address) resolve(address);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${said}`)));
  });
  return { url, child, said: () => said };
}

export interface Created {
  status: number;
  retryAfter: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: what came back is looked at, not trusted
  body: any;
}

/** Makes a version of the evaluation `shared`. */
export async function create(url: string, authorization: string, description: string): Promise<Created> {
  const response = await fetch(`${url}/v2/p/q/evaluations`, {
    method: 'POST',
    headers: { authorization },
    body: JSON.stringify({ name: 'shared', dataset: 'x:///d', description }),
  });
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
}

/** Runs tasks, so many at once. */
export async function atOnce<T, R>(width: number, tasks: T[], run: (task: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < tasks.length; index = next++) results[index] = await run(tasks[index]!);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}
