import type { TraceHeaders } from '../core/observer.ts';

/** Longest values that are accepted, in characters. W3C requires at least 512 and 8192. */
const maxTracestateChars = 4_096;
const maxBaggageChars = 8_192;

/** Version, trace id, parent id, flags, and anything that a later version appends. */
const traceparentPattern = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const tracestateMember =
  /^([a-z\d][a-z\d_\-*/]{0,255}|[a-z\d][a-z\d_\-*/]{0,240}@[a-z][a-z\d_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const token = String.raw`[!#$%&'*+\-.^_\`|~\dA-Za-z]+`;
const octets = String.raw`[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*`;
const baggageMember = new RegExp(
  String.raw`^${token}[ \t]*=[ \t]*${octets}(?:[ \t]*;[ \t]*${token}(?:[ \t]*=[ \t]*${octets})?)*$`,
);

/**
 * Reads the trace context from HTTP headers or from `_meta`, by the grammars of W3C Trace Context and W3C Baggage. Invalid
 * values are dropped: they are no reason to refuse a call, and must not become headers of a request to the service.
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
  if (isBaggage(baggage)) trace.baggage = baggage;
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
  const members = splitList(value).filter((member) => member !== '');
  const keys = members.map((member) => tracestateMember.exec(member)?.[1]);
  return members.length > 0 && members.length <= 32 && !keys.includes(undefined) && new Set(keys).size === keys.length;
}

function isBaggage(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > maxBaggageChars) return false;
  const members = splitList(value);
  return members.length <= 64 && members.every((member) => baggageMember.test(member));
}

function splitList(list: string): string[] {
  return list.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''));
}
