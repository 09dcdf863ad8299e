import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { abortable } from './abortable.ts';
import { type HttpProxy, type ProxySettings, proxyFailedCode, proxyFor } from './proxies.ts';

type RequestOptions = Dispatcher.RequestOptions & { origin: string };

/** One HTTP request, ready to be sent. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | undefined;
  /** Ends the request and the body of its response. */
  signal: AbortSignal;
}

/** The status and headers of a response, and its body as a stream. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The decompressed body. A reader that stops early must destroy it. */
  body: Readable;
  /** The encoding that the body still has because it is unknown. */
  unknownEncoding?: string | undefined;
  /** Origin of a proxy that may have sent the response itself. Only requests to http addresses have it. */
  proxy?: string | undefined;
}

export interface HttpClientOptions {
  /** Proxies of the environment. None by default. */
  proxies?: ProxySettings | undefined;
  /** Maximum number of connections to one origin; further requests wait for one. No limit by default. */
  maxConnections?: number;
  /** Longest time without a byte of a response, in milliseconds. No limit by default. */
  silenceTimeoutMs?: number;
}

/** Code of the error when the client was closed. */
export const closedCode = 'UND_ERR_DESTROYED';

/** Codes of errors of connections that were never established. */
export const unsentCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  proxyFailedCode,
]);

/** Codes of errors of certificates, and of connections that fail in TLS for another reason. */
export const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME|INVALID_CA|INVALID_PURPOSE/;
export const tlsCodes = /^(EPROTO|ERR_SSL)/;

/** Loads undici, which takes long: not at start, but when the first request needs it or when nothing else is to do. */
export const loadUndici = () => import('undici');

/** Sends HTTP requests over persistent connections, through the proxies of the environment. Does not follow redirects. */
export class HttpClient {
  readonly #options: HttpClientOptions;
  /** The connections through the tunnels of each proxy; those without have the key undefined. */
  readonly #dispatchers = new Map<string | undefined, Promise<Dispatcher>>();
  #isClosed = false;

  constructor(options: HttpClientOptions = {}) {
    this.#options = options;
  }

