import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { undefinedOnError } from '../errors.ts';
import type { Log } from '../log.ts';
import { Refusal } from './refusal.ts';
import { refuseMalformed } from './refuse-malformed.ts';
import { asRequestId, requestIdHeader } from './request-id.ts';

/** Limits of a server; times in milliseconds. Node's own apply where one is absent. */
export interface ServerLimits {
  /** Beyond it, the connection that has been idle for longest is closed. */
  maxConnections: number;
  headersTimeoutMs: number;
  /** From the first byte of a request to the last byte of its body. */
  requestTimeoutMs: number;
  /** Interval at which connections are checked for the two timeouts above. */
  timeoutCheckMs: number;
  /** Time after which a connection without a request is closed. */
  idleTimeoutMs: number;
}

export interface ServerRules {
  limits?: Partial<ServerLimits>;
  /** Returns the JSON body of a refusal that has none of its own. */
  errorBody: (message: string) => object;
  /** Headers of every response. */
  headers?: Record<string, string>;
  log: Log;
  /** Called with the status of each refused request; not for internal errors. */
  onRefused?: ((status: number) => void) | undefined;
}

/** Time for a client to read a refusal before the connection is closed on the rest of its body, in milliseconds. */
const lingerMs = 1_000;

/**
 * Creates a server that answers in one way whatever goes wrong: bytes that are not HTTP, requests that are too slow, and
 * what `serve` throws. A {@link Refusal} is sent with its status; anything else is logged and sent as status 500. Every
 * request has an `x-request-id`: its own, or a new one.
 */
export function createHttpServer(
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  { limits = {}, errorBody, headers = {}, log, onRefused }: ServerRules,
): Server {
  const { headersTimeoutMs, requestTimeoutMs, timeoutCheckMs, idleTimeoutMs, maxConnections } = limits;
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: timeoutCheckMs,
    keepAliveTimeout: idleTimeoutMs,
    // A request without a Host is refused like one with a foreign Host, in the same form.
    requireHostHeader: false,
  });
  if (maxConnections !== undefined) limitConnections(server, maxConnections);
  const report = (
    { headers: { [requestIdHeader]: request_id } }: IncomingMessage,
    { status, message }: Refusal,
  ): void => {
    log('info', 'request refused', { request_id, status, reason: message });
    onRefused?.(status);
  };
  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = asRequestId(request.headers[requestIdHeader]) ?? crypto.randomUUID();
    request.headers[requestIdHeader] = requestId;
    for (const [name, value] of Object.entries({ [requestIdHeader]: requestId, ...headers }))
      response.setHeader(name, value);
    try {
      await serve(request, response);
    } catch (error) {
      if (error instanceof Refusal) report(request, error);
      else log('error', 'request failed', { request_id: requestId, error: (error as Error).stack });
      sendRefusal(response, error instanceof Refusal ? error : new Refusal(500, 'Internal error'), errorBody);
    }
  };
  server.on('request', onRequest);
  // With `Expect: 100-continue`, the request is checked before its body is asked for.
  server.on('checkContinue', onRequest);
  refuseMalformed(server, { bodyOf: errorBody, onRefused });
  return server;
}

/** Sends a refusal. A body that is still on its way is not read, and costs the connection. */
function sendRefusal(response: ServerResponse, refusal: Refusal, errorBody: (message: string) => object): void {
  const { req: request } = response;
  if (response.headersSent || response.destroyed) return;
  const json = JSON.stringify(refusal.body ?? errorBody(refusal.message));
  const keepConnection = isReceived(request);
  response.writeHead(refusal.status, {
    ...refusal.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    ...(!keepConnection && { connection: 'close' }),
  });
  if (keepConnection) {
    response.end(json);
    return;
  }
  // Closing at once would reset the connection of a client that is still sending, and the refusal would be lost.
  response.write(json);
  const timer = setTimeout(() => request.socket.destroy(), lingerMs);
  request.socket.once('close', () => clearTimeout(timer));
}

function isReceived({ complete, headers }: IncomingMessage): boolean {
  return complete || (Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined);
}

/** Descriptors that a process needs besides those of its connections: files, and its own connections to others. */
const otherDescriptors = 40;

/**
 * Limits the connections of a server, also to what the process may open. One more closes the one that has been without a request
 * for longest, so that idle connections keep nobody out; if there is none, it is closed itself.
 */
function limitConnections(server: Server, maxConnections: number): void {
  const limit = Math.max(1, Math.min(maxConnections, maxDescriptors() - otherDescriptors));
  const open = new Set<Socket>();
  // In the order in which they became idle.
  const idle = new Set<Socket>();
  const forget = (socket: Socket): void => {
    open.delete(socket);
    idle.delete(socket);
  };
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    idle.add(socket);
    socket.once('close', () => forget(socket));
    if (open.size <= limit) return;
    const [longest = socket] = idle;
    forget(longest);
    longest.destroy();
  });
  const onRequest = ({ socket }: { socket: Socket }, response: ServerResponse): void => {
    idle.delete(socket);
    response.once('finish', () => {
      if (open.has(socket)) idle.add(socket);
    });
  };
  server.on('request', onRequest);
  server.on('checkContinue', onRequest);
}

/** Returns how many descriptors the process may have open, where the system tells. */
function maxDescriptors(): number {
  const limits = undefinedOnError(() => readFileSync('/proc/self/limits', 'utf8')) ?? '';
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
}
