import * as z from 'zod';
import { projectId } from './identifiers.ts';

/** Request for one recorded call. */
export const readCallRequest = z.strictObject({ project_id: projectId, id: z.string().min(1) });

export type ReadCallRequest = z.infer<typeof readCallRequest>;

/** A recorded call: what went in, what came out, and how it ended. */
export const recordedCall = z.looseObject({
  id: z.string(),
  project_id: z.string().nullish(),
  op_name: z.string().nullish(),
  display_name: z.string().nullish(),
  trace_id: z.string().nullish(),
  parent_id: z.string().nullish(),
  started_at: z.string().nullish(),
  ended_at: z.string().nullish(),
  attributes: z.unknown().optional(),
  inputs: z.unknown().optional(),
  output: z.unknown().optional(),
  summary: z.unknown().optional(),
  exception: z.string().nullish(),
  wb_user_id: z.string().nullish(),
});

export type RecordedCall = z.infer<typeof recordedCall>;

/** The call, or null when the project has none of that id. */
export const readCallResponse = z.looseObject({ call: recordedCall.nullish() });

export type ReadCallResponse = z.infer<typeof readCallResponse>;

/** Members of a call that a query can ask for. */
export const callColumns: readonly string[] = Object.keys(recordedCall.shape);

/** Request of the call query; the answer has one call a line, the one that started first at the top. */
export const queryCallsRequest = z.strictObject({
  project_id: projectId,
  filter: z
    .strictObject({
      call_ids: z
        .array(z.string())
        .max(1000)
        .nullish()
        .describe(
          'Only these calls; those that the project does not have are left out. An empty list filters nothing.',
        ),
    })
    .nullish(),
  limit: z.int().min(0).nullish().describe('Most calls to return.'),
  offset: z.int().min(0).nullish().describe('Calls to pass over first.'),
  columns: z
    .array(z.string().regex(new RegExp(`^(${callColumns.join('|')})([.].*)?$`)))
    .nullish()
    .describe('Members of a call to fill, like inputs; of one like inputs.question only that, or the whole inputs.'),
});

export type QueryCallsRequest = z.infer<typeof queryCallsRequest>;
