import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Why a request is not served. The message tells the client what it did, and nothing of the inside. */
export interface Refusal {
  status: number;
  message: string;
  /** JSON-RPC error code; -32000, the server's own, when absent. */
  code?: number;
  headers?: Record<string, string>;
}

/** Unread rests of bodies up to this size, in bytes, are taken off the wire so that the connection can go on. */
const discardedBytes = 64 * 1024;
/** Milliseconds that a client has to read a refusal before the connection is closed on the rest of its body. */
const lingerMs = 1_000;

const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // nginx would hold the events back.
  'x-accel-buffering': 'no',
};

/** The body of a refusal. */
export function errorBody({ code = -32_000, message }: Refusal): string {
  return JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
}

/** Answers with a JSON-RPC error. A body that is still on its way is not read; a large one costs the connection. */
export function refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) return;
  const body = errorBody(refusal);
  response.writeHead(refusal.status, {
    ...refusal.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(!isBodyBounded(request) && { connection: 'close' }),
  });
  if (isBodyBounded(request)) {
    response.end(body);
    return;
  }
  // Closing at once would reset the connection under a client that is still sending, and with it the answer.
  response.write(body);
  const timer = setTimeout(() => request.socket.destroy(), lingerMs);
  request.socket.once('close', () => clearTimeout(timer));
}

function isBodyBounded({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  // A client that waits for 100 Continue may send its body or not: the connection has no known state after a refusal.
  if (headers.expect !== undefined || headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= discardedBytes;
}

/** How an answer is written; times in milliseconds. */
export interface AnswerOptions {
  /** Headers beside those of the answer. */
  headers: Record<string, string>;
  /** Longest silence: proxies take more for a failure and cut the call off. */
  quietMs: number;
  /** Longest time without progress of a client that reads. */
  stallMs: number;
}

/**
 * The answer to a request that is being worked on: JSON in one piece, or a stream of events. One that takes its time
 * becomes a stream, which comments keep open.
 */
export class Answer {
  readonly #response: ServerResponse;
  readonly #options: AnswerOptions;
  readonly #quiet: NodeJS.Timeout;

  constructor(response: ServerResponse, options: AnswerOptions) {
    this.#response = response;
    this.#options = options;
    this.#quiet = setInterval(() => {
      this.#stream();
      response.write(': still working\n\n');
    }, options.quietMs);
    response.once('close', () => clearInterval(this.#quiet));
  }

  /** Whether a stream has begun. */
  get isStream(): boolean {
    return this.#response.headersSent;
  }

  /** Sends a message before the end. */
  event(json: string | Buffer): void {
    if (this.#response.destroyed) return;
    this.#stream();
    this.#response.write(eventOf(json));
  }

  /** Ends the answer as a stream, also where none of its messages was sent. */
  endStream(): void {
    clearInterval(this.#quiet);
    if (this.#response.destroyed || this.#response.writableEnded) return;
    this.#stream();
    this.#response.end();
  }

  /** Sends the last message, if there is one, and ends the answer. */
  end(status: number, json?: string | Buffer, headers: Record<string, string> = {}): void {
    clearInterval(this.#quiet);
    if (this.#response.destroyed) return;
    if (this.isStream) {
      this.#response.end(json === undefined ? undefined : eventOf(json));
      return;
    }
    const length = json === undefined ? 0 : Buffer.byteLength(json);
    const type = json !== undefined && { 'content-type': 'application/json' };
    this.#begin(status, { ...type, 'content-length': length, ...headers });
    this.#response.end(json);
  }

  /**
   * Sends a web response, once it is there.
   * @throws Error when the client goes away before the end.
   */
  async send(answering: Promise<Response>): Promise<void> {
    const answer = await answering.finally(() => clearInterval(this.#quiet));
    if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
      if (this.#response.destroyed) return;
      this.#stream();
      await pipeline(Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]), this.#response);
      return;
    }
    const whole = Buffer.from(await answer.arrayBuffer());
    this.end(answer.status, whole.length === 0 ? undefined : whole, Object.fromEntries(answer.headers));
  }

  #stream(): void {
    if (!this.isStream) this.#begin(200, streamHeaders);
  }

  #begin(status: number, headers: Record<string, string | number>): void {
    this.#response.writeHead(status, { ...headers, ...this.#options.headers });
    // A client that stops reading does not keep its place.
    this.#response.setTimeout(this.#options.stallMs);
  }
}

function eventOf(json: string | Buffer): string {
  return `event: message\ndata: ${json}\n\n`;
}

/** Answers with a word for programs that watch this one. */
export function tell(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end(`${text}\n`);
}

/** Answers with a document that every web page may read, too. */
export function publish(request: IncomingMessage, response: ServerResponse, document: object): void {
  const methods = 'GET, HEAD, OPTIONS';
  const open = { 'access-control-allow-origin': '*' };
  if (request.method === 'OPTIONS') {
    response.writeHead(204, {
      ...open,
      'access-control-allow-methods': methods,
      'access-control-allow-headers': request.headers['access-control-request-headers'] ?? '',
    });
    response.end();
  } else if (request.method === 'GET' || request.method === 'HEAD') {
    response.writeHead(200, { ...open, 'content-type': 'application/json', 'cache-control': 'max-age=300' });
    response.end(JSON.stringify(document));
  } else {
    refuse(request, response, { status: 405, message: 'Method not allowed: send GET', headers: { allow: methods } });
  }
}
