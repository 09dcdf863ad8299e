import * as z from 'zod';
import { projectId } from './identifiers.ts';
import { sortKey } from './queue-items.ts';

/** Request for one recorded call. */
export const readCallRequest = z.object({ project_id: projectId, id: z.string().min(1) });
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
  wb_run_id: z.string().nullish(),
  deleted_at: z.string().nullish(),
});
export type RecordedCall = z.infer<typeof recordedCall>;

/** The call; null if the project has none with this id. */
export const readCallResponse = z.looseObject({ call: recordedCall.nullish() });
export type ReadCallResponse = z.infer<typeof readCallResponse>;

/** The members of a call that a query can request. */
export const callColumns: readonly string[] = Object.keys(recordedCall.shape);

const texts = z.array(z.string()).nullish();
/** Each path is looked up in every call that matches. */
const paths = z.array(z.string()).max(1000).nullish();

/** Filter of recorded calls: all members must match, each by any of its values. An empty list filters nothing. */
export const callsFilter = z.object({
  call_ids: texts.describe('Ids; unknown ones are skipped.'),
  op_names: texts.describe('Operations. A reference to an operation with version * matches every version.'),
  trace_ids: texts,
  parent_ids: texts,
  thread_ids: texts,
  turn_ids: texts,
  input_refs: texts.describe('References that occur in the inputs.'),
  output_refs: texts.describe('References that occur in the output.'),
  wb_user_ids: texts,
  wb_run_ids: texts,
  trace_roots_only: z.boolean().nullish().describe('Return only calls without a parent.'),
});
export type CallsFilter = z.infer<typeof callsFilter>;

/** A condition in the form of a MongoDB expression; see docs/interface.md. */
export const expressionQuery = z.object({ $expr: z.record(z.string(), z.unknown()) });
export type ExpressionQuery = z.infer<typeof expressionQuery>;

/** Request for several recorded calls. */
export const queryCallsRequest = z.object({
  project_id: projectId,
  filter: callsFilter.nullish(),
  query: expressionQuery.nullish(),
  sort_by: z.array(sortKey).max(20).nullish().describe('By members of a call, such as started_at or inputs.score.'),
  limit: z.int().min(0).nullish().describe('Maximum number of calls to return.'),
  offset: z.int().min(0).nullish().describe('Number of calls to skip.'),
  columns: paths.describe(
    'Members of a call to fill, such as inputs, or inputs.question for that part of inputs alone.',
  ),
  expand_columns: paths.describe('Paths whose references to objects are replaced by the objects.'),
});
export type QueryCallsRequest = z.infer<typeof queryCallsRequest>;

/** Request for the number of recorded calls that match. */
export const countCallsRequest = queryCallsRequest.pick({ project_id: true, filter: true, query: true, limit: true });
export type CountCallsRequest = z.infer<typeof countCallsRequest>;

export const countCallsResponse = z.looseObject({ count: z.int() });
export type CountCallsResponse = z.infer<typeof countCallsResponse>;
