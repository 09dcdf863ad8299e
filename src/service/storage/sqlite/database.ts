import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { Kysely, sql } from 'kysely';
import { HeddleError } from '../../../core/errors.ts';
import type { Database } from '../database.ts';
import { type Engine, migrate, readSchemaVersion, schemaVersion } from '../migrations.ts';
import type { Tables } from '../tables.ts';
import { connect, loadSqlite, retryWhileBusy } from './connection.ts';
import { sqliteDialect } from './dialect.ts';

const engine: Engine = {
  storage: 'data file',
  elsewhere: 'set HEDDLE_DATA_DIR to another folder',
  text: 'text',
  tables: async (db) => (await db.introspection.getTables()).map(({ name }) => name),
};

/** Opens a data file, creating the folder (0700), the file (0600) and the tables where they are missing. */
export async function openSqlite(file: string): Promise<Database> {
  const open = await loadSqlite();
  createPrivately(file);
  return retryWhileBusy(async () => {
    const connection = connect(open, file);
    const db = new Kysely<Tables>({ dialect: sqliteDialect(connection) });
    try {
      await prepare(connection, db);
    } catch (error) {
      await db.destroy();
      if (connection.isOpen) connection.close();
      throw error;
    }
    return {
      read: (work) =>
        retryWhileBusy(() =>
          db.transaction().setAccessMode('read only').setIsolationLevel('repeatable read').execute(work),
        ),
      write: (work) => retryWhileBusy(() => db.transaction().execute(work)),
      // The queries are written so that SQLite finds the right index without statistics.
      analyze: async () => {},
      integrityCheck: () =>
        retryWhileBusy(async () => {
          const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(db);
          return rows.map((row) => row.integrity_check).filter((fault) => fault !== 'ok');
        }),
      close: () => db.destroy(),
    };
  });
}

function createPrivately(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Only a file that is new is opened here: closing a second descriptor would drop the locks SQLite holds on it.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw new HeddleError({
      code: 'service_unavailable',
      status: 503,
      message: `The data file ${file} cannot be created (${(cause as NodeJS.ErrnoException).code}).`,
      hint: 'Check the permissions of the folder, or set HEDDLE_DATA_DIR to another one.',
      cause,
    });
  }
}

async function prepare(connection: DatabaseSyncInstance, db: Kysely<Tables>): Promise<void> {
  const version = await readSchemaVersion(db, engine);
  connection.exec('PRAGMA journal_mode = WAL');
  if (version < schemaVersion) await db.transaction().execute((transaction) => migrate(transaction, engine));
}
