import * as z from 'zod';
import { pathSegment } from '../contract/identifiers.ts';
import {
  annotationStates,
  type QueueItem,
  queryQueueItemsRequest,
  queueItem,
  queueItemsFilter,
  sortFields,
  sortKey,
} from '../contract/queue-items.ts';
import { HeddleError } from '../core/errors.ts';
import { valuesAt } from './support/call-values.ts';
import { countEach } from './support/count-each.ts';
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
import { cell } from './support/table.ts';
import { defineTool, projectArgument, projectOf, shapeWithoutNull, type ToolContext } from './support/tool.ts';

const { filter, sort_by, include_position } = shapeWithoutNull(queryQueueItemsRequest.shape);

const input = z.strictObject({
  queue_id: pathSegment.describe('Id of the queue to read.'),
  project_id: projectArgument('Project of the queue'),
  filter: z.strictObject(shapeWithoutNull(queueItemsFilter.shape)).optional().describe(filter.description!),
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
  max_value_chars: z.int().min(20).default(500).describe('Maximum length of each of these values, in characters.'),
});

const item = queueItem.pick({ id: true, call_id: true, annotation_state: true }).extend({
  call_values: z.record(z.string(), z.unknown()).optional().describe('Values of the recorded call by display field.'),
  call_error: z.looseObject({}).optional().describe('Why the recorded call could not be read.'),
});

const output = z.looseObject({
  items: z.array(item).describe('Items with every member that the service sent.'),
  ...pageMembers,
  state_counts: z.record(z.string(), z.int()).describe('Number of items on this page by annotation_state.'),
});

type Item = QueueItem & { call_values?: Record<string, unknown>; call_error?: HeddleError };

interface ItemPage extends PagePosition {
  items: Item[];
  state_counts: Record<string, number>;
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
filter compares whole values; an item must match every member. States: ${annotationStates.join(', ')}.
Example: {"queue_id":"support-triage","filter":{"annotation_states":["unstarted"]},"sort_by":[{"field":"call_started_at","direction":"desc"}],"limit":20}
With include_call each item also has call_values: the values to judge, without a further call.
Returns items, state_counts of this page, and next_offset when there are more: pass it as offset in the next call. An unknown queue has no items.`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ queue_id, limit, offset = 0, include_call, max_value_chars, ...query }, context): Promise<ItemPage> {
    const project = projectOf(query, context);
    const pageSize = Math.min(limit, Math.ceil(context.maxResultChars / minItemChars));
    const { items } = await context.service.queryQueueItems(
      queue_id,
      // Asking for one item more than needed tells whether there is a next page.
      { ...query, project_id: project, offset, limit: pageSize + 1 },
      { signal: context.signal },
    );
    const page = items.slice(0, pageSize).map(withZones);
    const shown = include_call ? await withCalls(page, project, max_value_chars, context) : page;
    return itemPage(shown, offset, items.length > pageSize);
  },

  render({ items, offset, next_offset, state_counts }: ItemPage) {
    if (items.length === 0) {
      return next_offset === undefined
        ? `No items at offset ${offset}: the queue has no matching items, or does not exist in this project.`
        : `No items were requested; there are more from offset ${next_offset}.`;
    }
    const states = Object.entries(state_counts).map(([state, count]) => `${count} ${cell(state)}`);
    const summary = `${pluralize(items.length, 'item')} from offset ${offset} (${states.join(', ')}).`;
    return renderPage(summary, items.map(toRow), columns, next_offset);
  },

  shrink: ({ items, offset }, share) => itemPage(firstRows(items, share, offset, 'item'), offset, true),
});

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
