import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import {
  classifyInboundRequest,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
} from '@modelcontextprotocol/server';
import { ownMember } from '../../core/json/member-at.ts';
import { messageJson } from '../message-json.ts';

/*
 * The SDK answers every request of a revision before 2026-07-28 with an event stream, through web requests and streams that
 * cost more than the call itself. Clients of these revisions accept a JSON body too.
 */

/** Returns the tool call in a request, if it is one of a revision before 2026-07-28; the SDK judges everything else. */
export function olderToolCall(body: unknown, headers: IncomingHttpHeaders): JSONRPCRequest | undefined {
  const version = headers['mcp-protocol-version'];
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(String(version))) return undefined;
  if ((Object(body) as { method?: unknown }).method !== 'tools/call' || !isJSONRPCRequest(body)) return undefined;
  const route = classifyInboundRequest({
    httpMethod: 'POST',
    body,
    ...(version !== undefined && { protocolVersionHeader: String(version) }),
  });
  return route.kind === 'legacy' ? body : undefined;
}

/**
 * Lets a fresh server answer a request: with one JSON body, or with an event stream if something has to be sent before the
 * result, or if it takes longer than `maxSilenceMs`. The call ends when the client goes away or `cancelled` is aborted.
 */
export async function serveDirectly(
  server: Server,
  request: JSONRPCRequest,
  response: ServerResponse,
  { cancelled, maxSilenceMs }: { cancelled: AbortSignal; maxSilenceMs: number },
): Promise<void> {
  const exchange = new DirectExchange(request.id, response, maxSilenceMs);
  await server.connect(exchange);
  response.once('close', () => {
    if (!response.writableFinished) void server.close();
  });
  cancelled.addEventListener('abort', () => exchange.cancel());
  const { headers } = response.req;
  // The part of a web request that the server reads.
  const webRequest = { headers: { get: (name: string) => ownMember(headers, name.toLowerCase()) ?? null } };
  exchange.onmessage?.(request, { request: webRequest as unknown as Request });
}

/** The transport of one request and its response. */
class DirectExchange implements Transport {
  onclose?: () => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  readonly #id: JSONRPCRequest['id'];
  readonly #response: ServerResponse;
  readonly #signOfLife: NodeJS.Timeout;

  constructor(id: JSONRPCRequest['id'], response: ServerResponse, maxSilenceMs: number) {
    this.#id = id;
    this.#response = response;
    // Proxies close connections that are silent for long.
    this.#signOfLife = setInterval(() => this.#writeEvents(': still working\n\n'), maxSilenceMs);
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage, options?: { relatedRequestId?: unknown }): Promise<void> {
    const response = this.#response;
    if (response.writableEnded) return;
    if ('method' in message) {
      // The response carries only the messages of its call.
      if (options?.relatedRequestId !== this.#id) return;
      this.#writeEvents(eventOf(messageJson(message)));
      this.#signOfLife.refresh();
      return;
    }
    clearInterval(this.#signOfLife);
    const json = messageJson(message);
    if (response.headersSent) response.end(eventOf(json));
    else {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) });
      response.end(json);
    }
  }

  /** Ends the response without a result, and the call with it. */
  cancel(): void {
    if (!this.#response.headersSent) this.#beginEvents();
    this.#response.end();
    void this.close();
  }

  async close(): Promise<void> {
    clearInterval(this.#signOfLife);
    this.onclose?.();
  }

  #beginEvents(): void {
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      // Keeps nginx from holding the events back.
      'x-accel-buffering': 'no',
    });
  }

  #writeEvents(text: string): void {
    if (!this.#response.headersSent) this.#beginEvents();
    this.#response.write(text);
  }
}

function eventOf(json: string): string {
  return `event: message\ndata: ${json}\n\n`;
}
