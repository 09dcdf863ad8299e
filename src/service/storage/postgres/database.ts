import { Kysely, PostgresDialect, sql } from 'kysely';
import type { Database, Transaction } from '../database.ts';
import { type Engine, migrate, readSchemaVersion, schemaVersion } from '../migrations.ts';
import { retryWhile } from '../retry-while.ts';
import type { Tables } from '../tables.ts';
import { postgresFaults } from './check.ts';
import { PostgresFailure } from './failures.ts';
import { connectionPool } from './pool.ts';
import { Turns } from './serial-queue.ts';

const engine: Engine = {
  storage: 'database',
  elsewhere: 'give HEDDLE_DATABASE_URL or --database another database, or a schema with ?options=-csearch_path%3DNAME',
  // The order of bytes, as on SQLite: that of a language differs by server and by the version of its libraries.
  text: sql`text collate "C"`,
  tables: async (db) => {
    const { rows } = await sql<{
      name: string;
    }>`select tablename as name from pg_catalog.pg_tables where schemaname = current_schema()`.execute(db);
    return rows.map(({ name }) => name);
  },
};

/** Opens a PostgreSQL database, creating the tables where they are missing. It may be lost and come back at any time. */
export async function openPostgres(url: string): Promise<Database> {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: connectionPool(url) }) });
  const turns = new Turns();
  const database: Database = {
    read: (work) =>
      settled(isConflict, () =>
        db.transaction().setAccessMode('read only').setIsolationLevel('repeatable read').execute(work),
      ),
    // At once as long as nobody is in the way; then in turn, or with many at one name nobody would get through.
    write: async (work) => {
      const attempt = () => db.transaction().setIsolationLevel('serializable').execute(work);
      if (turns.taken === 0) {
        try {
          return await attempt();
        } catch (error) {
          if (!isConflict(error)) throw settledError(error);
        }
      }
      return turns.take(() => settled(isConflict, attempt));
    },
    // Without it a page with positions takes a minute instead of a second, until the server does the same by itself.
    // Who may not do it still has what was written.
    analyze: () => sql`analyze queue_items, calls`.execute(db).then(noop, noop),
    integrityCheck: () => database.read(postgresFaults),
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

/** Brings the schema up to date on a connection of its own: what a migration does to large tables may take long. */
async function upgrade(url: string): Promise<void> {
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: connectionPool(url, { unlimited: true }) }),
  });
  try {
    // Read committed: after the wait for the lock it must see what the one who had it did.
    await settled(isRacingMigration, () =>
      db
        .transaction()
        .setIsolationLevel('read committed')
        .execute(async (transaction) => {
          await lockMigrations(transaction);
          await migrate(transaction, engine);
        }),
    );
  } finally {
    await db.destroy();
  }
}

/** The same for every heddle, and hardly anything else's. */
const migrationLock = 0x686564646c65;

/** Until the end of the transaction. Engines without such locks fail the second of two migrations, which then tries again. */
async function lockMigrations(transaction: Transaction): Promise<void> {
  await sql`savepoint before_lock`.execute(transaction);
  try {
    await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(transaction);
  } catch (error) {
    if (!(error instanceof PostgresFailure && error.isUnsupported)) throw error;
    await sql`rollback to savepoint before_lock`.execute(transaction);
  }
}

const noop = (): void => {};
const isConflict = (error: unknown): boolean => error instanceof PostgresFailure && error.isConflict;
const isRacingMigration = (error: unknown): boolean => error instanceof PostgresFailure && error.isRacingMigration;

/** What an operation leads to in the end: its result, or an error that says what to do. */
async function settled<T>(isTransient: (error: unknown) => boolean, operation: () => Promise<T>): Promise<T> {
  try {
    return await retryWhile(isTransient, operation);
  } catch (error) {
    throw settledError(error);
  }
}

function settledError(error: unknown): unknown {
  return error instanceof PostgresFailure ? error.toError() : error;
}
