import * as z from 'zod';
import { pathSegment } from '../contract/identifiers.ts';
import {
  annotationStates,
  type QueueItem,
  queryQueueItemsRequest,
  queueItem,
  sortFields,
  sortKey,
} from '../contract/queue-items.ts';
import { HeddleError } from '../core/errors.ts';
import { valuesAt } from './support/call-values.ts';
import { shownText } from './support/change-items.ts';
import { countEach } from './support/count-each.ts';
import { judgementsOf, latestJudgements, notesOf, readFeedback } from './support/judgements.ts';
import { hasJudgementConditions, itemsFilter, matchingItems } from './support/matching-items.ts';
import {
  firstRows,
  type PagePosition,
  pageArguments,
  pageMembers,
  pagePosition,
  pluralize,
  renderPage,
} from './support/page.ts';
import { readCalls } from './support/read-calls.ts';
import { requireQueue } from './support/require-queue.ts';
import { cell } from './support/table.ts';
import { defineTool, projectArgument, projectOf, shapeWithoutNull, type ToolContext } from './support/tool.ts';

const { sort_by, include_position } = shapeWithoutNull(queryQueueItemsRequest.shape);

const input = z.strictObject({
  queue_id: pathSegment.describe('Id of the queue to read.'),
  project_id: projectArgument('Project of the queue'),
  filter: itemsFilter.optional().describe('Return only items that match every member.'),
  sort_by: z
    .array(z.strictObject({ ...sortKey.shape, field: z.enum(sortFields).describe(sortKey.shape.field.description!) }))
    .optional()
    .describe(sort_by.description!),
  ...pageArguments,
  limit: z.int().min(0).default(50).describe('Maximum number of results to return.'),
  include_position,
  include_call: z
    .boolean()
    .optional()
    .describe("Also read each item's recorded call and return its values at the item's display_fields."),
  include_judgements: z
    .boolean()
    .optional()
    .describe('Also return what annotators judged and noted, the latest of each.'),
  max_value_chars: z.int().min(20).default(500).describe('Maximum length of each of these values, in characters.'),
});

const item = queueItem.pick({ id: true, call_id: true, annotation_state: true }).extend({
  call_values: z.record(z.string(), z.unknown()).optional().describe('Values of the recorded call by display field.'),
  call_error: z.looseObject({}).optional().describe('Why the recorded call could not be read.'),
  judgements: z.array(z.looseObject({})).optional().describe('annotator, field and value (or note), and at.'),
});

const output = z.looseObject({
  items: z.array(item).describe('Items with every member that the service sent.'),
  ...pageMembers,
  state_counts: z.record(z.string(), z.int()).describe('Number of items on this page by annotation_state.'),
  as_of: z
    .string()
    .optional()
    .describe('Time of reading. Pass it with a change to refuse items that others changed since.'),
  matching: z.int().optional().describe('Number of matching items, when the offset is past the end.'),
});

type Item = QueueItem & {
  call_values?: Record<string, unknown>;
  call_error?: HeddleError;
  judgements?: object[];
};

interface ItemPage extends PagePosition {
  items: Item[];
  state_counts: Record<string, number>;
  as_of?: string;
  matching?: number;
}

/** Minimum length of a serialised item, in characters; it limits how many items are requested. */
const minItemChars = 200;

const columns = [
  'position_in_queue',
  'id',
  'annotation_state',
  'call_op_name',
  'call_started_at',
  'call_ended_at',
  'call_id',
  'call_trace_id',
];

export const queryQueueItemsTool = defineTool({
  name: 'query_queue_items',
  title: 'Query queue items',
  groups: ['queue'],
  uses: ['queryQueueItems'],
  description: `Reads the items of one annotation queue: the recorded calls to judge, their state and their position.
Use it to see what is waiting, to find the item of a call, or to page through a queue. It changes nothing.
filter compares whole values; judged_by, field, value and unjudged_by_me ask for judgements. States: ${annotationStates.join(', ')}.
Example: {"queue_id":"support-triage","filter":{"annotation_states":["unstarted"]},"sort_by":[{"field":"call_started_at","direction":"desc"}],"limit":20}
With include_call each item also has call_values: the values to judge, without a further call.
Returns items, state_counts of this page, as_of, and next_offset when there are more: pass it as offset in the next call.`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run(args, context): Promise<ItemPage> {
    const { queue_id, offset = 0, include_call, include_judgements, max_value_chars } = args;
    const project = projectOf(args, context);
    const readAtMs = Date.now();
    const { items, hasMore } = await readPage(args, project, context);
    if (items.length === 0 && args.limit > 0) return emptyPage(args, project, context);
    const as_of = context.service.learned.timeBefore(readAtMs);
    context.service.learned.rememberItems(
      as_of,
      items.map((item) => [item.id, shownText(item)]),
    );
    const page = items.map(withZones);
    const shown = include_call ? await withCalls(page, project, max_value_chars, context) : page;
    const judged = include_judgements ? await withJudgements(shown, queue_id, project, context) : shown;
    return { ...itemPage(judged, offset, hasMore), as_of };
  },

  render({ items, offset, next_offset, state_counts, as_of, matching }: ItemPage) {
    if (items.length === 0) {
      if (next_offset !== undefined) return `No items were requested; there are more from offset ${next_offset}.`;
      return matching ? `No items at offset ${offset}: ${matching} match.` : 'No items match.';
    }
    const states = Object.entries(state_counts).map(([state, count]) => `${count} ${cell(state)}`);
    const asOf = as_of === undefined ? '' : ` as_of ${as_of}.`;
    const summary = `${pluralize(items.length, 'item')} from offset ${offset} (${states.join(', ')}).${asOf}`;
    return renderPage(summary, items.map(toRow), columns, next_offset);
  },

  shrink: ({ items, offset, as_of }, share) => ({
    ...itemPage(firstRows(items, share, offset, 'item'), offset, true),
    ...(as_of !== undefined && { as_of }),
  }),
});

