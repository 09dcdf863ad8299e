import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '../../core/http/refusal.ts';

/** Time for a client to read a refusal before the connection is closed on the rest of its body, in milliseconds. */
const lingerMs = 1_000;

/** Returns the JSON-RPC error that every refusal of this server has as its body. */
export function jsonRpcError(message: string, code = -32_000): object {
  return { jsonrpc: '2.0', error: { code, message }, id: null };
}

/** Sends a refusal as a JSON-RPC error. A body that is still on its way is not read, and costs the connection. */
export function sendRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return;
  const json = JSON.stringify(refusal.body ?? jsonRpcError(refusal.message));
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

/** @throws Refusal 405 for a request with another method. */
export function checkMethod({ method = '' }: IncomingMessage, ...allowed: string[]): void {
  if (allowed.includes(method)) return;
  throw new Refusal(405, `Method not allowed: send ${allowed[0]}`, { headers: { allow: allowed.join(', ') } });
}

/** Answers a browser that asks for permission to send a request with this method; the caller sets the allowed origin. */
export function sendPreflight({ headers }: IncomingMessage, response: ServerResponse, method: string): void {
  response.writeHead(204, {
    'access-control-allow-methods': method,
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
    'access-control-max-age': '600',
  });
  response.end();
}
