import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import * as z from 'zod';
import { HeddleError } from '../../core/errors.ts';
import { removePrivateFile, replacePrivateFile } from '../../core/private-file.ts';
import type { Redactor } from '../../core/redaction.ts';
import type { SecretRecord, SecretStore } from './secret-store.ts';

const record = z.strictObject({
  username: z.string().optional(),
  password: z.string().optional(),
  token: z.string().optional(),
});
const fileShape = z.record(z.string(), z.record(z.string(), record));
type Records = z.output<typeof fileShape>;

/** Secrets in a file that only its owner can read (0600), for machines without a keychain (design §9). */
export class FileStore implements SecretStore {
  readonly kind = 'file';
  readonly #file: string;
  readonly #redactor: Redactor;

  constructor(file: string, redactor: Redactor) {
    this.#file = file;
    this.#redactor = redactor;
  }

  async read(profile: string): Promise<Record<string, SecretRecord>> {
    return this.#readAll()[profile] ?? {};
  }

  async write(profile: string, baseUrl: string, added: SecretRecord): Promise<void> {
    const records = this.#readAll();
    this.#replace({ ...records, [profile]: { ...records[profile], [baseUrl]: added } });
  }

  async remove(profile: string, keep?: string): Promise<void> {
    const { [profile]: before = {}, ...others } = this.#readAll();
    const kept = keep === undefined ? undefined : before[keep];
    const after = kept ? { ...others, [profile]: { [keep!]: kept } } : others;
    if (Object.keys(after).length === 0) removePrivateFile(this.#file);
    else this.#replace(after);
  }

  #replace(records: Records): void {
    try {
      replacePrivateFile(this.#file, `${JSON.stringify(records, null, 2)}\n`);
    } catch (error) {
      throw unusable(this.#file, `cannot be written (${(error as NodeJS.ErrnoException).code})`, error);
    }
  }

  /** Everything is checked on the opened file, so that it cannot be exchanged between the check and the reading. */
  #readAll(): Records {
    let descriptor: number;
    try {
      descriptor = openSync(this.#file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return {};
      throw unusable(this.#file, code === 'ELOOP' ? 'is a symbolic link' : `cannot be opened (${code})`, error);
    }
    try {
      const { mode, uid } = fstatSync(descriptor);
      if (process.platform !== 'win32') {
        if (uid !== process.getuid?.()) throw unusable(this.#file, 'belongs to another user');
        if (mode & 0o077) throw unusable(this.#file, `can be read by others (mode ${(mode & 0o777).toString(8)})`);
      }
      const records = parse(readFileSync(descriptor, 'utf8'));
      if (!records) throw unusable(this.#file, 'is not what heddle wrote');
      this.#redactor.protect(
        ...Object.values(records)
          .flatMap(Object.values)
          .flatMap(({ password, token }) => [password, token]),
      );
      return records;
    } finally {
      closeSync(descriptor);
    }
  }
}

/** What JSON.parse and zod say about a file of secrets may quote it, and is left out. */
function parse(text: string): Records | undefined {
  try {
    return fileShape.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function unusable(file: string, reason: string, cause?: unknown): HeddleError {
  return new HeddleError({
    code: 'credentials_missing',
    message: `The credentials file ${file} ${reason}; it is not used.`,
    hint: 'If nobody else has seen it, make it a file of your own with mode 600; otherwise delete it, change the secrets, and run `heddle login` again.',
    cause,
  });
}
