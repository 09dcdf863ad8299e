import { readFileSync, statSync } from 'node:fs';
import { asHeaderToken } from '../config/options.ts';
import type { Inputs, Resolved } from '../config/resolve.ts';
import { HeddleError } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import { tokenGuard } from '../mcp/http-access.ts';
import { type HttpOptions, type RunningHttpServer, resolveHost, serveHttp as serve } from '../mcp/serve-http.ts';
import { serverFactory } from '../mcp/server.ts';
import { openSession, type Session } from './session.ts';
import { endServing, stopSignal } from './stop.ts';
import { Subjects } from './subjects.ts';
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
  const guard = await guardOf(resolved, flags, (subject) => subjects?.knows(subject) ?? true, log);
  const file = resolved.config.subjects;
  const subjects = file === undefined ? undefined : new Subjects(file, inputs, resolved, log);
  const server = await listen(session, flags, resolved, subjects, guard);
  if (!server) process.exit(1);
  process.stderr.write(`listening on ${server.url}\n`);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve));
  await server.stop(stopGraceMs);
  await subjects?.close();
  return endServing(session);
}

/** The server, or undefined when it cannot listen, which is said in one line. */
async function listen(
  session: Session,
  { host, port, allowedHost, allowedOrigin }: HttpFlags,
  { config: { publicUrl } }: Resolved,
  subjects: Subjects | undefined,
  guard: HttpOptions['guard'],
): Promise<RunningHttpServer | undefined> {
  const forAll = serverFactory(session.settings);
  try {
    return await serve((subject) => (subjects ? subjects.createServer(subject!) : forAll()), {
      host,
      port,
      allowedHosts: [...allowedHost, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])],
      allowedOrigins: allowedOrigin,
      guard,
      // Each subject's service is a matter of its own: that one is down says nothing of the others.
      ready: async (signal) => subjects !== undefined || isServiceReachable(session, signal),
      log: session.log,
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof HeddleError || code === undefined) throw error;
    const reason = code === 'EADDRINUSE' ? 'the port is in use; choose another with --port' : message;
    process.stderr.write(`heddle: cannot listen on ${host}, port ${port}: ${reason}\n`);
    return undefined;
  }
}

/**
 * The guard that the settings ask for.
 * @throws HeddleError `not_configured` for settings that do not go together.
 */
async function guardOf(
  { config, sources }: Resolved,
  { host, tokenFile }: HttpFlags,
  knows: (subject: string) => boolean,
  log: Log,
): Promise<HttpOptions['guard']> {
  const { oauthIssuer: issuer, oauthAudience: audience, publicUrl } = config;
  const token = tokenFile === undefined ? config.httpToken : readTokenFile(tokenFile);
  if (issuer === undefined) {
    const idle = (['oauthAudience', 'subjects'] as const).find((name) => config[name] !== undefined);
    if (idle) throw mismatch(`${sources[idle].name} is set without --oauth-issuer.`, 'Name the issuer of the tokens.');
    return token === undefined ? undefined : () => tokenGuard(token);
  }
  if (token !== undefined) {
    const given = tokenFile === undefined ? sources.httpToken.name : '--token-file';
    throw mismatch(
      `${given} and ${sources.oauthIssuer.name} are both set, and each says who may come in.`,
      'Leave one of them away.',
    );
  }
  if (publicUrl === undefined && !(await resolveHost(host)).loopback) {
    throw mismatch(
      `Listening on ${host} with --oauth-issuer, and clients know the endpoint by an address that is not set.`,
      'Set --public-url or HEDDLE_PUBLIC_URL to it, like https://mcp.example.com/mcp.',
    );
  }
  const { oauthGuard } = await import('../mcp/oauth-guard.ts');
  return (url) => oauthGuard({ issuer, audience, resource: publicUrl ?? url, knows }, log);
}

function mismatch(message: string, hint: string): HeddleError {
  return new HeddleError({ code: 'not_configured', message, hint });
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

/**
 * The token in a file.
 * @throws HeddleError `not_configured` when others may read the file, or it holds no token.
 */
function readTokenFile(file: string): string {
  const unusable = (reason: string, cause?: unknown): HeddleError =>
    new HeddleError({
      code: 'not_configured',
      message: `The token file ${file} cannot be used: ${reason}.`,
      hint: 'Write the token into a file that only you can read (chmod 600), and nothing else.',
      cause,
    });
  try {
    // Windows has no such mode bits: there the folder's permissions decide.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) throw new Error('others can read it');
    return asHeaderToken(readFileSync(file, 'utf8').trim());
  } catch (error) {
    throw unusable((error as Error).message, error);
  }
}
