import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import type { Agent } from 'undici';
import { skipContinue } from '../core/http/skip-continue.ts';

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

/** Sends requests over persistent connections. Does not follow redirects and has no timeout except the signal. */
export class HttpTransport {
  #agent: Agent | undefined;

  /** Sends one request. Resolves when the headers of the response have arrived. */
  async send({ url, ...request }: TransportRequest): Promise<TransportResponse> {
    // Loaded with the first request, because a server that only lists its tools never needs it.
    const { default: undici } = await import('undici');
    this.#agent ??= createAgent(undici);
    const { statusCode, headers, body } = await undici.request(url, { ...request, dispatcher: this.#agent });
    return { status: statusCode, headers, body: decompressed(body, String(headers['content-encoding'])) };
  }

  /** Closes every connection and aborts the requests in progress. */
  async close(): Promise<void> {
    await this.#agent?.destroy();
  }
}

function createAgent({ Agent, buildConnector }: typeof import('undici')): Agent {
  const open = buildConnector({});
  return new Agent({
    connections: maxConnections,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) =>
      open(options, (...[error, socket]) => (error ? callback(error, null) : callback(null, skipContinue(socket!)))),
  });
}

/** Decompresses a body. undici's interceptor for this prints a warning to stderr. */
function decompressed(body: Readable, encoding: string): Readable {
  if (!/^((x-)?gzip|deflate|br)$/i.test(encoding)) return body;
  const decoder = encoding.toLowerCase() === 'br' ? createBrotliDecompress() : createUnzip();
  // Whoever reads the decoder gets the errors of both.
  return pipeline(body, decoder, () => {});
}
