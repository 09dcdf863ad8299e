import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { HeddleError, undefinedOnError } from '../../core/errors.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { defaultKeychainTimeoutsMs } from '../settings.ts';
import type { KeychainEntries, KeychainReply, KeychainRequest } from './access-keychain.ts';
import { type SecretRecord, type SecretStore, secretRecord } from './secret-store.ts';

/**
 * Keeps secrets in the operating system's keychain, one entry per profile and base URL. Each access runs in a child process
 * with a time limit, since the native library blocks a thread, and a process with a blocked thread cannot exit.
 * @param helper command line of the child process, which reads a KeychainRequest from stdin, runs `accessKeychain` and
 * prints the reply.
 * @param environment of the child process, where it finds the keychain.
 * @param timeoutMs time limit of every access, in place of the defaults.
 */
export function keychainStore(
  helper: [string, ...string[]],
  environment: NodeJS.ProcessEnv,
  timeoutMs?: number,
): SecretStore {
  /** Makes changes to the entries of a profile, if any, and returns its records. */
  const access = async (profile: string, changes?: Pick<KeychainRequest, 'write' | 'remove'>) => {
    const limitMs = timeoutMs ?? defaultKeychainTimeoutsMs[changes ? 'write' : 'read'];
    const { entries } = await runHelper(helper, environment, { service: `heddle/${profile}`, ...changes }, limitMs);
    return Object.fromEntries(entries.map(({ account, password }) => [account, parseRecord(password)]));
  };
  return {
    kind: 'keychain',
    read: (profile) => access(profile),
    async write(profile, baseUrl, record) {
      const secret = JSON.stringify(record);
      const stored = ownMember(await access(profile, { write: { account: baseUrl, secret } }), baseUrl);
      if (!isDeepStrictEqual(stored, JSON.parse(secret))) throw keychainFailure('it did not store the entry');
    },
    async remove(profile, keptBaseUrl) {
      const accounts = Object.keys(await access(profile)).filter((account) => account !== keptBaseUrl);
      if (accounts.length > 0) await access(profile, { remove: accounts });
    },
  };
}

async function runHelper(
  [program, ...args]: [string, ...string[]],
  env: NodeJS.ProcessEnv,
  request: KeychainRequest,
  timeoutMs: number,
): Promise<KeychainEntries> {
  const child = spawn(program, args, {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  // A killed helper breaks the pipe; the missing reply is the error to report.
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(request));
  const [output, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (output === '') {
    throw keychainFailure(
      child.killed ? `it did not respond within ${timeoutMs} ms` : `its helper ended with exit code ${exitCode}`,
    );
  }
  const reply = JSON.parse(output) as KeychainReply;
  if ('failure' in reply) throw keychainFailure(reply.failure);
  return reply;
}

/** Parses an entry. One that another program wrote counts as empty. */
function parseRecord(secret: string): SecretRecord {
  return undefinedOnError(() => secretRecord.parse(JSON.parse(secret))) ?? {};
}

/** The failure of an access to a keychain that is locked. Writing may unlock it. */
export class LockedKeychainError extends HeddleError {}

const lockedProblem = 'is locked';

/** Meanings of the messages of keychains; the first match applies. `did not respond` is heddle's own message. */
const problems: readonly [RegExp, string][] = [
  [/did not respond|Did not receive a reply/i, 'hangs'],
  [/is ?locked|locked collection|-25308|interaction is not allowed/i, lockedProblem],
  [/dismissed|denied|cancell?ed|-128\b|-25293/i, 'refused access'],
];

const missingKeychainPattern =
  /connect|autolaunch|ServiceUnknown|not provided by any|no result found|No such|Cannot find (module|package|native)/i;

/** Converts a keychain's message to an error. Its code is `not_configured` if this machine has no keychain. */
function keychainFailure(message: string): HeddleError {
  const problem = problems.find(([pattern]) => pattern.test(message))?.[1];
  const isMissing = !problem && missingKeychainPattern.test(message);
  const advice = isMissing
    ? 'Start one, such as gnome-keyring or KWallet.'
    : 'Unlock it, or allow access in the window that it may have opened, and try again.';
  const KeychainError = problem === lockedProblem ? LockedKeychainError : HeddleError;
  return new KeychainError({
    code: isMissing ? 'not_configured' : 'credentials_missing',
    message: isMissing
      ? `There is no keychain on this machine (${message}).`
      : `The keychain ${problem ?? 'failed'}: ${message}.`,
    hint: `${advice} Or do without it: set HEDDLE_USERNAME, HEDDLE_PASSWORD and HEDDLE_TOKEN in the environment, or run \`heddle login --store file\` to keep them in a file that only you can read.`,
  });
}
