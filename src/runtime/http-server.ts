import type { HeddleError } from '../core/errors.ts';
import { type HttpOptions, type RunningHttpServer, serveHttp as serve } from '../mcp/http/serve-http.ts';
import { serverFactory } from '../mcp/server.ts';
import type { Inputs, Resolved } from '../settings/resolve-settings.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { configuredTraces, together } from '../telemetry/observers.ts';
import { guardOf } from './http-guard.ts';
import { listening } from './listening.ts';
import { openSession, type Session } from './runtime.ts';
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
export async function serveHttp(
  resolved: Resolved,
  inputs: Pick<Inputs, 'flags' | 'environment'>,
  flags: HttpFlags,
): Promise<never> {
  const session = openSession(resolved);
  const { log } = session;
  outliveUncaught(log);
  const stop = stopSignal();
  const [metrics, traces] = await Promise.all([startMetrics(session, flags), configuredTraces(log)]);
  const observer = metrics && traces ? together(metrics.observer, traces) : (metrics?.observer ?? traces);
  session.settings.observer = observer;
  const { guard, subjects } = await guardOf(resolved, inputs, flags, { log, observer });
  const server = await listen(session, flags, {
    guard,
    // Each subject's service is a matter of its own: that one is down says nothing of the others.
    ready: async (signal) => subjects !== undefined || isServiceReachable(session, signal),
    publicUrl: resolved.config.publicUrl,
    onRefused: metrics?.refused,
  });
  process.stderr.write(`listening on ${server.url}\n`);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve));
  await server.stop(stopGraceMs);
  await subjects?.close();
  return endServing(session, observer);
}

async function listen(
  { settings, log }: Session,
  { host, port, allowedHost, allowedOrigin }: HttpFlags,
  { publicUrl, ...others }: Pick<HttpOptions, 'guard' | 'ready' | 'onRefused'> & { publicUrl: string | undefined },
): Promise<RunningHttpServer> {
  const starting = serve(serverFactory(settings), {
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
  { settings }: Session,
  { metricsHost: host, metricsPort: port, allowedHost: allowedHosts }: HttpFlags,
): Promise<Metrics | undefined> {
  if (port === undefined) return undefined;
  const [{ createMetrics }, { serveMetrics }] = await Promise.all([
    import('../telemetry/metrics.ts'),
    import('./metrics-server.ts'),
  ]);
  const metrics = createMetrics(settings.tools.map(({ name }) => name));
  const url = await listening(serveMetrics(metrics, { host, port, allowedHosts }), host, port, '--metrics-port');
  process.stderr.write(`metrics on ${url}\n`);
  return metrics;
}

/** Whether the service answers at all: what it says to these credentials is the matter of each call. */
async function isServiceReachable({ inUse, settings }: Session, signal: AbortSignal): Promise<boolean> {
  if (inUse.kind === 'remote') {
    // Services have it, with whatever else they need to be well; one that does not answers 404, and that will do.
    const answer = await fetch(`${inUse.baseUrl}/health`, { redirect: 'manual', signal });
    await answer.body?.cancel();
    return answer.status < 500;
  }
  return (await settings.service()).listModels({ signal }).then(
    () => true,
    (error: HeddleError) => error.status !== undefined,
  );
}
