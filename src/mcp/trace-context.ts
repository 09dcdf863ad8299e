import type { TraceHeaders } from '../core/observer.ts';

/** Longest that is taken, in characters: W3C asks for 512 and 8192 at least. What is longer counts as absent. */
const maxTracestate = 4_096;
const maxBaggage = 8_192;

/** version, trace id, parent id, flags; what follows is for versions to come. */
const traceparentForm = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const stateMember =
  /^([a-z\d][a-z\d_\-*/]{0,255}|[a-z\d][a-z\d_\-*/]{0,240}@[a-z][a-z\d_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const token = String.raw`[!#$%&'*+\-.^_\`|~\dA-Za-z]+`;
const octets = String.raw`[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*`;
const baggageMember = new RegExp(
  String.raw`^${token}[ \t]*=[ \t]*${octets}(?:[ \t]*;[ \t]*${token}(?:[ \t]*=[ \t]*${octets})?)*$`,
);

/**
 * The trace context in a carrier (headers, or the members that MCP keeps for it in `_meta`), as far as it keeps to the
 * grammars of W3C Trace Context and W3C Baggage. Whatever does not is left out: a client's slip in it is no reason to
 * refuse its call, and nothing else may become a header.
 */
export function traceContext(carrier: (name: keyof TraceHeaders) => unknown): TraceHeaders {
  const trace: TraceHeaders = {};
  const traceparent = asTraceparent(carrier('traceparent'));
  if (traceparent !== undefined) {
    trace.traceparent = traceparent;
    const tracestate = carrier('tracestate');
    if (isTracestate(tracestate)) trace.tracestate = tracestate;
  }
  const baggage = carrier('baggage');
  if (isBaggage(baggage)) trace.baggage = baggage;
  return trace;
}

/** A version that this page of the standard does not know is read by the rules of the one it knows, and sent on as that. */
function asTraceparent(value: unknown): string | undefined {
  const [, version, traceId, parentId, flags, rest] = (typeof value === 'string' && traceparentForm.exec(value)) || [];
  if (version === undefined) return undefined;
  if (version === '00') return rest === undefined ? (value as string) : undefined;
  return `00-${traceId}-${parentId}-0${Number.parseInt(flags!, 16) & 1}`;
}

function isTracestate(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > maxTracestate) return false;
  const members = trimmed(value).filter((member) => member !== '');
  const keys = members.map((member) => stateMember.exec(member)?.[1]);
  return members.length > 0 && members.length <= 32 && !keys.includes(undefined) && new Set(keys).size === keys.length;
}

function isBaggage(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > maxBaggage) return false;
  const members = trimmed(value);
  return members.length <= 64 && members.every((member) => baggageMember.test(member));
}

function trimmed(list: string): string[] {
  return list.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''));
}
