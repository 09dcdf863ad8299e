import type { ServerResponse } from 'node:http';
import { Refusal } from './refusal.ts';

/** Reads request bodies within limits. */
export class BodyReader {
  readonly #maxBytes: number;
  readonly #maxTotalBytes: number;
  #receivedBytes = 0;

  /** @param maxTotalBytes maximum size of all bodies that are being received. */
  constructor(maxBytes: number, maxTotalBytes = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
    this.#maxTotalBytes = maxTotalBytes;
  }

  /**
   * Reads the whole body of the request that a response belongs to; asks for it first if the client waits for that
   * (`Expect: 100-continue`). Listens to events, because leaving an iteration would close the connection before the refusal
   * is sent.
   * @returns undefined if the client disconnects before the end.
   * @throws Refusal 413 for a body that is too large, 503 if too many are being received.
   */
  async read(response: ServerResponse): Promise<Buffer | undefined> {
    const { req: request } = response;
    const maxBytes = this.#maxBytes;
    const tooLarge = new Refusal(413, `Payload too large: a request body may have ${maxBytes} bytes`);
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge;
    if (request.destroyed) return undefined;
    askForBody(response);
    const parts: Buffer[] = [];
    let size = 0;
    try {
      return await new Promise<Buffer | undefined>((resolve, reject) => {
        request.on('data', (part: Buffer) => {
          size += part.length;
          this.#receivedBytes += part.length;
          parts.push(part);
          if (size <= maxBytes && this.#receivedBytes <= this.#maxTotalBytes) return;
          request.pause().removeAllListeners('data');
          reject(size > maxBytes ? tooLarge : tooBusy());
        });
        request.once('end', () => resolve(Buffer.concat(parts, size)));
        request.once('close', () => resolve(undefined));
      });
    } finally {
      this.#receivedBytes -= size;
    }
  }
}

/** Tells a client that waits for it (`Expect: 100-continue`) to send its body. */
export function askForBody(response: ServerResponse): void {
  if (response.req.headers.expect !== undefined) response.writeContinue();
}

/** Returns the refusal of a server at its limit; the client should try again. */
export function tooBusy(): Refusal {
  return new Refusal(503, 'Service unavailable: too many requests at once', { headers: { 'retry-after': '1' } });
}
