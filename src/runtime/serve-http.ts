import { lookup } from 'node:dns/promises';
import type { Writable } from 'node:stream';
import { notConfigured } from '../core/errors.ts';
import { HttpClient } from '../core/http/http-client.ts';
import { Redactor } from '../core/secrets/redaction.ts';
import { McpHttpServer } from '../mcp/http/mcp-http-server.ts';
import { serverFactory } from '../mcp/server.ts';
import type { Inputs, ResolvedSettings } from '../settings/resolve-settings.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { combineObservers, configuredTraces } from '../telemetry/observers.ts';
import { HostedBoard, type HostedBoardOptions } from './hosted-board/hosted-board.ts';
import { createGuard } from './http-guard.ts';
import type { MetricsOptions } from './metrics-server.ts';
import {
  closeRuntime,
  listenAt,
  logUncaught,
  type ProcessControl,
  releaseMemoryAtRest,
  stopSignal,
  untilAborted,
} from './process-lifecycle.ts';
import { openRuntime, type Runtime, type RuntimeOptions, warnIfUnusable } from './runtime.ts';
import type { ReadCredentials } from './stored-credentials.ts';
import { Subjects } from './subjects.ts';

/** Time for running calls to end after a signal to stop. */
const stopGraceMs = 10_000;

export interface HttpFlags {
  host: string;
  port: number;
  allowedHost: string[];
  allowedOrigin: string[];
  tokenFile?: string;
  metricsPort?: number;
  metricsHost: string;
  /** True to serve the board too. */
  board?: true;
}

export interface HttpServerOptions extends RuntimeOptions {
  /** Sources of the settings; the profiles of subjects are resolved from them again. */
  inputs: Pick<Inputs, 'flags' | 'environment' | 'folders'>;
  readCredentials: ReadCredentials;
  control: ProcessControl;
  stderr: Writable;
  /** Called with the URL of the endpoint once it accepts requests. */
  onListening?: (url: string) => void;
}

/** Serves MCP over Streamable HTTP until a signal arrives. */
export async function runHttpServer(
  resolved: ResolvedSettings,
  flags: HttpFlags,
  options: HttpServerOptions,
): Promise<void> {
  const { host, port, allowedHost, allowedOrigin, tokenFile } = flags;
  const { address } = await listenAt(lookup(host), host, port, '--port or --host');
  const isLoopback = address === '::1' || address.startsWith('127.');
  const board = flags.board && boardOf(resolved, { ...options, isLoopback, service: () => runtime.embeddedService() });
  const runtime: Runtime = openRuntime(resolved, { ...options, boardKey: board?.key });
  const { log, serverOptions } = runtime;
  const { redactor } = serverOptions;
  const { publicUrl, oauthIssuer, subjects: file } = resolved.values;
  logUncaught(options.control, log);
  releaseMemoryAtRest();
  warnIfUnusable(resolved, log);
  const stop = stopSignal(options.control);
  const ended = new AbortController();
  const metrics = await startMetricsIfAsked(runtime, flags, { stderr: options.stderr, log, end: ended.signal });
  const observer = combineObservers(metrics?.observer, await configuredTraces(log));
  const subjects =
    oauthIssuer === undefined || file === undefined
      ? undefined
      : new Subjects(resolved, { ...options, file, log, observer, redactor });
  const serverFor = subjects && ((subject: string) => subjects.serverFor(subject));
  const httpClient = new HttpClient({ proxies: resolved.values });
  const server = new McpHttpServer(serverFactory({ ...serverOptions, observer }), {
    host,
    address,
    port,
    allowedHosts: [...allowedHost, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])],
    allowedOrigins: allowedOrigin,
    guard: await createGuard(resolved, { host, isLoopback, tokenFile, serverFor, log, redactor }),
    // Each subject has a service of its own, so readiness reflects only this process.
    ready: async (signal) => subjects !== undefined || isServiceReachable(runtime, httpClient, signal),
    pages: board?.serve,
    log,
    onRefused: metrics?.refused,
  });
  const url = await listenAt(server.listen(), host, port, '--port or --host');
  options.stderr.write(`listening on ${url}\n`);
  options.onListening?.(url);
  await untilAborted(stop);
  await server.stop(stopGraceMs);
  httpClient.close();
  await board?.close();
  await subjects?.close();
  await closeRuntime(runtime, observer);
  ended.abort();
}

/** Creates the board of a server. @throws HeddleError `not_configured` for a service that is not heddle's own. */
function boardOf(
  { values }: ResolvedSettings,
  options: Omit<HostedBoardOptions, 'values' | 'redactor'> & Pick<RuntimeOptions, 'redactor'>,
): HostedBoard {
  if (values.baseUrl !== undefined || values.subjects !== undefined) {
    throw notConfigured(
      '--board shows the queues of the embedded service, but this server uses another one.',
      'Remove the base URL and the subjects, or run `heddle service start --board` where the service runs.',
    );
  }
  return new HostedBoard({ ...options, values, redactor: options.redactor ?? new Redactor() });
}

async function startMetricsIfAsked(
  { serverOptions: { tools } }: Runtime,
  { metricsHost: host, metricsPort: port, allowedHost: allowedHosts }: HttpFlags,
  options: Pick<MetricsOptions, 'stderr' | 'log' | 'end'>,
): Promise<Metrics | undefined> {
  if (port === undefined) return undefined;
  const { startMetrics } = await import('./metrics-server.ts');
  const names = tools.map(({ name }) => name);
  return startMetrics(names, { host, port, allowedHosts, ...options });
}

/** Returns whether the service responds at all; the credentials are not checked. */
async function isServiceReachable(
  { serviceUrl }: Runtime,
  httpClient: HttpClient,
  signal: AbortSignal,
): Promise<boolean> {
  // A service without this endpoint responds with 404, which is good enough.
  const url = `${await serviceUrl()}/health`;
  const { status, body } = await httpClient.send({ method: 'GET', url, headers: {}, signal });
  body.resume();
  return status < 500;
}
