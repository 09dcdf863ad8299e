import type { Inputs, Resolved } from '../config/resolve.ts';
import { HeddleError } from '../contract/errors.ts';
import { type HttpOptions, type RunningHttpServer, serveHttp as serve } from '../mcp/serve-http.ts';
import { serverFactory } from '../mcp/server.ts';
import { guardOf } from './http-guard.ts';
import { openSession, type Session } from './session.ts';
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
  const { guard, subjects } = await guardOf(resolved, inputs, flags, log);
  const server = await listen(session, flags, {
    guard,
    // Each subject's service is a matter of its own: that one is down says nothing of the others.
    ready: async (signal) => subjects !== undefined || isServiceReachable(session, signal),
    publicUrl: resolved.config.publicUrl,
  });
  if (!server) process.exit(1);
  process.stderr.write(`listening on ${server.url}\n`);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve));
  await server.stop(stopGraceMs);
  await subjects?.close();
  return endServing(session);
}

/** The server, or undefined when it cannot listen, which is said in one line. */
async function listen(
  { settings, log }: Session,
  { host, port, allowedHost, allowedOrigin }: HttpFlags,
  { guard, ready, publicUrl }: Pick<HttpOptions, 'guard' | 'ready'> & { publicUrl: string | undefined },
): Promise<RunningHttpServer | undefined> {
  try {
    return await serve(serverFactory(settings), {
      host,
      port,
      allowedHosts: [...allowedHost, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])],
      allowedOrigins: allowedOrigin,
      guard,
      ready,
      log,
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof HeddleError || code === undefined) throw error;
    const reason = code === 'EADDRINUSE' ? 'the port is in use; choose another with --port' : message;
    process.stderr.write(`heddle: cannot listen on ${host}, port ${port}: ${reason}\n`);
    return undefined;
  }
}

/** Whether the service answers at all: what it says to these credentials is the matter of each call. */
async function isServiceReachable({ inUse, settings }: Session, signal: AbortSignal): Promise<boolean> {
  if (inUse.kind === 'remote') {
    const answer = await fetch(inUse.baseUrl, { redirect: 'manual', signal });
    await answer.body?.cancel();
    return answer.status < 500;
  }
  return (await settings.service()).listModels({ signal }).then(
    () => true,
    (error: HeddleError) => error.status !== undefined,
  );
}
