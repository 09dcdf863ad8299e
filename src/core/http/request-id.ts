/** The header that identifies a request from proxy to service. nginx, Envoy and most services use this name. */
export const requestIdHeader = 'x-request-id';

/** Returns a received id if it is safe in a log and a header; undefined otherwise. */
export function asRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.:+/=@-]{1,128}$/.test(value) ? value : undefined;
}
