import { type ChildProcess, spawn } from 'node:child_process';
import { command, emptyHome, type RunningCommand, run, startCommand, temporaryFolder } from './heddle.ts';
import { onEnd } from './on-end.ts';
import type { Account } from './profiles.ts';

/** A running `heddle service start` in this process. */
export interface TestServiceCommand extends RunningCommand {
  url: string;
}

/** Starts the embedded service in this process on a free port, in an empty home unless `environment` names one. It ends with the test, or with the file when started at its top level. */
export async function startServiceCommand(
  environment: Record<string, string> = {},
  args: string[] = [],
): Promise<TestServiceCommand> {
  const service = startCommand(['service', 'start', '--port', '0', ...args], emptyHome(temporaryFolder(), environment));
  const [, url] = await service.reports(/^listening on (http:\S+)$/m);
  return { ...service, url: url! };
}

/** A running `heddle service start` as a process of its own. */
export interface ServiceProcess {
  url: string;
  child: ChildProcess;
  /** Returns what it has written to stderr so far. */
  stderr: () => string;
}

/** Starts the embedded service as a process; see {@link startServiceCommand}. */
export async function startServiceProcess(
  environment: Record<string, string> = {},
  args: string[] = [],
  node = process.execPath,
): Promise<ServiceProcess> {
  const child = spawn(node, [command, 'service', 'start', '--port', '0', ...args], {
    env: emptyHome(temporaryFolder(), environment),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onEnd(() => child.kill('SIGKILL'));
  let stderr = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
      const address = /^listening on (http:\S+)$/m.exec(stderr)?.[1];
      if (address) resolve(address);
    });
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}: ${stderr}`)));
  });
  return { url, child, stderr: () => stderr };
}

/** Creates an account in the data that `environment` names. */
export async function addAccount(
  username: string,
  environment: Record<string, string>,
): Promise<Pick<Account, 'username' | 'password' | 'token'>> {
  const { code, stdout, stderr } = await run(['service', 'add-user', username, '--all-projects'], environment);
  const [, password, token] = /^password: +(\S+)\ntoken: +(\S+)$/m.exec(stdout) ?? [];
  if (code !== 0 || !password || !token) throw new Error(`add-user ended with ${code}: ${stderr}`);
  return { username, password, token };
}

/** Starts the embedded service on an empty data file with one account. */
export async function startServiceWithAccount(username: string, project: string): Promise<Account> {
  const environment = emptyHome(temporaryFolder());
  const account = await addAccount(username, environment);
  const { url } = await startServiceCommand(environment);
  return { ...account, baseUrl: url, project };
}
