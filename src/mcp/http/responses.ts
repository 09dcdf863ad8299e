import type { IncomingMessage, ServerResponse } from 'node:http';

/** Returns the JSON-RPC error that every refusal of this server has as its body. */
export function jsonRpcError(message: string, code = -32_000): object {
  return { jsonrpc: '2.0', error: { code, message }, id: null };
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
