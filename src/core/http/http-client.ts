// Default imports, because instrumentations replace the functions of these modules.
import http, { type ClientRequest } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';

/** One HTTP request, ready to be sent. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

/** The status and headers of a response, and its body as a stream, compressed as it came. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** A reader that stops early must destroy it. */
  body: Readable;
}

export interface HttpClientOptions {
  /** Largest number of connections to one origin; further requests wait for one. No limit by default. */
  maxConnections?: number;
  /** Longest time without a byte of a response, in milliseconds. No limit by default. */
  silenceTimeoutMs?: number;
}

/** Longest time until a connection is made, TLS included. */
const connectTimeoutMs = 10_000;

/** Time after which an unused connection is closed: less than servers wait by default, so that it is rarely they who close it. */
const idleTimeoutMs = 4_000;

/** Code of the error when no connection was made in time. */
export const connectTimeoutCode = 'ERR_CONNECT_TIMEOUT';

/** Code of the error when the client was closed. */
export const closedCode = 'ERR_CLIENT_CLOSED';

/** Sends HTTP requests over persistent connections. Does not follow redirects. */
export class HttpClient {
  readonly #silenceTimeoutMs: number | undefined;
  readonly #agents: { http: http.Agent; https: https.Agent };
  readonly #underWay = new Set<ClientRequest>();

  constructor({ maxConnections = Infinity, silenceTimeoutMs }: HttpClientOptions = {}) {
    this.#silenceTimeoutMs = silenceTimeoutMs;
    const options = { keepAlive: true, timeout: idleTimeoutMs, maxSockets: maxConnections };
    this.#agents = { http: new http.Agent(options), https: new https.Agent(options) };
  }

  /**
   * Sends one request. Resolves when the headers of the response have arrived.
   * @throws an error with a `code`: one of Node's, or one of the two above.
   */
  send({ url, body, ...options }: HttpRequest): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const isSecure = url.startsWith('https:');
      const request = isSecure
        ? https.request(url, { ...options, agent: this.#agents.https })
        : http.request(url, { ...options, agent: this.#agents.http });
      this.#underWay.add(request);
      request.once('close', () => this.#underWay.delete(request));
      request.once('socket', (socket) => limitConnecting(request, socket, isSecure ? 'secureConnect' : 'connect'));
      if (this.#silenceTimeoutMs !== undefined) {
        request.setTimeout(this.#silenceTimeoutMs, () => request.destroy(failure('ETIMEDOUT', 'no data arrived')));
      }
      request.once('response', (response) =>
        resolve({ status: response.statusCode!, headers: response.headers, body: response }),
      );
      // Without a listener, Node closes the connection and reports nothing.
      request.once('upgrade', (_, socket) => {
        socket.destroy();
        reject(failure('ECONNRESET', 'the connection changed to another protocol'));
      });
      // Stays for the time after the response has begun, when its body reports the error.
      request.on('error', reject);
      request.end(body);
    });
  }

  /** Closes every connection and aborts the requests in progress. */
  close(): void {
    for (const request of this.#underWay) request.destroy(failure(closedCode, 'the connection was closed'));
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }
}

/** Ends a request whose connection is not made in time. */
function limitConnecting(request: ClientRequest, socket: Socket, connected: 'connect' | 'secureConnect'): void {
  if (!socket.connecting) return;
  const limit = (): void => void request.destroy(failure(connectTimeoutCode, 'no connection was made in time'));
  const timer = setTimeout(limit, connectTimeoutMs);
  for (const event of [connected, 'close']) socket.once(event, () => clearTimeout(timer));
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Returns the streams that undo the content encoding of a response; undefined for an unknown one. */
export function decodersOf({ headers }: HttpResponse): Transform[] | undefined {
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase();
  if (encoding === '' || encoding === 'identity') return [];
  if (/^((x-)?gzip|deflate)$/.test(encoding)) return [createUnzip()];
  return encoding === 'br' ? [createBrotliDecompress()] : undefined;
}
