import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { HeddleError } from '../../core/errors.ts';
import type { Redactor } from '../../core/redaction.ts';
import type { KeychainReply, KeychainRequest } from './keychain-helper.ts';
import type { SecretRecord, SecretStore } from './secret-store.ts';

/**
 * Default time limits of the keychain in milliseconds. Writing and removing get longer, because they may ask the user to
 * unlock the keychain.
 */
export const defaultKeychainTimeoutsMs = { read: 5_000, write: 60_000 } as const;

export interface KeychainOptions {
  /** Receives the secrets that are read, to redact them. */
  redactor: Redactor;
  /** Command line of the helper: it reads a KeychainRequest from stdin, runs `accessKeychain` and prints the reply. */
  helper: readonly string[];
  /** Time limit of every operation, in place of the defaults. */
  timeoutMs?: number | undefined;
}

/**
 * Keeps secrets in the operating system's keychain, one entry per profile and base URL. Each access runs in a child process
 * with a time limit, since the native library blocks a thread, and a process with a blocked thread cannot exit.
 */
export class KeychainStore implements SecretStore {
  readonly kind = 'keychain';
  readonly #options: KeychainOptions;

  constructor(options: KeychainOptions) {
    this.#options = options;
  }

  async read(profile: string): Promise<Record<string, SecretRecord>> {
    const entries = await this.#access({ operation: 'read', service: serviceOf(profile) });
    const records = entries.map(({ account, password }): [string, SecretRecord] => [account, parse(password)]);
    this.#options.redactor.protect(...records.flatMap(([, { password, token }]) => [password, token]));
    return Object.fromEntries(records);
  }

  async write(profile: string, baseUrl: string, record: SecretRecord): Promise<void> {
    const secret = JSON.stringify(record);
    await this.#access({ operation: 'write', service: serviceOf(profile), account: baseUrl, secret });
    const { [baseUrl]: found } = await this.read(profile);
    if (JSON.stringify(found) !== secret) throw this.#failure('it did not store the entry');
  }

  async remove(profile: string, keptBaseUrl?: string): Promise<void> {
    const accounts = Object.keys(await this.read(profile)).filter((account) => account !== keptBaseUrl);
    if (accounts.length > 0) await this.#access({ operation: 'remove', service: serviceOf(profile), accounts });
  }

  async #access(request: KeychainRequest): Promise<{ account: string; password: string }[]> {
    const { helper, timeoutMs = defaultKeychainTimeoutsMs[request.operation === 'read' ? 'read' : 'write'] } =
      this.#options;
    const [program, ...args] = helper as [string, ...string[]];
    const { spawn } = await import('node:child_process');
    const child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    // A killed helper breaks the pipe; the missing reply is the error to report.
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(request));
    const [output, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    if (output === '') {
      throw this.#failure(
        child.killed ? `it did not respond within ${timeoutMs} ms` : `its helper ended with exit code ${exitCode}`,
      );
    }
    const reply = JSON.parse(output) as KeychainReply;
    if ('failure' in reply) throw this.#failure(reply.failure);
    return reply.entries;
  }

  #failure(message: string): HeddleError {
    return keychainFailure(this.#options.redactor.redact(message));
  }
}

function serviceOf(profile: string): string {
  return `heddle/${profile}`;
}

/** Parses an entry. One that another program wrote counts as empty. */
function parse(secret: string): SecretRecord {
  try {
    return JSON.parse(secret) as SecretRecord;
  } catch {
    return {};
  }
}

/** Meanings of the messages of keychains; the first match applies. `did not respond` is heddle's own message. */
const problems: readonly [RegExp, string][] = [
  [/did not respond|Did not receive a reply/i, 'hangs'],
  [/is ?locked|locked collection|-25308|interaction is not allowed/i, 'is locked'],
  [/dismissed|denied|cancell?ed|-128\b|-25293/i, 'refused access'],
];

const missingKeychainPattern =
  /connect|autolaunch|ServiceUnknown|not provided by any|no result found|No such|Cannot find (module|package|native)/i;

/** Converts a keychain's message to an error. Its code is `not_configured` if this machine has no keychain. */
export function keychainFailure(message: string): HeddleError {
  const problem = problems.find(([pattern]) => pattern.test(message))?.[1];
  const isMissing = !problem && missingKeychainPattern.test(message);
  const advice = isMissing
    ? 'Start one, such as gnome-keyring or KWallet.'
    : 'Unlock it, or allow access in the window that it may have opened, and try again.';
  return new HeddleError({
    code: isMissing ? 'not_configured' : 'credentials_missing',
    message: isMissing
      ? `There is no keychain on this machine (${message}).`
      : `The keychain ${problem ?? 'failed'}: ${message}.`,
    hint: `${advice} Or do without it: set HEDDLE_USERNAME, HEDDLE_PASSWORD and HEDDLE_TOKEN in the environment, or run \`heddle login --store file\` to keep them in a file that only you can read.`,
  });
}
