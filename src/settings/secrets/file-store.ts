import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import * as z from 'zod';
import { HeddleError, undefinedOnError } from '../../core/errors.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { parseStrictJson } from '../../core/json/strict-json.ts';
import { removePrivateFile, replacePrivateFile } from '../../core/secrets/private-file.ts';
import { type SecretStore, secretRecord } from './secret-store.ts';

const fileShape = z.record(z.string(), z.record(z.string(), secretRecord));
type Records = z.output<typeof fileShape>;

/** Keeps secrets in a file that only its owner can read (mode 0600), for machines without a keychain. */
export function fileStore(file: string): SecretStore {
  const replace = (records: Records): void => {
    try {
      replacePrivateFile(file, `${JSON.stringify(records, null, 2)}\n`);
    } catch (error) {
      throw unusable(
        file,
        `cannot be written (${(error as NodeJS.ErrnoException).code ?? (error as Error).message})`,
        error,
      );
    }
  };
  return {
    kind: 'file',
    read: async (profile) => ownMember(readRecords(file), profile) ?? {},
    async write(profile, baseUrl, added) {
      const records = readRecords(file);
      replace({ ...records, [profile]: { ...ownMember(records, profile), [baseUrl]: added } });
    },
    async remove(profile, keptBaseUrl = '') {
      const { [profile]: _, ...others } = readRecords(file);
      const kept = ownMember(await this.read(profile), keptBaseUrl);
      const records = kept ? { ...others, [profile]: { [keptBaseUrl]: kept } } : others;
      if (Object.keys(records).length === 0) removePrivateFile(file);
      else replace(records);
    },
  };
}

function readRecords(file: string): Records {
  const descriptor = open(file);
  if (descriptor === undefined) return {};
  try {
    // Checks the open file, which cannot be exchanged before it is read.
    const stats = fstatSync(descriptor);
    const { mode, uid } = stats;
    if (!stats.isFile()) throw unusable(file, 'is not a regular file');
    if (process.platform !== 'win32') {
      if (uid !== process.getuid?.()) throw unusable(file, 'belongs to another user');
      if (mode & 0o077) throw unusable(file, `can be accessed by others (mode ${(mode & 0o777).toString(8)})`);
    }
    const bytes = readFileSync(descriptor);
    // The errors of JSON.parse and zod may quote secrets.
    const records = undefinedOnError(() => fileShape.parse(parseStrictJson(bytes)));
    if (!records) throw unusable(file, 'was not written by heddle');
    return records;
  } finally {
    closeSync(descriptor);
  }
}

function open(file: string): number | undefined {
  try {
    return openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw unusable(file, code === 'ELOOP' ? 'is a symbolic link' : `cannot be opened (${code})`, error);
  }
}

function unusable(file: string, reason: string, cause?: unknown): HeddleError {
  return new HeddleError({
    code: 'credentials_missing',
    message: `The credentials file ${file} ${reason}; it is not used.`,
    hint: 'If no one else has seen it, make yourself its owner and set its mode to 600. Otherwise delete it, change the secrets, and run `heddle login` again.',
    cause,
  });
}
