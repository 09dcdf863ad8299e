import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Why a request is not served. The message tells the client what it did, and nothing of the inside. */
export interface Refusal {
  status: number;
  message: string;
  /** JSON-RPC error code; -32000, the server's own, when absent. */
  code?: number;
  headers?: Record<string, string>;
}

/** Unread rests of bodies up to this size, in bytes, are taken off the wire so that the connection can go on. */
const discardedBytes = 64 * 1024;
/** Milliseconds that a client has to read a refusal before the connection is closed on the rest of its body. */
const lingerMs = 1_000;

const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // nginx would hold the events back.
  'x-accel-buffering': 'no',
};

/** The body of a refusal. */
export function errorBody({ code = -32_000, message }: Refusal): string {
  return JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
}

/** Answers with a JSON-RPC error. A body that is still on its way is not read; a large one costs the connection. */
export function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return;
  const body = errorBody(refusal);
  response.writeHead(refusal.status, {
    ...refusal.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(!isBodyBounded(request) && { connection: 'close' }),
  });
  if (isBodyBounded(request)) {
    response.end(body);
    return;
  }
  // Closing at once would reset the connection under a client that is still sending, and with it the answer.
  response.write(body);
  const timer = setTimeout(() => request.socket.destroy(), lingerMs);
  request.socket.once('close', () => clearTimeout(timer));
}

function isBodyBounded({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  // A client that waits for 100 Continue may send its body or not: the connection has no known state after a refusal.
  if (headers.expect !== undefined || headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= discardedBytes;
}

/** How an answer is written; times in milliseconds. */
export interface SendOptions {
  /** Headers beside those of the answer. */
  headers: Record<string, string>;
  /** Longest silence: proxies take more for a failure and cut the call off. */
  quietMs: number;
  /** Longest time without progress of a client that reads. */
  stallMs: number;
}

/**
 * Writes a web response out, once it is there. JSON goes in one piece, a stream is piped as it comes; an answer that
 * takes its time becomes a stream, which comments keep open.
 * @throws Error when the client goes away before the end.
 */
export async function send(
  answering: Promise<Response>,
  response: ServerResponse,
  options: SendOptions,
): Promise<void> {
  const begin = (status: number, headers: Record<string, string | number>): void => {
    response.writeHead(status, { ...headers, ...options.headers });
    // A client that stops reading does not keep its place.
    response.setTimeout(options.stallMs);
  };
  const quiet = setInterval(() => {
    if (response.destroyed) return;
    if (!response.headersSent) begin(200, streamHeaders);
    response.write(': still working\n\n');
  }, options.quietMs);
  const answer = await answering.finally(() => clearInterval(quiet));
  if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    if (response.destroyed) return;
    // Whether the connection goes on is decided here, not by the SDK.
    const { connection: _, ...own } = Object.fromEntries(answer.headers);
    if (!response.headersSent) begin(answer.status, own);
    await pipeline(Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]), response);
    return;
  }
  const whole = Buffer.from(await answer.arrayBuffer());
  if (response.destroyed) return;
  if (response.headersSent) {
    response.end(`event: message\ndata: ${whole}\n\n`);
    return;
  }
  begin(answer.status, { ...Object.fromEntries(answer.headers), 'content-length': whole.length });
  response.end(whole);
}

/** Answers with a word for programs that watch this one. */
export function tell(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end(`${text}\n`);
}

/** Answers with a document that every web page may read, too. */
export function publish(request: IncomingMessage, response: ServerResponse, document: object): void {
  const methods = 'GET, HEAD, OPTIONS';
  const open = { 'access-control-allow-origin': '*' };
  if (request.method === 'OPTIONS') {
    response.writeHead(204, {
      ...open,
      'access-control-allow-methods': methods,
      'access-control-allow-headers': request.headers['access-control-request-headers'] ?? '',
    });
    response.end();
  } else if (request.method === 'GET' || request.method === 'HEAD') {
    response.writeHead(200, { ...open, 'content-type': 'application/json', 'cache-control': 'max-age=300' });
    response.end(JSON.stringify(document));
  } else {
    refuse(request, response, { status: 405, message: 'Method not allowed: send GET', headers: { allow: methods } });
  }
}