type Arguments = z.output<typeof input>;

async function readPage(
  { queue_id, filter = {}, sort_by, limit, offset = 0, include_position }: Arguments,
  project_id: string,
  context: ToolContext,
): Promise<{ items: QueueItem[]; hasMore: boolean }> {
  const pageSize = Math.min(limit, Math.ceil(context.maxResultChars / minItemChars));
  const query = { sort_by, include_position };
  if (hasJudgementConditions(filter)) {
    const matching = await matchingItems(queue_id, project_id, filter, context, query);
    return { items: matching.slice(offset, offset + pageSize), hasMore: matching.length > offset + pageSize };
  }
  const { items } = await context.service.queryQueueItems(
    queue_id,
    // Asking for one item more than needed tells whether there is a next page.
    { ...query, filter, project_id, offset, limit: pageSize + 1 },
    { signal: context.signal },
  );
  return { items: items.slice(0, pageSize), hasMore: items.length > pageSize };
}

/**
 * Returns the page without items.
 * @throws HeddleError `not_found` when there is no such queue.
 */
async function emptyPage(
  { queue_id, filter = {}, offset = 0 }: Arguments,
  project: string,
  context: ToolContext,
): Promise<ItemPage> {
  await requireQueue(queue_id, project, context);
  const matching = offset > 0 ? (await matchingItems(queue_id, project, filter, context)).length : 0;
  return { ...itemPage([], offset, false), matching };
}

/** Adds the latest judgements and the notes of every annotator to each item that has some. */
async function withJudgements(items: Item[], queueId: string, project: string, context: ToolContext): Promise<Item[]> {
  const callIds = items.map(({ call_id }) => call_id);
  const feedback = await readFeedback(queueId, project, context, callIds);
  const entries = [
    ...latestJudgements(judgementsOf(feedback)).map(({ call_id, annotator, field, value, at }) => {
      return { call_id, shown: { annotator, field, value, at } };
    }),
    ...notesOf(feedback).map(({ call_id, annotator, note, at }) => ({ call_id, shown: { annotator, note, at } })),
  ];
  const shownByCall = new Map<string, object[]>(callIds.map((id) => [id, []]));
  for (const { call_id, shown } of entries) shownByCall.get(call_id)?.push(shown);
  return items.map((item) => {
    const judgements = shownByCall.get(item.call_id)!;
    return judgements.length === 0 ? item : { ...item, judgements };
  });
}

/** Adds the values of its recorded call to each item, or the error that kept the call from being read. */
async function withCalls(
  items: QueueItem[],
  project: string,
  maxValueChars: number,
  context: ToolContext,
): Promise<Item[]> {
  const calls = await readCalls(items, project, context);
  return items.map((item) => {
    const call = calls.get(item.call_id)!;
    return call instanceof HeddleError
      ? { ...item, call_error: call }
      : { ...item, call_values: valuesAt(call, item.display_fields, maxValueChars) };
  });
}

const timeMembers = ['call_started_at', 'call_ended_at', 'created_at', 'updated_at', 'deleted_at'] as const;

/** Adds the zone to the times of an item: the public service sends them in UTC without saying so. */
function withZones(item: QueueItem): QueueItem {
  const times = timeMembers
    .map((member) => [member, item[member]] as const)
    .filter(([, time]) => typeof time === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+$/.test(time));
  return { ...item, ...Object.fromEntries(times.map(([member, time]) => [member, `${time}Z`])) };
}

/** Flattens an item into a table row: each value of its call gets its own column. */
function toRow({ call_values = {}, call_error, ...item }: Item): Record<string, unknown> {
  const values = Object.entries(call_values).map(([path, value]) => [
    Object.hasOwn(item, path) ? `call.${path}` : path,
    value,
  ]);
  return {
    ...item,
    ...Object.fromEntries(values),
    ...(call_error && { call_error: `${call_error.code}: ${call_error.message}` }),
  };
}

function itemPage(items: Item[], offset: number, hasMore: boolean): ItemPage {
  const state_counts = countEach(items.map(({ annotation_state }) => annotation_state));
  return { items, ...pagePosition(offset, items.length, hasMore), state_counts };
}
