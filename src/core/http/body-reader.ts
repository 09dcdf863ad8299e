import type { ServerResponse } from 'node:http';
import { Refusal } from './refusal.ts';

/**
 * Reads the whole body of the request that a response belongs to; asks for it first if the client waits for that
 * (`Expect: 100-continue`).
 * @returns undefined if the client disconnects before the end.
 * @throws Refusal 413 for a body that is too large, 503 if too many are being received.
 */
export type BodyReader = (response: ServerResponse) => Promise<Buffer | undefined>;

/**
 * Creates a reader of request bodies.
 * @param maxTotalBytes maximum size of all bodies that are being received.
 */
export function createBodyReader(maxBytes: number, maxTotalBytes = Number.POSITIVE_INFINITY): BodyReader {
  let receivedBytes = 0;
  return async (response) => {
    const { req: request } = response;
    const tooLarge = (): Refusal => new Refusal(413, `Payload too large: a request body may have ${maxBytes} bytes`);
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
    if (request.destroyed) return undefined;
    askForBody(response);
    const parts: Buffer[] = [];
    let size = 0;
    try {
      // Events, because leaving an iteration would close the connection before the refusal is sent.
      return await new Promise<Buffer | undefined>((resolve, reject) => {
        request.on('data', (part: Buffer) => {
          size += part.length;
          receivedBytes += part.length;
          parts.push(part);
          if (size <= maxBytes && receivedBytes <= maxTotalBytes) return;
          request.pause().removeAllListeners('data');
          reject(size > maxBytes ? tooLarge() : tooBusy());
        });
        request.once('end', () => resolve(Buffer.concat(parts, size)));
        request.once('close', () => resolve(undefined));
      });
    } finally {
      receivedBytes -= size;
    }
  };
}

/** Tells a client that waits for it (`Expect: 100-continue`) to send its body. */
export function askForBody(response: ServerResponse): void {
  if (response.req.headers.expect !== undefined) response.writeContinue();
}

/** Returns the refusal of a server at its limit; the client should try again. */
export function tooBusy(): Refusal {
  return new Refusal(503, 'Service unavailable: too many requests at once', { headers: { 'retry-after': '1' } });
}
