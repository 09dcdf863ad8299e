import * as z from 'zod';
import { projectId } from './path-segments.ts';
import { annotationStates, queueItem } from './query-queue-items.ts';

/** A new, empty queue. */
export const createQueueRequest = z.strictObject({
  project_id: projectId,
  name: z.string().min(1),
  description: z.string(),
  scorer_refs: z.array(z.string()),
});
export const createQueueResponse = z.looseObject({ id: z.string() });

/** Recorded calls to be judged, put into a queue; calls that it holds already are counted as duplicates. */
export const addQueueItemsRequest = z.strictObject({
  project_id: projectId,
  call_ids: z.array(z.string()),
  display_fields: z.array(z.string()),
});
export const addQueueItemsResponse = z.looseObject({ added_count: z.int(), duplicates: z.int() });

/**
 * The caller's progress on one item. Without a record any of in_progress, completed and skipped may follow; from
 * unstarted and in_progress completed or skipped; the same state again changes nothing; anything else is refused.
 */
export const updateProgressRequest = z.strictObject({
  project_id: projectId,
  annotation_state: z.enum(annotationStates),
});
export const updateProgressResponse = z.looseObject({ item: queueItem });

export type CreateQueueRequest = z.infer<typeof createQueueRequest>;
export type AddQueueItemsRequest = z.infer<typeof addQueueItemsRequest>;
export type UpdateProgressRequest = z.infer<typeof updateProgressRequest>;
export type UpdateProgressResponse = z.infer<typeof updateProgressResponse>;
