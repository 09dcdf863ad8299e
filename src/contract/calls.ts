import * as z from 'zod';
import { normalizeTimestamp } from '../core/timestamps.ts';
import { endpoint, projectInBody, projectInPath } from './endpoint.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';
import { checkedOneByOne } from './validation.ts';

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

const queryCallsRequest = z.object({
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
  include_costs: z.boolean().nullish().describe('Add what the models in summary.usage cost, as summary.weave.costs.'),
  include_feedback: z.boolean().nullish().describe('Add the feedback on each call, as summary.weave.feedback.'),
});

const callId = z.string().min(1);
/** A time as {@link normalizeTimestamp} reads it. */
export const timestamp = z
  .string()
  .refine((text) => normalizeTimestamp(text) !== undefined, 'must be an ISO 8601 date and time');
const time = timestamp.describe('ISO 8601; UTC if it names no zone.');
const members = z.record(z.string(), z.unknown());

/** The members of a call that are known when it starts. */
export const startedCall = z.object({
  project_id: projectId,
  id: callId.nullish().describe('Chosen by the client, so that it can send the start again; else by the service.'),
  op_name: z.string().describe('Name of the operation, or a reference to it.'),
  display_name: z.string().nullish(),
  trace_id: z.string().nullish(),
  parent_id: z.string().nullish(),
  thread_id: z.string().nullish(),
  turn_id: z.string().nullish(),
  started_at: time,
  attributes: members,
  inputs: members,
  wb_run_id: z.string().nullish(),
});
export type StartedCall = z.infer<typeof startedCall>;

/** The members of a call that are known when it ends. */
export const endedCall = z.object({
  project_id: projectId,
  id: callId,
  ended_at: time,
  exception: z.string().nullish(),
  output: z.unknown().optional(),
  summary: members,
});
export type EndedCall = z.infer<typeof endedCall>;

export const completedCall = z.object({
  ...startedCall.shape,
  id: callId,
  trace_id: z.string(),
  ended_at: time,
  exception: z.string().nullish(),
  output: z.unknown().optional(),
  summary: members.nullish(),
});
export type CompletedCall = z.infer<typeof completedCall>;

/** Request to record the start of a call. The end may arrive first, and the same start again changes nothing. */
const startCallRequest = z.object({ start: startedCall });

const startCallResponse = z.looseObject({ id: z.string(), trace_id: z.string() });

/** Request to record the end of a call. Only the first end of a call counts. */
const endCallRequest = z.object({ end: endedCall });

/** The response of operations that have nothing to say. */
export const emptyResponse = z.looseObject({});

export const callEndpoints = {
  readCall: endpoint({
    summary: 'Read a recorded call',
    path: '/call/read',
    projects: projectInBody,
    request: z.object({ project_id: projectId, id: z.string().min(1), include_costs: z.boolean().nullish() }),
    // Null if the project has no call with this id.
    response: z.looseObject({ call: recordedCall.nullish() }),
  }),
  queryCalls: endpoint({
    summary: 'Query recorded calls',
    description:
      'By default the call that started first comes first; ties are broken by id. With columns, other members are empty.',
    path: '/calls/stream_query',
    projects: projectInBody,
    request: queryCallsRequest,
    response: recordedCall,
    lines: true,
  }),
  countCalls: endpoint({
    summary: 'Count recorded calls',
    path: '/calls/query_stats',
    projects: projectInBody,
    request: queryCallsRequest
      .pick({ project_id: true, filter: true, query: true, limit: true, expand_columns: true })
      .extend({ include_total_storage_size: z.boolean().nullish().describe('Add the bytes of their JSON.') }),
    response: z.looseObject({
      count: z.int(),
      has_more: z.boolean().nullish().describe('True if more calls match than limit.'),
      total_storage_size_bytes: z.int().nullish(),
    }),
  }),
  recordCalls: endpoint({
    summary: 'Record starts and ends of calls',
    description:
      'A start and its end may arrive in different requests and in any order. What was recorded before does not change, so a request can be sent again.',
    path: '/call/upsert_batch',
    projects: ({ body }) => body.batch.map(({ req }) => ('start' in req ? req.start : req.end).project_id),
    // All of them are recorded, or none if one is invalid.
    request: z.object({
      batch: checkedOneByOne(
        z.discriminatedUnion('mode', [
          z.object({ mode: z.literal('start'), req: startCallRequest }),
          z.object({ mode: z.literal('end'), req: endCallRequest }),
        ]),
      ).describe('Each {"mode":"start","req":{"start":…}} or {"mode":"end","req":{"end":…}}.'),
    }),
    // The id and trace of each start, and an empty object for each end, in the order of the request.
    response: z.looseObject({
      res: z.array(z.looseObject({ id: z.string().optional(), trace_id: z.string().optional() })),
    }),
    writes: true,
    repeatable: true,
    // A start without an id that arrives again is another call.
    repeatableWith: z.looseObject({
      batch: z.array(
        z.union([
          z.looseObject({ mode: z.literal('end') }),
          z.looseObject({ req: z.looseObject({ start: z.looseObject({ id: z.string() }) }) }),
        ]),
      ),
    }),
  }),
  startCall: endpoint({
    summary: 'Record the start of a call',
    path: '/call/start',
    projects: ({ body }) => [body.start.project_id],
    request: startCallRequest,
    response: startCallResponse,
    writes: true,
    repeatable: false,
  }),
  endCall: endpoint({
    summary: 'Record the end of a call',
    path: '/call/end',
    projects: ({ body }) => [body.end.project_id],
    request: endCallRequest,
    response: emptyResponse,
    writes: true,
    repeatable: true,
  }),
  startCallInProject: endpoint({
    summary: 'Record the start of a call of a project',
    path: '/v2/{entity}/{project}/call/start',
    projects: ({ path, body }) => [...projectInPath({ path }), body.start.project_id],
    request: startCallRequest,
    response: startCallResponse,
    writes: true,
    repeatable: false,
  }),
  endCallInProject: endpoint({
    summary: 'Record the end of a call of a project',
    path: '/v2/{entity}/{project}/call/end',
    projects: ({ path, body }) => [...projectInPath({ path }), body.end.project_id],
    request: endCallRequest,
    response: emptyResponse,
    writes: true,
    repeatable: true,
  }),
  completeCalls: endpoint({
    summary: 'Record calls that have ended',
    path: '/v2/{entity}/{project}/calls/complete',
    projects: ({ path, body }) => [...projectInPath({ path }), ...body.batch.map(({ project_id }) => project_id)],
    // All of them are recorded, or none if one is invalid.
    request: z.object({
      batch: checkedOneByOne(completedCall).describe('Calls with the members of their start and of their end.'),
    }),
    response: emptyResponse,
    writes: true,
    repeatable: true,
  }),
  updateCall: endpoint({
    summary: 'Name a recorded call',
    path: '/call/update',
    projects: projectInBody,
    // An empty name removes the name of the call.
    request: z.object({ project_id: projectId, call_id: callId, display_name: z.string().nullish() }),
    response: emptyResponse,
    writes: true,
    repeatable: true,
  }),
  deleteCalls: endpoint({
    summary: 'Delete recorded calls',
    description:
      'Calls that a deleted call made are deleted with it. A start that is sent again does not bring them back.',
    path: '/calls/delete',
    projects: projectInBody,
    request: z.object({ project_id: projectId, call_ids: z.array(callId).max(1000) }),
    response: z.looseObject({ num_deleted: z.int().optional() }),
    writes: true,
    repeatable: true,
  }),
};
