import { constants, copyFileSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { HeddleError } from '../core/errors.ts';
import { replaceFile } from '../core/private-file.ts';

/** A client's configuration as it was read; `text` is undefined where there is no file. */
export interface ConfigFile {
  /** The file itself: what a symbolic link points to, so that the link stays one. */
  path: string;
  text: string | undefined;
}

/**
 * Reads a client's configuration.
 * @throws HeddleError `not_configured` when it cannot be read, or is not UTF-8.
 */
export function readConfig(path: string): ConfigFile {
  try {
    const real = realpathSync(path);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(real));
    return { path: real, text };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { path, text: undefined };
    throw unusable(path, 'read', error);
  }
}

/**
 * Replaces a configuration as one step, after a copy of it was kept beside it; `after` undefined removes the file. With
 * `copies` false nothing is kept.
 * @returns the path of the copy; undefined where there was nothing to keep.
 * @throws HeddleError `not_configured` when someone else has changed the file since it was read, or it cannot be
 * written. The file is then as it was.
 */
export function replaceConfig(
  { path, text }: ConfigFile,
  after: string | undefined,
  { copies = true, now = new Date() } = {},
): string | undefined {
  if (readConfig(path).text !== text) {
    throw new HeddleError({
      code: 'not_configured',
      message: `${path} was changed by another program meanwhile. It was left as it is.`,
      hint: 'Run the command again.',
    });
  }
  try {
    const copy = text === undefined || !copies ? undefined : keepCopy(path, now);
    if (after === undefined) rmSync(path);
    else {
      mkdirSync(dirname(path), { recursive: true });
      // Such files may hold secrets of other servers: a new one is for its owner only.
      replaceFile(path, after, (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777);
    }
    return copy;
  } catch (error) {
    throw unusable(path, 'written', error);
  }
}

/** Copies with the file's own permissions. The name says when, and that it is a copy. */
function keepCopy(path: string, now: Date): string {
  const stamp = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  for (let count = 1; ; count += 1) {
    const copy = `${path}.${stamp}${count > 1 ? `-${count}` : ''}.bak`;
    try {
      copyFileSync(path, copy, constants.COPYFILE_EXCL);
      return copy;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

function unusable(path: string, how: string, cause: unknown): HeddleError {
  return new HeddleError({
    code: 'not_configured',
    message: `${path} cannot be ${how}: ${(cause as Error).message}`,
    hint: 'Check the file and its permissions, or print the entry with --print and put it in by hand.',
    cause,
  });
}
