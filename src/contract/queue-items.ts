import * as z from 'zod';
import { endpoint, projectInBody } from './endpoint.ts';
import { storedFeedback } from './feedback.ts';
import { projectId } from './identifiers.ts';
import { sortKey } from './sort-keys.ts';

/** The states that an annotator can set. */
export const progressStates = ['in_progress', 'completed', 'skipped'] as const;
export type ProgressState = (typeof progressStates)[number];

/** The states in which an annotator is done with an item. */
export const finishedStates = ['completed', 'skipped'] as const satisfies readonly ProgressState[];

/** Returns whether an annotator who has set this state is done with the item. */
export function isFinished(state: string): boolean {
  return finishedStates.some((finished) => finished === state);
}

export const annotationStates = ['unstarted', ...progressStates] as const;
export type AnnotationState = (typeof annotationStates)[number];

/** The columns by which items are sorted; the embedded service also sorts by `latency`, the time that the call took. */
export const sortColumns = ['call_started_at', 'call_op_name', 'created_at', 'updated_at'] as const;
export const sortFields = [...sortColumns, 'latency'] as const;

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
  own_state: z.string().nullish(),
  assignees: z.array(z.string()).nullish(),
});
export type QueueItem = z.infer<typeof queueItem>;

/** The latest second for conditions, in the year 2255: later ones have no exact microseconds. */
export const latestSecond = 9_000_000_000;
const seconds = z.number().min(0).max(latestSecond);

/** Conditions on the judgements of an item. Each annotator's latest judgement in each field counts. */
export const judgementConditions = z.object({
  judged_by: z.string().min(1).max(500).nullish().describe('Annotator, beginning*, or me: you.'),
  field: z.string().min(1).max(500).nullish().describe('Judged field.'),
  value: z.unknown().optional().describe('Its value.'),
  judged_at_least: z.int().min(1).max(1000).nullish().describe('Number of annotators.'),
  disagreement: z.boolean().nullish().describe('Whether annotators differ.'),
  unjudged_by_me: z.boolean().nullish(),
  lacks_value_of: z
    .array(z.string().min(1).max(500))
    .min(1)
    .max(1000)
    .nullish()
    .describe('One of them has no judgement.'),
});

/**
 * Filter of queue items; all members must match. The members of the public service must be equal, including case. An empty list of
 * states filters nothing.
 */
export const queueItemsFilter = z.object({
  id: z.string().nullish().describe('Item.'),
  call_id: z.string().nullish().describe('Recorded call.'),
  call_op_name: z.string().nullish().describe('Exact operation name.'),
  call_trace_id: z.string().nullish().describe('Trace of the call.'),
  added_by: z.string().nullish().describe('User who added the item.'),
  annotation_states: z.array(z.enum(annotationStates)).nullish().describe('Any of these states.'),
  ids: z.array(z.string()).max(1000).nullish().describe('Any of these items, or items of these calls.'),
  call_ids: z.array(z.string()).max(1000).nullish().describe('Items of any of these recorded calls.'),
  has_error: z.boolean().nullish(),
  started_after: seconds.nullish().describe('Calls from this second since 1970 on.'),
  started_before: seconds.nullish().describe('Calls before this second since 1970.'),
  latency_above: seconds.nullish().describe('Seconds.'),
  text: z.string().min(1).max(1000).nullish().describe('Text in inputs or output.'),
  ...judgementConditions.shape,
  unfinished_by_me: z.boolean().nullish().describe('Items that the caller has neither completed nor skipped.'),
  own_creator: z.string().nullish().describe("The creator of the caller's own judgements, for me and unjudged_by_me."),
});

/** The members of a filter that the public service applies; it ignores all others. */
export const commonFilterMembers = [
  'id',
  'call_id',
  'call_op_name',
  'call_trace_id',
  'added_by',
  'annotation_states',
] as const satisfies readonly (keyof z.output<typeof queueItemsFilter>)[];

/** Items of a queue with the same operation, state and judgements. */
const itemGroup = z.looseObject({
  call_op_name: z.string(),
  annotation_state: z.string(),
  count: z.int(),
});

/** The items on which annotators differ, in the order of the queue; `groups` has the place of the group of each. */
const disputedItems = z.looseObject({
  ids: z.array(z.string()),
  call_ids: z.array(z.string()),
  groups: z.array(z.int()),
});

/**
 * The judgements of an annotator in a field, the oldest first. `groups` has the place of the group of each, and `values` its value;
 * judgements without a value are listed by themselves, without `values`.
 */
const groupJudgements = z.looseObject({
  field: z.string(),
  user: z.string(),
  creator: z.string().nullish(),
  is_gold: z.boolean().optional(),
  day: z.string().optional(),
  groups: z.array(z.int()),
  values: z.array(z.unknown()).optional(),
});

/** The seconds that an annotator takes for an item. */
const annotatorPace = z.looseObject({ user: z.string(), creator: z.string().nullish(), seconds: z.number() });

