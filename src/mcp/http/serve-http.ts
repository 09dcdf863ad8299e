import { lookup } from 'node:dns/promises';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { HeddleError } from '../../core/errors.ts';
import { endServer } from '../../core/http/end-server.ts';
import { listen } from '../../core/http/listen.ts';
import type { Log } from '../../core/log.ts';
import { asRequestId, newRequestId, requestIdHeader } from '../../core/request-id.ts';
import type { ServerFactory } from '../server.ts';
import { type AccessRules, accessChecks, type ClientIdentity, corsHeaders, type Guard } from './access.ts';
import { Answer, errorBody, publish, type Refusal, refuse, tell } from './answer.ts';
import { Cancellations } from './cancellations.ts';
import { isOlder, serveOlder } from './older.ts';
import { BodyReader, busy, checkForm } from './request.ts';

/** Bounds of a server; times in milliseconds, sizes in bytes. */
export const httpLimits = {
  bodyBytes: 4 * 1024 * 1024,
  /** Bodies that are being received, together. */
  bodyBytesTogether: 128 * 1024 * 1024,
  connections: 2_048,
  /** Calls that run and streams that are open, together. */
  calls: 256,
  headersMs: 10_000,
  /** From the first byte of a request to the last of its body. */
  requestMs: 30_000,
  /** How often connections are checked for the two above. */
  checkMs: 1_000,
  /** Longest silence of this side while a call runs; proxies take more for a failure. */
  quietMs: 15_000,
  /** Silence of a client that does not read its answer. */
  stallMs: 60_000,
  /** Longer than the balancers in front usually keep a connection, so that they close it and not this side. */
  idleMs: 75_000,
  /** How long an answer of `/readyz` is good, and how long it may take. */
  readyMs: 1_000,
  readyTimeoutMs: 3_000,
};
export type HttpLimits = typeof httpLimits;

export interface HttpOptions extends AccessRules {
  /** Name or address to listen on. */
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Makes the guard for the endpoint at this address; without one everybody comes in. */
  guard?: (url: string) => Guard;
  /** Whether calls can be carried out now: the service answers. May throw. */
  ready: (signal: AbortSignal) => Promise<boolean>;
  limits?: Partial<HttpLimits>;
  log: Log;
  /** Called with the status of each request that is not served. */
  onRefused?: (status: number) => void;
}

export interface RunningHttpServer {
  /** Address of the endpoint. */
  url: string;
  /** Takes no more connections, and lets calls finish for at most so many milliseconds. */
  stop: (graceMs: number) => Promise<void>;
}

/**
 * Serves MCP over Streamable HTTP at `/mcp`, every protocol revision, without state between requests: each is served by
 * a fresh instance of `createServer` (design §8), or of the caller's own. `/healthz` and `/readyz` tell a balancer about
 * the process and the service.
 * @throws HeddleError `not_configured` when it would listen beyond loopback without a guard; Error when it cannot listen.
 */
