import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileFault, HeddleError } from '../../core/errors.ts';
import { findOwnFile, type Replacement, startReplacement, statRegularFile } from '../../core/secrets/private-file.ts';
import { invocation } from '../invocation.ts';

/**
 * Begins to write a file that a person has named, which replaces an earlier one in one step. Follows a symbolic link.
 * @param readers who can read the new file: only its owner, or those who could read the earlier one, by default everyone.
 * @throws HeddleError `invalid_arguments`, also from its functions, for what is not a regular file, such as a folder, a device or a
 * pipe, for a file of another user, and for failures of the system. What is there is then unchanged.
 */
export function createNamedFile(file: string, readers: 'owner' | 'as before'): Replacement {
  const named = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      throw new HeddleError({
        code: 'invalid_arguments',
        message: `${file} cannot be written: ${fileFault(cause, 'write')}.`,
        hint: 'Check the path, its permissions and the free space, then run the command again.',
        cause,
      });
    }
  };
  const { write, finish, discard } = named(() => {
    const { path, stats } = statRegularFile(file) ? findOwnFile(file) : { path: file };
    return startReplacement(path, {
      mode: readers === 'owner' ? 0o600 : (stats?.mode ?? 0o644) & 0o777,
      gid: stats?.gid,
    });
  });
  return { write: (text) => named(() => write(text)), finish: () => named(finish), discard };
}

/**
 * Writes a text in parts: to a file that only its owner reads, or to stdout without one. Says if it has replaced a file. A file that is not finished neither replaces
 * nor resembles a complete one.
 * @param work writes the parts.
 */
export async function writeInParts<T>(
  file: string | undefined,
  work: (write: (text: string) => void | Promise<void>) => Promise<T>,
): Promise<T> {
  if (file === undefined) return work(writeToStdout);
  const { write, finish, discard } = createNamedFile(file, 'owner');
  const isReplaced = existsSync(file);
  try {
    const result = await work(write);
    finish();
    if (isReplaced) invocation().stderr.write(`Replaced ${file}.\n`);
    return result;
  } finally {
    discard();
  }
}

async function writeToStdout(text: string): Promise<void> {
  const { stdout } = invocation();
  if (!stdout.write(text)) await once(stdout, 'drain');
}
