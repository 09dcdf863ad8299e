import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { endServer } from '../core/http/end-server.ts';
import { createHttpServer } from '../core/http/http-server.ts';
import { listen } from '../core/http/listen.ts';
import type { Log } from '../core/log.ts';
import type { Account } from './admin/accounts.ts';
import { type BoardSessions, boardSessions } from './admin/board-sessions.ts';
import { ensureSampleProject } from './admin/sample-project.ts';
import { createApp } from './http/app.ts';
import { createAuthenticator } from './http/authenticator.ts';
import { ModelProvider, type ModelProviderOptions } from './inference/model-provider.ts';
import { ScorerEndpoints, type ScorerEndpointsOptions } from './inference/scorer-endpoints.ts';
import { storeFeedback } from './operations/feedback.ts';
import { MemoryPool } from './request-budget.ts';
import { EvaluationRunner, type RunnerLimits } from './runs/evaluation-runner.ts';
import type { Database } from './storage/database.ts';
import { openDatabase } from './storage/open-database.ts';

export type { Account, ProjectGrants } from './admin/accounts.ts';
export type { BoardSessions, InvitedPerson, NewSession } from './admin/board-sessions.ts';
export type { ItemFeedback, NewField } from './admin/import-feedback.ts';
export { type CheckedImport, type ImportTarget, readImport } from './admin/import-items.ts';
export type { Listing } from './admin/list-contents.ts';
export type {
  ContentKind,
  ProjectReader,
  StoredCall,
  StoredItem,
  StoredJudgement,
} from './admin/project-reader.ts';
export { restoreService } from './admin/restore-service.ts';
export { openServiceStore, type Store } from './admin/service-store.ts';
export { otlpCalls } from './otel/read-otlp-json.ts';
export { backUpData, resetData } from './storage/sqlite/backup.ts';
export { loadSqlite } from './storage/sqlite/sqlite-connection.ts';

export interface ServiceOptions {
  /**
   * Path of a SQLite file, created with its folder if it is missing, or `postgres://` URL of a database. Several
   * processes may share it.
   */
  data: string;
  /** Address to listen on; `127.0.0.1` by default. */
  host?: string;
  /** Port to listen on; a free one by default. */
  port?: number;
  /** An account that this process accepts in addition to the stored ones. It is not stored, and sees all projects. */
  account?: Account;
  /** Password with which this process, as its board, may act as any stored account. Nobody else may learn it. */
  boardKey?: string | undefined;
  /** Serves paths of its own on the same port, and returns undefined for every other path. */
  pages?: ((request: IncomingMessage, response: ServerResponse) => Promise<void> | undefined) | undefined;
  /** Runs inference; the built-in echo model does when absent. */
  modelProvider?: ModelProviderOptions | undefined;
  /** Programs of the user that score. */
  scorerEndpoints?: ScorerEndpointsOptions | undefined;
  /** Builds or removes the index of the texts in recorded calls in the background; without it, what is there stays. */
  textIndex?: 'on' | 'off' | undefined;
  /** Adds the sample project `demo/support` if it is missing. */
  sample?: boolean;
  /** Time limits of the evaluations that this process runs. */
  evaluation?: RunnerLimits;
  log?: Log;
}

export interface RunningService {
  /** Base URL, without a trailing slash. */
  url: string;
  boardSessions: BoardSessions;
  /** Gives running requests up to 10 s to finish, then closes the storage. */
  close(): Promise<void>;
}

const maxConnections = 2_048;
const closeGraceMs = 10_000;
// Longer than proxies usually keep a connection, so that the service never closes one while a request is on its way.
const keepAliveTimeoutMs = 75_000;

/**
 * Starts the embedded service: the contract's endpoints over HTTP, on a SQLite file or PostgreSQL.
 * @throws HeddleError when the storage cannot be used, the system's error when it cannot listen on the address.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const database = await openDatabase(options.data);
  try {
    if (options.sample) await ensureSampleProject(database);
    const { log = () => {}, evaluation } = options;
    const modelProvider = options.modelProvider && new ModelProvider(options.modelProvider);
    const memoryPool = new MemoryPool();
    const scorerEndpoints = new ScorerEndpoints(options.scorerEndpoints);
    const runner = new EvaluationRunner({
      database,
      modelProvider,
      memoryPool,
      log,
      scorerEndpoints,
      storeFeedback,
      ...evaluation,
    });
    const authenticate = createAuthenticator(database, options.account, options.boardKey);
    const app = createApp({ database, modelProvider, runner, memoryPool, authenticate, log });
    // The rest of a refused body is read and dropped here; the listener would reset the connection of a slow client.
    const serve = getRequestListener(app.fetch, { overrideGlobalObjects: false, autoCleanupIncoming: false });
    const { pages } = options;
    const server = createHttpServer((request, response) => pages?.(request, response) ?? serve(request, response), {
      limits: { idleTimeoutMs: keepAliveTimeoutMs, maxConnections },
      errorBody: (reason) => ({ reason }),
      log,
    });
    const url = await listen(server, options.port ?? 0, options.host ?? '127.0.0.1');
    runner.start();
    const closed = new AbortController();
    const indexing = options.textIndex && keepTextIndex(database, options.textIndex, closed.signal, log);
    let closing: Promise<void> | undefined;
    const close = () => {
      closed.abort();
      closing ??= Promise.all([endServer(server, closeGraceMs), runner.stop(), indexing]).then(() => database.close());
      return closing;
    };
    return { url, boardSessions: boardSessions(database), close };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Builds or removes the index of texts, as a setting says. A failure is logged: the service answers without it, too. */
async function keepTextIndex(
  { textIndex }: Database,
  wanted: 'on' | 'off',
  closed: AbortSignal,
  log: Log,
): Promise<void> {
  try {
    if (wanted === 'off') return await textIndex.drop();
    await textIndex.build(closed);
    if (!closed.aborted) log('info', 'the index of texts is complete', {});
  } catch (error) {
    log('warn', 'the index of texts cannot be built, so searches go without it', { problem: (error as Error).message });
  }
}
