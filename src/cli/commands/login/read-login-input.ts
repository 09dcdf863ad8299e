import { text } from 'node:stream/consumers';
import * as prompts from '@clack/prompts';
import { HeddleError } from '../../../core/errors.ts';
import { minSecretChars } from '../../../core/secrets/redaction.ts';
import type { SecretRecord } from '../../../settings/secrets/secret-store.ts';
import { settingDefinitions } from '../../../settings/settings.ts';
import { invocation } from '../../invocation.ts';
import { UsageError } from '../../terminal/report-failure.ts';
import { questionStreams } from '../../terminal/terminal.ts';

/** The flags of `heddle login` that are not settings. */
export interface LoginOptions {
  weave?: true;
  store?: 'keychain' | 'file';
  passwordStdin?: true;
  tokenStdin?: true;
}

/** Number of projects that are offered as a list. */
const maxListedProjects = 30;

/** Values from flags, environment and profile. Absent ones are asked for. */
export interface LoginDefaults {
  baseUrl?: string;
  username?: string;
  /** One API key is both password and token. */
  weave: boolean;
}

/** The service to log in to, and the secrets for it. Empty secrets count as absent. */
type LoginInput = SecretRecord & { baseUrl: string };

/**
 * Reads the secrets from stdin for scripts, else asks for them on the terminal without echo.
 * @throws UsageError if something is missing that cannot be asked for; HeddleError `cancelled`.
 */
export async function readLoginInput(
  options: LoginOptions,
  defaults: LoginDefaults,
): Promise<{ baseUrl: string; record: SecretRecord }> {
  if (!isScripted(options) && !invocation().stdin.isTTY) {
    throw new UsageError('stdin is not a terminal: pass secrets with --password-stdin or --token-stdin');
  }
  const input = isScripted(options) ? await readLines(options, defaults) : await askForInput(defaults);
  const { baseUrl, username, password, token } = input;
  invocation().redactor.protect(password, token);
  if (!password && !token) throw new UsageError('neither a password nor a token was given');
  const problem = token && faultOf('token', token);
  if (problem) throw new UsageError(`the token ${problem}`);
  for (const [name, secret] of Object.entries({ password, token })) {
    if (!secret || secret.length >= minSecretChars) continue;
    invocation().stderr.write(
      `heddle: the ${name} has fewer than ${minSecretChars} characters, so heddle cannot remove it from what a service sends back. Choose a longer one.\n`,
    );
  }
  return { baseUrl, record: { ...(password && { username, password }), ...(token && { token }) } };
}

/** Returns whether a login reads its secrets from stdin, which leaves no way to ask the user. */
export function isScripted({ passwordStdin, tokenStdin }: LoginOptions): boolean {
  return Boolean(passwordStdin || tokenStdin);
}

/** Reads the password from the first line and the token from the next; the options say which of them are there. */
async function readLines(options: LoginOptions, { baseUrl, username, weave }: LoginDefaults): Promise<LoginInput> {
  if (baseUrl === undefined) throw new UsageError('no service: pass --base-url or --weave');
  const lines = (await text(invocation().stdin)).split(/\r?\n/);
  const nextLine = (content: string): string => {
    const line = lines.shift();
    if (!line) throw new UsageError(`no ${content} on stdin`);
    return line;
  };
  const password = options.passwordStdin && nextLine('password');
  const token = options.tokenStdin && nextLine('token');
  if (weave) return { baseUrl, username, password: password ?? token, token: token ?? password };
  if (password && username === undefined) throw new UsageError('a password needs --username');
  return { baseUrl, username, password, token };
}

async function askForInput({ baseUrl: givenUrl, username: givenName, weave }: LoginDefaults): Promise<LoginInput> {
  const streams = questionStreams();
  const baseUrl = givenUrl ?? (await askForUrl());
  if (weave) {
    const key = await answerOf(prompts.password({ message: `API key for ${baseUrl}`, ...streams }));
    return { baseUrl, username: givenName, password: key, token: key };
  }
  const userQuestion = 'User name (for queues and evaluations); leave empty for none';
  const username = givenName ?? (await answerOf(prompts.text({ message: userQuestion, ...streams })));
  const passwordQuestion = `Password of ${username}; leave empty for none`;
  const password = username && (await answerOf(prompts.password({ message: passwordQuestion, ...streams })));
  const tokenQuestion = 'Bearer token (for inference); leave empty for none';
  const token = await answerOf(prompts.password({ message: tokenQuestion, ...streams }));
  return { baseUrl, username, password, token };
}

/**
 * Asks for the project of tool calls that name none. `known` are the projects of a service that lists them.
 * @returns undefined if the person leaves it open.
 */
export async function askForProject(known: readonly string[] | undefined): Promise<string | undefined> {
  const streams = questionStreams();
  const open = 'none: each call names one';
  if (known !== undefined && known.length > 0 && known.length <= maxListedProjects) {
    const options = [...known.map((value) => ({ value, label: value })), { value: '', label: open }];
    const chosen = await answerOf(
      prompts.select({ message: 'Project of tool calls that name none', options, ...streams }),
    );
    return chosen || undefined;
  }
  const validate = (text = ''): string | undefined => (text === '' ? undefined : faultOf('project', text));
  const message = 'Project of tool calls that name none, as entity/project; leave empty for none';
  return (await answerOf(prompts.text({ message, validate, ...streams }))) || undefined;
}

async function askForUrl(): Promise<string> {
  const validate = (url = ''): string | undefined => faultOf('baseUrl', url);
  const url = await answerOf(prompts.text({ message: 'Base URL of the service', validate, ...questionStreams() }));
  return settingDefinitions.baseUrl.parse(url);
}

/** Waits for the user's answer. @throws HeddleError `cancelled` if the user cancelled the question. */
async function answerOf(question: Promise<string | symbol | undefined>): Promise<string> {
  const answer = await question;
  if (!prompts.isCancel(answer)) return String(answer ?? '');
  throw new HeddleError({ code: 'cancelled', message: 'Cancelled: nothing was stored.', hint: 'Nothing to do.' });
}

/** Returns why a value is not valid for a setting; undefined if it is. */
function faultOf(name: 'baseUrl' | 'token' | 'project', value: string): string | undefined {
  try {
    settingDefinitions[name].parse(value);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
