import * as z from 'zod';
import { endpoint, projectInBody, projectInQuery } from './endpoint.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** How many annotators judge each item: a number, or so many people and so many agents. */
export const reviewersPerItem = z.union([
  z.int().min(1).max(100),
  z
    .object({ people: z.int().min(0).max(100).default(0), agents: z.int().min(0).max(100).default(0) })
    .refine(({ people, agents }) => people + agents > 0, 'must want someone'),
]);
/** Describes the number to a model, to which the schema does not show the object. */
export const reviewersDescription = '1, or {"people":2,"agents":1}.';
export type ReviewersPerItem = z.infer<typeof reviewersPerItem>;

/** Names of the accounts that may claim. */
export const assignees = z.array(z.string().min(1).max(256)).max(100);

/** One annotation queue. */
export const queue = z.looseObject({
  id: z.string(),
  project_id: z.string(),
  name: z.string(),
  description: z.string().nullish(),
  scorer_refs: z.array(z.string()).nullish(),
  created_at: z.string(),
  created_by: z.string().nullish(),
  updated_at: z.string().nullish(),
  deleted_at: z.string().nullish(),
  // The public service sends neither.
  reviewers_per_item: reviewersPerItem.nullish(),
  assignees: assignees.nullish(),
});
export type Queue = z.infer<typeof queue>;

export const queueSortFields = ['id', 'created_at', 'updated_at', 'name'] as const;

/** Request for the queues of a project. */
export const queryQueuesRequest = z.object({
  project_id: projectId,
  name: z.string().nullish().describe('Part of the name.'),
  sort_by: z.array(sortKey).nullish(),
  limit: z.int().min(0).nullish().describe('Maximum number of queues to return.'),
  offset: z.int().min(0).nullish().describe('Number of queues to skip.'),
});

const readQueueQuery = z.object({ project_id: projectId });

/** Numbers of the items of a queue. `completed_items` counts those that any annotator has completed or skipped. */
const itemStats = z.looseObject({
  queue_id: z.string(),
  total_items: z.int(),
  completed_items: z.int(),
  // The public service sends neither.
  own_completed_items: z.int().optional(),
  annotator_user_id: z.string().optional(),
});
const readQueueResponse = z.looseObject({ queue });

export const queueEndpoints = {
  queryQueues: endpoint({
    summary: 'Query queues',
    description: 'By default the newest queue comes first.',
    path: '/annotation_queues/query',
    projects: projectInBody,
    request: queryQueuesRequest,
    response: queue,
    lines: true,
  }),
  queueStats: endpoint({
    summary: 'Count the items of queues',
    path: '/annotation_queues/stats',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      queue_ids: z.array(z.string()),
      include_own_state: z
        .boolean()
        .optional()
        .describe(
          'Add own_completed_items, those that the caller has finished, and annotator_user_id, the name of the caller.',
        ),
    }),
    response: z.looseObject({ stats: z.array(itemStats) }),
  }),
  readQueue: endpoint({
    summary: 'Read a queue',
    method: 'GET',
    path: '/annotation_queues/{queue_id}',
    projects: projectInQuery,
    query: readQueueQuery.extend({
      include_stats: z.literal('true').optional().describe('Add the numbers of the items, and of those of the caller.'),
    }),
    // The public service sends no numbers.
    response: readQueueResponse.extend({ stats: itemStats.optional() }),
  }),
  createQueue: endpoint({
    summary: 'Create a queue',
    path: '/annotation_queues',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      name: z.string().min(1),
      description: z.string().nullish().describe('Guidelines for the annotators.'),
      scorer_refs: z.array(z.string()).describe('References to the fields that annotators fill in.'),
      reviewers_per_item: reviewersPerItem.nullish().describe('How many annotators judge each item; 1 by default.'),
      assignees: assignees.nullish().describe('The accounts that may claim items; by default all.'),
    }),
    response: z.looseObject({ id: z.string() }),
    writes: true,
    repeatable: false,
  }),
  updateQueue: endpoint({
    summary: 'Change a queue',
    method: 'PUT',
    path: '/annotation_queues/{queue_id}',
    projects: projectInBody,
    // Members that are absent or null stay as they are.
    request: z.object({
      project_id: projectId,
      name: z.string().min(1).nullish(),
      description: z.string().nullish(),
      scorer_refs: z.array(z.string()).nullish(),
      reviewers_per_item: reviewersPerItem.nullish(),
      assignees: assignees.nullish().describe('An empty list lets every account claim.'),
    }),
    response: readQueueResponse,
    writes: true,
    repeatable: true,
  }),
  deleteQueue: endpoint({
    summary: 'Delete a queue',
    description: 'Its items can no longer be listed.',
    method: 'DELETE',
    path: '/annotation_queues/{queue_id}',
    projects: projectInQuery,
    query: readQueueQuery,
    response: readQueueResponse,
    writes: true,
    repeatable: false,
  }),
};
