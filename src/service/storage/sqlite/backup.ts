import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Kysely } from 'kysely';
import { isPostgresUrl } from '../../../core/database-url.ts';
import { HeddleError } from '../../../core/errors.ts';
import { findOwnFile, statRegularFile } from '../../../core/secrets/private-file.ts';
import type { Tables } from '../database-tables.ts';
import { schemaOf } from '../schema.ts';
import { integrityCheck, openKysely, sqliteEngine } from './open-sqlite.ts';
import { damagedFile, loadSqlite, lockedFile, retryWhileBusy, sqliteFailureOf } from './sqlite-connection.ts';

/**
 * Copies a data file to a new file, as it is at one moment, while other processes use it. The copy appears in one step, complete
 * and readable by its owner only.
 * @throws HeddleError `unsupported` for a PostgreSQL database, which has its own programs for it; `not_configured` if there is no
 * data file, `conflict` if the target exists.
 */
export async function backUpData(dataFile: string, target: string): Promise<void> {
  requireFile(dataFile, 'backup');
  const open = await loadSqlite();
  if (!existsSync(dataFile)) throw missingFile(dataFile);
  if (existsSync(target)) {
    throw new HeddleError({
      code: 'conflict',
      message: `${target} exists already. Nothing was written.`,
      hint: 'Choose another name for the backup, or move the file away.',
    });
  }
  const temporary = temporaryName(target);
  try {
    // Made here, because SQLite would make it readable for others.
    closeSync(openSync(temporary, 'wx', 0o600));
    await retryWhileBusy(() => {
      const connection = new open(dataFile, { timeout: 20 });
      try {
        connection.prepare('VACUUM INTO ?').run(temporary);
      } finally {
        connection.close();
      }
    });
    const fault = await faultOf(open, temporary);
    if (fault !== undefined) throw unusable(temporary, fault);
    syncFile(temporary);
    // A link fails if another process has created the target meanwhile; a rename would replace it.
    linkFile(temporary, target);
  } catch (error) {
    throw asFileError(error, target);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * Replaces a data file by a backup, which stays where it is. The data file of before is kept under another name.
 * @returns the path of the earlier data; undefined if there was none.
 * @throws HeddleError `unsupported` for a PostgreSQL database, `conflict` if a process uses the data file, `invalid_arguments` if
 * the backup is not a sound data file. Nothing is changed then.
 */
export async function restoreData(dataFile: string, backup: string): Promise<string | undefined> {
  requireFile(dataFile, 'restore');
  const open = await loadSqlite();
  const temporary = temporaryName(dataFile);
  try {
    if (!statRegularFile(backup)) throw new Error('it does not exist');
    findOwnFile(dataFile);
    closeSync(openSync(temporary, 'wx', 0o600));
    copyFileSync(backup, temporary);
    const fault = await faultOf(open, temporary);
    if (fault !== undefined) throw unusable(backup, fault);
    syncFile(temporary);
    return replaceUnused(open, dataFile, temporary);
  } catch (error) {
    throw asFileError(error, backup);
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${temporary}${suffix}`, { force: true });
  }
}

/**
 * Moves a data file away, so that the next start begins with a new one.
 * @returns the path of the earlier data; undefined if there was none.
 * @throws HeddleError `unsupported` for a PostgreSQL database, `conflict` if a process uses the data file.
 */
export async function resetData(dataFile: string): Promise<string | undefined> {
  requireFile(dataFile, 'reset');
  const open = await loadSqlite();
  try {
    findOwnFile(dataFile);
    return replaceUnused(open, dataFile, undefined);
  } catch (error) {
    throw asFileError(error, dataFile);
  }
}

const programs = {
  backup: 'Use pg_dump --format=custom --file FILE, with the URL of the database.',
  restore: 'Stop every heddle process, then use pg_restore --clean --if-exists, with the URL of the database.',
  reset: 'Stop every heddle process, then drop the database and create it again (dropdb, createdb).',
};

function requireFile(data: string, action: keyof typeof programs): void {
  if (!isPostgresUrl(data)) return;
  throw new HeddleError({
    code: 'unsupported',
    message: `The data is in PostgreSQL, which heddle does not ${action === 'backup' ? 'back up' : action}.`,
    hint: programs[action],
  });
}

type OpenSqlite = Awaited<ReturnType<typeof loadSqlite>>;

/** Moves an unused data file away, and puts another in its place. */
function replaceUnused(open: OpenSqlite, dataFile: string, replacement: string | undefined): string | undefined {
  if (!existsSync(dataFile)) {
    if (replacement !== undefined) renameSync(replacement, dataFile);
    return undefined;
  }
  const unlock = lock(open, dataFile);
  try {
    const time = new Date().toISOString().slice(0, 23).replaceAll(/[-:]/g, '').replace(/[T.]/g, '-');
    const kept = `${dataFile}.${time}.bak`;
    if (replacement === undefined) renameSync(dataFile, kept);
    else {
      // The data file always exists: a process that starts now would otherwise begin with an empty one.
      linkFile(dataFile, kept);
      renameSync(replacement, dataFile);
    }
    // Only a damaged file can still have a log, which belongs to it.
    for (const suffix of ['-wal', '-shm']) {
      if (existsSync(`${dataFile}${suffix}`)) renameSync(`${dataFile}${suffix}`, `${kept}${suffix}`);
    }
    return kept;
  } finally {
    unlock();
  }
}

/**
 * Locks a data file for this process alone, and returns the function that ends it. A file that is damaged cannot be locked.
 * @throws HeddleError `conflict` if another process uses it.
 */
function lock(open: OpenSqlite, dataFile: string): () => void {
  let connection: DatabaseSyncInstance | undefined;
  try {
    connection = new open(dataFile, { timeout: 0 });
    // SQLite leaves the WAL mode, in which every service has the file open, only for the last connection.
    connection.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    connection?.close();
    connection = undefined;
    if (sqliteFailureOf(error) === lockedFile) {
      throw new HeddleError({
        code: 'conflict',
        message: `A heddle process uses ${dataFile}. Nothing was changed.`,
        hint: 'Quit the MCP clients that run heddle, stop `heddle service start`, then run the command again.',
      });
    }
    if (sqliteFailureOf(error) !== damagedFile) throw error;
  }
  return () => connection?.close();
}

/** Returns why a file cannot be used as a data file of this version; undefined if it can. */
async function faultOf(open: OpenSqlite, file: string): Promise<string | undefined> {
  let db: Kysely<Tables> | undefined;
  try {
    db = openKysely(new open(file, { timeout: 20 }));
    const schema = await schemaOf(db, sqliteEngine);
    if (schema === 'none') return 'it is empty.';
    if (schema === 'earlier') return 'it was made by an earlier version of heddle.';
    const faults = await integrityCheck(db);
    return faults.length === 0 ? undefined : `${faults.slice(0, 3).join('; ')}.`;
  } catch (error) {
    return error instanceof HeddleError ? error.message : `${(error as Error).message}.`;
  } finally {
    await db?.destroy();
  }
}

function unusable(file: string, fault: string): HeddleError {
  return new HeddleError({
    code: 'invalid_arguments',
    message: `${file} cannot be used as a backup: ${fault} Nothing was changed.`,
    hint: 'Choose a file that `heddle service backup` has written, or use the version of heddle that wrote it.',
  });
}

function missingFile(file: string): HeddleError {
  return new HeddleError({
    code: 'not_configured',
    message: `There is no data file ${file}, so there is nothing to back up.`,
    hint: 'Pass the --data-dir that your clients use, or set HEDDLE_DATA_DIR.',
  });
}

/** Returns an error that names the file for one of the system. */
function asFileError(error: unknown, file: string): unknown {
  if (error instanceof HeddleError) return error;
  return new HeddleError({
    code: 'invalid_arguments',
    message: `${file} cannot be used: ${(error as Error).message}. Nothing was changed.`,
    hint: 'Check the path, the permissions and the free space on the disk.',
    cause: error,
  });
}

/** Gives a file a second name, or copies it where the disk has no links. @throws the system's error if the name is taken. */
function linkFile(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    copyFileSync(file, name, constants.COPYFILE_EXCL);
  }
}

function temporaryName(file: string): string {
  return `${file}.${crypto.randomUUID()}.tmp`;
}

function syncFile(file: string): void {
  const descriptor = openSync(file, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
