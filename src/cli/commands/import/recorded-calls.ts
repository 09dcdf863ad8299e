import { isJsonObject, objectOrEmpty } from '../../../core/json/json-object.ts';
import { type FileFormat, filledMembers, namedInputs, optionalText, timeOf } from './imported-call.ts';

/** Recorded calls as the service's own interface lists them. */
export const recordedCalls: FileFormat = {
  name: 'recorded calls',
  matches: (row) => 'op_name' in row && 'started_at' in row && 'trace_id' in row && isJsonObject(row.inputs),
  convert: (row) => [
    {
      id: optionalText(row.id),
      opName: optionalText(row.op_name),
      traceId: optionalText(row.trace_id),
      parentId: optionalText(row.parent_id),
      isStep: true,
      threadId: optionalText(row.thread_id),
      displayName: optionalText(row.display_name),
      startedAt: timeOf(row.started_at),
      endedAt: timeOf(row.ended_at),
      inputs: namedInputs(row.inputs),
      output: row.output,
      exception: optionalText(row.exception),
      attributes: filledMembers(objectOrEmpty(row.attributes)),
      usage: isJsonObject(objectOrEmpty(row.summary).usage)
        ? objectOrEmpty(objectOrEmpty(row.summary).usage)
        : undefined,
    },
  ],
};
