import { userInfo } from 'node:os';
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
import { stderrLog } from './stderr-log.ts';

/** The sample project of the embedded service. */
export const sampleProject = 'demo/support';

/** One configured server: the service in use, the options of its MCP servers, and the log. */
export interface Runtime {
  inUse: ServiceInUse;
  serverOptions: McpServerOptions;
  log: Log;
  /** Closes connections and the embedded service; clears the redactor if the runtime created it. */
  close: () => Promise<void>;
}

export interface RuntimeOptions {
  /** Returns the credentials for a remote service. Called before each request. */
  credentials: () => Promise<Credentials>;
  /** Defaults to a log on stderr. */
  log?: Log;
  /** Receives the secrets and is not cleared by `close`. By default the runtime creates its own. */
  redactor?: Redactor;
}

/** Creates a runtime. Nothing is read, started or sent before the first call needs it. */
export function openRuntime(resolved: ResolvedSettings, options: RuntimeOptions): Runtime {
  const { values } = resolved;
  const redactor = options.redactor ?? new Redactor();
  redactor.protect(values.password, values.token, values.modelProviderKey, ...databaseSecrets(values));
  const log = options.log ?? stderrLog(values.logLevel, values.logFormat, (text) => redactor.redact(text));
  const inUse = serviceInUse(values);
  const embedded = embeddedService(values, log);
  const connect = async (): Promise<Connection> =>
    inUse.kind === 'remote'
      ? remoteConnection(inUse.baseUrl, values.inferenceUrl, await options.credentials())
      : embedded.connect();
  let client: Promise<ServiceClient> | undefined;
  const service = (): Promise<ServiceClient> => {
    client ??= openClient(values, connect, redactor, log);
    return client;
  };
  return {
    inUse,
    log,
    serverOptions: { ...resultOptions(values, inUse), service, log, redactor },
    close: async () => {
      await (await client)?.close();
      await embedded.close();
      if (!options.redactor) redactor.clear();
    },
  };
}

function serviceInUse({ baseUrl }: SettingValues): ServiceInUse {
  return baseUrl === undefined ? { kind: 'embedded' } : { kind: 'remote', baseUrl };
}

/** Returns the server options that follow from the settings alone. */
function resultOptions(
  values: SettingValues,
  inUse: ServiceInUse,
): Omit<McpServerOptions, 'service' | 'log' | 'redactor'> {
  const project = values.project ?? (inUse.kind === 'embedded' ? sampleProject : undefined);
  return {
    project,
    instructions: instructionsFor(inUse, project),
    text: values.text,
    maxResultChars: values.maxResultChars,
    ...(inUse.kind === 'embedded' && { footnote: embeddedFootnote }),
    tools: selectTools({ readOnly: values.readOnly, only: values.tools }),
  };
}

/** Loads the client of the service. A server that only lists its tools never loads it. */
async function openClient(
  { timeoutMs, inferenceTimeoutMs }: SettingValues,
  connect: () => Promise<Connection>,
  redactor: Redactor,
  log: Log,
): Promise<ServiceClient> {
  const { ServiceClient } = await import('../client/service-client.ts');
  const redact = (text: string): string => redactor.redact(text);
  return new ServiceClient({ connect, timeoutMs, inferenceTimeoutMs, userAgent: `heddle/${version}`, log, redact });
}

/** Describes the connection to a configured service. */
export function remoteConnection(
  baseUrl: string,
  inferenceUrl: string | undefined,
  { username, password, token, problem }: Omit<Credentials, 'sources'>,
): Connection {
  return {
    baseUrl,
    ...(inferenceUrl !== undefined && { inferenceUrl }),
    ...(username !== undefined && password !== undefined && { basic: { username, password } }),
    bearer: token,
    problem,
  };
}

/** Starts the embedded service on the first `connect`. */
function embeddedService(
  values: SettingValues,
  log: Log,
): { connect: () => Promise<Connection>; close: () => Promise<void> } {
  let running: ReturnType<typeof startEmbedded> | undefined;
  return {
    async connect() {
      running ??= startEmbedded(values, log).catch((error) => {
        // The next call tries again: the cause, like a full disk, may be gone by then.
        running = undefined;
        throw error;
      });
      return (await running).connection;
    },
    async close() {
      await (await running?.catch(() => undefined))?.service.close();
    },
  };
}

/** Returns the name of the person who runs this process, as the author of what they do. */
function accountName(): string {
  try {
    const { username } = userInfo();
    return /^[\w.@-]{1,64}$/.test(username) ? username : 'local';
  } catch {
    // A container may run as a user id that has no name.
    return 'local';
  }
}

/** Starts the embedded service on a random loopback port, with credentials that only this process knows. */
async function startEmbedded(
  values: SettingValues,
  log: Log,
): Promise<{ service: RunningService; connection: Connection }> {
  const [{ startService }, { randomBytes }] = await Promise.all([import('../service/index.ts'), import('node:crypto')]);
  const account = {
    name: accountName(),
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
  const basic = { username: account.name, password: account.password };
  return { service, connection: { baseUrl: service.url, basic, bearer: account.token, userId: account.name } };
}

/** Returns where the embedded service keeps its data: the URL of a database, or a file. */
export function dataOf(values: SettingValues): string {
  return values.databaseUrl ?? join(values.dataDir ?? defaultDataDir, 'heddle.db');
}

/** Lists the secrets in the database's URL: the URL as a whole, and the password in its decoded form. */
export function databaseSecrets({ databaseUrl }: SettingValues): (string | undefined)[] {
  if (databaseUrl === undefined) return [];
  const { password, searchParams } = new URL(databaseUrl);
  const decoded = searchParams.get('password') ?? decodeURIComponent(password);
  return decoded ? [databaseUrl, decoded] : [];
}
