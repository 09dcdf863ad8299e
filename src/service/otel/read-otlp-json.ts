import { listOf, messageOf } from './attributes.ts';
import type { SpanGroup } from './decode-protobuf.ts';
import { readSpanResource, type SpanCall, spanToCall } from './span-to-call.ts';

/**
 * Returns the spans of an `ExportTraceServiceRequest` or `TracesData` in OTLP's JSON encoding.
 * @throws SpanFault for a value that is no such message.
 */
export function readOtlpJson(message: unknown): SpanGroup[] {
  return listOf(messageOf(message, 'The message').resourceSpans, 'resourceSpans').map((entry) => {
    const { resource, scopeSpans } = messageOf(entry, 'resourceSpans');
    const scopes = listOf(scopeSpans, 'scopeSpans').map((scope) => messageOf(scope, 'scopeSpans'));
    return { resource, spans: scopes.flatMap(({ spans }) => listOf(spans, 'spans')) };
  });
}

/**
 * Returns the recorded calls of the spans of a message in OTLP's JSON encoding.
 * @throws SpanFault for a value that is no such message, and for a span without ids or a start.
 */
export function otlpCalls(message: unknown, projectId: string): SpanCall[] {
  return readOtlpJson(message).flatMap(({ resource, spans }) => {
    const source = readSpanResource(resource, JSON.parse);
    return [...spans].map((span) => spanToCall(span, source, projectId, JSON.parse));
  });
}
