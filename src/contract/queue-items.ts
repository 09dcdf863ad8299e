import * as z from 'zod';
import { projectId } from './identifiers.ts';

export const annotationStates = ['unstarted', 'in_progress', 'completed', 'skipped'] as const;
export type AnnotationState = (typeof annotationStates)[number];

export const sortFields = ['call_started_at', 'call_op_name', 'created_at', 'updated_at'] as const;
export const sortDirections = ['asc', 'desc'] as const;

/**
 * One item of an annotation queue (interface 2.1). What the public service may leave out or send as null is optional
 * here, members that the interface does not name are kept, and `annotation_state` is open: a new state must not make a
 * page unreadable.
 */
export const queueItem = z.looseObject({
  id: z.string(),
  project_id: z.string(),
  queue_id: z.string(),
  call_id: z.string(),
  call_started_at: z.string(),
  call_op_name: z.string(),
  call_trace_id: z.string(),
  display_fields: z.array(z.string()),
  annotation_state: z.string(),
  created_at: z.string(),
  created_by: z.string(),
  updated_at: z.string(),
  call_ended_at: z.string().nullish(),
  added_by: z.string().nullish(),
  annotator_user_id: z.string().nullish(),
  deleted_at: z.string().nullish(),
  position_in_queue: z.int().nullish(),
});

export type QueueItem = z.infer<typeof queueItem>;

/** The filter (interface 2.2): exact, case-sensitive equality, members ANDed; an empty list of states filters nothing. */
export const queueItemsFilter = z.strictObject({
  id: z.string().nullish().describe('Item identifier.'),
  call_id: z.string().nullish().describe('Recorded call.'),
  call_op_name: z.string().nullish().describe('Operation name of the call, whole.'),
  call_trace_id: z.string().nullish().describe('Trace of the call.'),
  added_by: z.string().nullish().describe('Who added the item.'),
  annotation_states: z.array(z.enum(annotationStates)).nullish().describe('Any of these states.'),
});

/** One key of the order (interface 2.3). */
export const sortEntry = z.strictObject({
  field: z.enum(sortFields).describe('Field to sort by.'),
  direction: z.enum(sortDirections).describe('asc or desc.'),
});

/** Request body of the item query (interface 4.1). */
export const queryQueueItemsRequest = z.strictObject({
  project_id: projectId,
  filter: queueItemsFilter.nullish().describe('Only items that match every given member exactly.'),
  sort_by: z.array(sortEntry).nullish().describe('Order, most important key first; without it created_at ascending.'),
  limit: z.int().min(0).nullish().describe('Most items to return.'),
  offset: z.int().min(0).nullish().describe('Items to pass over first.'),
  include_position: z
    .boolean()
    .optional()
    .describe('Also give position_in_queue: the 1-based place of each item in the whole queue, in this order.'),
});

export type QueryQueueItemsRequest = z.infer<typeof queryQueueItemsRequest>;

/** Response of the item query (interface 4.1). */
export const queryQueueItemsResponse = z.looseObject({ items: z.array(queueItem) });

export type QueryQueueItemsResponse = z.infer<typeof queryQueueItemsResponse>;

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

export type AddQueueItemsRequest = z.infer<typeof addQueueItemsRequest>;
export type UpdateProgressRequest = z.infer<typeof updateProgressRequest>;
export type UpdateProgressResponse = z.infer<typeof updateProgressResponse>;
