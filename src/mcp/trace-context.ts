import type { TraceHeaders } from '../core/observer.ts';

/** Longest value that is accepted, in characters. W3C requires at least 512. */
const maxTracestateChars = 4_096;
/** Characters that a header may hold. OpenTelemetry, which alone reads the baggage, drops invalid members itself. */
const baggagePattern = /^[\x20-\x7e]{1,8192}$/;

/** Version, trace id, parent id, flags, and anything that a later version appends. */
const traceparentPattern = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const tracestateMember =
  /^([a-z\d][a-z\d_\-*/]{0,255}|[a-z\d][a-z\d_\-*/]{0,240}@[a-z][a-z\d_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
/**
 * Reads the trace context from HTTP headers or from `_meta`, by the grammar of W3C Trace Context. Invalid values are
 * dropped: they are no reason to refuse a call, and must not become headers of a request to the service.
 */
export function readTraceContext(carrier: (name: keyof TraceHeaders) => unknown): TraceHeaders {
  const trace: TraceHeaders = {};
  const traceparent = parseTraceparent(carrier('traceparent'));
  if (traceparent !== undefined) {
    trace.traceparent = traceparent;
    const tracestate = carrier('tracestate');
    if (isTracestate(tracestate)) trace.tracestate = tracestate;
  }
  const baggage = carrier('baggage');
  if (typeof baggage === 'string' && baggagePattern.test(baggage)) trace.baggage = baggage;
  return trace;
}

/** Returns a valid traceparent. As W3C requires, a later version is read and passed on as version 00. */
function parseTraceparent(value: unknown): string | undefined {
  const match = typeof value === 'string' ? traceparentPattern.exec(value) : null;
  if (!match) return undefined;
  const [whole, version, traceId, parentId, flags, rest] = match;
  if (version === '00') return rest === undefined ? whole : undefined;
  return `00-${traceId}-${parentId}-0${Number.parseInt(flags!, 16) & 1}`;
}

function isTracestate(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > maxTracestateChars) return false;
  const members = value.split(',').map((member) => member.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, ''));
  const keys = members.filter((member) => member !== '').map((member) => tracestateMember.exec(member)?.[1]);
  return keys.length > 0 && keys.length <= 32 && !keys.includes(undefined) && new Set(keys).size === keys.length;
}
