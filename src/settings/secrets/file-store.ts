import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import * as z from 'zod';
import { HeddleError } from '../../core/errors.ts';
import { removePrivateFile, replacePrivateFile } from '../../core/private-file.ts';
import type { SecretRecord, SecretStore } from './secret-store.ts';

const record = z.strictObject({
  username: z.string().optional(),
  password: z.string().optional(),
  token: z.string().optional(),
});
const fileShape = z.record(z.string(), z.record(z.string(), record));
type Records = z.output<typeof fileShape>;

/** Keeps secrets in a file that only its owner can read (mode 0600), for machines without a keychain. */
export class FileStore implements SecretStore {
  readonly kind = 'file';
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async read(profile: string): Promise<Record<string, SecretRecord>> {
    return this.#readAll()[profile] ?? {};
  }

  async write(profile: string, baseUrl: string, added: SecretRecord): Promise<void> {
    const records = this.#readAll();
    this.#replace({ ...records, [profile]: { ...records[profile], [baseUrl]: added } });
  }

  async remove(profile: string, keptBaseUrl = ''): Promise<void> {
    const { [profile]: { [keptBaseUrl]: kept } = {}, ...others } = this.#readAll();
    const records = kept ? { ...others, [profile]: { [keptBaseUrl]: kept } } : others;
    if (Object.keys(records).length === 0) removePrivateFile(this.#file);
    else this.#replace(records);
  }

  #replace(records: Records): void {
    try {
      replacePrivateFile(this.#file, `${JSON.stringify(records, null, 2)}\n`);
    } catch (error) {
      throw this.#unusable(`cannot be written (${(error as NodeJS.ErrnoException).code})`, error);
    }
  }

  #readAll(): Records {
    const descriptor = this.#open();
    if (descriptor === undefined) return {};
    try {
      // Checks the open file, which cannot be exchanged before it is read.
      const { mode, uid } = fstatSync(descriptor);
      if (process.platform !== 'win32') {
        if (uid !== process.getuid?.()) throw this.#unusable('belongs to another user');
        if (mode & 0o077) throw this.#unusable(`can be accessed by others (mode ${(mode & 0o777).toString(8)})`);
      }
      const records = parseRecords(readFileSync(descriptor, 'utf8'));
      if (!records) throw this.#unusable('was not written by heddle');
      return records;
    } finally {
      closeSync(descriptor);
    }
  }

  #open(): number | undefined {
    try {
      return openSync(this.#file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return undefined;
      throw this.#unusable(code === 'ELOOP' ? 'is a symbolic link' : `cannot be opened (${code})`, error);
    }
  }

  #unusable(reason: string, cause?: unknown): HeddleError {
    return new HeddleError({
      code: 'credentials_missing',
      message: `The credentials file ${this.#file} ${reason}; it is not used.`,
      hint: 'If nobody else has seen it, make yourself its owner and set its mode to 600. Otherwise delete it, change the secrets, and run `heddle login` again.',
      cause,
    });
  }
}

/** Parses the file, without the errors of JSON.parse and zod, which may quote secrets. */
function parseRecords(text: string): Records | undefined {
  try {
    return fileShape.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
