import type { IncomingMessage } from 'node:http';

/*
 * From 2026-07-28 on a client cancels a call by closing its connection. Before, it sends a notification, in a request of
 * its own that names the call only by an id which every client counts from 0. A session id tells clients apart; that is
 * all it is for here. Nothing is kept for a session: any process takes any id, and a notification that a balancer
 * brings to another process than the call cancels nothing, as if it had come too late.
 */

interface Message {
  method?: unknown;
  id?: unknown;
  params?: { requestId?: unknown };
}

/** The calls of older clients that run, for the notifications that cancel them. */
export class Cancellations {
  readonly #running = new Map<string, AbortController>();

  /**
   * Notes a call until it is over, or carries out a cancellation of the same subject. `over` tells when the request is
   * done.
   * @returns headers for the answer: the session id, for a client that is about to need one.
   */
  take(
    request: IncomingMessage,
    body: unknown,
    subject: string | undefined,
    abort: AbortController,
    over: (then: () => void) => void,
  ): { 'mcp-session-id'?: string } {
    const { method, id, params }: Message = typeof body === 'object' && body !== null ? body : {};
    if (method === 'initialize') return { 'mcp-session-id': crypto.randomUUID() };
    const session = request.headers['mcp-session-id'];
    if (session === undefined) return {};
    if (method === 'notifications/cancelled') this.#running.get(key(subject, session, params?.requestId))?.abort();
    if (method === undefined || id === undefined) return {};
    const name = key(subject, session, id);
    this.#running.set(name, abort);
    over(() => {
      if (this.#running.get(name) === abort) this.#running.delete(name);
    });
    return {};
  }
}

function key(...parts: unknown[]): string {
  return JSON.stringify(parts);
}
