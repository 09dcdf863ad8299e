import { type Kysely, sql } from 'kysely';
import type { Database, Transaction } from '../database.ts';
import type { Tables } from '../database-tables.ts';
import { retryWhile } from '../retry-while.ts';
import { runTransaction } from '../run-transaction.ts';
import { type Engine, missingTables, prepareSchema, schemaOf, withCurrentSchema } from '../schema.ts';
import { postgresMemberIndexes } from './member-indexes.ts';
import { openPool } from './open-pool.ts';
import { isConflict } from './postgres-failure.ts';
import { SerialQueue } from './serial-queue.ts';
import { postgresTextIndex } from './text-index.ts';

/**
 * Set in each transaction, because poolers such as PgBouncer reject or forget settings of a connection. Compiling a statement
 * takes longer than it saves, and so does starting workers for statements of less than about a tenth of a second.
 */
const settings = `
  set local jit = off;
  set local parallel_setup_cost = 10000;
  set local statement_timeout = '30s';
  set local lock_timeout = '10s';
  set local idle_in_transaction_session_timeout = '60s'`;
const beginRead = `start transaction isolation level repeatable read read only; ${settings}`;
/** A migration waits for changes that have begun, and others wait for it. The lock comes before the snapshot, which then shows the migration. */
const beginWrite = `start transaction isolation level serializable; ${settings}; lock table schema_version in row share mode`;
/** Waits for the same of every process, and for migrations, but for no other write. The snapshot then shows what they changed. */
const beginWriteInTurn = beginWrite.replace('row share', 'share update exclusive');
/**
 * Writes to the log of the database, so that the commit of a change that is already there waits for a synchronous standby
 * too. Otherwise, the repetition of a change that only the primary has would be acknowledged.
 */
const writeToLog = "select pg_logical_emit_message(true, 'heddle', '')";

/** Writes at once. They are fewer than the connections of the pool, so that many slow ones leave some to reads, which are short. */
const maxWrites = 7;

const alternative =
  'set HEDDLE_DATABASE_URL or --database to another database, or to a schema with ?options=-csearch_path%3DNAME';

const postgresEngine: Engine = {
  container: 'database',
  alternative,
  newBeginning: alternative,
  // Byte order, as in SQLite: a language's order differs between servers and versions of their libraries.
  textType: 'text collate "C"',
  bytesType: 'bytea',
  // By default, statistics know of a new project only after a tenth of all rows has changed. Until then, plans expect one row of it.
  tableOptions: 'with (autovacuum_analyze_threshold = 500, autovacuum_analyze_scale_factor = 0.005)',
  listTables: async (db) => {
    const tables = sql<{ name: string }>`
      select tablename as name from pg_catalog.pg_tables where schemaname = current_schema()`;
    return (await tables.execute(db)).rows.map(({ name }) => name);
  },
};

/** Opens a PostgreSQL database and creates the tables if they are missing. Survives the loss of its connections. */
export async function openPostgres(url: string): Promise<Database> {
  const db = openPool(url);
  const conflicting = new SerialQueue();
  const inTurn = new SerialQueue();
  const lanes = Array.from({ length: maxWrites }, () => new SerialQueue());
  const emptiestLane = (): SerialQueue => lanes.reduce((best, lane) => (lane.size < best.size ? lane : best));
  let afterBegin = '';
  const attempt = <T>(begin: string, work: (transaction: Transaction) => Promise<T>): Promise<T> =>
    emptiestLane().run(() =>
      runTransaction(db, begin + afterBegin, (transaction) => withCurrentSchema(transaction, postgresEngine, work)),
    );
  // The time in the queue of this process does not count towards the time limit of the repetitions.
  const attemptInTurn = <T>(queue: SerialQueue, work: (transaction: Transaction) => Promise<T>): Promise<T> =>
    queue.run(() => retryWhile(isConflict, () => attempt(beginWriteInTurn, work)));
  const read: Database['read'] = (work) => retryWhile(isConflict, () => runTransaction(db, beginRead, work));
  const database: Database = {
    blocksEventLoop: false,
    caseInsensitiveLike: 'ilike',
    memberIndexes: postgresMemberIndexes(db),
    textIndex: postgresTextIndex(db, read),
    textsOf: (json) => sql`(select json_array_elements_text(${json}::json))`,
    read,
    // Repeats conflicting writes of all processes one after another; repeated all at once, they would keep conflicting.
    write: async (work) => {
      if (conflicting.size === 0) {
        try {
          return await attempt(beginWrite, work);
        } catch (error) {
          if (!isConflict(error)) throw error;
        }
      }
      return attemptInTurn(conflicting, work);
    },
    writeInTurn: (work) => attemptInTurn(inTurn, work),
    gatherStatistics: () =>
      read(async (transaction) => void (await sql`analyze calls, queue_items, feedback`.execute(transaction))),
    integrityCheck: () => database.read(findFaults),
    close: () => db.destroy(),
  };
  try {
    const schema = await database.read((transaction) => schemaOf(transaction, postgresEngine));
    if (schema !== 'current') await prepareTables(db);
    if (await database.read(mayWriteToLog)) afterBegin = `; ${writeToLog}`;
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return database;
}

/** Returns whether the server has the function to write to its log, which engines other than PostgreSQL may lack. */
async function mayWriteToLog(transaction: Transaction): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_catalog.pg_proc
    where proname = 'pg_logical_emit_message' and has_function_privilege(oid, 'execute')`.execute(transaction);
  return rows.length > 0;
}

/** Key of the advisory lock that every heddle takes before it creates or migrates the tables: "heddle" in ASCII. */
const tablesLock = 0x686564646c65;

async function prepareTables(db: Kysely<Tables>): Promise<void> {
  // Read committed: after waiting for the lock, it must see what the lock's previous holder did.
  await runTransaction(db, 'start transaction isolation level read committed', async (transaction) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(tablesLock)})`.execute(transaction);
    // Before the statements of a migration, which would otherwise wait for changes that wait for them.
    const isEarlier = (await schemaOf(transaction, postgresEngine)) === 'earlier';
    if (isEarlier) await sql`lock table schema_version in exclusive mode`.execute(transaction);
    await prepareSchema(transaction, postgresEngine);
  });
}

/** Returns the faults that an interrupted restore or a manual change left in the tables. */
async function findFaults(transaction: Transaction): Promise<string[]> {
  const { rows } = await sql<{ fault: string }>`
    select 'the database is a standby, which cannot be written' as fault where pg_is_in_recovery()
    union all
    select 'index ' || c.relname || ' is invalid' from pg_catalog.pg_index i
      join pg_catalog.pg_class c on c.oid = i.indexrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = current_schema() and not i.indisvalid
    union all
    select 'column ' || table_name || '.' || column_name || ' is not in byte order' from information_schema.columns
      where table_schema = current_schema() and data_type = 'text'
      and case when collation_name is null then 'B' > 'a' else collation_name <> 'C' end`.execute(transaction);
  return [...rows.map(({ fault }) => fault), ...(await missingTables(transaction, postgresEngine))];
}
