import type { ServerResponse } from 'node:http';
import { isInitializeRequest, isJSONRPCNotification, isJSONRPCRequest } from '@modelcontextprotocol/server';
import { sessionHeader, sessionIdOf } from '../session-id.ts';

/*
 * The SDK serves revisions before 2026-07-28 without state: a `notifications/cancelled` reaches a fresh server and
 * cancels nothing. This class ends the call, and with it the request at the service. The notification names the call by
 * an id that every client counts from 0, so a session id tells clients apart. A notification
 * that a load balancer takes to another process has no effect.
 */

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
      response.setHeader(sessionHeader, sessionIdOf(body.params.clientInfo.name));
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
