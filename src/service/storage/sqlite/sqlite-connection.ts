import type { DatabaseSyncInstance, SqliteModule } from '@photostructure/sqlite';
import { type ErrorFields, HeddleError } from '../../../core/errors.ts';
import { sqliteAdvice } from '../../../core/sqlite.ts';
import { retryWhile } from '../retry-while.ts';

type OpenSqlite = SqliteModule['DatabaseSync'];

/** Loads Node's own `node:sqlite`, or the optional package with the same API on Node 20. */
export async function loadSqlite(): Promise<OpenSqlite> {
  const { emitWarning } = process;
  // Loading it makes Node 22 warn that it is experimental.
  process.emitWarning = () => {};
  const builtin = process.getBuiltinModule('node:sqlite') as SqliteModule | undefined;
  process.emitWarning = emitWarning;
  if (builtin) return builtin.DatabaseSync;
  try {
    return (await import('@photostructure/sqlite')).DatabaseSync;
  } catch (cause) {
    throw new HeddleError({
      code: 'not_configured',
      message: 'This version of Node has no node:sqlite, and the package that replaces it cannot be loaded.',
      hint: sqliteAdvice,
      cause,
    });
  }
}

/**
 * Pages of the file that a connection keeps in memory. With SQLite's 2 MB, large changes and queries take twice as long: the
 * ids of calls and the digests of rows are in random order.
 */
const maxCacheKiB = 32 * 1024;

/** Opens a data file with the settings that several processes on one file need. */
export function openConnection(open: OpenSqlite, file: string): DatabaseSyncInstance {
  // SQLite's own wait would block the event loop, once for each change that waits; retryWhileBusy does not.
  const connection = new open(file, { timeout: 0 });
  connection.exec(`PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -${maxCacheKiB}`);
  return connection;
}

/**
 * Runs an operation, and repeats it for up to 10 s while another process locks the file.
 * @throws HeddleError for SQLite's failures that the user can fix; any other error as it is.
 */
export async function retryWhileBusy<T>(operation: () => Promise<T> | T): Promise<T> {
  try {
    return await retryWhile((error) => sqliteFailureOf(error) === lockedFile, operation);
  } catch (error) {
    const failure = sqliteFailureOf(error);
    throw failure ? new HeddleError({ ...failure, cause: error }) : error;
  }
}

const unavailable = { code: 'service_unavailable', status: 503 } as const;

/** The failure of a statement while another process locks the file. */
export const lockedFile: ErrorFields & { pattern: RegExp } = {
  pattern: /is locked/,
  ...unavailable,
  retryable: true,
  message: 'The data file stayed locked by another process for 10 seconds.',
  hint: 'Try again. If it keeps happening, look for a process that hangs while it uses the same data file.',
};

/** The failure of a statement on a file that is damaged or no data file. */
export const damagedFile: ErrorFields & { pattern: RegExp } = {
  pattern: /malformed|is not a database/,
  code: 'internal',
  status: 500,
  message: 'The data file is damaged or is not a heddle data file.',
  hint: 'Restore it from a backup, or set HEDDLE_DATA_DIR to another folder.',
};

/** Failures by SQLite's message. Its result code would be better, but Node 20's package does not always report one. */
const failures: (ErrorFields & { pattern: RegExp })[] = [
  lockedFile,
  {
    pattern: /readonly database|unable to open database file/,
    ...unavailable,
    message: 'The data file cannot be opened for writing.',
    hint: 'Check the permissions of the data folder and its files, or set HEDDLE_DATA_DIR to another folder.',
  },
  {
    pattern: /disk I\/O error|disk is full/,
    ...unavailable,
    message: 'The data file could not be written: the disk is full or failing.',
    hint: 'Free some space on the disk that holds the data folder, then try again.',
  },
  damagedFile,
];

/** Returns what a failure of SQLite means; undefined for one that the user cannot fix, and for other errors. */
export function sqliteFailureOf(error: unknown): ErrorFields | undefined {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_SQLITE_ERROR' ? failures.find(({ pattern }) => pattern.test(message)) : undefined;
}
