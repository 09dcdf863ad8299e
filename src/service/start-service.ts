import { getRequestListener } from '@hono/node-server';
import { endServer } from '../core/http/end-server.ts';
import { createHttpServer } from '../core/http/http-server.ts';
import { listen } from '../core/http/listen.ts';
import type { Log } from '../core/log.ts';
import type { Account } from './admin/accounts.ts';
import { ensureSampleProject } from './admin/sample-project.ts';
import { createApp } from './http/app.ts';
import { createAuthenticator } from './http/authenticator.ts';
import { ModelProvider, type ModelProviderOptions } from './inference/model-provider.ts';
import { MemoryPool } from './request-budget.ts';
import { EvaluationRunner, type RunnerLimits } from './runs/evaluation-runner.ts';
import { openDatabase } from './storage/open-database.ts';

export type { Account, ProjectGrants } from './admin/accounts.ts';
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
  /** Runs inference; the built-in echo model does when absent. */
  modelProvider?: ModelProviderOptions | undefined;
  /** Adds the sample project `demo/support` if it is missing. */
  sample?: boolean;
  /** Time limits of the evaluations that this process runs. */
  evaluation?: RunnerLimits;
  log?: Log;
}

export interface RunningService {
  /** Base URL, without a trailing slash. */
  url: string;
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
    const runner = new EvaluationRunner({ database, modelProvider, memoryPool, log, ...evaluation });
    const authenticate = createAuthenticator(database, options.account);
    const app = createApp({ database, modelProvider, runner, memoryPool, authenticate, log });
    // The rest of a refused body is read and dropped here; the listener would reset the connection of a slow client.
    const serve = getRequestListener(app.fetch, { overrideGlobalObjects: false, autoCleanupIncoming: false });
    const server = createHttpServer(serve, {
      limits: { idleTimeoutMs: keepAliveTimeoutMs, maxConnections },
      errorBody: (reason) => ({ reason }),
      log,
    });
    const url = await listen(server, options.port ?? 0, options.host ?? '127.0.0.1');
    runner.start();
    let closing: Promise<void> | undefined;
    const close = () => {
      closing ??= Promise.all([endServer(server, closeGraceMs), runner.stop()]).then(() => database.close());
      return closing;
    };
    return { url, close };
  } catch (error) {
    await database.close();
    throw error;
  }
}
