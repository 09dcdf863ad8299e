import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  type TransactionSettings,
} from 'kysely';
import { HeddleError } from '../../../core/errors.ts';

/** Kysely on one connection of the `node:sqlite` API. */
export function sqliteDialect(connection: DatabaseSyncInstance): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new NodeSqliteDriver(connection),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class NodeSqliteDriver extends SqliteDriver {
  readonly #database: DatabaseSyncInstance;

  constructor(database: DatabaseSyncInstance) {
    super({ database: withStatementCache(database) });
    this.#database = database;
  }

  override async beginTransaction(connection: DatabaseConnection, { accessMode }: TransactionSettings = {}) {
    // A deferred transaction that writes later fails at once when another process wrote in between; waiting cannot help.
    await connection.executeQuery(CompiledQuery.raw(accessMode === 'read only' ? 'begin' : 'begin immediate'));
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A full disk makes SQLite roll back by itself; a second rollback would hide the reason.
    if (this.#database.isTransaction) await super.rollbackTransaction(connection);
  }
}

const maxStatements = 200;

/** The connection as Kysely wants it. Statements are kept for the next time, the latest used of them. */
function withStatementCache(database: DatabaseSyncInstance): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  return {
    prepare(sql) {
      const statement = statements.get(sql) ?? prepared(database, sql);
      statements.delete(sql);
      statements.set(sql, statement);
      if (statements.size > maxStatements) statements.delete(statements.keys().next().value!);
      return statement;
    },
    close() {
      statements.clear();
      database.close();
    },
  };
}

function prepared(database: DatabaseSyncInstance, sql: string): SqliteStatement {
  const statement = database.prepare(sql);
  return {
    // Nothing here asks a change for the rows that it made.
    reader: /^\s*(select|with|pragma)\b/i.test(sql),
    all: (parameters) => statement.all(...checked(parameters)),
    run: (parameters) => statement.run(...checked(parameters)),
    iterate: (parameters) => statement.iterate(...checked(parameters)),
  };
}

/** SQLite must give a text back as it was: it ends at NUL on Node 20, and UTF-8 has no half characters. */
function checked(parameters: readonly unknown[]) {
  if (parameters.every((value) => typeof value !== 'string' || (!value.includes('\0') && value.isWellFormed()))) {
    return parameters as Parameters<ReturnType<DatabaseSyncInstance['prepare']>['all']>;
  }
  // Another text must not be kept, or looked for, in the place of the one that was meant.
  throw new HeddleError({
    code: 'invalid_arguments',
    status: 400,
    message: 'A text holds a NUL character or half a character, which the data file does not keep.',
    hint: 'Leave these characters out.',
  });
}
