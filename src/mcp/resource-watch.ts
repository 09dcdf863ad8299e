import { setTimeout as delay } from 'node:timers/promises';
import { isJSONRPCRequest, type JSONRPCMessage, type RequestId } from '@modelcontextprotocol/server';
import type { ServiceClient } from '../client/service-client.ts';
import type { Log } from '../core/log.ts';
import { addressById, isWatchable, resourceVersion } from './resources.ts';

/** Addresses that one request to listen may name; each costs requests to the service. */
const maxWatched = 100;
/** Time between two looks at a resource: short after a change, because another one often follows. */
const minPollMs = 100;
const maxPollMs = 5_000;
/** Longest time until a client hears that its subscription holds, even if the service does not respond. */
const firstLookMs = 5_000;

export interface ResourceWatchOptions {
  service: () => Promise<ServiceClient>;
  log: Log;
}

/** Returns a message, a request to listen with those resources alone whose changes are noticed: the reply names them. */
export function withWatchableOnly<Message extends JSONRPCMessage>(message: Message): Message {
  const asked = watchedIn(message);
  if (!asked) return message;
  const { params } = message as unknown as { params: { notifications: object } };
  const notifications = { ...params.notifications, resourceSubscriptions: asked };
  return { ...message, params: { ...params, notifications } };
}

/** Returns the resources that a message asks to hear about, as far as that is possible; undefined if it asks for none. */
export function watchedIn(message: unknown): string[] | undefined {
  // First what costs nothing: every message comes here.
  if (Object(message).method !== 'subscriptions/listen' || !isJSONRPCRequest(message)) return undefined;
  const { resourceSubscriptions: asked } = Object(Object(message.params).notifications);
  // The SDK refuses what is no list of strings.
  if (!Array.isArray(asked) || !asked.every((uri) => typeof uri === 'string')) return undefined;
  return [...new Set(asked as string[])].filter(isWatchable).slice(0, maxWatched);
}

/**
 * Looks at resources as long as somebody listens, and reports which ones have changed, whoever changed them: services have no
 * events of their own. Looks at one resource at a time.
 */
export class ResourceWatch {
  readonly #options: ResourceWatchOptions;
  readonly #onChange: (uri: string) => void;
  readonly #watched = new Map<string, Watched>();
  readonly #uris = new Map<RequestId, readonly string[]>();
  readonly #ended = new AbortController();
  #isPolling = false;

  constructor(options: ResourceWatchOptions, onChange: (uri: string) => void) {
    this.#options = options;
    this.#onChange = onChange;
  }

  /** Watches resources for a subscription. Resolves once later changes will be reported. */
  async listen(id: RequestId, uris: readonly string[]): Promise<void> {
    this.#uris.set(id, uris);
    const signal = AbortSignal.any([this.#ended.signal, AbortSignal.timeout(firstLookMs)]);
    for (const uri of uris) {
      if (this.#watched.has(uri)) continue;
      const watched: Watched = { version: undefined, pollMs: minPollMs, dueAt: performance.now() + minPollMs };
      this.#watched.set(uri, watched);
      await this.#look(uri, watched, signal);
    }
    if (!this.#isPolling) void this.#poll();
  }

  /** Forgets a subscription, and the resources to which nobody else listens. */
  stop(id: RequestId | undefined): void {
    if (id === undefined || !this.#uris.delete(id)) return;
    const listenedTo = new Set([...this.#uris.values()].flat());
    for (const uri of this.#watched.keys()) if (!listenedTo.has(uri)) this.#watched.delete(uri);
  }

  close(): void {
    this.#watched.clear();
    this.#ended.abort();
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    const { signal } = this.#ended;
    for (;;) {
      const [next] = [...this.#watched].sort(([, a], [, b]) => a.dueAt - b.dueAt);
      if (!next) break;
      const [uri, watched] = next;
      // A pause even if looks take longer than the time between them.
      const pauseMs = Math.max(minPollMs, watched.dueAt - performance.now());
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => {});
      if (this.#watched.get(uri) === watched && (await this.#look(uri, watched, signal))) this.#onChange(uri);
    }
    this.#isPolling = false;
  }

  /** Looks at a resource. Returns whether it has changed since the last look; a failed one changes nothing. */
  async #look(uri: string, watched: Watched, signal: AbortSignal): Promise<boolean> {
    const last = watched.version;
    try {
      const service = (await this.#options.service()).withSignal(signal);
      watched.address ??= await addressById(uri, service);
      watched.version = await resourceVersion(watched.address, service);
    } catch (error) {
      if (!signal.aborted) this.#options.log('debug', 'resource not watched', { error: (error as Error).message });
    }
    const hasChanged = last !== undefined && watched.version !== last;
    watched.pollMs = hasChanged ? minPollMs : Math.min(maxPollMs, watched.pollMs * 1.5);
    watched.dueAt = performance.now() + watched.pollMs;
    return hasChanged && this.#watched.get(uri) === watched;
  }
}

interface Watched {
  /** The address with the id of the queue; undefined until it has been looked up. */
  address?: string;
  /** Differs after each change; undefined until the first look has succeeded. */
  version: string | undefined;
  pollMs: number;
  /** When to look again, by the clock of `performance`. */
  dueAt: number;
}
