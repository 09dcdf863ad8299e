import {
  type JSONRPCMessage,
  type MessageExtraInfo,
  type RequestId,
  type Server,
  SUBSCRIPTION_ID_META_KEY,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Log } from '../core/log.ts';
import { type ResourceWatch, withWatchableOnly } from './resource-watch.ts';
import type { ServerFactory } from './server.ts';

/** Subscriptions of one connection. */
const maxSubscriptions = 16;

/**
 * Serves one client on a transport that the caller brings, in whichever protocol revision the client opens with.
 * @returns the way to end the connection.
 */
export function connect(createMcpServer: ServerFactory, transport: Transport, log: Log): () => Promise<void> {
  let server: Server | undefined;
  const onError = (error: Error): void => log('warn', 'protocol', { error: error.message });
  // The SDK passes the notification on to the subscriptions that ask for it.
  const watch = createMcpServer.watch((uri) => void server?.sendResourceUpdated({ uri }).catch(onError));
  const handle = serveStdio(
    (context) => {
      server = createMcpServer(context);
      return server;
    },
    { transport: new WatchingTransport(transport, watch), onerror: onError, maxSubscriptions },
  );
  return () => handle.close();
}

/** Watches the resources of the subscriptions that the SDK accepts on a transport. */
class WatchingTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly #transport: Transport;
  readonly #watch: ResourceWatch;

  constructor(transport: Transport, watch: ResourceWatch) {
    this.#transport = transport;
    this.#watch = watch;
  }

  async start(): Promise<void> {
    this.#transport.onclose = () => {
      this.#watch.close();
      this.onclose?.();
    };
    this.#transport.onerror = (error) => this.onerror?.(error);
    this.#transport.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
      if ('method' in message && message.method === 'notifications/cancelled') {
        this.#watch.stop(message.params?.requestId as RequestId | undefined);
      }
      this.onmessage?.(withWatchableOnly(message), extra);
    };
    await this.#transport.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('method' in message && message.method === 'notifications/subscriptions/acknowledged') {
      const { _meta, notifications } = message.params as {
        _meta: Record<string, RequestId>;
        notifications: { resourceSubscriptions?: string[] };
      };
      // First, so that the client hears of every change after this message.
      await this.#watch.listen(_meta[SUBSCRIPTION_ID_META_KEY]!, notifications.resourceSubscriptions ?? []);
    }
    await this.#transport.send(message, options);
  }

  async close(): Promise<void> {
    this.#watch.close();
    await this.#transport.close();
  }

  setProtocolVersion(version: string): void {
    this.#transport.setProtocolVersion?.(version);
  }
}
