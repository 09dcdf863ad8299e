import * as z from 'zod';
import { expressionQuery } from './calls.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** Returns the feedback type of judgements of a field, which refer to the field with `annotation_ref`. */
export const annotationFeedbackType = (field: string): string => `wandb.annotation.${field}`;

/** Request to create feedback on a recorded call. It is safe to repeat only with an `id` that the client chose. */
export const createFeedbackRequest = z.object({
  project_id: projectId,
  weave_ref: z.string().describe('Reference to the call.'),
  feedback_type: z.string().min(1),
  payload: z.record(z.string(), z.unknown()),
  annotation_ref: z.string().nullish().describe('Reference to the field of an annotation, with its digest.'),
  runnable_ref: z.string().nullish().describe('Reference to the scorer of a score.'),
  call_ref: z.string().nullish().describe('Reference to the call that scored.'),
  trigger_ref: z.string().nullish(),
  queue_id: z.string().nullish(),
  creator: z.string().nullish().describe('Name of the author, for display.'),
  id: z.string().nullish(),
});
export type CreateFeedbackRequest = z.infer<typeof createFeedbackRequest>;

/** Request to delete feedback and to create another in its place. */
export const replaceFeedbackRequest = createFeedbackRequest.extend({ feedback_id: z.string().min(1) });
export type ReplaceFeedbackRequest = z.infer<typeof replaceFeedbackRequest>;

/** The stored feedback. */
export const createFeedbackResponse = z.looseObject({
  id: z.string(),
  created_at: z.string(),
  wb_user_id: z.string().nullish(),
  payload: z.record(z.string(), z.unknown()).nullish(),
});
export type CreateFeedbackResponse = z.infer<typeof createFeedbackResponse>;

/** Request to create several feedbacks at once; all of them, or none if one is invalid. */
export const createFeedbackBatchRequest = z.object({ batch: z.array(createFeedbackRequest).max(1000) });
export type CreateFeedbackBatchRequest = z.infer<typeof createFeedbackBatchRequest>;

/** The stored feedbacks, in the order of the request. */
export const createFeedbackBatchResponse = z.looseObject({ res: z.array(createFeedbackResponse) });
export type CreateFeedbackBatchResponse = z.infer<typeof createFeedbackBatchResponse>;

/** Stored feedback, with the members of the request that created it. */
export const storedFeedback = z.looseObject({
  id: z.string(),
  weave_ref: z.string(),
  feedback_type: z.string(),
  payload: z.record(z.string(), z.unknown()).nullish(),
  created_at: z.string(),
  wb_user_id: z.string().nullish(),
  creator: z.string().nullish(),
  annotation_ref: z.string().nullish(),
  queue_id: z.string().nullish(),
});
export type StoredFeedback = z.infer<typeof storedFeedback>;

/** Request for stored feedback. */
export const queryFeedbackRequest = z.object({
  project_id: projectId,
  fields: z.array(z.string()).nullish().describe('Members of feedback to return; all of them by default.'),
  query: expressionQuery.nullish(),
  sort_by: z.array(sortKey).nullish().describe('By members of feedback; created_at ascending by default.'),
  limit: z.int().min(0).nullish().describe('Maximum number of feedbacks to return.'),
  offset: z.int().min(0).nullish().describe('Number of feedbacks to skip.'),
});
export type QueryFeedbackRequest = z.infer<typeof queryFeedbackRequest>;

export const queryFeedbackResponse = z.looseObject({ result: z.array(storedFeedback) });
export type QueryFeedbackResponse = z.infer<typeof queryFeedbackResponse>;

/** Request to delete feedback. The query names ids: `$eq` of `id` and a literal, or `$or` of several. */
export const purgeFeedbackRequest = z.object({ project_id: projectId, query: expressionQuery });
export type PurgeFeedbackRequest = z.infer<typeof purgeFeedbackRequest>;

export const purgeFeedbackResponse = z.looseObject({});
