import { Transform, type TransformCallback, type Writable } from 'node:stream';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type RequestId,
} from '@modelcontextprotocol/server';
import type { Log } from '../../core/log.ts';

/*
 * The SDK's stdio transport reads what this filter passes on. On its own it would end the connection at a line that is
 * too long, leave messages that are not JSON-RPC unanswered, reject batches, accept an id twice, hold any number of
 * requests and any amount of unread output, and abort running requests at the end of the input.
 */

const maxLineBytes = 10 * 1024 * 1024;
/** Size of both ends of a line that is too long; the id of its request is looked for there. */
const keptBytes = 512;
const maxRequests = 1_024;
/** Maximum of output that the client has not read, beyond which no more input is taken. */
const maxUnreadBytes = 64 * 1024 * 1024;
/** Time for requests to be answered after the end of the input. */
const answerGraceMs = 1_000;

const invalidRequest = -32_600;
const serverBusy = -32_000;

/** Passes on lines that are JSON-RPC messages, and refuses the others on the output. */
export class MessageFilter extends Transform {
  readonly #output: Writable;
  readonly #log: Log;
  readonly #unanswered = new Set<unknown>();
  #parts: Buffer[] = [];
  #lineBytes = 0;

  constructor(output: Writable, log: Log) {
    super();
    this.#output = output;
    this.#log = log;
  }

  /** Notes that a request has been answered, or will not be. */
  settle(id: unknown): void {
    this.#unanswered.delete(id);
    if (this.#unanswered.size === 0) this.emit('settled');
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    let start = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      this.#append(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
    if (this.#output.writableLength > maxUnreadBytes) {
      this.#log('warn', 'the client does not read its responses: no more input until it does');
      this.#output.once('drain', callback);
    } else {
      callback();
    }
  }

  override _flush(callback: TransformCallback): void {
    this.#endLine();
    this.once('settled', callback);
    const graceMs = this.#unanswered.size === 0 ? 0 : answerGraceMs;
    setTimeout(() => this.emit('settled'), graceMs);
  }

  #append(part: Buffer): void {
    this.#parts.push(part);
    this.#lineBytes += part.length;
    if (this.#lineBytes <= maxLineBytes) return;
    const line = Buffer.concat(this.#parts);
    this.#parts = [Buffer.from(line.subarray(0, keptBytes)), Buffer.from(line.subarray(-keptBytes))];
  }

  #endLine(): void {
    const bytes = this.#lineBytes;
    const line = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#lineBytes = 0;
    if (bytes <= maxLineBytes) this.#readLine(line);
    else this.#refuse(idAtEnds(line), `its ${bytes} bytes are larger than ${maxLineBytes}`);
  }

  #readLine(line: string): void {
    if (line.trim() === '') return;
    try {
      const value: unknown = JSON.parse(line);
      // Revision 2025-03-26 has batches; each of their requests gets a response of its own.
      if (Array.isArray(value)) for (const message of value) this.#pass(message, JSON.stringify(message));
      else this.#pass(value, line);
    } catch {
      this.#log('warn', 'line ignored: it is not JSON', { characters: line.length });
    }
  }

  #pass(value: unknown, json: string): void {
    const problem = this.#admit(value);
    if (problem) this.#refuse(idOf(value), problem.reason, problem.code);
    else this.push(`${json}\n`);
  }

  /** Admits a message that can be served, or returns the reason to refuse it. */
  #admit(value: unknown): { reason: string; code?: number } | undefined {
    if (isJSONRPCRequest(value)) {
      const { id, method } = value;
      if (this.#unanswered.has(id)) return { reason: 'a request with this id waits for its response' };
      if (this.#unanswered.size >= maxRequests)
        return { reason: `more than ${maxRequests} requests`, code: serverBusy };
      // A subscription is answered only when it ends.
      if (method !== 'subscriptions/listen') this.#unanswered.add(id);
      return undefined;
    }
    if (isJSONRPCNotification(value)) {
      // A cancelled request may never be answered.
      if (value.method === 'notifications/cancelled') this.settle(value.params?.requestId);
      return undefined;
    }
    const isResponse = isJSONRPCResultResponse(value) || isJSONRPCErrorResponse(value);
    return isResponse ? undefined : { reason: 'not a JSON-RPC 2.0 message' };
  }

  #refuse(id: RequestId | undefined, reason: string, code = invalidRequest): void {
    this.#log('warn', 'message refused', { id, reason });
    if (id === undefined) return;
    const error = { code, message: `Message refused: ${reason}` };
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
  }
}

/** Returns the id of what is not a valid message; undefined for a response, which is never answered. */
function idOf(value: unknown): RequestId | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { id, method, result, error } = value as Record<string, unknown>;
  if (method === undefined && (result !== undefined || error !== undefined)) return undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

const idMember = String.raw`"id"\s*:\s*(0|-?[1-9]\d{0,14}|"[ !#-[\]-~]{0,200}")`;
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const idAtHead = new RegExp(String.raw`^\s*\{\s*(?:${version}\s*,\s*)?${idMember}\s*,`);
const idAtTail = new RegExp(String.raw`,\s*${idMember}\s*(?:,\s*${version}\s*)?\}\s*$`);

/** Returns the id of a request of which only both ends are known: clients write it first or last. */
function idAtEnds(text: string): RequestId | undefined {
  const id = (idAtHead.exec(text) ?? idAtTail.exec(text))?.[1];
  // A response has its id in the same places.
  return id === undefined || !/"method"\s*:/.test(text) ? undefined : JSON.parse(id);
}
