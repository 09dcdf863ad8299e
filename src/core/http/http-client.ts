// Default imports, because instrumentations replace the functions of these modules.
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';

/** One HTTP request, ready to be sent. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** Ends the request and the body of its response. */
  signal: AbortSignal;
}

/** The status and headers of a response, and its body as a stream that is still compressed. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** A reader that stops early must destroy it. */
  body: Readable;
}

export interface HttpClientOptions {
  /** Maximum number of connections to one origin; further requests wait for one. No limit by default. */
  maxConnections?: number;
  /** Longest time without a byte of a response, in milliseconds. No limit by default. */
  silenceTimeoutMs?: number;
}

/** Longest time until a connection is made, TLS included. */
const connectTimeoutMs = 10_000;

/** Time after which an unused connection is closed; shorter than most servers keep one, so that they seldom close it first. */
const idleTimeoutMs = 4_000;

/** Code of the error when no connection was made in time. */
export const connectTimeoutCode = 'ERR_CONNECT_TIMEOUT';

/** Code of the error when the client was closed. */
export const closedCode = 'ERR_CLIENT_CLOSED';

/** Sends HTTP requests over persistent connections. Does not follow redirects. */
export class HttpClient {
  readonly #silenceTimeoutMs: number | undefined;
  readonly #agents: { http: http.Agent; https: https.Agent };
  /** For each request under way, the function that ends it with an error. */
  readonly #underWay = new Set<(error: Error) => void>();
  #isClosed = false;

  constructor({ maxConnections = Infinity, silenceTimeoutMs }: HttpClientOptions = {}) {
    this.#silenceTimeoutMs = silenceTimeoutMs;
    const options = { keepAlive: true, timeout: idleTimeoutMs, maxSockets: maxConnections };
    this.#agents = { http: new http.Agent(options), https: new https.Agent(options) };
  }

  /**
   * Sends one request. Resolves when the headers of the response have arrived; a failure after that is an error of its body.
   * @throws an error with a `code`: one of Node's, `ABORT_ERR`, `ETIMEDOUT`, {@link connectTimeoutCode} or {@link closedCode}.
   */
  send(request: HttpRequest): Promise<HttpResponse> {
    const { body, signal } = request;
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw clientClosed();
      if (signal.aborted) throw aborted(signal);
      const clientRequest = this.#createRequest(request);
      let response: IncomingMessage | undefined;
      const fail = (error: Error): void => {
        // Without this, the body would report a broken connection instead of `error`.
        response?.destroy(error);
        clientRequest.destroy(error);
        // A request that waits for a connection reports its error only when it gets one.
        reject(error);
      };
      const onAbort = (): void => fail(aborted(signal));
      signal.addEventListener('abort', onAbort, { once: true });
      this.#underWay.add(fail);
      clientRequest.once('close', () => {
        signal.removeEventListener('abort', onAbort);
        this.#underWay.delete(fail);
      });
      clientRequest.once('socket', (socket) => limitConnectTime(clientRequest, socket, fail));
      if (this.#silenceTimeoutMs !== undefined) {
        clientRequest.setTimeout(this.#silenceTimeoutMs, () => fail(failure('ETIMEDOUT', 'no data arrived')));
      }
      clientRequest.once('response', (received) => {
        response = received;
        resolve({ status: received.statusCode!, headers: received.headers, body: received });
      });
      // Without a listener, Node closes the connection and reports nothing.
      clientRequest.once('upgrade', (_, socket) => {
        socket.destroy();
        reject(failure('ECONNRESET', 'the connection changed to another protocol'));
      });
      // After the response has begun, its body reports the error; this listener only keeps Node from throwing it.
      clientRequest.on('error', reject);
      clientRequest.end(body);
    });
  }

  /** Closes every connection and ends the requests under way; later requests fail. */
  close(): void {
    this.#isClosed = true;
    const agents: http.Agent[] = Object.values(this.#agents);
    // While requests wait, an agent opens a new connection for each that closes; that one must fail.
    for (const agent of agents) agent.createConnection = refuseConnection;
    for (const fail of this.#underWay) fail(clientClosed());
    for (const agent of agents) agent.destroy();
  }

  #createRequest({ url, method, headers, body }: HttpRequest): ClientRequest {
    // Node sends no length by itself with the body of a GET or DELETE.
    const length = body === undefined ? undefined : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...headers, ...length } };
    return url.startsWith('https:')
      ? https.request(url, { ...options, agent: this.#agents.https })
      : http.request(url, { ...options, agent: this.#agents.http });
  }
}

/** Calls `fail` if the connection of a request is new and not made in time. */
function limitConnectTime({ protocol }: ClientRequest, socket: Socket, fail: (error: Error) => void): void {
  if (!socket.connecting) return;
  const connected = protocol === 'https:' ? 'secureConnect' : 'connect';
  const onTimeout = (): void => fail(failure(connectTimeoutCode, 'no connection was made in time'));
  const timer = setTimeout(onTimeout, connectTimeoutMs);
  for (const event of [connected, 'close']) socket.once(event, () => clearTimeout(timer));
}

/** Takes the place of `createConnection` once the client is closed. */
const refuseConnection: http.Agent['createConnection'] = (_, callback) => {
  callback!(clientClosed(), undefined as never);
  return undefined;
};

function clientClosed(): Error {
  return failure(closedCode, 'the client was closed');
}

function aborted({ reason }: AbortSignal): Error {
  return Object.assign(failure('ABORT_ERR', 'the request was aborted'), { name: 'AbortError', cause: reason });
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Returns the streams that decompress the body of a response; undefined for an unknown content encoding. */
export function decodersOf({ headers }: HttpResponse): Transform[] | undefined {
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase();
  if (encoding === '' || encoding === 'identity') return [];
  if (/^((x-)?gzip|deflate)$/.test(encoding)) return [createUnzip()];
  return encoding === 'br' ? [createBrotliDecompress()] : undefined;
}
