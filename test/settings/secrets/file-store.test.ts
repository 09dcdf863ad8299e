import { chmodSync, chownSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { HeddleError } from '../../../src/core/errors.ts';
import { fileStore } from '../../../src/settings/secrets/file-store.ts';
import { temporaryFolder } from '../../support/heddle.ts';

const url = 'https://service.example';
const record = { username: 'mia', password: 'correct-horse' };

describe('fileStore', () => {
  it('returns the written records by profile and base URL', async () => {
    const file = join(temporaryFolder(), 'new', 'credentials.json');
    const store = fileStore(file);
    expect(await store.read('default')).toEqual({});
    await store.write('default', url, record);
    await store.write('work', url, { token: 'tök-🧵'.repeat(1000) });
    expect(await store.read('default')).toEqual({ [url]: record });
    expect(await store.read('work')).toEqual({ [url]: { token: 'tök-🧵'.repeat(1000) } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('creates the file with mode 0600 whatever the umask is', async () => {
    const before = process.umask(0);
    try {
      const file = join(temporaryFolder(), 'credentials.json');
      await fileStore(file).write('default', url, record);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    } finally {
      process.umask(before);
    }
  });

  /** Makes the file unusable, then checks that reading and writing fail. Returns the error. */
  async function refusal(spoil: (file: string) => void): Promise<HeddleError> {
    const file = join(temporaryFolder(), 'credentials.json');
    const store = fileStore(file);
    await store.write('default', url, record);
    spoil(file);
    const before = readFileSync(file, 'utf8');
    const error = await store.read('default').then(
      () => undefined,
      (reason: HeddleError) => reason,
    );
    await expect(store.write('default', url, { token: 'other-token' })).rejects.toThrow();
    await expect(store.remove('default')).rejects.toThrow();
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(error?.code).toBe('credentials_missing');
    expect(error?.hint).toContain('`heddle login`');
    return error!;
  }

  it.each([
    [0o640, 'can be accessed by others (mode 640)'],
    [0o604, 'can be accessed by others (mode 604)'],
    [0o602, 'can be accessed by others (mode 602)'],
  ])('rejects a file with mode %o', async (mode, reason) => {
    expect((await refusal((file) => chmodSync(file, mode))).message).toContain(reason);
  });

  it('rejects a symbolic link', async () => {
    const error = await refusal((file) => {
      const target = join(temporaryFolder(), 'elsewhere.json');
      writeFileSync(target, readFileSync(file), { mode: 0o600 });
      symlink(target, file);
    });
    expect(error.message).toContain('is a symbolic link');
  });

  it.runIf(process.getuid?.() === 0)('rejects a file of another user', async () => {
    expect((await refusal((file) => chownSync(file, 65534, 65534))).message).toContain('belongs to another user');
  });

  it.each([
    `{"default":{"${url}":{"token":"token-of-mia"}},"default":{}}`,
    `{"default":{"${url}":{"token":"token-of-mia"},"${url}":{"token":"token-of-ada"}}}`,
    `{"default":{"${url}":{"token":"token-of-mia","token":"token-of-ada"}}}`,
  ])('rejects an ambiguous file: %s', async (text) => {
    const error = await refusal((file) => writeFileSync(file, text));
    expect(error.message).toContain('was not written by heddle');
    expect(`${error.message}${error.hint}${error.cause}`).not.toContain('token-of');
  });

  it('rejects a file with other content without quoting it', async () => {
    const error = await refusal((file) => writeFileSync(file, '{"default": "hunter2-hunter2"'));
    expect(error.message).toContain('was not written by heddle');
    expect(`${error.message}${error.hint}${error.cause}`).not.toContain('hunter2');
  });
});

function symlink(target: string, file: string): void {
  symlinkSync(target, `${file}.link`);
  renameSync(`${file}.link`, file);
}
