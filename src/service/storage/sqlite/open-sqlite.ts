import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Kysely, SqliteDialect, sql } from 'kysely';
import { HeddleError } from '../../../core/errors.ts';
import type { Database } from '../database.ts';
import { type Engine, migrate, missingTables, readSchemaVersion, schemaVersion } from '../migrations.ts';
import { runTransaction } from '../run-transaction.ts';
import type { Tables } from '../tables.ts';
import { loadSqlite, openConnection, retryWhileBusy } from './connection.ts';
import { kyselyDatabase } from './kysely-database.ts';

const engine: Engine = {
  container: 'data file',
  alternative: 'set HEDDLE_DATA_DIR to another folder',
  textType: 'text',
  listTables: async (db) => (await db.introspection.getTables()).map(({ name }) => name),
};

// A deferred transaction that writes fails at once if another process wrote since it began; waiting cannot help.
const beginWrite = 'begin immediate';

/** Opens a data file. Creates the folder (mode 0700), the file (0600) and the tables if they are missing. */
export async function openSqlite(file: string): Promise<Database> {
  const open = await loadSqlite();
  createPrivateFile(file);
  return retryWhileBusy(async () => {
    const database = kyselyDatabase(openConnection(open, file));
    const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database }) });
    try {
      await upgrade(db);
    } catch (error) {
      await db.destroy();
      throw error;
    }
    return {
      read: (work) => retryWhileBusy(() => runTransaction(db, 'begin', work)),
      write: (work) => retryWhileBusy(() => runTransaction(db, beginWrite, work)),
      integrityCheck: () => retryWhileBusy(() => integrityCheck(db)),
      close: () => db.destroy(),
    };
  });
}

function createPrivateFile(file: string): void {
  const folder = dirname(file);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Opens new files only: closing a second descriptor of an open data file would drop the locks SQLite holds on it.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const problem = code === 'EEXIST' ? problemOf(folder, file) : `cannot be created (${code})`;
    if (problem === undefined) return;
    const remedy = code === 'EEXIST' ? 'Move it away' : 'Check the permissions of the folder';
    throw new HeddleError({
      code: 'service_unavailable',
      status: 503,
      message: `The data file ${file} ${problem}.`,
      hint: `${remedy}, or set HEDDLE_DATA_DIR to another folder.`,
      cause,
    });
  }
}

/** Returns why something that exists cannot be used as the data file or its folder; undefined if it can. */
function problemOf(folder: string, file: string): string | undefined {
  if (!statSync(folder).isDirectory()) return `cannot be created, because ${folder} is not a folder`;
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) return 'is a folder';
  return found === undefined || found.isFile() ? undefined : 'is not a regular file';
}

async function upgrade(db: Kysely<Tables>): Promise<void> {
  const version = await readSchemaVersion(db, engine);
  await sql`pragma journal_mode = wal`.execute(db);
  if (version < schemaVersion) await runTransaction(db, beginWrite, (transaction) => migrate(transaction, engine));
}

async function integrityCheck(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(db);
  const faults = rows.map((row) => row.integrity_check).filter((fault) => fault !== 'ok');
  return [...faults, ...(await missingTables(db, engine))];
}
