import * as z from 'zod';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

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
});
export type Queue = z.infer<typeof queue>;

export const queueSortFields = ['id', 'created_at', 'updated_at', 'name'] as const;

/** Request for the queues of a project. */
export const queryQueuesRequest = z.object({
  project_id: projectId,
  name: z.string().nullish().describe('Return only queues whose name contains this text, in any case.'),
  sort_by: z.array(sortKey).nullish(),
  limit: z.int().min(0).nullish().describe('Maximum number of queues to return.'),
  offset: z.int().min(0).nullish().describe('Number of queues to skip.'),
});
export type QueryQueuesRequest = z.infer<typeof queryQueuesRequest>;

/** Query parameters for reading one queue. */
export const readQueueQuery = z.object({ project_id: projectId });

export const readQueueResponse = z.looseObject({ queue });
export type ReadQueueResponse = z.infer<typeof readQueueResponse>;

/** Request for the item counts of several queues. */
export const queueStatsRequest = z.object({ project_id: projectId, queue_ids: z.array(z.string()) });
export type QueueStatsRequest = z.infer<typeof queueStatsRequest>;

/** Item counts; `completed_items` counts those that any annotator has completed or skipped. */
export const queueStatsResponse = z.looseObject({
  stats: z.array(z.looseObject({ queue_id: z.string(), total_items: z.int(), completed_items: z.int() })),
});
export type QueueStatsResponse = z.infer<typeof queueStatsResponse>;

/** Request to create an empty queue. */
export const createQueueRequest = z.object({
  project_id: projectId,
  name: z.string().min(1),
  description: z.string().nullish().describe('Guidelines for the annotators.'),
  scorer_refs: z.array(z.string()).describe('References to the fields that annotators fill in.'),
});
export type CreateQueueRequest = z.infer<typeof createQueueRequest>;

export const createQueueResponse = z.looseObject({ id: z.string() });
export type CreateQueueResponse = z.infer<typeof createQueueResponse>;

/** Request to change a queue; members that are absent or null stay as they are. */
export const updateQueueRequest = z.object({
  project_id: projectId,
  name: z.string().min(1).nullish(),
  description: z.string().nullish(),
  scorer_refs: z.array(z.string()).nullish(),
});
export type UpdateQueueRequest = z.infer<typeof updateQueueRequest>;
