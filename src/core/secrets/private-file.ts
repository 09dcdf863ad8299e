import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A file of the user who runs this process. */
export interface OwnFile {
  /** Path of the file itself, with symbolic links resolved. */
  path: string;
  /** Undefined if the file does not exist. */
  stats: Stats | undefined;
}

/**
 * Finds the file that a path leads to, which may be missing, before it is read or replaced.
 * @throws Error if it is not a regular file, belongs to another user, as does a link to it, or is missing where a link leads.
 */
export function findOwnFile(path: string): OwnFile {
  const stats = statRegularFile(path);
  if (!stats) {
    checkFolder(dirname(path));
    return { path, stats };
  }
  if (process.geteuid && stats.uid !== process.geteuid()) throw foreign('it', stats);
  // In a folder that others can write, such a link could lead to any file of this user.
  const link = lstatSync(path);
  if (process.geteuid && ![0, process.geteuid()].includes(link.uid)) throw foreign('the symbolic link', link);
  return { path: realpathSync(path), stats };
}

/**
 * Returns the state of the file that a path leads to; undefined if there is nothing at the path.
 * @throws Error if it is a folder, a device or the like, or a broken symbolic link.
 */
export function statRegularFile(path: string): Stats | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile()) return stats;
  if (stats) throw new Error(stats.isDirectory() ? 'it is a folder' : 'it is not a regular file');
  if (lstatSync(path, { throwIfNoEntry: false })) throw new Error('it is a symbolic link to nothing');
  return undefined;
}

/**
 * Checks that root makes nothing in the folder of another user, who could then not use it. The folder may be missing.
 * @throws Error that names the other user.
 */
export function checkFolder(folder: string): void {
  if (process.geteuid?.() !== 0) return;
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (!stats) checkFolder(dirname(folder));
  else if (stats.uid !== 0) throw foreign(`the folder ${folder}`, stats);
}

function foreign(subject: string, { uid }: Stats): Error {
  return new Error(`${subject} belongs to another user (uid ${uid}); run heddle as that user, without sudo`);
}

/**
 * Creates a folder, and those that it is in, if they are missing. Node's own recursion never ends below a folder like `/proc`,
 * which is there but takes none.
 * @throws the system's error.
 */
export function makeFolder(folder: string, mode: number): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process created it at the same time.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/**
 * Replaces the content of a file atomically, readable by its owner only (0600). Readers find the old text or the new one,
 * even after a crash. Creates the folder (0700) if it is missing, and follows symbolic links.
 * @throws the system's error, or as {@link findOwnFile} does; the old file is then unchanged.
 */
export function replacePrivateFile(file: string, text: string): void {
  const { path } = findOwnFile(file);
  makeFolder(dirname(path), 0o700);
  removeTemporaryCopies(path);
  replaceFile(path, text, { mode: 0o600 });
}

/** A file that is written in parts and replaces another in one step. */
export interface Replacement {
  /** @throws the system's error; the old file is then unchanged. */
  write: (text: string) => void;
  /** Puts the new file in the place of the old one. @throws the system's error. */
  finish: () => void;
  /** Gives the new file up, unless it is finished. */
  discard: () => void;
}

/** Permissions of a new file, and its group; where that cannot be set, the group gets no permissions. */
interface Attributes {
  mode: number;
  gid?: number | undefined;
}

/**
 * Begins to replace the content of a file. A crash may leave a file that ends in `.tmp`.
 * @throws the system's error.
 */
export function startReplacement(file: string, { mode, gid }: Attributes): Replacement {
  const temporary = `${file}.${crypto.randomUUID()}.tmp`;
  const descriptor = openSync(temporary, 'wx', 0o600);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
  return {
    write: (text) => writeFileSync(descriptor, text),
    finish: () => {
      fchmodSync(descriptor, setGroup(descriptor, gid) ? mode : mode & 0o707);
      fsyncSync(descriptor);
      close();
      renameSync(temporary, file);
      syncFolder(dirname(file));
    },
    discard: () => {
      close();
      rmSync(temporary, { force: true });
    },
  };
}

/** Replaces the content of a file atomically, as {@link startReplacement} does. */
export function replaceFile(file: string, text: string, attributes: Attributes): void {
  const replacement = startReplacement(file, attributes);
  try {
    replacement.write(text);
    replacement.finish();
  } finally {
    replacement.discard();
  }
}

function setGroup(descriptor: number, gid: number | undefined): boolean {
  const current = fstatSync(descriptor);
  if (gid === undefined || gid === current.gid) return true;
  try {
    fchownSync(descriptor, current.uid, gid);
    return true;
  } catch {
    return false;
  }
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
