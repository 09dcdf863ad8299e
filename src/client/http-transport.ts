import type { Readable } from 'node:stream';
import type { Agent } from 'undici';

/** One request as it goes out. */
export interface TransportRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

export interface TransportAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The decoded body. Whoever does not read it to its end must destroy it. */
  body: Readable;
}

/** Sockets to one service at most; further calls wait for one. */
const connections = 32;

/**
 * Sends requests over kept-alive connections. undici is loaded by the first request, since a server that is only asked
 * for its tools needs none of it. Redirects are never followed. Deadlines are the caller's, by the signal.
 */
export class Transport {
  #agent: Agent | undefined;
  /** Kept, since in a bundle each import() makes its namespace anew. */
  #sockets: Promise<typeof import('./sockets.ts')> | undefined;

  async send({ method, url, headers, body, signal }: TransportRequest): Promise<TransportAnswer> {
    const { Agent, decoded, request } = await this.warmUp();
    signal.throwIfAborted();
    this.#agent ??= new Agent({ connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
    const { origin, pathname, search } = new URL(url);
    const options = { origin, path: pathname + search, method, headers, body, signal };
    const answer = await request.call(this.#agent, options);
    return { status: answer.statusCode, headers: answer.headers, body: decoded(answer.body, answer.headers) };
  }

  /** Loads what the first request will need. */
  warmUp(): Promise<typeof import('./sockets.ts')> {
    this.#sockets ??= import('./sockets.ts').catch((error) => {
      this.#sockets = undefined;
      throw error;
    });
    return this.#sockets;
  }

  async close(): Promise<void> {
    await this.#agent?.destroy();
  }
}
