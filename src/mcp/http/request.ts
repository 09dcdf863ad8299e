import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import type { Refusal } from './answer.ts';

/** What a request to the endpoint must look like, from its headers alone. */
export function checkForm({ method, headers }: IncomingMessage): Refusal | undefined {
  if (method !== 'POST') {
    // Nothing is kept between requests, so there is no stream to GET and no session to DELETE.
    return { status: 405, message: 'Method not allowed: send POST', headers: { allow: 'POST' } };
  }
  if (!isJsonContentType(headers['content-type'] ?? null)) {
    return { status: 415, message: 'Unsupported media type: Content-Type must be application/json' };
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    return { status: 415, message: 'Unsupported media type: the body must not be compressed' };
  }
  const accept = headers.accept ?? '';
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) {
    return { status: 406, message: 'Not acceptable: accept both application/json and text/event-stream' };
  }
  return undefined;
}

const tooLarge = (limit: number): Refusal => ({
  status: 413,
  message: `Payload too large: a request body may have ${limit} bytes`,
});
const notJson: Refusal = { status: 400, code: -32_700, message: 'Parse error: the body is not JSON' };

/** Reads bodies within limits: of each one, and of all that are on their way at the same time. */
export class BodyReader {
  readonly #maxBytes: number;
  readonly #maxBytesTogether: number;
  #held = 0;

  constructor(maxBytes: number, maxBytesTogether: number) {
    this.#maxBytes = maxBytes;
    this.#maxBytesTogether = maxBytesTogether;
  }

  /**
   * The parsed body, or why there is none. Nothing beyond a limit is read.
   * @returns undefined when the client went away before the end.
   */
  async read(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{ value: unknown } | { refusal: Refusal } | undefined> {
    if (Number(request.headers['content-length'] ?? 0) > this.#maxBytes) return { refusal: tooLarge(this.#maxBytes) };
    if (request.headers.expect !== undefined) response.writeContinue();
    const parts: Buffer[] = [];
    let size = 0;
    try {
      const end = await new Promise<Refusal | 'complete' | 'gone'>((resolve) => {
        request.on('data', (part: Buffer) => {
          size += part.length;
          this.#held += part.length;
          parts.push(part);
          if (size > this.#maxBytes) resolve(tooLarge(this.#maxBytes));
          else if (this.#held > this.#maxBytesTogether) resolve(busy);
          else return;
          request.pause().removeAllListeners('data');
        });
        request.once('end', () => resolve('complete'));
        request.once('close', () => resolve('gone'));
      });
      if (end === 'gone') return undefined;
      if (end !== 'complete') return { refusal: end };
      return { value: JSON.parse(Buffer.concat(parts, size).toString('utf8')) };
    } catch {
      return { refusal: notJson };
    } finally {
      this.#held -= size;
    }
  }
}

/** The server has as much to do as it may; the client should come back. */
export const busy: Refusal = {
  status: 503,
  message: 'Service unavailable: too many requests at once',
  headers: { 'retry-after': '1' },
};
