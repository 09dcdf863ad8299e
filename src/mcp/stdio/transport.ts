import type { Readable, Writable } from 'node:stream';
import {
  type JSONRPCMessage,
  type MessageExtraInfo,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import type { Log } from '../../core/log.ts';
import { LineReader } from './line-reader.ts';

/** Bounds of one connection; sizes in bytes. */
const limits = {
  /** Longest line that is taken. */
  line: 10 * 1024 * 1024,
  /** Requests that wait for their answer at the same time. */
  requests: 1_024,
  /** Output that the client has not taken, beyond which no more input is read. */
  unreadOutput: 64 * 1024 * 1024,
};

const invalidRequest = -32_600;
const serverBusy = -32_000;

/**
 * JSON-RPC messages as lines. Unlike the SDK's own transport it survives every line: what is no message is answered
 * where it has an id and logged where it has none, and it is known at any time which requests wait for their answer.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #log: Log;
  readonly #lines: LineReader;
  readonly #open = new Set<RequestId>();
  #answered = (): void => {};
  #isClosed = false;

  constructor(input: Readable, output: Writable, log: Log) {
    this.#input = input;
    this.#output = output;
    this.#log = log;
    this.#lines = new LineReader(limits.line, {
      onLine: (line) => this.#receive(line),
      onTooLong: ({ head, tail, bytes }) => {
        log('warn', 'line refused: it is too long', { bytes, limit: limits.line });
        this.#refuse(idAtEnds(head, tail), invalidRequest, `Invalid request: larger than ${limits.line} bytes`);
      },
    });
  }

  readonly #onData = (bytes: Buffer): void => this.#lines.feed(bytes);
  readonly #onEnd = (): void => this.#lines.end();

  async start(): Promise<void> {
    this.#input.on('data', this.#onData);
    this.#input.once('end', this.#onEnd);
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

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error('the connection is closed'));
    const written = this.#write(message);
    // Requests of this side have an id too, of their own counting.
    if (!('method' in message) && message.id !== undefined) this.#settle(message.id);
    return written;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.off('data', this.#onData).off('end', this.#onEnd).pause();
    this.onclose?.();
  }

  #receive(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      if (line.trim() !== '') this.#log('warn', 'line ignored: it is not JSON', { characters: line.length });
      return;
    }
    // Revision 2025-03-26 wants batches to be understood; each of their requests gets its own answer.
    for (const message of Array.isArray(value) ? value : [value]) this.#take(message);
  }

  #take(value: unknown): void {
    if (this.#isClosed) return;
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      this.#log('warn', 'message refused: it is not JSON-RPC 2.0');
      this.#refuse(idOfRequest(value), invalidRequest, 'Invalid request: not a JSON-RPC 2.0 message');
      return;
    }
    if ('method' in message && 'id' in message) {
      if (this.#open.has(message.id)) {
        this.#log('warn', 'request refused: its id is in use', { id: message.id });
        this.#refuse(message.id, invalidRequest, 'Invalid request: a request with this id waits for its answer');
        return;
      }
      if (this.#open.size >= limits.requests) {
        this.#refuse(message.id, serverBusy, `More than ${limits.requests} requests at once: wait for answers`);
        return;
      }
      // A subscription is not answered until it ends.
      if (message.method !== 'subscriptions/listen') this.#open.add(message.id);
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      // A cancelled request may never be answered.
      this.#settle(message.params?.requestId as RequestId);
    }
    this.onmessage?.(message);
  }

  #refuse(id: RequestId | undefined, code: number, message: string): void {
    if (id === undefined || this.#isClosed) return;
    this.#write({ jsonrpc: '2.0', id, error: { code, message } }).catch((error: Error) => this.onerror?.(error));
  }

  #write(message: JSONRPCMessage): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      this.#output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
    if (this.#output.writableLength > limits.unreadOutput && !this.#input.isPaused()) {
      this.#log('warn', 'the client does not read its answers: no more input until it does');
      this.#input.pause();
      this.#output.once('drain', () => this.#input.resume());
    }
    return written;
  }

  #settle(id: RequestId): void {
    if (this.#open.delete(id) && this.#open.size === 0) this.#answered();
  }
}

/** The id to answer what is no valid message under; none where it may be an answer, which is never answered. */
function idOfRequest(value: unknown): RequestId | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { id, ...rest } = value as Record<string, unknown>;
  if (!('method' in rest) && ('result' in rest || 'error' in rest)) return undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

const idMember = String.raw`"id"\s*:\s*(-?\d{1,15}|"(?:[^"\\]|\\.){0,200}")`;
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const atHead = new RegExp(String.raw`^\s*\{\s*(?:${version}\s*,\s*)?${idMember}\s*,`);
const atTail = new RegExp(String.raw`,\s*${idMember}\s*(?:,\s*${version}\s*)?\}\s*$`);

/** The id of a request of which only both ends were kept: clients write it first or last. */
function idAtEnds(head: string, tail: string): RequestId | undefined {
  const text = (atHead.exec(head) ?? atTail.exec(tail))?.[1];
  // An answer has its id at the same places, and would be answered by mistake.
  if (text === undefined || !/"method"\s*:/.test(head + tail)) return undefined;
  try {
    return JSON.parse(text) as RequestId;
  } catch {
    return undefined;
  }
}
