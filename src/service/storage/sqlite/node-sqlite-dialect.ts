import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  type TransactionSettings,
} from 'kysely';
import { HeddleError } from '../../../core/errors.ts';

/** Returns a Kysely dialect for a connection of the `node:sqlite` API. */
export function nodeSqliteDialect(connection: DatabaseSyncInstance): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new NodeSqliteDriver(connection),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class NodeSqliteDriver extends SqliteDriver {
  readonly #connection: DatabaseSyncInstance;

  constructor(connection: DatabaseSyncInstance) {
    super({ database: { prepare: (text) => prepare(connection, text), close: () => connection.close() } });
    this.#connection = connection;
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    { accessMode }: TransactionSettings = {},
  ): Promise<void> {
    // A deferred transaction that writes fails at once if another process wrote since it began; waiting cannot help.
    await connection.executeQuery(CompiledQuery.raw(accessMode === 'read only' ? 'begin' : 'begin immediate'));
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // SQLite rolls back by itself when the disk is full; a second rollback would fail and hide that error.
    if (this.#connection.isTransaction) await super.rollbackTransaction(connection);
  }
}

function prepare(connection: DatabaseSyncInstance, text: string): SqliteStatement {
  const statement = connection.prepare(text);
  return {
    // No statement of this service uses RETURNING.
    reader: /^\s*(select|with|pragma)\b/i.test(text),
    all: (parameters) => statement.all(...checkText(parameters)),
    run: (parameters) => statement.run(...checkText(parameters)),
    iterate: (parameters) => statement.iterate(...checkText(parameters)),
  };
}

/** Rejects text that would be stored differently: Node 20's package cuts it at NUL, and UTF-8 has no lone surrogates. */
function checkText(parameters: readonly unknown[]): Parameters<ReturnType<DatabaseSyncInstance['prepare']>['all']> {
  if (parameters.some((value) => typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))) {
    throw new HeddleError({
      code: 'invalid_arguments',
      status: 400,
      message: 'Text contains a NUL character or an unpaired surrogate, which SQLite cannot store.',
      hint: 'Remove these characters.',
    });
  }
  return parameters as ReturnType<typeof checkText>;
}
