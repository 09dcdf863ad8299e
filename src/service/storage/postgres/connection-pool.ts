import type { PostgresPool, PostgresQueryResult } from 'kysely';
import pg from 'pg';
import { PostgresFailure } from './postgres-failure.ts';

const connectTimeoutMs = 10_000;
const statementTimeoutMs = 30_000;
const lockTimeoutMs = 10_000;
const idleInTransactionTimeoutMs = 60_000;
/** Limits the wait for a server that does not even enforce its own statement timeout. */
const responseTimeoutMs = statementTimeoutMs + 5_000;

/** Connections per process: ten processes share a server with PostgreSQL's default limit of 100. */
const maxConnections = 10;

/** Sent at the start of each transaction, because poolers such as PgBouncer reject or forget settings of a connection. */
const transactionLimits = [
  `set local statement_timeout = ${statementTimeoutMs}`,
  `set local lock_timeout = ${lockTimeoutMs}`,
  `set local idle_in_transaction_session_timeout = ${idleInTransactionTimeoutMs}`,
].join('; ');

export interface PoolOptions {
  /** Opens a single connection whose statements have no time limit. */
  unlimited?: boolean;
}

/** Creates a pool that opens connections when they are needed. All its failures are {@link PostgresFailure}s. */
export function connectionPool(url: string, { unlimited = false }: PoolOptions = {}): PostgresPool {
  const pool = new pg.Pool({
    Client: ClosingClient,
    connectionString: url,
    max: unlimited ? 1 : maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    fallback_application_name: 'heddle',
    ...(!unlimited && { query_timeout: responseTimeoutMs }),
  });
  // Without a listener, an idle connection that breaks would end the process. The pool has already removed it.
  pool.on('error', () => {});
  return {
    connect: async () => {
      try {
        // Kysely's type also has an overload for cursors, which is not used.
        return new PooledClient(await pool.connect(), unlimited ? '' : transactionLimits) as never;
      } catch (cause) {
        throw new PostgresFailure(cause);
      }
    },
    end: () => pool.end(),
  };
}

/** Closes its socket when it fails to connect for lack of a password; pg leaves it open until the server gives up. */
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

/** A connection in use, which returns to the pool only if it still works. */
class PooledClient {
  readonly #client: pg.PoolClient;
  readonly #limits: string;
  #isLost = false;
  // Without a listener, a connection that breaks would end the process; the running statement reports the error too.
  readonly #onError = () => {
    this.#isLost = true;
  };

  constructor(client: pg.PoolClient, limits: string) {
    this.#client = client;
    this.#limits = limits;
    client.on('error', this.#onError);
  }

  async query(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<unknown>> {
    const starts = text.startsWith('start transaction');
    const commits = text === 'commit' && !this.#isLost;
    if (text === 'rollback') return this.#rollback();
    try {
      return (await this.#client.query(starts ? `${text}; ${this.#limits}` : text, parameters as unknown[])) as never;
    } catch (cause) {
      const failure = new PostgresFailure(cause, commits);
      // A start that fails halfway leaves its transaction open.
      if (failure.isConnectionLost || starts) this.#isLost = true;
      throw failure;
    }
  }

  /** Never fails: a lost connection ends its transaction, and the error behind the rollback is the one to report. */
  async #rollback(): Promise<PostgresQueryResult<never>> {
    if (!this.#isLost) await this.#client.query('rollback').catch(this.#onError);
    return { command: 'SELECT', rowCount: 0, rows: [] };
  }

  release(): void {
    this.#client.off('error', this.#onError);
    this.#client.release(this.#isLost);
  }
}