/** Request for the items of a queue. */
export const queryQueueItemsRequest = z.object({
  project_id: projectId,
  filter: queueItemsFilter.nullish().describe('Return only items that match every member exactly.'),
  sort_by: z.array(sortKey).nullish().describe('Most important key first; created_at ascending by default.'),
  limit: z.int().min(0).nullish().describe('Maximum number of items to return.'),
  offset: z.int().min(0).nullish().describe('Number of items to skip.'),
  include_position: z.boolean().optional().describe('Add position_in_queue.'),
  include_feedback: z.boolean().optional().describe('Add the feedback that was given on these items in the queue.'),
  include_own_state: z.boolean().optional().describe("Add own_state: the caller's progress with the item."),
});

// Any string: the service refuses an unknown state with status 400, as one that cannot follow.
const progressState = z.string().describe('in_progress, completed or skipped.');

export const queueItemEndpoints = {
  queryQueueItems: endpoint({
    summary: 'Query the items of a queue',
    description:
      'Filter members are compared exactly and all must match. The default order is created_at ascending; ties are broken by id. An unknown queue has no items. position_in_queue counts the whole queue, before any filter.',
    path: '/annotation_queues/{queue_id}/items/query',
    projects: projectInBody,
    request: queryQueueItemsRequest,
    // The public service sends the items alone.
    response: z.looseObject({
      items: z.array(queueItem),
      feedback: z.array(storedFeedback).optional(),
      matching: z.int().optional().describe('Number of items that match, for a page past their end.'),
      conditions_applied: z.boolean().optional().describe('True: no member of the filter and no sort key was ignored.'),
    }),
  }),
  summarizeQueueItems: endpoint({
    summary: 'Count the items of a queue',
    description:
      "An extension of the embedded service. Counts items by operation and state and, with judgement_types, by their judgements: an annotator's latest in each field. Items on which annotators differ are also listed, with their calls. Groups and judgements are absent if there would be too many of them.",
    path: '/annotation_queues/{queue_id}/items/summary',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      filter: queueItemsFilter.nullish().describe('Count only items that match every member exactly.'),
      judgement_types: z
        .array(z.string().min(1))
        .max(10)
        .nullish()
        .describe('Beginnings of the types of feedback that are judgements; the rest of the type is the field.'),
      gold_types: z
        .array(z.string().min(1))
        .max(10)
        .nullish()
        .describe('As judgement_types, for feedback that settles disputes; it comes with is_gold.'),
      include_days: z.boolean().optional().describe('Add the day of each judgement, in UTC.'),
      include_paces: z.boolean().optional().describe('Add how long annotators take for an item of the queue.'),
    }),
    response: z.looseObject({
      groups: z.array(itemGroup).optional(),
      judgements: z.array(groupJudgements).optional(),
      disputed_items: disputedItems.optional(),
      paces: z.array(annotatorPace).optional(),
    }),
  }),
  addQueueItems: endpoint({
    summary: 'Add recorded calls to a queue',
    description:
      'Calls that the queue already holds are counted as duplicates and not added again; unknown calls are skipped.',
    path: '/annotation_queues/{queue_id}/items',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      call_ids: z.array(z.string()),
      display_fields: z.array(z.string()),
    }),
    response: z.looseObject({ added_count: z.int(), duplicates: z.int() }),
    writes: true,
    repeatable: true,
  }),
  removeQueueItems: endpoint({
    summary: 'Remove items from a queue',
    description:
      'An extension of the embedded service. Judgements and progress are kept, and adding the call again brings the item back with them. Unknown items are skipped.',
    path: '/annotation_queues/{queue_id}/items/remove',
    projects: projectInBody,
    request: z.object({ project_id: projectId, item_ids: z.array(z.string()).max(1000) }),
    response: z.looseObject({ removed_count: z.int() }),
    writes: true,
    repeatable: true,
  }),
  updateProgress: endpoint({
    summary: "Set the caller's progress with an item",
    description:
      'Every annotator has progress of their own. The same state again changes nothing; a move backwards is refused with status 400.',
    path: '/annotation_queues/{queue_id}/items/{item_id}/progress',
    projects: projectInBody,
    request: z.object({ project_id: projectId, annotation_state: progressState }),
    response: z.looseObject({ item: queueItem }),
    writes: true,
    repeatable: true,
  }),
  updateProgressBatch: endpoint({
    summary: "Set the caller's progress with several items",
    description:
      'An extension of the embedded service. The results are in the order of the updates: the item, or the reason of a refusal, which leaves the others.',
    path: '/annotation_queues/{queue_id}/progress',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      updates: z.array(z.object({ item_id: z.string(), annotation_state: progressState })).max(1000),
    }),
    response: z.looseObject({
      results: z.array(z.looseObject({ item: queueItem.optional(), reason: z.string().optional() })),
    }),
    writes: true,
    repeatable: true,
  }),
};
