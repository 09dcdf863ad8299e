import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { endServer } from '../core/http/end-server.ts';
import { listen } from '../core/http/listen.ts';
import type { Log } from '../core/log.ts';
import { ensureSampleProject } from './admin/sample-project.ts';
import { createApp } from './http/app.ts';
import { type Account, Authenticator } from './http/authentication.ts';
import { ModelProvider, type ModelProviderOptions } from './inference/model-provider.ts';
import { openDatabase } from './storage/database.ts';

export type { ImportResult, ImportTarget } from './admin/import-items.ts';
export { type Listing, openServiceStore, type StorableKind, type Store } from './admin/store.ts';
export type { Account } from './http/authentication.ts';
export type { ModelProviderOptions } from './inference/model-provider.ts';
export type { ObjectVersion } from './storage/object-versions.ts';

export interface ServiceOptions {
  /**
   * Path of a SQLite file, which is made, with its folder, where it is missing; or `postgres://` URL of a database.
   * Several processes may use one at the same time.
   */
  data: string;
  /** Address to listen on; `127.0.0.1` by default. */
  host?: string;
  /** Port to listen on; 0, the default, takes a free one. */
  port?: number;
  /** An account that this process accepts besides the stored ones. It is not stored. */
  account?: Account;
  /** Where inference is forwarded to; without it the built-in model answers. */
  modelProvider?: ModelProviderOptions;
  /** Puts the sample project `demo/support` in, if it is not there. */
  sample?: boolean;
  log?: Log;
}

export interface RunningService {
  /** Base URL, without a slash at its end. */
  url: string;
  /** Lets running requests finish, for up to 10 s, then closes the storage. */
  close(): Promise<void>;
}

const closeGraceMs = 10_000;
/** Longer than proxies usually keep a connection, so that they close it and not this side while a request is on its way. */
const idleMs = 75_000;

/**
 * Starts the embedded service: interface parts 4 to 7 over HTTP, on a SQLite file or PostgreSQL. Throws a HeddleError
 * where the storage cannot be used, and the system's error where the address cannot be.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const database = await openDatabase(options.data);
  const modelProvider = options.modelProvider && new ModelProvider(options.modelProvider);
  try {
    if (options.sample) await ensureSampleProject(database);
    const app = createApp({
      database,
      modelProvider,
      authenticator: new Authenticator(database, options.account),
      log: options.log ?? (() => {}),
    });
    const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server;
    server.keepAliveTimeout = idleMs;
    const url = await listen(server, options.port ?? 0, options.host ?? '127.0.0.1');
    let closing: Promise<void> | undefined;
    return {
      url,
      close: () => {
        closing ??= endServer(server, closeGraceMs)
          .then(() => modelProvider?.close())
          .then(() => database.close());
        return closing;
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
