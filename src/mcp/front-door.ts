import type { JSONRPCMessage, JSONRPCRequest, Transport } from '@modelcontextprotocol/server';
import { isJsonObject } from '../core/json/json-object.ts';
import { ownMember } from '../core/json/member-at.ts';
import type { LineTransport } from './line-transport.ts';
import { hasOnly, isRequest } from './message-kind.ts';
import revisions from './revisions.json' with { type: 'json' };
import type { McpServerOptions } from './server.ts';
import { capabilities, listCacheHint, listeningCapabilities, serverInfo, toMcpTool } from './server-facts.ts';

/** Time after the list of tools in which a client usually asks for nothing, so that loading the server delays no answer. */
const handOverAfterMs = 20;

/** The revision whose requests carry their own version, instead of an `initialize` before them. */
const revisionOfEnvelopes = '2026-07-28';
const envelope = {
  revision: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
};

/**
 * Answers what a client asks before its first call, without the SDK and its schemas: `initialize`, `server/discover`,
 * `tools/list` and `ping`. It answers only requests that are certainly valid; all else waits for the server, which is
 * connected to the front door as to any transport, and first hears the request that began the connection.
 */
export class FrontDoor implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when the server should be loaded: a message waits for it, or the tools have been listed. */
  readonly serverNeeded: Promise<void>;
  readonly #transport: LineTransport;
  readonly #options: Pick<McpServerOptions, 'instructions' | 'tools'>;
  #needServer = (): void => {};
  /** The request that set the protocol revision of the connection, until the server has answered it too. */
  #opening: JSONRPCRequest | undefined;
  readonly #heldBack: JSONRPCMessage[] = [];
  #state: 'answering' | 'holding back' | 'connected' = 'answering';

  constructor(transport: LineTransport, options: Pick<McpServerOptions, 'instructions' | 'tools'>) {
    this.#transport = transport;
    this.#options = options;
    this.serverNeeded = new Promise((resolve) => {
      this.#needServer = resolve;
    });
    transport.onmessage = (message) => this.#take(message);
  }

  /** True if the client waits for something that only the server can answer. */
  get isHoldingBack(): boolean {
    return this.#state === 'holding back';
  }

  /** Hands the conversation over to the server that calls this. */
  async start(): Promise<void> {
    if (this.#opening) this.onmessage?.(this.#opening);
    else this.#release();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const isRepeated = this.#opening !== undefined && !('method' in message) && message.id === this.#opening.id;
    if (isRepeated) this.#release();
    else await this.#transport.send(message);
  }

  async close(): Promise<void> {
    this.onclose?.();
  }

  #release(): void {
    this.#opening = undefined;
    this.#state = 'connected';
    for (const message of this.#heldBack.splice(0)) this.onmessage?.(message);
  }

  #take(message: JSONRPCMessage): void {
    if (this.#state === 'connected') {
      this.onmessage?.(message);
      return;
    }
    if (this.#state === 'answering' && isRequest(message)) {
      const result = this.#resultFor(message);
      if (result) {
        void this.#transport.send({ jsonrpc: '2.0', id: message.id, result });
        return;
      }
    }
    this.#heldBack.push(message);
    // The server does nothing with the first of these, so there is no hurry.
    if (this.#opening?.method === 'initialize' && this.#heldBack.length === 1 && isInitialized(message)) return;
    this.#state = 'holding back';
    this.#needServer();
  }

  /** Returns the result of a request; undefined if the server must answer it. */
  #resultFor(request: JSONRPCRequest): Record<string, unknown> | undefined {
    const { method, params = {} } = request;
    if (hasEnvelope(params)) return this.#resultInEnvelope(request);
    if (this.#opening === undefined && method === 'initialize' && isInitialize(params)) {
      this.#opening = request;
      const { protocolVersion } = params;
      const accepted = revisions.find((revision) => revision === protocolVersion) ?? revisions[0];
      return { protocolVersion: accepted, capabilities, serverInfo, instructions: this.#options.instructions };
    }
    if (this.#opening?.method !== 'initialize' || !isPlain(params)) return undefined;
    if (method === 'ping') return {};
    return method === 'tools/list' ? this.#listedTools() : undefined;
  }

  #resultInEnvelope(request: JSONRPCRequest): Record<string, unknown> | undefined {
    if (this.#opening?.method === 'initialize') return undefined;
    const common = { resultType: 'complete', _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } };
    if (request.method === 'server/discover') {
      const { instructions } = this.#options;
      const about = { supportedVersions: [revisionOfEnvelopes], capabilities: listeningCapabilities, instructions };
      return { ...about, ...common, ttlMs: 0, cacheScope: 'private' };
    }
    if (request.method !== 'tools/list') return undefined;
    this.#opening ??= request;
    return { ...this.#listedTools(), ...common, ...listCacheHint };
  }

  #listedTools(): { tools: object[] } {
    setTimeout(this.#needServer, handOverAfterMs);
    return { tools: this.#options.tools.map(toMcpTool) };
  }
}

function isInitialized(message: JSONRPCMessage): boolean {
  return 'method' in message && !('id' in message) && message.method === 'notifications/initialized';
}

/** Returns whether parameters are those of a valid `initialize`. */
function isInitialize(params: Record<string, unknown>): boolean {
  return (
    hasOnly(params, ['protocolVersion', 'capabilities', 'clientInfo']) &&
    typeof params.protocolVersion === 'string' &&
    isClient(params.clientInfo, params.capabilities)
  );
}

/** Returns whether parameters are nothing but a valid envelope, as each request of revision 2026-07-28 has one. */
function hasEnvelope({ _meta: meta, ...others }: Record<string, unknown>): boolean {
  return (
    isJsonObject(meta) &&
    Object.keys(others).length === 0 &&
    hasOnly(meta, [...Object.values(envelope), 'progressToken']) &&
    ownMember(meta, envelope.revision) === revisionOfEnvelopes &&
    isClient(ownMember(meta, envelope.client), ownMember(meta, envelope.capabilities))
  );
}

/** Returns whether parameters are none, or say only where to report progress. */
function isPlain({ _meta: meta = {}, ...others }: Record<string, unknown>): boolean {
  return Object.keys(others).length === 0 && isJsonObject(meta) && hasOnly(meta, ['progressToken']);
}

/** Returns whether a client describes itself in a form that every revision accepts, without icons and unusual capabilities. */
function isClient(info: unknown, capabilities: unknown): boolean {
  return (
    isJsonObject(info) &&
    [info.name, info.version, ...Object.values(info)].every((value) => typeof value === 'string') &&
    isJsonObject(capabilities) &&
    Object.entries(capabilities).every(([name, value]) =>
      name === 'extensions' || name === 'experimental'
        ? isJsonObject(value) && Object.values(value).every(isJsonObject)
        : isCapability(value),
    )
  );
}

/** Returns whether a capability consists of objects, and of the flag `listChanged`. */
function isCapability(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    Object.entries(value).every(([name, member]) =>
      name === 'listChanged' ? typeof member === 'boolean' : isCapability(member),
    )
  );
}
