import * as z from 'zod';
import { expressionQuery } from './calls.ts';
import { endpoint, projectInBody } from './endpoint.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** Returns the feedback type of judgements of a field, which refer to the field with `annotation_ref`. */
export const annotationFeedbackType = (field: string): string => `wandb.annotation.${field}`;

/** Returns the feedback type of scores of a scorer or an op, to which they refer with `runnable_ref`. */
export const scoreFeedbackType = (name: string): string => `wandb.runnable.${name}`;

/** Returns the feedback type of values that settle disputes about a field; it is heddle's own. */
export const goldFeedbackType = (field: string): string => `heddle.gold.${field}`;

/** Returns the feedback type of judgements in a queue without fields, which the service would refuse as annotations. */
export const freeJudgementType = (name: string): string => `heddle.judgement.${name}`;

/** The beginnings of the types of judgements, which end with the field. */
export const judgementTypes: readonly string[] = [annotationFeedbackType(''), freeJudgementType('')];

const createFeedbackRequest = z.object({
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

/** Matches feedback whose id the client chose, by which the service recognizes it. */
const feedbackWithId = z.looseObject({ id: z.string() });

const createFeedbackResponse = z.looseObject({
  id: z.string(),
  created_at: z.string(),
  wb_user_id: z.string().nullish(),
  payload: z.record(z.string(), z.unknown()).nullish(),
});

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

export const feedbackEndpoints = {
  createFeedback: endpoint({
    summary: 'Create feedback on a recorded call',
    description:
      'An annotation (wandb.annotation.<field>) needs annotation_ref, and a value that fits the schema of the field.',
    path: '/feedback/create',
    projects: projectInBody,
    request: createFeedbackRequest,
    response: createFeedbackResponse,
    writes: true,
    repeatable: true,
    repeatableWith: feedbackWithId,
  }),
  createFeedbackBatch: endpoint({
    summary: 'Create several feedbacks',
    description: 'Nothing is stored if one of them is invalid.',
    path: '/feedback/batch/create',
    projects: ({ body }) => body.batch.map(({ project_id }) => project_id),
    request: z.object({ batch: z.array(createFeedbackRequest).max(1000) }),
    // In the order of the request.
    response: z.looseObject({ res: z.array(createFeedbackResponse) }),
    writes: true,
    repeatable: true,
    repeatableWith: z.looseObject({ batch: z.array(feedbackWithId) }),
  }),
  queryFeedback: endpoint({
    summary: 'Query feedback',
    path: '/feedback/query',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      fields: z.array(z.string()).nullish().describe('Members of feedback to return; all of them by default.'),
      query: expressionQuery.nullish(),
      sort_by: z.array(sortKey).nullish().describe('By members of feedback; created_at ascending by default.'),
      limit: z.int().min(0).nullish().describe('Maximum number of feedbacks to return.'),
      offset: z.int().min(0).nullish().describe('Number of feedbacks to skip.'),
    }),
    response: z.looseObject({ result: z.array(storedFeedback) }),
  }),
  replaceFeedback: endpoint({
    summary: 'Replace feedback',
    description: 'Deletes the feedback feedback_id, and creates the one that the other members describe.',
    path: '/feedback/replace',
    projects: projectInBody,
    request: createFeedbackRequest.extend({ feedback_id: z.string().min(1) }),
    response: createFeedbackResponse,
    writes: true,
    repeatable: false,
  }),
  purgeFeedback: endpoint({
    summary: 'Delete feedback',
    path: '/feedback/purge',
    projects: projectInBody,
    // The query names ids: `$eq` of `id` and a literal, or `$or` of several.
    request: z.object({ project_id: projectId, query: expressionQuery }),
    response: z.looseObject({ reopened_items: z.array(z.string()).nullish() }),
    writes: true,
    repeatable: true,
  }),
};
