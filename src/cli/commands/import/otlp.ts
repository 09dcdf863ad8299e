import { objectOrEmpty } from '../../../core/json/json-object.ts';
import { otlpCalls } from '../../../service/start-service.ts';
import { type FileFormat, namedInputs } from './imported-call.ts';

/** Spans in OTLP's JSON encoding, as OpenTelemetry collectors write them to files. */
export const otlpSpans: FileFormat = {
  name: 'spans of OpenTelemetry',
  matches: (row) => Array.isArray(row.resourceSpans),
  convert: (row, _around, projectId) =>
    otlpCalls(row, projectId).map((call) => ({
      id: call.id,
      opName: call.op_name,
      traceId: call.trace_id,
      parentId: call.parent_id ?? undefined,
      isStep: true,
      threadId: call.thread_id ?? undefined,
      displayName: call.display_name ?? undefined,
      startedAt: call.started_at,
      endedAt: call.ended_at,
      inputs: namedInputs(call.inputs),
      output: call.output,
      exception: call.exception ?? undefined,
      attributes: objectOrEmpty(call.attributes),
      usage: objectOrEmpty(objectOrEmpty(call.summary).usage),
    })),
};
