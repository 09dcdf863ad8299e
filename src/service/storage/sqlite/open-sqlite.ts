import { closeSync, existsSync, fchownSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { Kysely, SqliteDialect, sql } from 'kysely';
import { HeddleError } from '../../../core/errors.ts';
import { checkFolder, makeFolder, statRegularFile } from '../../../core/secrets/private-file.ts';
import type { Database } from '../database.ts';
import type { Tables } from '../database-tables.ts';
import { runTransaction } from '../run-transaction.ts';
import { type Engine, missingTables, prepareSchema, schemaOf, withCurrentSchema } from '../schema.ts';
import { kyselyDatabase } from './kysely-database.ts';
import { sqliteMemberIndexes } from './member-indexes.ts';
import { loadSqlite, openConnection, retryWhileBusy } from './sqlite-connection.ts';
import { sqliteTextIndex } from './text-index.ts';

export const sqliteEngine: Engine = {
  container: 'data file',
  alternative: 'set HEDDLE_DATA_DIR to another folder',
  newBeginning: 'run `heddle service reset`, which keeps it under another name and begins with a new one',
  textType: 'text',
  bytesType: 'blob',
  listTables: async (db) => (await db.introspection.getTables()).map(({ name }) => name),
  tableOptions: '',
};

// A deferred transaction that writes fails at once if another process wrote since it began; waiting cannot help.
const beginWrite = 'begin immediate';

/** Opens a data file. Creates the folder (mode 0700), the file (0600) and the tables if they are missing. */
export async function openSqlite(file: string): Promise<Database> {
  const open = await loadSqlite();
  createPrivateFile(file);
  const connect = () => openKysely(openConnection(open, file));
  return retryWhileBusy(async () => {
    const writer = connect();
    // A connection of its own, so that reading continues while a long change is written.
    let reader: Kysely<Tables>;
    try {
      await prepareTables(writer);
      reader = connect();
      await sql`pragma query_only = on`.execute(reader);
    } catch (error) {
      await writer.destroy();
      throw error;
    }
    const memberIndexes = sqliteMemberIndexes(file, reader, writer);
    const read: Database['read'] = (work) => retryWhileBusy(() => runTransaction(reader, 'begin', work));
    const write: Database['write'] = (work) =>
      retryWhileBusy(() =>
        runTransaction(writer, beginWrite, (transaction) => withCurrentSchema(transaction, sqliteEngine, work)),
      );
    return {
      blocksEventLoop: true,
      caseInsensitiveLike: 'like',
      memberIndexes,
      textIndex: sqliteTextIndex({ read, write }),
      textsOf: (json) => sql`(select value from json_each(${json}))`,
      read,
      write,
      // Writes of all processes are one after another already.
      writeInTurn: write,
      // Without statistics, its plans are the same whatever the tables hold.
      gatherStatistics: async () => {},
      integrityCheck: () => retryWhileBusy(() => integrityCheck(writer)),
      close: async () => {
        await memberIndexes.finished();
        await reader.destroy();
        await writer.destroy();
      },
    };
  });
}

function createPrivateFile(file: string): void {
  const folder = dirname(file);
  try {
    // Opens new files only: closing a second descriptor of an open data file would drop the locks SQLite holds on it.
    if (statRegularFile(file)) return;
    if (!existsSync(folder)) checkFolder(folder);
    makeFolder(folder, 0o700);
    const descriptor = openSync(file, 'wx', 0o600);
    // A file that root makes in the folder of another user remains usable for that user, like SQLite's own files.
    const { uid, gid } = statSync(folder);
    if (process.geteuid?.() === 0) fchownSync(descriptor, uid, gid);
    closeSync(descriptor);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const isFolder = mayBeFolder(folder);
    // Another process created it at the same time.
    if (code === 'EEXIST' && isFolder) return;
    const reason = isFolder ? code : `${folder} is not a folder`;
    throw new HeddleError({
      code: 'service_unavailable',
      status: 503,
      message: `The data file ${file} cannot be ${code ? `created (${reason})` : `used: ${message}`}.`,
      hint: `${code ? 'Check the permissions of the folder' : 'Move it away'}, or set HEDDLE_DATA_DIR to another folder.`,
      cause,
    });
  }
}

function mayBeFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
}

/** Returns Kysely on a connection. */
export function openKysely(connection: DatabaseSyncInstance): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database: kyselyDatabase(connection) }) });
}

async function prepareTables(db: Kysely<Tables>): Promise<void> {
  const schema = await schemaOf(db, sqliteEngine);
  await sql`pragma journal_mode = wal`.execute(db);
  if (schema === 'current') return;
  await runTransaction(db, beginWrite, (transaction) => prepareSchema(transaction, sqliteEngine));
}

/** Returns the faults that SQLite finds in a data file, and the tables that it lacks. */
export async function integrityCheck(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(db);
  const faults = rows.map((row) => row.integrity_check).filter((fault) => fault !== 'ok');
  return [...faults, ...(await missingTables(db, sqliteEngine))];
}
