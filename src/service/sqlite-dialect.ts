import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import { HeddleError } from '../contract/errors.ts';

/** Kysely on one connection of the `node:sqlite` API. */
export function sqliteDialect(connection: DatabaseSyncInstance): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(connection),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class SqliteDriver implements Driver {
  readonly #database: DatabaseSyncInstance;
  readonly #connection: SqliteConnection;
  /** Ends when the connection is free: a transaction has it for itself. */
  #queue: Promise<void> = Promise.resolve();
  #release: () => void = () => {};

  constructor(database: DatabaseSyncInstance) {
    this.#database = database;
    this.#connection = new SqliteConnection(database);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#queue;
    const { promise, resolve } = withResolvers();
    this.#queue = promise;
    await before;
    this.#release = resolve;
    return this.#connection;
  }

  async beginTransaction(_: DatabaseConnection, { accessMode }: TransactionSettings): Promise<void> {
    // A deferred transaction that writes later fails at once when another process wrote in between; waiting cannot help.
    this.#database.exec(accessMode === 'read only' ? 'BEGIN' : 'BEGIN IMMEDIATE');
  }

  async commitTransaction(): Promise<void> {
    this.#database.exec('COMMIT');
  }

  async rollbackTransaction(): Promise<void> {
    // A full disk makes SQLite roll back by itself; a second rollback would hide the reason.
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  async releaseConnection(): Promise<void> {
    this.#release();
  }

  async destroy(): Promise<void> {
    this.#connection.forgetStatements();
    this.#database.close();
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

const maxStatements = 200;

class SqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSyncInstance;
  readonly #statements = new Map<string, StatementSyncInstance>();

  constructor(database: DatabaseSyncInstance) {
    this.#database = database;
  }

  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    if (parameters.some((value) => typeof value === 'string' && !isKept(value))) throw notKept();
    const statement = this.#statement(sql);
    const changesRows =
      query.kind === 'InsertQueryNode' || query.kind === 'UpdateQueryNode' || query.kind === 'DeleteQueryNode';
    if (changesRows && !query.returning) {
      return { numAffectedRows: BigInt(statement.run(...parameters).changes), rows: [] };
    }
    return { rows: statement.all(...parameters) as Row[] };
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for the method; nothing here streams rows.
  async *streamQuery(): AsyncIterableIterator<QueryResult<never>> {
    throw new Error('Rows are not streamed from SQLite');
  }

  forgetStatements(): void {
    this.#statements.clear();
  }

  #statement(sql: string): StatementSyncInstance {
    const known = this.#statements.get(sql);
    this.#statements.delete(sql);
    const statement = known ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    if (this.#statements.size > maxStatements) {
      this.#statements.delete(this.#statements.keys().next().value!);
    }
    return statement;
  }
}

/** Whether SQLite gives a text back as it was: it ends at NUL on Node 20, and UTF-8 has no half characters. */
function isKept(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Another text must not be kept, or looked for, in the place of the one that was meant. */
function notKept(): HeddleError {
  return new HeddleError({
    code: 'invalid_arguments',
    status: 400,
    message: 'A text holds a NUL character or half a character, which the data file does not keep.',
    hint: 'Leave these characters out.',
  });
}
