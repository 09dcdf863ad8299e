import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server';
import { InexactNumberError, parseExactJson } from '../core/json/json-numbers.ts';
import { JsonLimitError } from '../core/json/parse-json.ts';
import type { Log } from '../core/log.ts';
import { maxBatchMessages } from './json-rpc.ts';
import { messageJson } from './message-json.ts';
import { isMessage, isRequest } from './message-kind.ts';

/*
 * The SDK's stdio transport would end the connection at a line that is too long, leave messages that are not JSON-RPC
 * unanswered, reject batches, accept an id twice, hold any number of requests and any amount of unread output, and abort
 * running requests at the end of the input.
 */

const maxLineBytes = 10 * 1024 * 1024;
/** Bytes that are kept of each end of a line that is too long; the id of its request is looked for there. */
const keptBytes = 512;
const maxRequests = 1_024;
/** Maximum amount of output that the client has not read, beyond which no more input is taken. */
const maxUnreadBytes = 64 * 1024 * 1024;
/** Time for requests to be answered after the end of the input or a signal to stop. */
const answerGraceMs = 1_000;

const invalidRequest = -32_600;
const invalidParams = -32_602;
const serverBusy = -32_000;

/** Carries JSON-RPC messages over a pair of streams, one per line, and refuses everything else. */
export class LineTransport {
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #output: Writable;
  readonly #log: Log;
  readonly #unanswered = new Set<unknown>();
  #onAllAnswered: (() => void)[] = [];
  #parts: Buffer[] = [];
  #lineBytes = 0;

  constructor(output: Writable, log: Log) {
    this.#output = output;
    this.#log = log;
  }

  /** Writes a message, which may be the response to a request. */
  async send(message: JSONRPCMessage): Promise<void> {
    this.#output.write(`${messageJson(message)}\n`);
    if (!('method' in message)) this.#settle(message.id);
  }

  /** Reads the input to its end. */
  async read(input: Readable): Promise<void> {
    for await (const chunk of input) {
      this.#readChunk(chunk);
      if (this.#output.writableLength > maxUnreadBytes) {
        this.#log('warn', 'input paused: the client is not reading its responses');
        await once(this.#output, 'drain');
      }
    }
    this.#endLine();
  }

  /** Waits a moment for the responses that are still missing. */
  async finish(): Promise<void> {
    if (this.#unanswered.size === 0) return;
    await Promise.race([this.answered(), new Promise((resolve) => setTimeout(resolve, answerGraceMs))]);
  }

  /** Waits until no request is without its response. */
  async answered(): Promise<void> {
    if (this.#unanswered.size > 0) await new Promise<void>((resolve) => this.#onAllAnswered.push(resolve));
  }

  #readChunk(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      this.#append(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
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
    if (bytes > maxLineBytes)
      this.#refuse(idAtEnds(line), `it has ${bytes} bytes, more than the maximum of ${maxLineBytes}`);
    else if (line.trim() !== '') this.#readLine(line);
  }

  #readLine(line: string): void {
    let value: unknown;
    try {
      value = parseExactJson(line);
    } catch (error) {
      if (error instanceof InexactNumberError) this.#refuseNumbers(error);
      else if (error instanceof JsonLimitError) this.#refuse(idAtEnds(line), error.message);
      else this.#log('warn', 'line ignored: it is not JSON', { characters: line.length });
      return;
    }
    // Revision 2025-03-26 has batches; each of their requests gets a response of its own.
    if (!Array.isArray(value)) this.#receive(value);
    else if (value.length <= maxBatchMessages) for (const message of value) this.#receive(message);
    else this.#refuseBatch(value);
  }

  /** Refuses every message of a batch that is too long, with one log line for all. */
  #refuseBatch(messages: readonly unknown[]): void {
    const reason = `a batch of more than ${maxBatchMessages} messages`;
    this.#log('warn', 'batch refused', { messages: messages.length, reason });
    for (const message of messages) this.#sendRefusal(idOf(message), reason, invalidRequest);
  }

  /** Refuses a message, or each message of a batch, because of a number that JavaScript cannot represent exactly. */
  #refuseNumbers({ value, faults, message }: InexactNumberError): void {
    if (Array.isArray(value) && value.length > maxBatchMessages) {
      this.#refuseBatch(value);
      return;
    }
    this.#log('warn', 'message refused', {
      reason: 'numbers that JavaScript cannot represent exactly',
      numbers: faults.length,
    });
    const messages = Array.isArray(value) ? value : [value];
    messages.forEach((part, index) => {
      // Under an id that has changed, the client could not find the response.
      const isChanged = faults.some(({ loc }) => {
        const inMessage = Array.isArray(value) ? loc.slice(1) : loc;
        const isOfMessage = !Array.isArray(value) || loc[0] === index;
        return isOfMessage && inMessage.length === 1 && inMessage[0] === 'id';
      });
      if (!isChanged) this.#sendRefusal(idOf(part), message, invalidParams);
    });
  }

  #receive(message: unknown): void {
    if (isRequest(message) && this.#unanswered.has(message.id)) {
      this.#refuse(message.id, 'a request with this id is still waiting for its response');
    } else if (isRequest(message) && this.#unanswered.size >= maxRequests) {
      this.#refuse(message.id, `more than ${maxRequests} requests`, serverBusy);
    } else if (isMessage(message)) {
      this.#track(message);
      this.onmessage?.(message);
    } else {
      this.#refuse(idOf(message), 'not a JSON-RPC 2.0 message');
    }
  }

  #track(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    // A subscription is answered only when it ends, and a cancelled request perhaps never.
    if ('id' in message && message.method !== 'subscriptions/listen') this.#unanswered.add(message.id);
    if (message.method === 'notifications/cancelled') this.#settle(message.params?.requestId);
  }

  /** Notes that a request has been answered, or will not be. */
  #settle(id: unknown): void {
    this.#unanswered.delete(id);
    if (this.#unanswered.size > 0) return;
    for (const resolve of this.#onAllAnswered.splice(0)) resolve();
  }

  #refuse(id: RequestId | undefined, reason: string, code = invalidRequest): void {
    this.#log('warn', 'message refused', { id, reason });
    this.#sendRefusal(id, reason, code);
  }

  #sendRefusal(id: RequestId | undefined, reason: string, code: number): void {
    if (id === undefined) return;
    const error = { code, message: `Message refused: ${reason}` };
    this.#output.write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
  }
}

/** Returns the id of an invalid message; undefined for a response, which is never answered. */
function idOf(value: unknown): RequestId | undefined {
  const { id, method, result, error } = Object(value) as Record<string, unknown>;
  if (method === undefined && (result !== undefined || error !== undefined)) return undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

const idMember = String.raw`"id"\s*:\s*(0|-?[1-9]\d{0,14}|"[ !#-[\]-~]{0,200}")`;
const version = String.raw`"jsonrpc"\s*:\s*"2\.0"`;
const idAtHead = new RegExp(String.raw`^\s*\{\s*(?:${version}\s*,\s*)?${idMember}\s*,`);
const idAtTail = new RegExp(String.raw`,\s*${idMember}\s*(?:,\s*${version}\s*)?\}\s*$`);

/** Returns the id of a request from the two ends of its line: clients write it first or last. */
function idAtEnds(text: string): RequestId | undefined {
  const id = (idAtHead.exec(text) ?? idAtTail.exec(text))?.[1];
  // A response has its id in the same places.
  return id === undefined || !/"method"\s*:/.test(text) ? undefined : JSON.parse(id);
}
