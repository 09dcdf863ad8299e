/**
 * The header by which a request is known from the proxy in front to the service behind. No standard has one; this is the
 * name that nginx, Envoy and most services write, log and pass on.
 */
export const requestIdHeader = 'x-request-id';

/** An id that somebody else gave, if it may stand in a log and a header; undefined otherwise. */
export function asRequestId(given: unknown): string | undefined {
  return typeof given === 'string' && /^[\w.:+/=@-]{1,128}$/.test(given) ? given : undefined;
}

/** Tells the requests of this process from those of others. It guards nothing, and a generator that could costs a start 10 ms. */
const prefix = Date.now().toString(36) + Math.random().toString(36).slice(2, 10);
let count = 0;

/** An id for a request that came without one. */
export function newRequestId(): string {
  count += 1;
  return `${prefix}-${count}`;
}