export async function serveHttp(createServer: ServerFactory, options: HttpOptions): Promise<RunningHttpServer> {
  const { host, port, log } = options;
  const limits = { ...httpLimits, ...options.limits };
  const address = await loopbackOrGuarded(host, options.guard !== undefined);
  const wildcard = ['0.0.0.0', '::'].includes(address);
  const access = accessChecks({ ...options, allowedHosts: [...options.allowedHosts, ...(wildcard ? [] : [host])] });
  const bodies = new BodyReader(limits.bodyBytes, limits.bodyBytesTogether);
  const cancellations = new Cancellations();
  const isReady = readiness(options.ready, limits, log);
  // Nothing is published here, so that the handler ends a `subscriptions/listen` stream as soon as it is acknowledged.
  const handler = createMcpHandler(
    ({ authInfo }) => ((authInfo?.extra?.createServer ?? createServer) as ServerFactory)(),
    {
      legacy: 'reject',
      keepAliveMs: limits.quietMs,
      onerror: (error) => log('info', 'protocol', { error: error.message }),
    },
  );

  /** Answers that are being made or written. */
  const open = new Set<ServerResponse>();
  let guard: Guard | undefined;
  let stopping = false;

  const full = (): Refusal | undefined => (open.size >= limits.calls ? busy : undefined);

  const refused = (request: IncomingMessage, status: number, reason?: string): void => {
    log('info', 'request refused', { request_id: request.headers[requestIdHeader], status, reason });
    options.onRefused?.(status);
  };
  const turnAway = (request: IncomingMessage, response: ServerResponse, refusal: Refusal): void => {
    refused(request, refusal.status, refusal.message);
    refuse(request, response, refusal);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // From here on the request has an id, whoever gave it.
    const requestId = asRequestId(request.headers[requestIdHeader]) ?? newRequestId();
    request.headers[requestIdHeader] = requestId;
    response.setHeader(requestIdHeader, requestId);
    const path = request.url?.split('?')[0] ?? '';
    const elsewhere = access.host(request);
    if (elsewhere) return turnAway(request, response, elsewhere);
    if (guard?.metadata?.paths.includes(path)) return publish(request, response, guard.metadata.document);
    const foreign = access.origin(request);
    if (foreign) return turnAway(request, response, foreign);
    const cors = corsHeaders(request);
    const decline = (refusal: Refusal): void =>
      turnAway(request, response, { ...refusal, message: refusal.message, headers: { ...refusal.headers, ...cors } });

    if (path === '/healthz') return tell(response, 200, 'ok');
    if (path === '/readyz') {
      const ready = !stopping && (await isReady());
      return tell(response, ready ? 200 : 503, ready ? 'ready' : 'not ready');
    }
    if (path !== '/mcp') return decline({ status: 404, message: 'Not found: the endpoint is /mcp' });
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      response.writeHead(204, corsHeaders(request, true)).end();
      return;
    }
    const found = (await guard?.identify(request)) ?? {};
    // It has done what it was sent for: nothing behind this gets to see it.
    delete request.headers.authorization;
    if (request.destroyed) return;
    if ('status' in found) return decline(found);
    const caller: ClientIdentity = found;
    const refusal = checkForm(request) ?? full();
    if (refusal) return decline(refusal);

    // A place among the calls is taken only now that the body is there: who sends slowly does not hold one.
    const body = await bodies.read(request, response);
    if (body === undefined) return;
    if ('refusal' in body) return decline(body.refusal);
    const { value } = body;
    const late = guard?.permit?.(caller, value) ?? full();
    if (late) return decline(late);

    const gone = new AbortController();
    open.add(response);
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
      // What the protocol forbids is refused by the SDK.
      else if (response.statusCode >= 400) refused(request, response.statusCode);
      open.delete(response);
    });
    const session = cancellations.take(request, value, caller.subject, gone, (then) => response.once('close', then));
    const { quietMs, stallMs } = limits;
    const answer = new Answer(response, { headers: { ...cors, ...session }, quietMs, stallMs });
    if (isOlder(request, value)) {
      const unusable = await serveOlder(caller.createServer ?? createServer, request, value, answer, gone.signal);
      // The log learns of it when the answer has gone.
      if (unusable) refuse(request, response, { ...unusable, headers: cors });
      return;
    }
    // What the SDK hands on about the caller. The token is not part of it.
    const { subject = '', createServer: own } = caller;
    const authInfo = { token: '', clientId: subject, scopes: [], extra: { createServer: own } };
    await answer.send(handler.fetch(webRequest(request, gone.signal), { parsedBody: value, authInfo }));
  };

  const server = createHttpServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    keepAliveTimeout: limits.idleMs,
    // A request without Host is refused like one with a foreign Host, in the same form.
    requireHostHeader: false,
  });
  server.maxConnections = limits.connections;
  const answering = new WeakMap<Socket, ServerResponse>();
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    answering.set(request.socket, response);
    serve(request, response).catch((error: Error) => {
      if (response.destroyed) return;
      log('error', 'request failed', {
        request_id: request.headers[requestIdHeader],
        error: error.stack ?? error.message,
      });
      refuse(request, response, { status: 500, code: -32_603, message: 'Internal error' });
      if (!response.writableEnded) response.destroy();
    });
  };
  server.on('request', onRequest);
  // The body of a refused request is not even asked for.
  server.on('checkContinue', onRequest);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const before = answering.get(socket);
    const answered = before?.headersSent && !before.writableFinished;
    if (!answered && socket.writable) {
      const [status, message] = malformed(error.code);
      options.onRefused?.(Number.parseInt(status, 10));
      socket.write(wholeAnswer(status, message));
    }
    socket.destroySoon();
  });
  const url = `${await listen(server, port, host, address)}/mcp`;
  guard = options.guard?.(url);
  return {
    url,
    stop: async (graceMs) => {
      stopping = true;
      await endServer(server, graceMs);
      await handler.close();
    },
  };
}

/**
 * The address to listen on. Everybody who can reach it can use the service with the credentials of this process, so
 * that beyond loopback there must be a guard.
 */
async function loopbackOrGuarded(host: string, guarded: boolean): Promise<string> {
  const { address, loopback } = await resolveHost(host);
  if (guarded || loopback) return address;
  throw new HeddleError({
    code: 'not_configured',
    message: `Listening on ${host} without a token would let everybody on the network use the service.`,
    hint: 'Set HEDDLE_HTTP_TOKEN, --token-file or --oauth-issuer, or listen on 127.0.0.1.',
  });
}

/** The address of a name to listen on, and whether only this machine can reach it. */
export async function resolveHost(host: string): Promise<{ address: string; loopback: boolean }> {
  const { address, family } = await lookup(host);
  const loopback = new BlockList();
  loopback.addSubnet('127.0.0.0', 8);
  loopback.addAddress('::1', 'ipv6');
  return { address, loopback: loopback.check(address, family === 6 ? 'ipv6' : 'ipv4') };
}

/** Asks `ready` at most once in a while, in bounded time, however many want to know. */
function readiness(ready: HttpOptions['ready'], limits: HttpLimits, log: Log): () => Promise<boolean> {
  let latest: Promise<boolean> | undefined;
  return () => {
    if (latest) return latest;
    const signal = AbortSignal.timeout(limits.readyTimeoutMs);
    const timedOut = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    latest = Promise.race([ready(signal), timedOut]).catch((error: Error) => {
      log('info', 'not ready', { error: error.message });
      return false;
    });
    latest.then(() => setTimeout(() => (latest = undefined), limits.readyMs).unref());
    return latest;
  };
}

/** The request as the SDK wants it. It carries no body: that has been read and parsed, and goes beside it. */
function webRequest({ headers }: IncomingMessage, signal: AbortSignal): Request {
  const pairs = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return new Request('http://localhost/mcp', { method: 'POST', headers: pairs, signal });
}

/** What is wrong with what is no HTTP request, or did not arrive in time: status line and message. */
function malformed(code: string | undefined): [status: string, message: string] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return ['408 Request Timeout', 'Request timeout'];
  if (code === 'HPE_HEADER_OVERFLOW') return ['431 Request Header Fields Too Large', 'The header is too large'];
  return ['400 Bad Request', 'Bad request: not HTTP'];
}

function wholeAnswer(status: string, message: string): string {
  const body = errorBody({ status: 0, message });
  return `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}
