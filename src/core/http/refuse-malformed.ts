import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ownMember } from '../json/member-at.ts';

/** Statuses and messages by the error codes of Node's HTTP parser; any other error is status 400. */
const refusals: Record<string, { status: number; message: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'Request timeout' },
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The header is too large' },
};

/** Time in which a refused client can read the refusal, in milliseconds. */
const lingerMs = 2_000;

/**
 * Makes a server refuse bytes that are not an HTTP request, and requests that arrive too slowly.
 * @param options `bodyOf` returns the JSON body of a refusal, `onRefused` is called with its status.
 */
export function refuseMalformed(
  server: Server,
  { bodyOf, onRefused }: { bodyOf: (message: string) => object; onRefused?: (status: number) => void },
): void {
  const refused = new WeakSet<Socket>();
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    // To the parser, everything that arrives later on the connection is another error.
    if (refused.has(socket)) return;
    refused.add(socket);
    if (!socket.writable || code === 'ECONNRESET' || isResponding(socket)) {
      socket.destroy();
      return;
    }
    const { status, message } = ownMember(refusals, code) ?? { status: 400, message: 'Bad request: not HTTP' };
    const body = JSON.stringify(bodyOf(message));
    const headers = `connection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}\r\n\r\n${body}`);
    onRefused?.(status);
    // The client may still be sending. Closing the connection now would reset it, and the client would lose the refusal.
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(timer));
  });
}

/** Returns whether a response has begun and not ended on a connection; a refusal would be written into it. */
function isResponding(socket: Socket): boolean {
  // Node's own handler of these errors reads the same member.
  const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse };
  return response?.headersSent ?? false;
}
