import type { HeddleError } from '../core/errors.ts';
import { type HttpOptions, type RunningHttpServer, serveHttp } from '../mcp/http/serve-http.ts';
import { serverFactory } from '../mcp/server.ts';
import type { Inputs, ResolvedSettings } from '../settings/resolve-settings.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { configuredTraces, together } from '../telemetry/observers.ts';
import { guardOf } from './http-guard.ts';
import { listening } from './listening.ts';
import { openRuntime, type Runtime } from './runtime.ts';
import { endServing, stopSignal } from './stop.ts';
import { outliveUncaught } from './uncaught.ts';

/** How long calls that run may go on when the process is told to end, in milliseconds (design §8). */
const stopGraceMs = 10_000;

export interface HttpFlags {
  host: string;
  port: number;
  allowedHost: string[];
  allowedOrigin: string[];
  tokenFile?: string;
  metricsPort?: number;
  metricsHost: string;
}

/** Serves MCP over Streamable HTTP until a signal ends it, and then ends the process. */
export async function runHttpServer(
  resolved: ResolvedSettings,
  inputs: Pick<Inputs, 'flags' | 'environment'>,
  flags: HttpFlags,
): Promise<never> {
  const runtime = openRuntime(resolved);
  const { log } = runtime;
  outliveUncaught(log);
  const stop = stopSignal();
  const [metrics, traces] = await Promise.all([startMetrics(runtime, flags), configuredTraces(log)]);
  const observer = metrics && traces ? together(metrics.observer, traces) : (metrics?.observer ?? traces);
  runtime.serverOptions.observer = observer;
  const { guard, subjects } = await guardOf(resolved, inputs, flags, {
    log,
    observer,
    redactor: runtime.serverOptions.redactor,
  });
  const server = await listen(runtime, flags, {
    guard,
    // Each subject's service is a matter of its own: that one is down says nothing of the others.
    ready: async (signal) => subjects !== undefined || isServiceReachable(runtime, signal),
    publicUrl: resolved.values.publicUrl,
    onRefused: metrics?.refused,
  });
  process.stderr.write(`listening on ${server.url}\n`);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve));
  await server.stop(stopGraceMs);
  await subjects?.close();
  return endServing(runtime, observer);
}

async function listen(
  { serverOptions, log }: Runtime,
  { host, port, allowedHost, allowedOrigin }: HttpFlags,
  { publicUrl, ...others }: Pick<HttpOptions, 'guard' | 'ready' | 'onRefused'> & { publicUrl: string | undefined },
): Promise<RunningHttpServer> {
  const starting = serveHttp(serverFactory(serverOptions), {
    ...others,
    host,
    port,
    allowedHosts: [...allowedHost, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])],
    allowedOrigins: allowedOrigin,
    log,
  });
  return listening(starting, host, port, '--port');
}

/** The metrics, served on their port, where there is to be one. */
async function startMetrics(
  { serverOptions }: Runtime,
  { metricsHost: host, metricsPort: port, allowedHost: allowedHosts }: HttpFlags,
): Promise<Metrics | undefined> {
  if (port === undefined) return undefined;
  const [{ createMetrics }, { serveMetrics }] = await Promise.all([
    import('../telemetry/metrics.ts'),
    import('./metrics-server.ts'),
  ]);
  const metrics = createMetrics(serverOptions.tools.map(({ name }) => name));
  const url = await listening(serveMetrics(metrics, { host, port, allowedHosts }), host, port, '--metrics-port');
  process.stderr.write(`metrics on ${url}\n`);
  return metrics;
}

/** Whether the service answers at all: what it says to these credentials is the matter of each call. */
async function isServiceReachable({ inUse, serverOptions }: Runtime, signal: AbortSignal): Promise<boolean> {
  if (inUse.kind === 'remote') {
    // Services have it, with whatever else they need to be well; one that does not answers 404, and that will do.
    const answer = await fetch(`${inUse.baseUrl}/health`, { redirect: 'manual', signal });
    await answer.body?.cancel();
    return answer.status < 500;
  }
  return (await serverOptions.service()).listModels({ signal }).then(
    () => true,
    (error: HeddleError) => error.status !== undefined,
  );
}
