import * as z from 'zod';
import { projectId } from './identifiers.ts';

/** Request for one recorded call. */
export const readCallRequest = z.strictObject({ project_id: projectId, id: z.string().min(1) });
export type ReadCallRequest = z.infer<typeof readCallRequest>;

/** A recorded call: its inputs, its output, and how it ended. */
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

/** The call; null if the project has none with this id. */
export const readCallResponse = z.looseObject({ call: recordedCall.nullish() });
export type ReadCallResponse = z.infer<typeof readCallResponse>;

/** The members of a call that a query can request. */
export const callColumns: readonly string[] = Object.keys(recordedCall.shape);

/** Request for several recorded calls. */
export const queryCallsRequest = z.strictObject({
  project_id: projectId,
  filter: z
    .strictObject({
      call_ids: z
        .array(z.string())
        .max(1000)
        .nullish()
        .describe('Return only these calls; unknown ids are skipped. An empty list filters nothing.'),
    })
    .nullish(),
  limit: z.int().min(0).nullish().describe('Maximum number of calls to return.'),
  offset: z.int().min(0).nullish().describe('Number of calls to skip.'),
  columns: z
    .array(z.string().regex(new RegExp(`^(${callColumns.join('|')})([.].*)?$`)))
    .nullish()
    .describe('Members of a call to fill, such as inputs, or inputs.question for that part of inputs alone.'),
});
export type QueryCallsRequest = z.infer<typeof queryCallsRequest>;
