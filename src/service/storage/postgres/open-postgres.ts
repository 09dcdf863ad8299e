import { Kysely, PostgresDialect, sql } from 'kysely';
import type { Database } from '../database.ts';
import { type Engine, migrate, readSchemaVersion, schemaVersion } from '../migrations.ts';
import { retryWhile } from '../retry-while.ts';
import type { Tables } from '../tables.ts';
import { connectionPool, type PoolOptions } from './connection-pool.ts';
import { findFaults } from './find-faults.ts';
import { PostgresFailure } from './postgres-failure.ts';
import { SerialQueue } from './serial-queue.ts';

const engine: Engine = {
  container: 'database',
  alternative:
    'set HEDDLE_DATABASE_URL or --database to another database, or to a schema with ?options=-csearch_path%3DNAME',
  // Byte order, as in SQLite: a language's order differs between servers and versions of their libraries.
  textType: sql`text collate "C"`,
  listTables: async (db) => {
    const tables = sql<{ name: string }>`
      select tablename as name from pg_catalog.pg_tables where schemaname = current_schema()`;
    return (await tables.execute(db)).rows.map(({ name }) => name);
  },
};

/** Opens a PostgreSQL database and creates the tables if they are missing. Survives the loss of its connections. */
export async function openPostgres(url: string): Promise<Database> {
  const db = connect(url);
  const conflicting = new SerialQueue();
  const database: Database = {
    read: (work) =>
      retryConflicts(() =>
        db.transaction().setAccessMode('read only').setIsolationLevel('repeatable read').execute(work),
      ),
    // Repeats conflicting writes one after another; repeated all at once, they would keep conflicting.
    write: async (work) => {
      const attempt = () => db.transaction().setIsolationLevel('serializable').execute(work);
      if (conflicting.size === 0) {
        try {
          return await attempt();
        } catch (error) {
          if (!isConflict(error)) throw toHeddleError(error);
        }
      }
      return conflicting.run(() => retryConflicts(attempt));
    },
    integrityCheck: () => database.read(findFaults),
    close: () => db.destroy(),
  };
  try {
    const version = await database.read((transaction) => readSchemaVersion(transaction, engine));
    if (version < schemaVersion) await upgrade(url);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return database;
}

function connect(url: string, options?: PoolOptions): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: connectionPool(url, options) }) });
}

/** Upgrades the schema on a connection without time limits, since migrating large tables may take long. */
async function upgrade(url: string): Promise<void> {
  const db = connect(url, { unlimited: true });
  try {
    // Read committed: after waiting for the lock, it must see what the lock's previous holder did.
    await retryConflicts(() =>
      db
        .transaction()
        .setIsolationLevel('read committed')
        .execute(async (transaction) => {
          await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(transaction);
          await migrate(transaction, engine);
        }),
    );
  } finally {
    await db.destroy();
  }
}

/** Key of the advisory lock that every heddle takes before a migration: "heddle" in ASCII. */
const migrationLock = 0x686564646c65;

function isConflict(error: unknown): boolean {
  return error instanceof PostgresFailure && error.isConflict;
}

function toHeddleError(error: unknown): unknown {
  return error instanceof PostgresFailure ? error.toHeddleError() : error;
}

/** Repeats an operation while other transactions conflict with it. Throws a HeddleError for the database's failures. */
async function retryConflicts<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await retryWhile(isConflict, operation);
  } catch (error) {
    throw toHeddleError(error);
  }
}
