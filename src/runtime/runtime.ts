import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '../client/connection.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { databaseUrls } from '../core/database-url.ts';
import { proxyPasswords } from '../core/http/proxies.ts';
import type { Log } from '../core/log.ts';
import { Redactor } from '../core/secrets/redaction.ts';
import { hasSqlite, sqliteAdvice } from '../core/sqlite.ts';
import { version } from '../core/version.ts';
import { instructionsFor } from '../mcp/instructions.ts';
import type { McpServerOptions } from '../mcp/server.ts';
import type { ModelProviderOptions } from '../service/inference/model-provider.ts';
import type { ScorerEndpointsOptions } from '../service/inference/scorer-endpoints.ts';
import type { RunningService } from '../service/start-service.ts';
import { describeSource, type ResolvedSettings } from '../settings/resolve-settings.ts';
import type { Credentials } from '../settings/secrets/credentials.ts';
import { type SettingValues, settingDefinitions, settingNames } from '../settings/settings.ts';
import { selectTools } from '../tools/definition/registry.ts';
import type { TerminalAccess } from '../tools/definition/terminal-command.ts';

/** The sample project of the embedded service, which only a data file gets: a database is shared. */
export const sampleProject = 'demo/support';

/** Returns whether the service is the embedded one on a data file, with the sample project. */
export function hasSampleProject({ baseUrl, databaseUrl }: Pick<SettingValues, 'baseUrl' | 'databaseUrl'>): boolean {
  return baseUrl === undefined && databaseUrl === undefined;
}

/** The options, the service and the log that the MCP servers of one configuration share. */
export interface Runtime {
  /** Returns the base URL of the service; starts the embedded one. */
  serviceUrl: () => Promise<string>;
  /** Returns the embedded service of this process; starts it. */
  embeddedService: () => Promise<RunningService>;
  serverOptions: McpServerOptions;
  log: Log;
  /** Closes connections and the embedded service; clears the redactor if the runtime created it. */
  close: () => Promise<void>;
}

export interface RuntimeOptions {
  /** Returns the credentials for a remote service. Called before each request. */
  credentials: () => Promise<Credentials>;
  log: Log;
  /** Receives the secrets and is not cleared by `close`. By default the runtime creates its own. */
  redactor?: Redactor;
  /** The program as users type it in their terminal; `heddle` by default. */
  program?: string;
  /** Lets the board of this process act as any account of the embedded service; see `ServiceOptions`. */
  boardKey?: string | undefined;
}

/** Creates a runtime. Nothing is read, started or sent before the first call needs it. */
export function openRuntime(resolved: ResolvedSettings, options: RuntimeOptions): Runtime {
  const { values } = resolved;
  const { baseUrl, inferenceUrl } = values;
  const redactor = options.redactor ?? new Redactor();
  redactor.protect(...secretsOf(values));
  const { log } = options;
  let embedded: ReturnType<typeof startEmbedded> | undefined;
  const openEmbedded = (): ReturnType<typeof startEmbedded> => {
    embedded ??= startEmbedded(resolved, log, options.boardKey).catch((error) => {
      // The next call tries again: the cause, like a full disk, may be gone by then.
      embedded = undefined;
      throw error;
    });
    return embedded;
  };
  const connectEmbedded = async (): Promise<Connection> => (await openEmbedded()).connection;
  const connect = async (): Promise<Connection> =>
    baseUrl === undefined ? connectEmbedded() : remoteConnection(baseUrl, inferenceUrl, await options.credentials());
  let client: Promise<ServiceClient> | undefined;
  const openedClient = (): Promise<ServiceClient> => {
    client ??= openServiceClient(connect, values, { log, redactor });
    return client;
  };
  return {
    serviceUrl: async () => baseUrl ?? (await connectEmbedded()).baseUrl,
    embeddedService: async () => (await openEmbedded()).running,
    log,
    serverOptions: { ...optionsFromSettings(resolved, options), service: openedClient, log, redactor },
    close: async () => {
      (await client)?.close();
      // A service that could not start has nothing to close.
      const started = await embedded?.catch(() => undefined);
      await started?.running.close();
      if (!options.redactor) redactor.clear();
    },
  };
}

/** Creates the client of a service, which removes the secrets that the redactor knows. */
export async function openServiceClient(
  connect: () => Promise<Connection>,
  values: SettingValues,
  { log, redactor }: { log: Log; redactor: Redactor },
): Promise<ServiceClient> {
  // A server that only lists its tools never loads the client.
  const { ServiceClient } = await import('../client/service-client.ts');
  const { timeoutMs, inferenceTimeoutMs } = values;
  return new ServiceClient({
    connect,
    timeoutMs,
    inferenceTimeoutMs,
    userAgent: `heddle/${version}`,
    // The embedded service is on loopback, which takes no proxy.
    proxies: values,
    log,
    redact: (text) => redactor.redact(text),
    redactCut: (text) => redactor.redactCut(text),
    redactValue: (value, pause) => redactor.redactValueInSteps(value, pause),
    searchSecrets: () => redactor.search(),
  });
}

