import type { IncomingMessage } from 'node:http';
import {
  classifyInboundRequest,
  isInitializeRequest,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type MessageExtraInfo,
  type RequestId,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
} from '@modelcontextprotocol/server';
import type { Answer, Refusal } from './answer.ts';

/** Messages that one request may bring; revision 2025-03-26 wants batches to be understood. */
const maxBatch = 100;

/** Whether a request is of a revision before 2026-07-28. */
export function isOlder({ headers }: IncomingMessage, body: unknown): boolean {
  const header = (name: string): string | undefined => headers[name] as string | undefined;
  return (
    classifyInboundRequest({
      httpMethod: 'POST',
      protocolVersionHeader: header('mcp-protocol-version'),
      mcpMethodHeader: header('mcp-method'),
      mcpNameHeader: header('mcp-name'),
      body,
    }).kind === 'legacy'
  );
}

/**
 * Serves one request of the older revisions by a server of its own, without a session, until `gone` is aborted.
 * @returns the reason to refuse it instead.
 */
export async function serveOlder(
  createServer: () => Server,
  { headers }: IncomingMessage,
  body: unknown,
  answer: Answer,
  gone: AbortSignal,
): Promise<Refusal | undefined> {
  const isBatch = Array.isArray(body);
  // `isOlder` has seen that they are messages.
  const messages: JSONRPCMessage[] = isBatch ? body : [body];
  const unusable = whyUnusable(messages, headers['mcp-protocol-version']);
  if (unusable) return unusable;
  const requests = messages.filter(isJSONRPCRequest);
  if (requests.length === 0) {
    // Nothing is kept that a notification could be about; `Cancellations` has seen those that cancel.
    answer.end(202);
    return undefined;
  }
  const exchange = new Exchange(answer, requests, isBatch);
  const server = createServer();
  await server.connect(exchange);
  // Ends what runs. An exchange that has come to its end leaves nothing to close.
  gone.addEventListener('abort', () => void server.close(), { once: true });
  exchange.deliver(requests, headers);
  return undefined;
}

function whyUnusable(messages: JSONRPCMessage[], version: string | string[] | undefined): Refusal | undefined {
  if (messages.length > maxBatch) {
    return { status: 400, code: -32_600, message: `Invalid request: a batch may have ${maxBatch} messages` };
  }
  const isInitialization = messages.some(isInitializeRequest);
  if (isInitialization && messages.length > 1) {
    return { status: 400, code: -32_600, message: 'Invalid request: initialize comes alone' };
  }
  if (isInitialization || version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version))) {
    return undefined;
  }
  const known = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
  return { status: 400, message: `Bad request: unsupported protocol version ${version}; known are ${known}` };
}

/**
 * The transport of one request. It is answered with JSON in one piece, unless there is progress to tell before: then
 * with a stream. (The SDK's own makes every answer a stream of web streams, at twice the processor time.)
 */
class Exchange implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly #answer: Answer;
  readonly #open: Set<RequestId>;
  readonly #isBatch: boolean;
  readonly #responses: string[] = [];

  constructor(answer: Answer, requests: readonly { id: RequestId }[], isBatch: boolean) {
    this.#answer = answer;
    this.#open = new Set(requests.map(({ id }) => id));
    this.#isBatch = isBatch;
  }

  async start(): Promise<void> {}

  deliver(messages: readonly JSONRPCMessage[], headers: IncomingMessage['headers']): void {
    // Of the request its headers are read; making a whole one takes a tenth of a small call.
    const request = { headers: { get: (name: string) => headers[name] ?? null } } as unknown as Request;
    for (const message of messages) this.onmessage?.(message, { request });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message) {
      // Its answer would come with another request, to another server.
      if ('id' in message) throw new Error('a client cannot be asked without a session');
      this.#answer.event(JSON.stringify(message));
      return;
    }
    this.#open.delete(message.id!);
    this.#responses.push(JSON.stringify(message));
    const isLast = this.#open.size === 0;
    // Once a stream has begun, by progress or by a long silence, each response is an event.
    if (this.#answer.isStream) for (const text of this.#responses.splice(0)) this.#answer.event(text);
    if (!isLast) return;
    if (this.#responses.length === 0) this.#answer.endStream();
    else this.#answer.end(200, this.#isBatch ? `[${this.#responses.join(',')}]` : this.#responses[0]);
  }

  /** What was cancelled is not answered: its stream ends without an event. */
  async close(): Promise<void> {
    this.#answer.endStream();
    this.onclose?.();
  }
}
