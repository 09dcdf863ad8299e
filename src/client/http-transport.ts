import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Agent } from 'undici';

/** One request as it is sent. */
export interface TransportRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

/** The head of a response, and its body as a stream. */
export interface TransportResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The body without its content coding. A reader that stops early must destroy it. */
  body: Readable;
}

/** Maximum number of connections to one service; further requests wait for one. */
const maxConnections = 32;

/**
 * Sends requests over kept-alive connections. Redirects are not followed, and there are no timeouts besides the signal.
 * undici is loaded with the first request: a server that only lists its tools never needs it.
 */
export class HttpTransport {
  #agent: Promise<Agent> | undefined;

  /** Sends one request and resolves when the head of the response is there. */
  async send({ method, url, headers, body, signal }: TransportRequest): Promise<TransportResponse> {
    const agent = await this.warmUp();
    signal.throwIfAborted();
    const { origin, pathname, search } = new URL(url);
    const response = await agent.request({ origin, path: pathname + search, method, headers, body, signal });
    return { status: response.statusCode, headers: response.headers, body: decoded(response.body, response.headers) };
  }

  /** Loads what the first request needs. A failure is not kept: the next request tries again. */
  warmUp(): Promise<Agent> {
    this.#agent ??= import('undici')
      .then(({ default: { Agent } }) => new Agent({ connections: maxConnections, headersTimeout: 0, bodyTimeout: 0 }))
      .catch((error) => {
        this.#agent = undefined;
        throw error;
      });
    return this.#agent;
  }

  /** Ends every connection, and with it the requests that are under way. */
  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
  }
}

const decoders = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Removes a body's content coding. undici's own interceptor for it prints a warning to stderr. */
function decoded(body: Readable, headers: TransportResponse['headers']): Readable {
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase();
  if (!Object.hasOwn(decoders, encoding)) return body;
  const decoder = decoders[encoding as keyof typeof decoders]();
  body.on('error', (error) => decoder.destroy(error));
  decoder.on('close', () => body.destroy());
  return body.pipe(decoder);
}