/** Returns the server options that follow from the settings alone. */
function optionsFromSettings(
  resolved: ResolvedSettings,
  { program = 'heddle' }: RuntimeOptions,
): Omit<McpServerOptions, 'service' | 'log' | 'redactor'> {
  const { values } = resolved;
  const isEmbedded = values.baseUrl === undefined;
  const hasSample = hasSampleProject(values);
  const project = values.project ?? (hasSample ? sampleProject : undefined);
  const flags = commandFlagsOf(resolved);
  return {
    project,
    ...(values.project !== undefined && { projectSource: describeSource(resolved.sources.project) }),
    instructions: instructionsFor({
      baseUrl: values.baseUrl,
      account: isEmbedded ? accountName() : 'ACCOUNT',
      project,
      hasSample,
      readOnly: values.readOnly,
      only: values.tools,
      isSqliteMissing: isSqliteMissing(values),
      flags,
    }),
    text: values.text,
    maxResultChars: values.maxResultChars,
    isEmbedded,
    ...(hasSample && { sampleProject }),
    tools: selectTools({ readOnly: values.readOnly, only: values.tools }),
    terminal: { program, flags },
  };
}

/** Returns the flags of the settings that this process was started with: a terminal of the user does not know them. */
function commandFlagsOf({ values, sources }: ResolvedSettings): TerminalAccess['flags'] {
  const names = ['profile', 'baseUrl', 'dataDir', 'project'] as const;
  const given = names.filter((name) => ['flag', 'environment'].includes(sources[name].from));
  return new Map(given.map((name) => [settingDefinitions[name].flag.split(' ')[0]!, String(values[name])]));
}

/** Returns whether the embedded service is in use but cannot open its data file. */
function isSqliteMissing(values: SettingValues): boolean {
  return hasSampleProject(values) && !hasSqlite();
}

/** Logs what keeps every call from working, so that the log shows it without `heddle doctor`. */
export function warnIfUnusable({ values }: ResolvedSettings, log: Log): void {
  if (!isSqliteMissing(values)) return;
  log('warn', 'the embedded service cannot run', { node: process.versions.node, advice: sqliteAdvice });
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
  resolved: ResolvedSettings,
  log: Log,
  boardKey: string | undefined,
): Promise<{ running: RunningService; connection: Connection }> {
  const [{ startService }, { randomBytes }] = await Promise.all([
    import('../service/start-service.ts'),
    import('node:crypto'),
  ]);
  const account = {
    name: accountName(),
    password: randomBytes(32).toString('base64url'),
    token: randomBytes(32).toString('base64url'),
  };
  const { values } = resolved;
  const running = await startService({
    data: dataLocation(resolved),
    account,
    boardKey,
    sample: hasSampleProject(values),
    modelProvider: modelProviderOf(values),
    scorerEndpoints: scorerEndpointsOf(values),
    textIndex: values.textIndex,
    log,
  });
  const basic = { username: account.name, password: account.password };
  return { running, connection: { baseUrl: running.url, basic, bearer: account.token, userId: account.name } };
}

/** Returns the model provider that the settings name. */
export function modelProviderOf(values: SettingValues): ModelProviderOptions | undefined {
  const { modelProviderUrl: url, modelProviderKey: key } = values;
  return url === undefined ? undefined : { url, key, proxies: values };
}

/** Returns the programs that score which the settings name. */
export function scorerEndpointsOf(values: SettingValues): ScorerEndpointsOptions | undefined {
  const { scorerEndpoints: addresses } = values;
  return addresses === undefined ? undefined : { addresses: new Map(addresses), proxies: values };
}

/** Returns where the embedded service keeps its data: the URL of a database, or a file. */
export function dataLocation({ values, folders }: ResolvedSettings): string {
  return values.databaseUrl ?? join(values.dataDir ?? folders.data, 'heddle.db');
}

/** Lists the values of the settings that are secrets. */
export function secretsOf(values: SettingValues): (string | undefined)[] {
  const urls = ['databaseUrl', 'httpProxy', 'httpsProxy'];
  const names = settingNames.filter((name) => 'secret' in settingDefinitions[name] && !urls.includes(name));
  const texts = names.map((name) => values[name] as string | undefined);
  return [...texts, ...databaseSecrets(values.databaseUrl), ...proxyPasswords(values)];
}

/** Lists the secrets in the database's URL: the URL as a whole, and the password in its decoded form. */
function databaseSecrets(databaseUrl: string | undefined): string[] {
  if (databaseUrl === undefined) return [];
  // Several hosts share one password.
  const url = databaseUrls(databaseUrl)?.[0];
  if (!url) return [];
  const { password, searchParams } = url;
  const decoded = searchParams.get('password') ?? decodeURIComponent(password);
  return decoded ? [databaseUrl, decoded] : [];
}
