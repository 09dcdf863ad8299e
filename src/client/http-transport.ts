import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Agent } from 'undici';

/** One HTTP request, ready to be sent. */
export interface TransportRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

/** The status and headers of a response, and its body as a stream. */
export interface TransportResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The decompressed body. A reader that stops early must destroy it. */
  body: Readable;
}

/** Maximum number of connections to one service; further requests wait for one. */
const maxConnections = 32;

/**
 * Sends requests over persistent connections. Does not follow redirects and has no timeout except the signal. Loads
 * undici with the first request, because a server that only lists its tools never needs it.
 */
export class HttpTransport {
  #agent: Promise<Agent> | undefined;

  /** Sends one request. Resolves when the headers of the response have arrived. */
  async send({ method, url, headers, body, signal }: TransportRequest): Promise<TransportResponse> {
    const agent = await this.#loadAgent();
    signal.throwIfAborted();
    const { origin, pathname, search } = new URL(url);
    const response = await agent.request({ origin, path: pathname + search, method, headers, body, signal });
    return { status: response.statusCode, headers: response.headers, body: decoded(response.body, response.headers) };
  }

  /** Loads undici. After a failure the next request tries again. */
  #loadAgent(): Promise<Agent> {
    this.#agent ??= import('undici')
      .then(({ default: { Agent } }) => new Agent({ connections: maxConnections, headersTimeout: 0, bodyTimeout: 0 }))
      .catch((error) => {
        this.#agent = undefined;
        throw error;
      });
    return this.#agent;
  }

  /** Closes every connection and aborts the requests in progress. */
  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
  }
}

const decoders = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** Decompresses a body. undici's interceptor for this prints a warning to stderr. */
function decoded(body: Readable, headers: TransportResponse['headers']): Readable {
  const createDecoder = decoders.get(String(headers['content-encoding'] ?? '').toLowerCase());
  if (!createDecoder) return body;
  const decoder = createDecoder();
  body.on('error', (error) => decoder.destroy(error));
  decoder.on('close', () => body.destroy());
  return body.pipe(decoder);
}
