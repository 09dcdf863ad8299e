/**
 * The header by which a request is known from the proxy in front to the service behind. No standard has one; this is the
 * name that nginx, Envoy and most services write, log and pass on.
 */
export const requestIdHeader = 'x-request-id';

/** An id that somebody else gave, if it may stand in a log and a header; undefined otherwise. */
export function asRequestId(given: unknown): string | undefined {
  return typeof given === 'string' && /^[\w.:+/=@-]{1,128}$/.test(given) ? given : undefined;
}
