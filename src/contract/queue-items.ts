import * as z from 'zod';
import { storedFeedback } from './feedback.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

export const annotationStates = ['unstarted', 'in_progress', 'completed', 'skipped'] as const;
export type AnnotationState = (typeof annotationStates)[number];

export const sortFields = ['call_started_at', 'call_op_name', 'created_at', 'updated_at'] as const;

/**
 * One item of an annotation queue. Members that the public service may omit are optional, and `annotation_state` is any
 * string, so that a new state does not make a page unreadable.
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

/** Filter of queue items: every member must be equal, including case. An empty list of states filters nothing. */
export const queueItemsFilter = z.object({
  id: z.string().nullish().describe('Item.'),
  call_id: z.string().nullish().describe('Recorded call.'),
  call_op_name: z.string().nullish().describe('Exact operation name.'),
  call_trace_id: z.string().nullish().describe('Trace of the call.'),
  added_by: z.string().nullish().describe('User who added the item.'),
  annotation_states: z.array(z.enum(annotationStates)).nullish().describe('Any of these states.'),
  ids: z.array(z.string()).max(1000).nullish().describe('Any of these items.'),
  call_ids: z.array(z.string()).max(1000).nullish().describe('Items of any of these recorded calls.'),
});

/** Request for the items of a queue. */
export const queryQueueItemsRequest = z.object({
  project_id: projectId,
  filter: queueItemsFilter.nullish().describe('Return only items that match every member exactly.'),
  sort_by: z.array(sortKey).nullish().describe('Most important key first; created_at ascending by default.'),
  limit: z.int().min(0).nullish().describe('Maximum number of items to return.'),
  offset: z.int().min(0).nullish().describe('Number of items to skip.'),
  include_position: z.boolean().optional().describe('Add position_in_queue, from 1, in this order.'),
  include_feedback: z.boolean().optional().describe('Add the feedback that was given on these items in the queue.'),
});
export type QueryQueueItemsRequest = z.infer<typeof queryQueueItemsRequest>;

/** A page of queue items. The public service does not send their feedback. */
export const queryQueueItemsResponse = z.looseObject({
  items: z.array(queueItem),
  feedback: z.array(storedFeedback).optional(),
});
export type QueryQueueItemsResponse = z.infer<typeof queryQueueItemsResponse>;

/** Request to add recorded calls to a queue. */
export const addQueueItemsRequest = z.object({
  project_id: projectId,
  call_ids: z.array(z.string()),
  display_fields: z.array(z.string()),
});
export type AddQueueItemsRequest = z.infer<typeof addQueueItemsRequest>;

/** The number of calls that were added, and of those that the queue already held. */
export const addQueueItemsResponse = z.looseObject({ added_count: z.int(), duplicates: z.int() });
export type AddQueueItemsResponse = z.infer<typeof addQueueItemsResponse>;

/** Request to set the caller's progress on an item; docs/interface.md lists the allowed transitions. */
export const updateProgressRequest = z.object({
  project_id: projectId,
  annotation_state: z.string().describe('in_progress, completed or skipped.'),
});
export type UpdateProgressRequest = z.infer<typeof updateProgressRequest>;

/** Request to set the caller's progress on several items. */
export const updateProgressBatchRequest = z.object({
  project_id: projectId,
  updates: z
    .array(z.object({ item_id: z.string(), annotation_state: updateProgressRequest.shape.annotation_state }))
    .max(1000),
});
export type UpdateProgressBatchRequest = z.infer<typeof updateProgressBatchRequest>;

/** For each update, in their order, the item after the change, or the reason why its state stays. */
export const updateProgressBatchResponse = z.looseObject({
  results: z.array(z.looseObject({ item: queueItem.optional(), reason: z.string().optional() })),
});
export type UpdateProgressBatchResponse = z.infer<typeof updateProgressBatchResponse>;

/** The item after the change. */
export const updateProgressResponse = z.looseObject({ item: queueItem });
export type UpdateProgressResponse = z.infer<typeof updateProgressResponse>;
