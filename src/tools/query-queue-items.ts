import * as z from 'zod';
import { queryQueueItemsRequest, queueItem, sortFields } from '../contract/queue-items.ts';
import { shapeWithoutNull } from '../contract/shape-without-null.ts';
import { sortKey } from '../contract/sort-keys.ts';
import { commonestOf, countEach } from '../core/statistics/count-each.ts';
import { meansCaller } from '../queues/authorship.ts';
import { type GivenFeedback, givenFeedback, judgementLine, valueLine } from '../queues/given-feedback.ts';
import {
  type ItemWithValues,
  readItemPage,
  toItemRow,
  withCallValues,
  withExceptions,
  withReadableTimes,
} from '../queues/item-pages.ts';
import { emptyFilterHint, type ItemsFilter, itemsFilter } from '../queues/items-filter.ts';
import { countMatching } from '../queues/matching-items.ts';
import { requireQueue, requireQueueWithStats } from '../queues/require-queue.ts';
import { cell } from '../text/compact-table.ts';
import { pageArguments, pageMembers, pagePosition, pluralize, renderPage, withFirstRows } from '../text/page.ts';
import { type ShownRows, showRows } from '../text/show-rows.ts';
import { defineTool, projectArgument, projectOf, queueArgument } from './definition/tool.ts';

const { sort_by, include_position } = shapeWithoutNull(queryQueueItemsRequest.shape);

const input = z.strictObject({
  queue_id: queueArgument.describe('Id or name of the queue.'),
  project_id: projectArgument('Project of the queue'),
  filter: itemsFilter.optional(),
  sort_by: z
    .array(
      z.strictObject({
        ...sortKey.shape,
        field: z.enum([...sortFields, 'disagreement']).describe(sortKey.shape.field.description!),
      }),
    )
    .optional()
    .describe(sort_by.description!),
  ...pageArguments,
  limit: z.int().min(0).default(50).describe('Maximum number of results to return.'),
  include_position,
  include_call: z.boolean().optional().describe('Add the values to judge.'),
  include_judgements: z.boolean().optional().describe('Add judgements.'),
  fields: z
    .array(z.string().min(1).max(256))
    .min(1)
    .max(100)
    .optional()
    // Named here and not in results, a conversation has them once.
    .describe(
      'Members to return, also created_at, created_by, call_trace_id; with judgements notes, judged_at, guidelines, gold_reasons; ["*"] for all.',
    ),
  max_value_chars: z.int().min(20).default(500).describe('Length at which a value is cut.'),
});

const output = z.object({
  items: z.array(z.record(z.string(), z.unknown())),
  common: z.record(z.string(), z.unknown()).optional().describe('Members of each item, unless it has its own.'),
  ...pageMembers,
  state_counts: z.record(z.string(), z.int()).describe('Number of items on this page by annotation_state.'),
  as_of: z
    .string()
    .optional()
    .describe('Time of reading. Pass it with a change to refuse items that others changed since.'),
  matching: z.int().optional().describe('Number of matching items, if known.'),
  items_read: z
    .int()
    .optional()
    .describe('Number of items read to find them, at a service that does not apply the filter.'),
  hint: z.string().optional(),
});

type Item = ItemWithValues & Partial<GivenFeedback>;

type ItemPage = z.output<typeof output>;

const defaultFields = ['position_in_queue', 'call_op_name', 'call_started_at', 'call_id'];
/** Who reads judgements needs less of the items. */
const defaultFieldsWithJudgements = ['position_in_queue'];
/** Members that were asked for by an argument of their own, and who alone may claim an item. */
const addedFields = ['call_values', 'call_error', 'exception', 'judgements', 'gold', 'assignees'];
const feedbackFields = ['notes', 'judged_at', 'guidelines', 'gold_reasons', 'gold_by'];
/** The members of items that are shown when nothing else is asked for. */
export const itemFields = { defaults: defaultFields, always: ['id', 'annotation_state', ...addedFields] };
/** The columns of a table of items that come first. */
export const itemColumns = ['position_in_queue', 'id', 'annotation_state', ...defaultFields];

