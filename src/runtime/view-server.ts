import { randomBytes } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { views } from '../board/views.ts';
import { createBodyReader } from '../core/http/body-reader.ts';
import { endServer } from '../core/http/end-server.ts';
import { createHttpServer } from '../core/http/http-server.ts';
import { listen } from '../core/http/listen.ts';
import { Refusal } from '../core/http/refusal.ts';
import { AccessChecks, bearerOf, checkMethod, isSameSecret } from '../mcp/http/guard.ts';
import { httpLimits } from '../mcp/http/http-limits.ts';
import { runTool } from '../mcp/run-tool.ts';
import type { McpServerOptions } from '../mcp/server.ts';
import { contentPolicy, minResultChars, parsePageBody, securityHeaders, send } from './serve-page.ts';

/** A View is for the person at this machine only. */
const host = '127.0.0.1';

/** Time after the start in which the page gets the result of the first call, in milliseconds; later it would be stale. */
const firstResultMs = 5_000;

/** Time for a running call to end, in milliseconds. */
const stopGraceMs = 5_000;

export interface ViewServer {
  /** Address for the person's browser. The token in it starts the session of one browser. */
  url: string;
  port: number;
  stop: () => Promise<void>;
}

/**
 * Serves a View to one browser on this machine.
 * @param uri address of the View.
 * @param viewArguments arguments of the tool whose result the View shows.
 * @param ports ports to listen on, the first that is free. What a browser keeps belongs to a port. Without a free one, any.
 */
export async function startViewServer(
  uri: string,
  viewArguments: Record<string, unknown>,
  options: McpServerOptions,
  ports: readonly number[] = [],
): Promise<ViewServer> {
  const view = views.find((candidate) => candidate.uri === uri)!;
  const html = await view.loadForBrowser();
  const pageOptions = { ...options, maxResultChars: Math.max(options.maxResultChars, minResultChars) };
  const policy = contentPolicy(html);
  const token = newSecret();
  const session = newSecret();
  const stopped = new AbortController();
  const access = new AccessChecks([], []);
  const readBody = createBodyReader(httpLimits.maxBodyBytes, httpLimits.maxTotalBodyBytes);
  let isTokenUsed = false;
  /** Known once the server listens, which is before any request. */
  let origin = '';

  const startSession = (request: IncomingMessage, body: unknown): unknown => {
    const given = (body as { token?: unknown }).token;
    const isFirstUse = !isTokenUsed && typeof given === 'string' && isSameSecret(given, token);
    if (isFirstUse) isTokenUsed = true;
    // A page that is loaded again, and a second tab of the browser, have the session.
    else requireSession(request, session);
    return { session, arguments: viewArguments };
  };
  const callByName = async (name: unknown, args: unknown, signal: AbortSignal): Promise<unknown> => {
    const tool = options.tools.find((candidate) => candidate.name === name && view.tools.includes(candidate.name));
    if (!tool) throw new Refusal(404, 'Not found: this page does not use this tool');
    const outcome = await runTool(tool, args, { signal }, pageOptions);
    return 'error' in outcome ? outcome : { data: outcome.data };
  };
  // The first call loads code and starts the embedded service, so it begins while the browser starts.
  const firstCall = view.firstCall(viewArguments);
  const firstCallKey = JSON.stringify(firstCall);
  const firstResult = callByName(firstCall.name, firstCall.arguments, stopped.signal);
  // If it fails, the page gets the error when it makes this call.
  firstResult.catch(() => {});
  let canUseFirstResult = true;
  setTimeout(() => {
    canUseFirstResult = false;
  }, firstResultMs).unref();
  const callFromPage = async (request: IncomingMessage, response: ServerResponse, body: unknown): Promise<unknown> => {
    requireSession(request, session);
    const { name, arguments: args } = body as { name?: unknown; arguments?: unknown };
    if (canUseFirstResult && JSON.stringify({ name, arguments: args }) === firstCallKey) {
      canUseFirstResult = false;
      return firstResult;
    }
    const pageGone = new AbortController();
    response.once('close', () => pageGone.abort());
    return callByName(name, args, AbortSignal.any([pageGone.signal, stopped.signal]));
  };
  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    access.checkHost(request);
    // After the ?, the page keeps what the person chose.
    if (/^\/(\?|$)/.test(request.url!)) {
      checkMethod(request, 'GET', 'HEAD');
      send(response, 'text/html; charset=utf-8', html);
      return;
    }
    if (request.url !== '/session' && request.url !== '/call') throw new Refusal(404, 'Not found');
    checkMethod(request, 'POST');
    // Other pages of this machine have an origin of their own, even if they have the same host.
    if (request.headers.origin !== origin) throw new Refusal(403, 'Forbidden: this Origin is not allowed');
    const bytes = await readBody(response);
    if (bytes === undefined) return;
    const body = parsePageBody(bytes);
    const result =
      request.url === '/session' ? startSession(request, body) : await callFromPage(request, response, body);
    send(response, 'application/json', JSON.stringify(result));
  };

  const server = createHttpServer(route, {
    limits: httpLimits,
    errorBody: (error) => ({ error }),
    headers: { ...securityHeaders, 'content-security-policy': policy },
    log: options.log,
  });
  origin = await listenOnOne(server, ports);
  return {
    url: `${origin}/#token=${token}`,
    port: Number(new URL(origin).port),
    stop: async () => {
      stopped.abort();
      await endServer(server, stopGraceMs);
    },
  };
}

/** Listens on the first of the ports that is free, or else on any. Returns the URL of the server. */
async function listenOnOne(server: Server, [port, ...others]: readonly number[]): Promise<string> {
  if (port === undefined) return listen(server, 0, host);
  try {
    return await listen(server, port, host);
  } catch {
    // It is in use, or reserved by the system.
    return listenOnOne(server, others);
  }
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** @throws Refusal 401 for a request without the session. */
function requireSession(request: IncomingMessage, session: string): void {
  if (!isSameSecret(bearerOf(request) ?? '', session)) throw new Refusal(401, 'Unauthorized: run the command again');
}
