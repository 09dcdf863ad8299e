import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { command, emptyHome, run, temporaryFolder } from '../../support/heddle.ts';

/** What `heddle login` needs. */
export interface Account {
  baseUrl: string;
  project: string;
  username: string;
  password: string;
  token: string;
}

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

/** What `heddle serve --http` is started with so that subjects have profiles. */
export interface Setup {
  /** For the environment: the home with the profiles and their secrets. */
  environment: Record<string, string>;
  /** For `--subjects`. */
  subjectsFile: string;
  /** Writes the subjects file anew. */
  assign: (subjects: Record<string, string>, rest?: string) => void;
}

/** Logs in for each profile, with secrets in a file, and gives the subjects their profiles. */
export async function setUpProfiles(
  profiles: Record<string, Account>,
  subjects: Record<string, string>,
  rest?: string,
): Promise<Setup> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder);
  for (const [profile, { baseUrl, project, username, password, token }] of Object.entries(profiles)) {
    const where = ['--profile', profile, '--base-url', baseUrl, '--project', project, '--username', username];
    const how = ['--store', 'file', '--password-stdin', '--token-stdin'];
    const { code, stderr } = await run(['login', ...where, ...how], environment, `${password}\n${token}\n`);
    if (code !== 0) throw new Error(`login ended with ${code}: ${stderr}`);
  }
  const subjectsFile = join(folder, 'subjects.json');
  const assign: Setup['assign'] = (given, otherwise) =>
    writeFileSync(subjectsFile, JSON.stringify({ subjects: given, default: otherwise }));
  assign(subjects, rest);
  return { environment, subjectsFile, assign };
}
