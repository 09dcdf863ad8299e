import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { databaseUrls } from '../../../core/database-url.ts';
import { HeddleError } from '../../../core/errors.ts';
import type { Tables } from '../database-tables.ts';
import {
  connectFailure,
  isConnectionLost,
  isReadOnly,
  outcomeUnknown,
  postgresFailure,
  ReadOnlyHostError,
} from './postgres-failure.ts';

/** Connections per process and host: ten processes share a server with PostgreSQL's default limit of 100. */
const maxConnections = 10;
const connectTimeoutMs = 10_000;
/** Longer than the server's own limit, for a server that does not even enforce that one. */
const responseTimeoutMs = 35_000;

/**
 * Returns Kysely on a pool that opens connections when they are needed. Failures of the database are HeddleErrors. Of several
 * hosts in the URL, the pool uses the first that accepts changes; when that is lost, it looks for it again.
 */
export function openPool(url: string): Kysely<Tables> {
  const urls = databaseUrls(url) ?? [];
  const isSingleHost = urls.length <= 1;
  const hosts = isSingleHost
    ? [openHost(url, urls[0]?.searchParams.has('target_session_attrs') ?? false)]
    : urls.map(({ href }) => openHost(href, true));
  let current = 0;
  const connect = async (): Promise<PostgresPoolClient> => {
    const failures: unknown[] = [];
    const order = hosts.map((_, index) => (current + index) % hosts.length);
    for (const index of order) {
      try {
        const client = await hosts[index]!.connect();
        current = index;
        return checkedClient(client);
      } catch (error) {
        failures.push(error);
        // With all connections in use, another host is no substitute: it must not take changes beside the primary.
        if (isPoolTimeout(error)) break;
      }
    }
    throw connectFailure(failures);
  };
  const end = async () => void (await Promise.all(hosts.map((host) => host.end())));
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: { connect, end } }) });
}

/** Returns a pool of connections to one host, which must accept changes if `mustWrite` is true. */
function openHost(connectionString: string, mustWrite: boolean): pg.Pool {
  const pool = new pg.Pool({
    Client: ClosingClient,
    connectionString,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: responseTimeoutMs,
    keepAlive: true,
    fallback_application_name: 'heddle',
    ...(mustWrite && { onConnect: checkWritable }),
  });
  // Without listeners, a connection that breaks would end the process. The next statement on it reports the failure.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** @throws ReadOnlyHostError for a server that accepts no changes, such as a standby. */
async function checkWritable(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query('show transaction_read_only');
  if (rows[0].transaction_read_only !== 'off') throw new ReadOnlyHostError();
}

/** Returns whether a failure to connect only says that all connections of the pool stayed in use. */
function isPoolTimeout(error: unknown): boolean {
  return (error as Error).message === 'timeout exceeded when trying to connect';
}

/** Wraps a connection of a pool, which gets it back only if it still works and its server accepts changes. */
function checkedClient(client: pg.PoolClient): PostgresPoolClient {
  let isLost = false;
  const query = async (text: string, parameters: unknown[]) => {
    const isCommit = text === 'commit';
    let isOnPrimaryOnly = false;
    const onNotice = ({ routine }: { routine?: string }) => {
      isOnPrimaryOnly ||= routine === 'SyncRepWaitForLSN';
    };
    if (isCommit) client.on('notice', onNotice);
    try {
      const result = await client.query(text, parameters);
      // The server calls this a success: an administrator cancelled its wait for the standby, which may never get the change.
      if (isOnPrimaryOnly) throw outcomeUnknown('The standby did not confirm a change');
      return result;
    } catch (error) {
      if (error instanceof HeddleError) throw error;
      if (!isLost && (isConnectionLost(error) || isReadOnly(error))) {
        isLost = true;
        client.release(true);
      }
      throw postgresFailure(error, isCommit);
    } finally {
      client.off('notice', onNotice);
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
