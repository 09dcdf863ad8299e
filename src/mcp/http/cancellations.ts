import type { ServerResponse } from 'node:http';
import { isInitializeRequest, isJSONRPCNotification, isJSONRPCRequest } from '@modelcontextprotocol/server';

/*
 * The SDK serves the revisions before 2026-07-28 without state, so that a `notifications/cancelled` reaches a fresh
 * server and cancels nothing. A test promises that it ends the call and the request at the service. The notification
 * names the call by an id that every client counts from 0; a session id tells clients apart, and serves for nothing
 * else. Behind a load balancer, a notification that reaches another process than the call comes to nothing.
 */

const sessionHeader = 'mcp-session-id';

/** The running calls of clients that have a session id. */
export class Cancellations {
  readonly #running = new Map<string, AbortController>();

  /**
   * Registers a call until its response closes, carries out a notification that cancels one of the same subject, or
   * gives a client that initializes its session id.
   * @param body a parsed request body.
   * @returns the signal that a cancellation of this call aborts.
   */
  handle(body: unknown, subject: string | undefined, response: ServerResponse): AbortSignal {
    const call = new AbortController();
    const session = response.req.headers[sessionHeader];
    const keyOf = (id: unknown): string => JSON.stringify([subject, session, id]);
    if (isInitializeRequest(body)) {
      response.setHeader(sessionHeader, crypto.randomUUID());
    } else if (session !== undefined && isJSONRPCRequest(body)) {
      const key = keyOf(body.id);
      this.#running.set(key, call);
      response.once('close', () => {
        if (this.#running.get(key) === call) this.#running.delete(key);
      });
    } else if (session !== undefined && isJSONRPCNotification(body) && body.method === 'notifications/cancelled') {
      this.#running.get(keyOf(body.params?.requestId))?.abort();
    }
    return call.signal;
  }
}
