import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Replaces the content of a file atomically, readable by its owner only (0600). Readers find the old text or the new one,
 * even after a crash. Creates the folder (0700) if it is missing.
 * @throws the system's error; the old file is then unchanged.
 */
export function replacePrivateFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  removeTemporaryCopies(file);
  replaceFile(file, text, 0o600);
}

/** Replaces the content of a file atomically, with these permissions. A crash may leave a file that ends in `.tmp`. */
export function replaceFile(file: string, text: string, mode: number): void {
  const temporary = `${file}.${crypto.randomUUID()}.tmp`;
  try {
    writeFileSync(temporary, text, { mode, flag: 'wx', flush: true });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(file));
}

export function removePrivateFile(file: string): void {
  rmSync(file, { force: true });
  removeTemporaryCopies(file);
}

/** Removes temporary copies that a crash left behind, since they may hold secrets. */
function removeTemporaryCopies(file: string): void {
  const folder = dirname(file);
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    if (name.startsWith(`${basename(file)}.`) && name.endsWith('.tmp')) rmSync(join(folder, name), { force: true });
  }
}

/** Makes a rename survive a power failure. Windows cannot sync folders and does not need to. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
