import type {
  Client,
  ClientOptions,
  HeddleErrorClass,
  HeddleServer,
  HeddleError as Problem,
  Reference,
  ServerOptions,
} from './api/interfaces.ts';
import type { Contract } from './api/types.ts';
import { ServiceClient } from './client/service-client.ts';
import { endpoints } from './contract/endpoints.ts';
import {
  formatReference as formatParsed,
  type Reference as ParsedReference,
  parseReference as parseText,
} from './contract/references.ts';
import { HeddleError as Failure } from './core/errors.ts';
import type { Log } from './core/log.ts';
import { Redactor } from './core/redaction.ts';
import { version as packageVersion } from './core/version.ts';
import { openRuntime, remoteConnection } from './runtime/runtime.ts';
import { resolveSettings } from './settings/resolve-settings.ts';
import { settingDefinitions } from './settings/settings.ts';
import { configuredTraces } from './telemetry/observers.ts';

export type * from './api/interfaces.ts';
export type * from './api/types.ts';

/** Version of the package. */
export const version: string = packageVersion;

/** The operations of the service, with their schemas, by name. */
export const contract: Contract = endpoints;

/** The one error type: what the client's methods reject with. */
export type HeddleError = Problem;
export const HeddleError: HeddleErrorClass = Failure;

/** Reads `scheme:///entity/project/kind/name:version`; undefined for any other text. */
export const parseReference: (text: string) => Reference | undefined = parseText;

/** The text of a reference; the inverse of {@link parseReference}. */
export const formatReference: (reference: Reference) => string = (reference) =>
  formatParsed(reference as ParsedReference);

/**
 * Makes a client of a service. It opens nothing before the first call; `close` ends its connections.
 * @throws HeddleError `not_configured` for a base URL that is none.
 */
export function createClient(options: ClientOptions): Client {
  const { baseUrl } = resolveSettings({ flags: { baseUrl: options.baseUrl }, environment: {}, profiles: {} }).values;
  const { username, password, token, timeoutMs, inferenceTimeoutMs, idleTimeoutMs } = options;
  const redactor = new Redactor();
  redactor.protect(password, token);
  const connection = remoteConnection(baseUrl!, { username, password, token });
  return new ServiceClient({
    connect: async () => connection,
    userAgent: `heddle/${packageVersion}`,
    redact: (text) => redactor.redact(text),
    timeoutMs,
    inferenceTimeoutMs,
    idleTimeoutMs,
    log: withOneObject(options.log),
  });
}

/**
 * Makes an MCP server with heddle's tools, prompts and resources. What the options do not say is as in a run without any
 * configuration: neither the environment nor `config.json` nor a keychain is read. Without `baseUrl` calls go to the
 * embedded service, which is started by the first of them.
 * @throws HeddleError `not_configured` for an option that cannot be used.
 */
export function createServer(options: ServerOptions = {}): HeddleServer {
  const environment = Object.fromEntries(
    Object.entries(options)
      .filter(([name, value]) => value !== undefined && name !== 'log')
      .map(([name, value]) => [
        settingDefinitions[name as Exclude<keyof ServerOptions, 'log'>].environment,
        String(value),
      ]),
  );
  const resolved = resolveSettings({ flags: {}, environment, profiles: {} });
  const { username, password, token } = resolved.values;
  const log = withOneObject(options.log);
  const runtime = openRuntime(resolved, {
    log,
    credentials: async () => ({ username, password, token, sources: resolved.sources }),
  });
  const open = new Set<() => Promise<void>>();
  return {
    async connect(transport) {
      const [{ connect }, { serverFactory }, observer] = await Promise.all([
        import('./mcp/connect.ts'),
        import('./mcp/server.ts'),
        configuredTraces(log),
      ]);
      open.add(connect(serverFactory({ ...runtime.serverOptions, observer }), transport, log));
    },
    async close() {
      await Promise.all([...open].map((end) => end()));
      await runtime.close();
    },
  };
}

/** A program's log as heddle calls its own: fields come together in one object. */
function withOneObject(log: ClientOptions['log']): Log {
  return log ? (level, message, ...fields) => log(level, message, Object.assign({}, ...fields)) : () => {};
}
