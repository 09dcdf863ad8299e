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

/**
 * Writes a web response out. JSON goes in one piece; a stream is piped as it comes.
 * @throws Error when the client goes away before the end.
 */
export async function send(
  answer: Response,
  response: ServerResponse,
  headers: Record<string, string>,
  stallMs: number,
): Promise<void> {
  const streamed = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  const whole = streamed ? undefined : Buffer.from(await answer.arrayBuffer());
  if (response.destroyed) return;
  // Whether the connection goes on is decided here, not by the SDK.
  const { connection: _, ...own } = Object.fromEntries(answer.headers);
  response.writeHead(answer.status, { ...own, ...headers, ...(whole && { 'content-length': whole.length }) });
  // A client that stops reading does not keep its place: without progress for so long the connection is closed.
  response.setTimeout(stallMs);
  if (whole) response.end(whole);
  else await pipeline(Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]), response);
}
