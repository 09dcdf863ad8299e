import { join } from 'node:path';
import type { Connection } from '../client/connection.ts';
import type { ServiceClient } from '../client/service-client.ts';
import type { Log } from '../core/log.ts';
import { Redactor } from '../core/redaction.ts';
import { version } from '../core/version.ts';
import { embeddedFootnote, instructionsFor, type ServiceInUse } from '../mcp/instructions.ts';
import type { McpServerOptions } from '../mcp/server.ts';
import type { RunningService } from '../service/index.ts';
import { defaultDataDir } from '../settings/profiles.ts';
import type { ResolvedSettings } from '../settings/resolve-settings.ts';
import type { Credentials } from '../settings/secrets/credentials.ts';
import type { SettingValues } from '../settings/settings.ts';
import { selectTools } from '../tools/support/registry.ts';
import { credentialsOf } from './secrets.ts';
import { stderrLog } from './stderr-log.ts';

/** The sample project of the embedded service. */
export const sampleProject = 'demo/support';

/** A configured run: the service in use, and what the tools and the server need of it. */
export interface Runtime {
  inUse: ServiceInUse;
  serverOptions: McpServerOptions;
  log: Log;
  /** Ends connections and an embedded service that was started. */
  close: () => Promise<void>;
}

/** Where the embedded service keeps its data: the URL of a database, or a file. */
export function dataOf(values: SettingValues): string {
  return values.databaseUrl ?? join(values.dataDir ?? defaultDataDir, 'heddle.db');
}

/** What of the database's address must not be shown: all of it, and the password as it is sent. */
export function databaseSecrets({ databaseUrl }: SettingValues): (string | undefined)[] {
  if (databaseUrl === undefined) return [];
  const { password, searchParams } = new URL(databaseUrl);
  const sent = searchParams.get('password') ?? decodeURIComponent(password);
  return sent ? [databaseUrl, sent] : [];
}

/** What a program that uses heddle brings itself, instead of stored secrets and a log on stderr. */
export interface RuntimeOverrides {
  credentials?: () => Promise<Credentials>;
  log?: Log;
  /** Knows the secrets of the run; without one the runtime makes its own, and forgets them when it is closed. */
  redactor?: Redactor;
}

/** Puts a run together. Nothing is read, started or sent before the first call needs it. */
export function openRuntime(resolved: ResolvedSettings, overrides: RuntimeOverrides = {}): Runtime {
  const { values } = resolved;
  const redactor = overrides.redactor ?? new Redactor();
  redactor.protect(values.password, values.token, values.modelProviderKey, ...databaseSecrets(values));
  const redact = (text: string): string => redactor.redact(text);
  const log = overrides.log ?? stderrLog(values.logLevel, values.logFormat, redact);
  const inUse: ServiceInUse =
    values.baseUrl === undefined ? { kind: 'embedded' } : { kind: 'remote', baseUrl: values.baseUrl };
  const project = values.project ?? (inUse.kind === 'embedded' ? sampleProject : undefined);

  const credentials = overrides.credentials ?? credentialsOf(resolved, redactor);
  let embedded: Promise<{ service: RunningService; connection: Connection }> | undefined;
  const connect = async (): Promise<Connection> => {
    if (inUse.kind === 'remote') return remoteConnection(inUse.baseUrl, await credentials());
    embedded ??= startEmbedded(values, log).catch((error) => {
      // The next call tries again: the reason may have gone, like a full disk.
      embedded = undefined;
      throw error;
    });
    return (await embedded).connection;
  };
  let client: Promise<ServiceClient> | undefined;
  const service = (): Promise<ServiceClient> => {
    client ??= import('../client/service-client.ts').then(
      ({ ServiceClient: Made }) =>
        new Made({
          connect,
          timeoutMs: values.timeoutMs,
          inferenceTimeoutMs: values.inferenceTimeoutMs,
          userAgent: `heddle/${version}`,
          log,
          redact,
        }),
    );
    return client;
  };
  return {
    inUse,
    log,
    serverOptions: {
      service,
      project,
      instructions: instructionsFor(inUse, project),
      text: values.text,
      maxResultChars: values.maxResultChars,
      ...(inUse.kind === 'embedded' && { footnote: embeddedFootnote }),
      log,
      redactor,
      tools: selectTools({ readOnly: values.readOnly, only: values.tools }),
    },
    close: async () => {
      await (await client)?.close();
      await (await embedded?.catch(() => undefined))?.service.close();
      if (!overrides.redactor) redactor.clear();
    },
  };
}

/** The connection to a configured service with what credentials there are. */
export function remoteConnection(
  baseUrl: string,
  { username, password, token, problem }: Omit<Credentials, 'sources'>,
): Connection {
  return {
    baseUrl,
    ...(username !== undefined && password !== undefined && { basic: { username, password } }),
    bearer: token,
    problem,
  };
}

/** Starts the embedded service on a random loopback port, with credentials that only this process knows. */
async function startEmbedded(
  values: SettingValues,
  log: Log,
): Promise<{ service: RunningService; connection: Connection }> {
  const [{ startService }, { randomBytes }] = await Promise.all([import('../service/index.ts'), import('node:crypto')]);
  const account = {
    name: 'local',
    password: randomBytes(32).toString('base64url'),
    token: randomBytes(32).toString('base64url'),
  };
  const service = await startService({
    data: dataOf(values),
    account,
    sample: true,
    ...(values.modelProviderUrl !== undefined && {
      modelProvider: { url: values.modelProviderUrl, key: values.modelProviderKey },
    }),
    log,
  });
  return {
    service,
    connection: {
      baseUrl: service.url,
      basic: { username: account.name, password: account.password },
      bearer: account.token,
    },
  };
}
