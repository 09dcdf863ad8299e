import { listOf, messageOf } from './attributes.ts';
import type { SpanGroup } from './decode-protobuf.ts';

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
