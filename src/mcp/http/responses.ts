import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '../../core/http/refusal.ts';

/** Maximum of unread body bytes that are discarded so that the connection can go on. */
const maxDiscardedBytes = 64 * 1024;
/** Time for a client to read a refusal before the connection is closed on the rest of its body, in milliseconds. */
const lingerMs = 1_000;

/** Returns the JSON-RPC error that every refusal of this server has as its body. */
export function jsonRpcError(message: string, code = -32_000): object {
  return { jsonrpc: '2.0', error: { code, message }, id: null };
}

/** Sends a refusal as a JSON-RPC error. A body that is still on its way is not read; a large one costs the connection. */
export function sendRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return;
  const json = JSON.stringify(refusal.body ?? jsonRpcError(refusal.message));
  const keepConnection = isRestSmall(request);
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

function isRestSmall({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  // A client that waits for 100 Continue may or may not send its body after a refusal.
  if (headers.expect !== undefined || headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= maxDiscardedBytes;
}

/** Sends a line of text to a health check. */
export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end(`${text}\n`);
}

/**
 * Sends a document that every web page may read.
 * @throws Refusal 405 for a method that does not read.
 */
export function sendPublicDocument(request: IncomingMessage, response: ServerResponse, document: object): void {
  const allow = 'GET, HEAD, OPTIONS';
  response.setHeader('access-control-allow-origin', '*');
  if (request.method === 'OPTIONS') {
    const requested = request.headers['access-control-request-headers'] ?? '';
    response.writeHead(204, { 'access-control-allow-methods': allow, 'access-control-allow-headers': requested }).end();
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new Refusal(405, 'Method not allowed: send GET', { headers: { allow } });
  }
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=300' });
  response.end(JSON.stringify(document));
}
