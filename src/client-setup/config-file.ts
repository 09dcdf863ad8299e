import { constants, copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { type HeddleError, notConfigured } from '../core/errors.ts';
import { findOwnFile, makeFolder, replaceFile } from '../core/secrets/private-file.ts';

export interface ConfigFile {
  /** Path of the file itself, with symbolic links resolved so that they survive a change. */
  path: string;
  /** Undefined if the file does not exist. */
  text: string | undefined;
  /** Permissions and group, which a change keeps. A new file may get secrets, so only its owner can read it. */
  attributes: { mode: number; gid?: number };
}

/**
 * Reads a client's configuration file.
 * @throws HeddleError `not_configured` if it cannot be read, is not UTF-8, or is not a file of this user.
 */
export function readConfig(path: string): ConfigFile {
  try {
    const { path: realPath, stats } = findOwnFile(path);
    if (!stats) return { path, text: undefined, attributes: { mode: 0o600 } };
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(realPath));
    return { path: realPath, text, attributes: { mode: stats.mode & 0o777, gid: stats.gid } };
  } catch (error) {
    throw unusable(path, 'read', error);
  }
}

/**
 * Replaces a configuration file in one step, or removes it if `after` is undefined. Keeps a copy of the old file beside it
 * unless `keepsCopy` is false.
 * @returns the path of the copy, or undefined if there is none.
 * @throws HeddleError `not_configured` if the file has changed since it was read or cannot be written; it then stays as is.
 */
export function replaceConfig(
  { path, text, attributes }: ConfigFile,
  after: string | undefined,
  { keepsCopy }: { keepsCopy: boolean },
): string | undefined {
  if (readConfig(path).text !== text) {
    throw notConfigured(
      `Another program changed ${path} in the meantime. The file was not written.`,
      'Run the command again.',
    );
  }
  try {
    const copy = text === undefined || !keepsCopy ? undefined : copyFile(path);
    if (after === undefined) rmSync(path);
    else {
      makeFolder(dirname(path), 0o777);
      replaceFile(path, after, attributes);
    }
    return copy;
  } catch (error) {
    throw unusable(path, 'written', error);
  }
}

/** Copies a file with its permissions to the file beside it that has the version before the newest change. */
function copyFile(path: string): string {
  const copy = `${path}.heddle.bak`;
  const unfinished = `${copy}.${process.pid}`;
  copyFileSync(path, unfinished, constants.COPYFILE_EXCL);
  renameSync(unfinished, copy);
  return copy;
}

function unusable(path: string, action: string, cause: unknown): HeddleError {
  return notConfigured(
    `${path} cannot be ${action}: ${(cause as Error).message}`,
    'Check the file and its permissions, or print the entry with --print and add it by hand.',
  );
}
