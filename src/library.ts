import { ServiceClient } from './client/service-client.ts';
import { endpoints } from './contract/endpoints.ts';
import { notConfigured } from './core/errors.ts';
import { type ProxySettings, proxyPasswords } from './core/http/proxies.ts';
import { ownMember } from './core/json/member-at.ts';
import type { Log, LogLevel } from './core/log.ts';
import { Redactor } from './core/secrets/redaction.ts';
import { version } from './core/version.ts';
import { openRuntime, remoteConnection } from './runtime/runtime.ts';
import { userFolders } from './settings/profiles.ts';
import { resolveSettings } from './settings/resolve-settings.ts';
import { settingDefinitions } from './settings/settings.ts';
import { configuredTraces } from './telemetry/observers.ts';

export { formatReference, parseReference, type Reference } from './contract/references.ts';
export { HeddleError } from './core/errors.ts';
export { version };

/** The operations of the service, with their schemas, by name. The build adds the types of the schemas to the package. */
export const contract = endpoints;

/** Receives what a part of heddle does, without secrets. */
export type LogFunction = (level: LogLevel, message: string, fields: Record<string, unknown>) => void;

export interface ClientOptions extends ProxySettings {
  /** Base address of the service. */
  baseUrl: string;
  /** Address of its inference with the version, by default as in the setting of this name in docs/configuration.md. */
  inferenceUrl?: string;
  /** User name and password for the queue and evaluation operations. */
  username?: string;
  password?: string;
  /** Bearer token for inference. */
  token?: string;
  /** Maximum duration of one request in milliseconds, retries included. Default 60 000. */
  timeoutMs?: number;
  /** The same for inference. Default 600 000. */
  inferenceTimeoutMs?: number;
  /** Maximum silence of a streamed reply in milliseconds. Default 120 000. */
  idleTimeoutMs?: number;
  log?: LogFunction;
}

/** Calls the operations of the service. Every failure is a {@link HeddleError}; see docs/library.md. */
export type Client = Omit<
  ServiceClient,
  'facts' | 'signal' | 'forToolCall' | 'withSignal' | 'pause' | 'missedDeadline'
>;

/** Settings of a server; each is the setting of the same name in docs/configuration.md. */
export interface ServerOptions extends ProxySettings {
  baseUrl?: string;
  inferenceUrl?: string;
  project?: string;
  username?: string;
  password?: string;
  token?: string;
  dataDir?: string;
  timeoutMs?: number;
  inferenceTimeoutMs?: number;
  maxResultChars?: number;
  text?: 'compact' | 'json';
  readOnly?: boolean;
  tools?: readonly string[];
  modelProviderUrl?: string;
  modelProviderKey?: string;
  log?: LogFunction;
}

/** A transport of any version of the MCP SDK. */
export interface Transport {
  start(): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: every version of the SDK has its own type of messages
  send(message: any, options?: any): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: every version of the SDK has its own type of messages
  onmessage?: ((message: any, extra?: any) => void) | undefined;
}

export interface HeddleServer {
  /** Serves one client until either side closes the transport. Each client needs a transport of its own. */
  connect(transport: Transport): Promise<void>;
  /** Ends every connection, and the embedded service where it was started. */
  close(): Promise<void>;
}

/**
 * Creates a client of a service. It opens nothing before the first request; `close` ends its connections.
 * @throws HeddleError `not_configured` when an address cannot be used.
 */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, inferenceUrl, username, password, token, timeoutMs, inferenceTimeoutMs, idleTimeoutMs } = options;
  const flags = { baseUrl, ...(inferenceUrl !== undefined && { inferenceUrl }) };
  const { values } = resolveSettings({ flags, environment: {}, folders: userFolders, profiles: {} });
  if (values.baseUrl === undefined) throw notConfigured('createClient needs a base URL.', 'Pass it as baseUrl.');
  const redactor = new Redactor();
  redactor.protect(password, token, ...proxyPasswords(options));
  const connection = remoteConnection(values.baseUrl, values.inferenceUrl, { username, password, token });
  return new ServiceClient({
    connect: async () => connection,
    userAgent: `heddle/${version}`,
    redact: (text) => redactor.redact(text),
    redactCut: (text) => redactor.redactCut(text),
    timeoutMs,
    inferenceTimeoutMs,
    idleTimeoutMs,
    proxies: options,
    log: asLog(options.log),
  });
}

/**
 * Creates an MCP server with heddle's tools, prompts and resources. Settings come from the options alone: neither the
 * environment nor `config.json` nor a keychain is read. Without `baseUrl` the embedded service is used, which the first
 * call starts.
 * @throws HeddleError `not_configured` when an option cannot be used.
 */
export function createServer({ log: logFunction, ...options }: ServerOptions = {}): HeddleServer {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(settingDefinitions, name));
  if (unknown !== undefined) throw notConfigured(`createServer has no option "${unknown}".`, 'Remove it.');
  const environment = Object.fromEntries(
    Object.entries(options)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [ownMember(settingDefinitions, name)!.environment, String(value)]),
  );
  const resolved = resolveSettings({ flags: {}, environment, folders: userFolders, profiles: {} });
  const { username, password, token } = resolved.values;
  const log = asLog(logFunction);
  const runtime = openRuntime(resolved, {
    log,
    credentials: async () => ({ username, password, token, sources: resolved.sources }),
  });
  const closeConnections = new Set<() => Promise<void>>();
  return {
    async connect(transport) {
      const [{ connect }, { serverFactory }, observer] = await Promise.all([
        import('./mcp/connect.ts'),
        import('./mcp/server.ts'),
        configuredTraces(log),
      ]);
      closeConnections.add(connect(serverFactory({ ...runtime.serverOptions, observer }), transport, log));
    },
    async close() {
      await Promise.all([...closeConnections].map((close) => close()));
      await runtime.close();
    },
  };
}

/** Adapts a program's log function, which gets all fields in one object. */
function asLog(log: LogFunction | undefined): Log {
  return log ? (level, message, ...fields) => log(level, message, Object.assign({}, ...fields)) : () => {};
}
