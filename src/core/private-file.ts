import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Replaces a file by `text`, readable by its owner only (0600), as one step: whoever reads it, also after a crash in the
 * middle, finds the old text or the new one, whole. The folder is made (0700) where it is missing.
 * @throws the system's error; the old file is then as it was.
 */
export function replacePrivateFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  sweep(file);
  writeAtOnce(file, text, 0o600);
}

/** Replaces a file by `text` as one step, with these permissions. What a crash leaves beside it ends in `.tmp`. */
export function writeAtOnce(file: string, text: string, mode: number): void {
  const next = `${file}.${crypto.randomUUID()}.tmp`;
  try {
    const descriptor = openSync(next, 'wx', mode);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
  syncFolder(dirname(file));
}

/** Removes a file, and what a crash left beside it. */
export function removePrivateFile(file: string): void {
  rmSync(file, { force: true });
  sweep(file);
}

/** A crash between writing and renaming leaves a copy behind, which may hold secrets. */
function sweep(file: string): void {
  const folder = dirname(file);
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  for (const name of names) {
    if (name.startsWith(`${basename(file)}.`) && name.endsWith('.tmp')) rmSync(join(folder, name), { force: true });
  }
}

/** The new name is on the disk only when the folder is. Windows cannot sync folders, and need not. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
