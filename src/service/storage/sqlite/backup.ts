import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { type Kysely, sql } from 'kysely';
import { isPostgresUrl } from '../../../core/database-url.ts';
import { fileFault, HeddleError } from '../../../core/errors.ts';
import { findOwnFile, statRegularFile } from '../../../core/secrets/private-file.ts';
import type { Transaction } from '../database.ts';
import { type Tables, tables } from '../database-tables.ts';
import { runTransaction } from '../run-transaction.ts';
import { prepareSchema, schemaOf } from '../schema.ts';
import { integrityCheck, openKysely, sqliteEngine } from './open-sqlite.ts';
import {
  damagedFile,
  loadSqlite,
  lockedFile,
  openConnection,
  retryWhileBusy,
  sqliteFailureOf,
} from './sqlite-connection.ts';
import { textIndexRemoval } from './text-index.ts';

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
    removeTextIndex(open, temporary);
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
 * Replaces a data file by a new one with the rows of a backup, which stays where it is. The data file of before is kept under
 * another name.
 * @param confirm is called with what would be restored; nothing is changed if it returns false.
 * @returns the path of the earlier data, which is undefined if there was none; undefined if nothing was changed.
 * @throws HeddleError `unsupported` for a PostgreSQL database, `conflict` if a process uses the data file, `invalid_arguments` if
 * the backup is not a sound data file. Nothing is changed then.
 */
export async function restoreData(
  dataFile: string,
  backup: string,
  confirm: (restored: Transaction) => Promise<boolean>,
): Promise<{ earlier: string | undefined } | undefined> {
  requireFile(dataFile, 'restore');
  const open = await loadSqlite();
  const copy = temporaryName(dataFile);
  const restored = temporaryName(dataFile);
  try {
    try {
      if (!statRegularFile(backup)) throw new Error('it does not exist');
      findOwnFile(dataFile);
      mkdirSync(dirname(dataFile), { recursive: true, mode: 0o700 });
      // Refuses before it asks.
      if (existsSync(dataFile)) lock(open, dataFile)();
      for (const file of [copy, restored]) closeSync(openSync(file, 'wx', 0o600));
      copyFileSync(backup, copy);
      removeTextIndex(open, copy);
      const fault = (await faultOf(open, copy)) ?? (await copyRows(open, copy, restored));
      if (fault !== undefined) throw unusable(backup, fault);
      syncFile(restored);
    } catch (error) {
      throw asFileError(error, backup);
    }
    const db = openKysely(new open(restored));
    const isConfirmed = await runTransaction(db, 'begin', confirm).finally(() => db.destroy());
    return isConfirmed ? { earlier: replaceOwn(open, dataFile, restored) } : undefined;
  } finally {
    for (const file of [copy, restored]) {
      for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true });
    }
  }
}

/** Tables whose rows stay in a backup: who had logged out or used an invitation since must not be let in again. */
const unrestored = new Set(['schema_version', 'board_invitations', 'board_sessions']);

/**
 * Makes a data file with the schema of this version from the rows of another, of whose own schema nothing is taken over.
 * @returns why the rows do not fit; undefined if they do.
 */
async function copyRows(open: OpenSqlite, from: string, to: string): Promise<string | undefined> {
  const db = openKysely(openConnection(open, to));
  try {
    await sql`attach ${from} as backup`.execute(db);
    await runTransaction(db, 'begin', async (transaction) => {
      await prepareSchema(transaction, sqliteEngine);
      for (const [name, { columns }] of Object.entries(tables)) {
        if (unrestored.has(name)) continue;
        const names = sql.join(Object.keys(columns).map((column) => sql.ref(column)));
        const copy = sql`insert into ${sql.table(name)} (${names}) select ${names} from ${sql.table(`backup.${name}`)}`;
        await copy.execute(transaction);
      }
    });
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SQLITE_ERROR' || sqliteFailureOf(error)) throw error;
    return `${(error as Error).message}.`;
  } finally {
    await db.destroy();
  }
}

/**
 * Moves a data file away, so that the next start begins with a new one.
 * @returns the path of the earlier data; undefined if there was none.
 * @throws HeddleError `unsupported` for a PostgreSQL database, `conflict` if a process uses the data file.
 */
export async function resetData(dataFile: string): Promise<string | undefined> {
  requireFile(dataFile, 'reset');
  return replaceOwn(await loadSqlite(), dataFile, undefined);
}

const programs = {
  backup: 'Use pg_dump --format=custom to back up and pg_restore to restore: docs/updating.md has both commands.',
  restore: 'Stop every heddle process, then use pg_restore --clean --if-exists: docs/updating.md has the command.',
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

/** Moves a data file of this user away as {@link replaceUnused} does. @throws HeddleError that names the file. */
function replaceOwn(open: OpenSqlite, dataFile: string, replacement: string | undefined): string | undefined {
  try {
    findOwnFile(dataFile);
    return replaceUnused(open, dataFile, replacement);
  } catch (error) {
    throw asFileError(error, dataFile);
  }
}

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
    const foreign = await foreignObjects(db);
    if (foreign.length > 0) return `it has ${foreign.slice(0, 3).join(', ')}, which heddle does not make.`;
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

/** Removes the index of texts from a copy, whose reader builds it again if it is wanted: it is half of the file. */
function removeTextIndex(open: OpenSqlite, file: string): void {
  const connection = new open(file, { timeout: 20 });
  try {
    const { length } = connection.prepare("select 1 from sqlite_schema where name = 'calls_text'").all();
    if (length > 0) connection.exec([...textIndexRemoval, 'VACUUM'].join(';'));
  } finally {
    connection.close();
  }
}

/** Lists what heddle does not make: triggers and views, which could change or hide rows, and tables of others. */
async function foreignObjects(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<{ type: string; name: string; rootpage: number }>`
    select type, name, rootpage from sqlite_master where type <> 'index'`.execute(db);
  // A virtual table has no page of its own.
  const isOwn = ({ type, name, rootpage }: (typeof rows)[number]): boolean =>
    type === 'table' && rootpage > 0 && (Object.hasOwn(tables, name) || name.startsWith('sqlite_'));
  return rows.filter((row) => !isOwn(row)).map(({ type, name }) => `the ${type} ${JSON.stringify(name)}`);
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
    message: `${file} cannot be used: ${fileFault(error, 'write')}. Nothing was changed.`,
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
