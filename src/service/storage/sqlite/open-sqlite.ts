import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { Kysely, sql } from 'kysely';
import { HeddleError } from '../../../core/errors.ts';
import type { Database } from '../database.ts';
import { type Engine, migrate, readSchemaVersion, schemaVersion } from '../migrations.ts';
import type { Tables } from '../tables.ts';
import { loadSqlite, openConnection, retryWhileBusy } from './connection.ts';
import { nodeSqliteDialect } from './node-sqlite-dialect.ts';

const engine: Engine = {
  container: 'data file',
  alternative: 'set HEDDLE_DATA_DIR to another folder',
  textType: 'text',
  listTables: async (db) => (await db.introspection.getTables()).map(({ name }) => name),
};

/** Opens a data file. Creates the folder (mode 0700), the file (0600) and the tables if they are missing. */
export async function openSqlite(file: string): Promise<Database> {
  const open = await loadSqlite();
  createPrivateFile(file);
  return retryWhileBusy(async () => {
    const connection = openConnection(open, file);
    const db = new Kysely<Tables>({ dialect: nodeSqliteDialect(connection) });
    try {
      await upgrade(connection, db);
    } catch (error) {
      await db.destroy();
      if (connection.isOpen) connection.close();
      throw error;
    }
    return {
      read: (work) => retryWhileBusy(() => db.transaction().setAccessMode('read only').execute(work)),
      write: (work) => retryWhileBusy(() => db.transaction().execute(work)),
      integrityCheck: () => retryWhileBusy(() => integrityCheck(db)),
      close: () => db.destroy(),
    };
  });
}

function createPrivateFile(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Opens new files only: closing a second descriptor of an open data file would drop the locks SQLite holds on it.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    throw new HeddleError({
      code: 'service_unavailable',
      status: 503,
      message: `The data file ${file} cannot be created (${code}).`,
      hint: 'Check the permissions of the folder, or set HEDDLE_DATA_DIR to another one.',
      cause,
    });
  }
}

async function upgrade(connection: DatabaseSyncInstance, db: Kysely<Tables>): Promise<void> {
  const version = await readSchemaVersion(db, engine);
  connection.exec('PRAGMA journal_mode = WAL');
  if (version < schemaVersion) await db.transaction().execute((transaction) => migrate(transaction, engine));
}

async function integrityCheck(db: Kysely<Tables>): Promise<string[]> {
  const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(db);
  return rows.map((row) => row.integrity_check).filter((fault) => fault !== 'ok');
}