export const queryQueueItemsTool = defineTool({
  name: 'query_queue_items',
  title: 'Query queue items',
  groups: ['queue'],
  uses: ['queryQueueItems'],
  description: `Reads the items of a queue: calls to judge, and the state that anybody set last. state_counts counts the page.
Example: {"queue_id":"support-triage","filter":{"annotation_states":["unstarted"]},"limit":20}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run(args, context): Promise<ItemPage> {
    const { queue_id, offset = 0, max_value_chars, fields = [] } = args;
    // Naming a member asks for it.
    const include_call = args.include_call || fields.includes('call_values');
    const include_judgements =
      args.include_judgements || fields.some((name) => name === 'judgements' || feedbackFields.includes(name));
    const project = projectOf(args, context);
    const queue = { ...context, id: queue_id, project };
    const page = await readItemPage({ ...args, include_feedback: include_judgements }, queue);
    const { feedback, hasMore, as_of, matching, itemsRead } = page;
    const items = page.items.map(withReadableTimes);
    if (items.length === 0 && !hasMore) return emptyPage(args, queue, matching);
    const addCalls = include_call ? withCallValues : args.filter?.has_error ? withExceptions : undefined;
    const withValues = addCalls ? await addCalls(items, project, max_value_chars, context) : items;
    const given = include_judgements ? givenFeedback(feedback, page.filter, queue) : undefined;
    const judged = given
      ? withValues.map((item): Item => ({ ...item, judgements: {}, ...given.get(item.call_id) }))
      : withValues;
    const isShort = include_judgements && !args.filter?.ids;
    const defaults = isShort ? defaultFieldsWithJudgements : defaultFields;
    const known = [...new Set([...Object.keys(queueItem.shape), ...addedFields, ...feedbackFields])];
    const shown = showRows(judged, { ...itemFields, fields: args.fields, defaults, known });
    return {
      ...itemPage(isShort && !args.fields ? withUsualState(shown) : shown, offset, hasMore),
      as_of,
      ...(itemsRead !== undefined && { matching, items_read: itemsRead }),
    };
  },

  render(page: ItemPage) {
    const { items, common, offset, next_offset, state_counts, as_of, matching, items_read, hint } = page;
    if (items.length === 0) {
      if (next_offset !== undefined) return `No items were requested; there are more from offset ${next_offset}.`;
      if (matching) return `No items at offset ${offset}: ${matching} match.`;
      return hint === undefined ? 'No items match.' : `No item matches all conditions. ${hint}`;
    }
    const states = Object.entries(state_counts).map(([state, count]) => `${count} ${cell(state)}`);
    const asOf = as_of === undefined ? '' : ` as_of ${as_of}.`;
    const read =
      items_read === undefined
        ? ''
        : ` ${matching} match; the service does not apply this filter or order, so each page reads all items: ${items_read}.`;
    const summary = `${pluralize(items.length, 'item')} from offset ${offset} (${states.join(', ')}).${asOf}${read}`;
    const { annotation_state, ...others } = common ?? {};
    const isMixed = items.some((item) => item.annotation_state !== undefined);
    const shared = common && isMixed ? others : common;
    const rows = items.map((item) => toItemRow(withLines(isMixed ? { annotation_state, ...item } : item), shared));
    return renderPage(summary, rows, itemColumns, next_offset, shared && toItemRow(withLines(shared)));
  },

  shrink(page, share) {
    const kept = withFirstRows(page, 'items', share);
    return { ...kept, state_counts: stateCounts(kept) };
  },
});

type Arguments = z.output<typeof input>;
type ItemsAccess = Parameters<typeof readItemPage>[1];

/**
 * Returns the page without items.
 * @param counted number of items that match, if it is known.
 * @throws HeddleError `not_found` when there is no such queue.
 */
async function emptyPage(
  { filter = {}, offset = 0 }: Arguments,
  queue: ItemsAccess,
  counted: number | undefined,
): Promise<ItemPage> {
  await requireQueue(queue.id, queue.project, queue.service);
  const matching = counted ?? (offset > 0 ? await countMatching(queue, filter) : 0);
  const hint = matching === 0 ? ((await hintForUser(filter, queue)) ?? emptyFilterHint(filter)) : undefined;
  return { ...itemPage({ items: [] }, offset, false), matching, ...(hint !== undefined && { hint }) };
}

/** Says under which name the user's own judgements match, where `me`, this client, has none that do. */
async function hintForUser(filter: ItemsFilter, queue: ItemsAccess): Promise<string | undefined> {
  if (!meansCaller(filter.judged_by)) return undefined;
  const { items } = await readItemPage({ filter, limit: 1 }, { ...queue, byUser: true });
  if (items.length === 0) return undefined;
  const { facts } = queue.service;
  if (facts.userId === undefined) await requireQueueWithStats(queue.id, queue.project, queue.service);
  return `Here, me is this client; the user's own judgements are under judged_by ${JSON.stringify(facts.userId)}.`;
}

/** Returns the members of an item with its judgements and gold as lines. */
function withLines(members: Record<string, unknown>): Record<string, unknown> {
  const { judgements, gold, ...item } = members;
  return {
    ...item,
    ...(judgements !== undefined && { judgements: judgementLine(judgements as GivenFeedback['judgements']) }),
    ...(gold !== undefined && { gold: valueLine(gold as Record<string, unknown>) }),
  };
}

function itemPage(shown: ShownRows, offset: number, hasMore: boolean): ItemPage {
  return { ...shown, ...pagePosition(offset, shown.items.length, hasMore), state_counts: stateCounts(shown) };
}

/** States the most frequent state once, so that only the items in another one have theirs. */
function withUsualState({ items, common }: ShownRows): ShownRows {
  const usual = commonestOf(items.flatMap(({ annotation_state }) => annotation_state ?? []));
  if (usual === undefined || items.length === 1) return { items, ...(common && { common }) };
  const shown = items.map(({ annotation_state, ...item }) =>
    annotation_state === usual ? item : { annotation_state, ...item },
  );
  return { items: shown, common: { ...common, annotation_state: usual } };
}

function stateCounts({ items, common }: ShownRows): Record<string, number> {
  return Object.fromEntries(
    countEach(items.map(({ annotation_state = common?.annotation_state }) => String(annotation_state))),
  );
}
