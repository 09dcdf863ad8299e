import { text } from 'node:stream/consumers';
import { CommanderError } from 'commander';
import { HeddleError } from '../../../core/errors.ts';
import type { SecretRecord } from '../../../settings/secrets/secret-store.ts';
import { settingDefinitions } from '../../../settings/settings.ts';
import { redactor } from '../../support/redactor.ts';

export interface LoginFlags {
  weave?: true;
  store?: 'keychain' | 'file';
  passwordStdin?: true;
  tokenStdin?: true;
}

/** What `login` is to set up. */
export interface LoginInput {
  baseUrl: string;
  record: SecretRecord;
}

/** What is settled before anybody is asked; absent members are asked for. */
export interface Known {
  baseUrl?: string;
  username?: string;
  /** One API key is password and token. */
  weave: boolean;
}

/**
 * The secrets from stdin for scripts, else from the person at the terminal, with hidden input.
 * @throws CommanderError (exit 2) when something is missing that cannot be asked for; HeddleError `cancelled`.
 */
export async function readLoginInput(flags: LoginFlags, known: Known): Promise<LoginInput> {
  const scripted = flags.passwordStdin || flags.tokenStdin;
  if (!scripted && !process.stdin.isTTY) {
    throw usage('stdin is no terminal: give secrets with --password-stdin or --token-stdin');
  }
  const input = scripted ? await readLines(flags, known) : await ask(known);
  const { password, token } = input.record;
  redactor.protect(password, token);
  if (!password && !token) throw usage('neither a password nor a token was given');
  if (token) {
    try {
      settingDefinitions.token.parse(token);
    } catch (error) {
      throw usage(`the token ${(error as Error).message}`);
    }
  }
  return input;
}

/** The password is the first line and the token the next one, of those that the flags announce. */
async function readLines(flags: LoginFlags, { baseUrl, username, weave }: Known): Promise<LoginInput> {
  if (baseUrl === undefined) throw usage('no service: give --base-url or --weave');
  const lines = (await text(process.stdin)).split(/\r?\n/);
  const next = (what: string): string => {
    const line = lines.shift();
    if (!line) throw usage(`no ${what} on stdin`);
    return line;
  };
  const password = flags.passwordStdin && next('password');
  const token = flags.tokenStdin && next('token');
  const both: SecretRecord = weave ? { password: password ?? token, token: token ?? password } : { password, token };
  if (both.password && username === undefined) throw usage('a password needs --username');
  return { baseUrl, record: { ...(both.password && { username }), ...both } };
}

async function ask({ baseUrl, username, weave }: Known): Promise<LoginInput> {
  const prompts = await import('@clack/prompts');
  const answer = async (asked: Promise<string | symbol | undefined>): Promise<string> => {
    const given = await asked;
    if (prompts.isCancel(given)) {
      throw new HeddleError({ code: 'cancelled', message: 'Cancelled: nothing was stored.', hint: 'Nothing to do.' });
    }
    return String(given ?? '');
  };
  const url =
    baseUrl ??
    settingDefinitions.baseUrl.parse(
      await answer(prompts.text({ message: 'Base URL of the service', validate: checkUrl })),
    );
  if (weave) {
    const key = await answer(prompts.password({ message: `API key for ${url}` }));
    return { baseUrl: url, record: { username, password: key, token: key } };
  }
  const user = username ?? (await answer(prompts.text({ message: 'User name (queues, evaluations); empty for none' })));
  const password = user && (await answer(prompts.password({ message: `Password of ${user}; empty for none` })));
  const token = await answer(prompts.password({ message: 'Bearer token (inference); empty for none' }));
  return {
    baseUrl: url,
    record: { ...(password && { username: user, password }), ...(token && { token }) },
  };
}

function checkUrl(given: string | undefined): string | undefined {
  try {
    settingDefinitions.baseUrl.parse(given ?? '');
  } catch (error) {
    return (error as Error).message;
  }
}

function usage(message: string): CommanderError {
  return new CommanderError(2, 'login', message);
}
