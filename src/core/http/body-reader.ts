import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

/** Limits of a {@link BodyReader} in bytes. */
export interface BodyLimits {
  /** Maximum size of one body. */
  maxBytes: number;
  /** Maximum size of all bodies that are being received; no limit when absent. */
  maxBytesTogether?: number;
}

/** Reads request bodies within limits. */
export class BodyReader {
  readonly #limits: Required<BodyLimits>;
  #held = 0;

  constructor(limits: BodyLimits) {
    this.#limits = { maxBytesTogether: Number.POSITIVE_INFINITY, ...limits };
  }

  /**
   * Reads the whole body; nothing beyond a limit is kept. It listens to events, because leaving an iteration would close
   * the connection before a refusal is sent.
   * @returns undefined when the client goes away before the end.
   * @throws Refusal 413 for a body that is too large, 503 when too many are being received.
   */
  async read(request: IncomingMessage): Promise<Buffer | undefined> {
    const { maxBytes, maxBytesTogether } = this.#limits;
    const tooLarge = new Refusal(413, `Payload too large: a request body may have ${maxBytes} bytes`);
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge;
    if (request.destroyed) return undefined;
    const parts: Buffer[] = [];
    let size = 0;
    try {
      return await new Promise<Buffer | undefined>((resolve, reject) => {
        request.on('data', (part: Buffer) => {
          size += part.length;
          this.#held += part.length;
          parts.push(part);
          if (size <= maxBytes && this.#held <= maxBytesTogether) return;
          request.pause().removeAllListeners('data');
          reject(size > maxBytes ? tooLarge : tooBusy());
        });
        request.once('end', () => resolve(Buffer.concat(parts, size)));
        request.once('close', () => resolve(undefined));
      });
    } finally {
      this.#held -= size;
    }
  }
}

/** The refusal of a server that has as much to do as it may; the client should come back. */
export function tooBusy(): Refusal {
  return new Refusal(503, 'Service unavailable: too many requests at once', { headers: { 'retry-after': '1' } });
}