  /**
   * Sends one request. Resolves when the headers of the response have arrived; a failure after that is an error of its body.
   * @throws the reason of `signal`; else an error with a `code` of Node or undici, {@link closedCode} or `ERR_PROXY`.
   */
  async send(request: HttpRequest): Promise<HttpResponse> {
    const { signal } = request;
    const url = new URL(request.url);
    const proxy = proxyFor(url, this.#options.proxies ?? {});
    try {
      const dispatcher = await this.#dispatcherThrough(proxy?.isForwarder ? undefined : proxy);
      signal.throwIfAborted();
      // undici notices the abortion of a request that waits for a connection only when it gets one.
      const response = await abortable(dispatcher.request(this.#optionsOf(request, url, proxy)), signal);
      const { statusCode: status, headers, body } = response;
      // A body reports its early end as an error even if its reader has caused it.
      body.on('error', () => {});
      if (!proxy?.isForwarder) return { status, headers, ...decompressed(body, headers) };
      if (status !== 407) return { status, headers, ...decompressed(body, headers), proxy: proxy.origin };
      body.destroy();
      throw failure(proxyFailedCode, 'it requires another user name and password (status 407)');
    } catch (error) {
      throw proxy === undefined || signal.aborted ? error : throughProxy(error as Error, proxy);
    }
  }

  /** Closes every connection and ends the requests in progress; later requests fail. */
  close(): void {
    this.#isClosed = true;
    for (const dispatcher of this.#dispatchers.values()) void dispatcher.then((opened) => opened.destroy());
  }

  /** Returns the connections through the tunnels of a proxy, or those without. */
  #dispatcherThrough(proxy: HttpProxy | undefined): Promise<Dispatcher> {
    const dispatcher = this.#dispatchers.get(proxy?.origin) ?? this.#openDispatcher(proxy);
    this.#dispatchers.set(proxy?.origin, dispatcher);
    return dispatcher;
  }

  async #openDispatcher(proxy: HttpProxy | undefined): Promise<Dispatcher> {
    const { default: undici } = await loadUndici();
    const { maxConnections: connections = null } = this.#options;
    const dispatcher = proxy
      ? new undici.ProxyAgent({ uri: proxy.origin, token: proxy.authorization, connections })
      : new undici.Agent({ connections });
    if (this.#isClosed) void dispatcher.destroy();
    return dispatcher;
  }

  #optionsOf(
    { headers, method, body, signal }: HttpRequest,
    { origin, host, pathname, search }: URL,
    proxy: HttpProxy | undefined,
  ): RequestOptions {
    const { silenceTimeoutMs: timeoutMs = 0 } = this.#options;
    const path = pathname + search;
    const options = { method, body, signal, headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
    if (!proxy?.isForwarder) return { ...options, origin, path, headers };
    const credentials = proxy.authorization && { 'proxy-authorization': proxy.authorization };
    return { ...options, origin: proxy.origin, path: origin + path, headers: { ...headers, host, ...credentials } };
  }
}

/** Codes of undici for a proxy that refuses to open a tunnel, or whose certificate is for another name. */
const refusedTunnelCodes = new Set(['UND_ERR_ABORTED', 'UND_ERR_PRX_TLS']);

/** Returns the code of an error of a request or of a body; undefined for an error in the code itself. */
export function networkCode(error: unknown): string | undefined {
  const { code, name } = error as NodeJS.ErrnoException;
  // undici gives no code to this error.
  return code ?? (name === 'HTTPParserError' ? 'HPE_INVALID' : undefined);
}

/** Returns the reason of a failed request. The error of a host with several addresses has one for each of them. */
export function networkReason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(networkReason).join('; ');
  return (error as Error).message || networkCode(error) || String(error);
}

/** Returns the error of a request through a proxy, which names the proxy. */
function throughProxy(error: Error, proxy: HttpProxy): Error {
  const code = networkCode(error);
  if (code === undefined) return error;
  const isOfProxy = unsentCodes.has(code) || refusedTunnelCodes.has(code);
  return isOfProxy
    ? failure(proxyFailedCode, `the proxy ${proxy.origin} failed: ${networkReason(error)}`, error)
    : failure(code, `${networkReason(error)}, through the proxy ${proxy.origin}`, error);
}

function failure(code: string, message: string, cause?: Error): Error {
  return Object.assign(new Error(message, { cause }), { code });
}

/** Decompresses a body, unless its encoding is unknown. */
function decompressed(
  body: Readable,
  headers: HttpResponse['headers'],
): Pick<HttpResponse, 'body' | 'unknownEncoding'> {
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase();
  if (encoding === '' || encoding === 'identity') return { body };
  const isUnzipped = /^((x-)?gzip|deflate)$/.test(encoding);
  if (!isUnzipped && encoding !== 'br') return { body, unknownEncoding: encoding };
  // A reader of the decoder receives the errors of both streams.
  return { body: pipeline(body, isUnzipped ? createUnzip() : createBrotliDecompress(), () => {}) };
}

/**
 * Reads a body, and returns what has arrived. `error` is what ended it early: a RangeError for a body beyond the limit,
 * else the error of the connection or of the decompression.
 */
export function readBody(body: Readable, maxBytes: number): Promise<{ bytes: Buffer; error?: Error }> {
  const parts: Buffer[] = [];
  let size = 0;
  // Events, because an iteration takes longer than the rest of a small request.
  return new Promise((resolve) => {
    const end = (error?: Error): void => {
      const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      resolve(error ? { bytes, error } : { bytes });
    };
    body.on('data', (part: Buffer) => {
      size += part.length;
      if (size <= maxBytes) {
        parts.push(part);
        return;
      }
      end(new RangeError(`the body is larger than ${maxBytes} bytes`));
      body.destroy();
    });
    const close = (): void => {
      if (!body.readableEnded) end(body.errored ?? failure('ERR_STREAM_PREMATURE_CLOSE', 'the body ended early'));
    };
    body.once('end', () => end());
    body.once('error', end);
    body.once('close', close);
    if (body.destroyed) close();
  });
}
