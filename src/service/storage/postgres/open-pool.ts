import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import type { Tables } from '../tables.ts';
import { isConnectionLost, postgresFailure } from './postgres-failure.ts';

/** Connections per process: ten processes share a server with PostgreSQL's default limit of 100. */
const maxConnections = 10;
const connectTimeoutMs = 10_000;
/** Longer than the server's own limit, for a server that does not even enforce that one. */
const responseTimeoutMs = 35_000;

/** Returns Kysely on a pool that opens connections when they are needed. Failures of the database are HeddleErrors. */
export function openPool(url: string): Kysely<Tables> {
  const pool = new pg.Pool({
    Client: ClosingClient,
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: responseTimeoutMs,
    keepAlive: true,
    fallback_application_name: 'heddle',
  });
  // Without listeners, a connection that breaks would end the process. The next statement on it reports the failure.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const dialect = new PostgresDialect({ pool: { connect: () => acquireClient(pool), end: () => pool.end() } });
  return new Kysely<Tables>({ dialect });
}

/** Takes a connection from the pool, which gets it back only if it still works. */
async function acquireClient(pool: pg.Pool): Promise<PostgresPoolClient> {
  const client = await pool.connect().catch((error) => {
    throw postgresFailure(error, false);
  });
  let isLost = false;
  const query = async (text: string, parameters: unknown[]) => {
    try {
      return await client.query(text, parameters);
    } catch (error) {
      if (!isLost && isConnectionLost(error)) {
        isLost = true;
        client.release(true);
      }
      throw postgresFailure(error, text === 'commit');
    }
  };
  const release = () => {
    if (!isLost) client.release();
  };
  // Kysely's type also has an overload for cursors, which is not used.
  return { query, release } as unknown as PostgresPoolClient;
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
