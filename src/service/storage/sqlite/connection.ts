import type { DatabaseSyncInstance, SqliteModule } from '@photostructure/sqlite';
import { type ErrorFields, HeddleError } from '../../../core/errors.ts';
import { retryWhile } from '../retry-while.ts';

type OpenSqlite = SqliteModule['DatabaseSync'];

/** Loads the `node:sqlite` API: the runtime's own, or the optional package that brings the same one to Node 20. */
export async function loadSqlite(): Promise<OpenSqlite> {
  const builtin = withoutSqliteWarning(() => process.getBuiltinModule('node:sqlite')) as SqliteModule | undefined;
  if (builtin) return builtin.DatabaseSync;
  try {
    return (await import('@photostructure/sqlite')).DatabaseSync;
  } catch (cause) {
    throw new HeddleError({
      code: 'not_configured',
      message: 'This Node has no node:sqlite, and the package that replaces it could not be loaded.',
      hint: 'Use Node 22.13 or later, or reinstall heddle with optional dependencies (@photostructure/sqlite).',
      cause,
    });
  }
}

/** Node 22 warns on stderr that node:sqlite is experimental. Every other warning still gets through. */
function withoutSqliteWarning<T>(load: () => T): T {
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes('SQLite')) Reflect.apply(emitWarning, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Connection to a data file, with the settings that several processes on one file need. */
export function connect(open: OpenSqlite, file: string): DatabaseSyncInstance {
  // The wait inside SQLite blocks the event loop, so it stays short; retryWhileBusy does the rest.
  const connection = new open(file, { timeout: 20 });
  connection.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
  return connection;
}

/** SQLite's primary result code of an error, or undefined for an error that did not come from SQLite. */
function resultCode(error: unknown): number | undefined {
  const { code, errcode, message } = (error ?? {}) as { code?: unknown; errcode?: unknown; message?: string };
  if (typeof errcode === 'number') return errcode & 0xff;
  return code === 'ERR_SQLITE_ERROR' ? codesByMessage.get(message ?? '') : undefined;
}

/** On Node 20 reading several rows fails without the code: then SQLite's own words say which it was. */
const codesByMessage = new Map([
  ['database is locked', 5],
  ['database table is locked', 6],
  ['attempt to write a readonly database', 8],
  ['disk I/O error', 10],
  ['database disk image is malformed', 11],
  ['database or disk is full', 13],
  ['unable to open database file', 14],
  ['file is not a database', 26],
]);

const busyCodes = [5, 6];

/**
 * Runs an operation again, for up to 10 s, as long as another process holds the file. Other SQLite failures become
 * HeddleErrors that say what to do.
 */
export async function retryWhileBusy<T>(operation: () => Promise<T> | T): Promise<T> {
  try {
    return await retryWhile((error) => busyCodes.includes(resultCode(error) ?? -1), operation);
  } catch (error) {
    const failure = storageFailures.find(({ codes }) => codes.includes(resultCode(error) ?? -1));
    throw failure ? new HeddleError({ ...failure, cause: error }) : error;
  }
}

const unavailable = { code: 'service_unavailable', status: 503 } as const;

const storageFailures: (ErrorFields & { codes: number[] })[] = [
  {
    ...unavailable,
    retryable: true,
    codes: busyCodes,
    message: 'The data file stayed locked by another process for 10 seconds.',
    hint: 'Try again; if it lasts, look for a process that hangs while it uses the same data file.',
  },
  {
    ...unavailable,
    codes: [8, 14, 23],
    message: 'The data file cannot be opened for writing.',
    hint: 'Check the permissions of the data folder and its files, or set HEDDLE_DATA_DIR to another folder.',
  },
  {
    ...unavailable,
    codes: [10, 13],
    message: 'The data file could not be written: the disk is full or failing.',
    hint: 'Free some space on the disk that holds the data folder, then try again.',
  },
  {
    code: 'internal',
    status: 500,
    codes: [11, 26],
    message: 'The data file is damaged or is not a heddle data file.',
    hint: 'Restore it from a copy, or set HEDDLE_DATA_DIR to another folder.',
  },
];
