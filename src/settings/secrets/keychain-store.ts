import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { HeddleError } from '../../core/errors.ts';
import type { Redactor } from '../../core/redaction.ts';
import type { KeychainReply, KeychainRequest } from './keychain-access.ts';
import type { SecretRecord, SecretStore } from './secret-store.ts';

export interface KeychainOptions {
  /** Learns the secrets that are read. */
  redactor: Redactor;
  /** Program and arguments that run `accessKeychain` on the JSON request on stdin. */
  helper: readonly string[];
  /** Milliseconds that reading may take; nobody is asked anything, so a keychain that takes longer hangs. */
  readTimeoutMs?: number;
  /** Milliseconds that writing may take, while the user may be asked to unlock the keychain. */
  writeTimeoutMs?: number;
}

/**
 * Secrets in the keychain of the operating system (design §9), one entry a service of a profile. All access is by a child
 * process with a deadline: the add-on blocks a thread, and a process with such a thread cannot exit.
 */
export class KeychainStore implements SecretStore {
  readonly kind = 'keychain';
  readonly #options: Required<KeychainOptions>;

  constructor(options: KeychainOptions) {
    this.#options = { readTimeoutMs: 5_000, writeTimeoutMs: 60_000, ...options };
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
    if (JSON.stringify(found) !== secret) throw this.#failure('it did not keep what was written');
  }

  async remove(profile: string, keep?: string): Promise<void> {
    const accounts = Object.keys(await this.read(profile)).filter((account) => account !== keep);
    if (accounts.length > 0) await this.#access({ operation: 'remove', service: serviceOf(profile), accounts });
  }

  async #access(request: KeychainRequest): Promise<{ account: string; password: string }[]> {
    const { helper, readTimeoutMs, writeTimeoutMs } = this.#options;
    const timeoutMs = request.operation === 'read' ? readTimeoutMs : writeTimeoutMs;
    const [program, ...args] = helper as [string, ...string[]];
    // Loading it costs more than 5 ms, which a server whose secrets are elsewhere does not pay.
    const { spawn } = await import('node:child_process');
    const child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    // A helper that is killed leaves a broken pipe; what matters then is that there is no answer.
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify(request));
    const [answer, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    if (answer === '') {
      throw this.#failure(
        child.killed ? `it did not answer within ${timeoutMs} ms` : `its reader ended with code ${code}`,
      );
    }
    const reply = JSON.parse(answer) as KeychainReply;
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

/** An entry that somebody else wrote counts as empty. */
function parse(secret: string): SecretRecord {
  try {
    return JSON.parse(secret) as SecretRecord;
  } catch {
    return {};
  }
}

const waysOut =
  'Or do without it: set HEDDLE_USERNAME, HEDDLE_PASSWORD and HEDDLE_TOKEN in the environment, or run `heddle login --store file` to keep them in a file that only you can read.';

/** What the platforms' keychains say, as what it means and what to do. The first that matches holds. */
const failures: readonly [RegExp, string, string][] = [
  [/did not answer|Did not receive a reply/i, 'hangs', 'It may be waiting for an answer in a window: look for one.'],
  [/is ?locked|locked collection|-25308|interaction is not allowed/i, 'is locked', 'Unlock it and try again.'],
  [
    /dismissed|denied|cancell?ed|-128\b|-25293/i,
    'refused access',
    'Allow the access when the system asks; a request to unlock it was dismissed, or cannot be shown here.',
  ],
];

/** The error for a keychain that cannot be used. `not_configured` where this machine has none. */
export function keychainFailure(said: string): HeddleError {
  const known = failures.find(([pattern]) => pattern.test(said));
  if (known) {
    const [, state, advice] = known;
    return new HeddleError({
      code: 'credentials_missing',
      message: `The keychain ${state}: ${said}.`,
      hint: `${advice} ${waysOut}`,
    });
  }
  const absent =
    /connect|autolaunch|ServiceUnknown|not provided by any|no result found|No such|Cannot find (module|package|native)/i;
  return absent.test(said)
    ? new HeddleError({
        code: 'not_configured',
        message: `There is no keychain on this machine (${said}).`,
        hint: `Start one, such as gnome-keyring or KWallet. ${waysOut}`,
      })
    : new HeddleError({
        code: 'credentials_missing',
        message: `The keychain failed: ${said}.`,
        hint: `Try again. ${waysOut}`,
      });
}
