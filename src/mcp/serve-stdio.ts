import { PassThrough } from 'node:stream';
import type { JSONRPCMessage, MessageExtraInfo, Server, Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio as serveConnection } from '@modelcontextprotocol/server/stdio';
import type { Log } from '../contract/log.ts';

/** When stdin ends, requests that were read may still be answered for so long, in milliseconds. */
const answerGraceMs = 1_000;

/**
 * Serves one client over stdin and stdout until stdin ends or `signal` is aborted.
 * @returns when the connection is closed and nothing of it runs any more.
 */
export async function serveStdio(createServer: () => Server, signal: AbortSignal, log: Log): Promise<void> {
  // The transport ends with its input and drops what it has not answered; its input ends when that is settled.
  const input = process.stdin.pipe(new PassThrough(), { end: false });
  const transport = new CountingTransport(new StdioServerTransport(input));
  const handle = serveConnection(createServer, {
    transport,
    onerror: (error) => log('warn', 'protocol', { error: error.message }),
  });
  await new Promise<void>((resolve) => {
    transport.onceClosed(resolve);
    process.stdin.once('end', () => transport.onceAnswered(answerGraceMs, resolve));
    process.stdin.once('error', () => resolve());
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await handle.close();
}

/** Passes everything through, and knows which requests still wait for their answer. */
class CountingTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly #wire: StdioServerTransport;
  readonly #open = new Set<string | number>();
  #closed = (): void => {};
  #answered = (): void => {};

  constructor(wire: StdioServerTransport) {
    this.#wire = wire;
  }

  onceClosed(callback: () => void): void {
    this.#closed = callback;
  }

  /** Calls back when no request waits any more, or after `graceMs`. */
  onceAnswered(graceMs: number, callback: () => void): void {
    if (this.#open.size === 0) {
      callback();
      return;
    }
    const timer = setTimeout(callback, graceMs);
    this.#answered = () => {
      clearTimeout(timer);
      callback();
    };
  }

  start(): Promise<void> {
    this.#wire.onmessage = (message) => {
      if ('method' in message && 'id' in message) this.#open.add(message.id);
      // A cancelled request may never be answered.
      else if ('method' in message && message.method === 'notifications/cancelled') {
        this.#open.delete(message.params?.requestId as string | number);
      }
      this.onmessage?.(message);
    };
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onclose = () => {
      this.onclose?.();
      this.#closed();
    };
    return this.#wire.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#wire.send(message);
    if ('method' in message || message.id === undefined) return;
    this.#open.delete(message.id);
    if (this.#open.size === 0) this.#answered();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }
}
