import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';
import { PostgresFailure } from './failures.ts';

/** How long things may take, in milliseconds. */
const connectTimeoutMs = 10_000;
const statementTimeoutMs = 30_000;
const lockTimeoutMs = 10_000;
const idleInTransactionTimeoutMs = 60_000;
/** For a server that does not even end a statement that takes too long. */
const answerTimeoutMs = statementTimeoutMs + 5_000;

/** Most connections of a process; with the usual limit of 100, ten processes share a server. */
const maxConnections = 10;

/** Sent with the start of each transaction, since a pooler between here and the server knows no settings of a transaction. */
const transactionLimits = Object.entries({
  statement_timeout: statementTimeoutMs,
  lock_timeout: lockTimeoutMs,
  idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
})
  .map(([name, ms]) => `; set local ${name} = ${ms}`)
  .join('');

/**
 * Connections to a database, made when they are needed. An unlimited pool is one connection, whose statements may take
 * as long as they do.
 */
export function connectionPool(url: string, { unlimited = false } = {}): PostgresPool {
  const pool = new pg.Pool({
    Client: ClosingClient,
    connectionString: url,
    max: unlimited ? 1 : maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    fallback_application_name: 'heddle',
    ...(!unlimited && { query_timeout: answerTimeoutMs }),
  });
  // A connection that breaks while nobody uses it is gone from the pool already, and the next use makes a new one.
  pool.on('error', () => {});
  return {
    connect: async () => {
      try {
        return new PooledClient(await pool.connect(), !unlimited);
      } catch (cause) {
        throw new PostgresFailure(cause);
      }
    },
    end: () => pool.end(),
  };
}

/** A client that leaves no open socket behind when it gives up connecting by itself, as it does without a password. */
class ClosingClient extends pg.Client {
  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    if (!callback) return super.connect();
    super.connect((error: Error) => {
      if (error) void this.end();
      callback(error);
    });
    return undefined;
  }
}

/** A connection in use, whose failures are PostgresFailures, and which does not go back to the pool once it is lost. */
class PooledClient implements PostgresPoolClient {
  readonly #client: pg.PoolClient;
  readonly #limited: boolean;
  #lost = false;
  // Without a listener the break of a connection would end the process; the statement that runs reports it too.
  readonly #onError = () => {
    this.#lost = true;
  };

  constructor(client: pg.PoolClient, limited: boolean) {
    this.#client = client;
    this.#limited = limited;
    client.on('error', this.#onError);
  }

  // biome-ignore lint/suspicious/noExplicitAny: Kysely's type has a second form, for cursors, which it does not use here
  query(sql: any, parameters?: readonly unknown[]): any {
    return this.#query(sql, parameters);
  }

  async #query(sql: string, parameters: readonly unknown[] = []): Promise<unknown> {
    // A transaction ends with its connection, and the reason for the rollback is what has to be told.
    if (sql === 'rollback') return this.#rollback();
    const committing = sql === 'commit' && !this.#lost;
    const starting = sql.startsWith('start transaction');
    const text = starting && this.#limited ? sql + transactionLimits : sql;
    try {
      return await this.#client.query(text, parameters as unknown[]);
    } catch (cause) {
      const failure = new PostgresFailure(cause, committing);
      // A start that half succeeded leaves a transaction behind that nobody ends.
      if (failure.lost || starting) this.#lost = true;
      throw failure;
    }
  }

  release(): void {
    this.#client.off('error', this.#onError);
    this.#client.release(this.#lost);
  }

  async #rollback(): Promise<PostgresQueryResult<never>> {
    if (!this.#lost) await this.#client.query('rollback').catch(this.#onError);
    return { command: 'SELECT', rowCount: 0, rows: [] };
  }
}
