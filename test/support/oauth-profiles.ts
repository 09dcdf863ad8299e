import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { command, emptyHome, run, temporaryFolder } from './heddle.ts';
import type { Account } from './profiles.ts';

export { type Account, type Setup, setUpProfiles } from './profiles.ts';

/** Makes an account of the service on the data that `environment` names. */
export async function addAccount(
  username: string,
  environment: Record<string, string>,
): Promise<Pick<Account, 'username' | 'password' | 'token'>> {
  const { code, stdout, stderr } = await run(['service', 'add-user', username], environment);
  const [, password, token] = /^password: +(\S+)\ntoken: +(\S+)$/m.exec(stdout) ?? [];
  if (code !== 0 || !password || !token) throw new Error(`add-user ended with ${code}: ${stderr}`);
  return { username, password, token };
}

/** A service of its own, on an empty file, with one account. It ends with the test. */
export async function startServiceFor(username: string, project: string): Promise<Account> {
  const environment = emptyHome(temporaryFolder());
  const account = await addAccount(username, environment);
  const child = spawn(process.execPath, [command, 'service', 'start', '--port', '0'], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface(child.stderr)) {
    const found = /^listening on (\S+)$/.exec(line);
    if (found) return { ...account, baseUrl: found[1]!, project };
  }
  throw new Error('the service did not start');
}
