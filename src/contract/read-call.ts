import * as z from 'zod';
import { projectId } from './path-segments.ts';

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
