/** The header that identifies a request from proxy to service. nginx, Envoy and most services use this name. */
export const requestIdHeader = 'x-request-id';

/** Returns a received id if it is safe in a log and a header; undefined otherwise. */
export function asRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.:+/=@-]{1,128}$/.test(value) ? value : undefined;
}

/** Distinguishes processes. Not a security token, so `Math.random` is enough; `node:crypto` would delay the start by 10 ms. */
const prefix = Date.now().toString(36) + Math.random().toString(36).slice(2, 10);
let count = 0;

/** Creates an id for a request that arrived without one. */
export function newRequestId(): string {
  count += 1;
  return `${prefix}-${count}`;
}
