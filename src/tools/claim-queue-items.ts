import * as z from 'zod';
import { claimOrders, maxHeld } from '../contract/claims.ts';
import { queueItem } from '../contract/queue-items.ts';
import { reviewersDescription, reviewersPerItem } from '../contract/queues.ts';
import { claimItems } from '../queues/claims.ts';
import { toItemRow, withCallValues, withReadableTimes } from '../queues/item-pages.ts';
import { itemsFilter } from '../queues/items-filter.ts';
import { rememberItems } from '../queues/shown-items.ts';
import { compactTable } from '../text/compact-table.ts';
import { pluralize } from '../text/page.ts';
import { showRows } from '../text/show-rows.ts';
import { defineTool, projectArgument, projectOf, queueArgument } from './definition/tool.ts';
import { itemColumns, itemFields } from './query-queue-items.ts';

const input = z
  .strictObject({
    queue_id: queueArgument.describe('Id or name of the queue.'),
    n: z.int().min(0).max(maxHeld).optional().describe('Number of items to claim; 10 by default, none with release.'),
    minutes: z
      .number()
      .min(0.1)
      .max(24 * 60)
      .optional()
      .describe('Time until the claims end; 15 by default.'),
    reviewers_per_item: reviewersPerItem.optional().describe(reviewersDescription),
    annotator: z.string().min(1).max(256).optional().describe('Your name, where all share the only account.'),
    filter: itemsFilter.optional().describe('As in query_queue_items.'),
    order: z.enum(claimOrders).optional(),
    release: z.array(z.string()).max(maxHeld).optional().describe('Items or calls to give back.'),
    prolong: z.boolean().optional().describe('Keep what you hold; n then counts all that you hold.'),
    by_user: z.boolean().optional().describe('The user judges, not you.'),
    project_id: projectArgument('Project of the queue'),
  })
  .superRefine(({ n, release, prolong }, context) => {
    if (n !== 0 || release || prolong) return;
    context.addIssue({
      code: 'custom',
      path: ['n'],
      message: 'must be at least 1, unless release or prolong is passed',
    });
  });

const output = z.object({
  items: z.array(z.record(z.string(), z.unknown())),
  common: z.record(z.string(), z.unknown()).optional(),
  held_until: z.string().optional().describe('Absent at a service without claims.'),
  free_at: z.string().optional(),
  released: z.int().optional(),
  as_of: z.string(),
  ids_only: z
    .int()
    .optional()
    .describe('Number of last items of which only the id is shown, because of the size limit.'),
  hint: z.string().optional(),
});

/** The items that someone claimed. */
export type Claim = z.output<typeof output>;

/** Length at which a value of a call is cut, as in query_queue_items. */
const maxValueChars = 500;

const filterHint =
  'Only items that match the filter were considered. query_queue_items lists them; they can be judged without a claim.';

export const claimQueueItemsTool = defineTool({
  name: 'claim_queue_items',
  title: 'Claim queue items',
  groups: ['queue'],
  uses: ['claimQueueItems', 'queryQueueItems'],
  description: `Claims items to judge, so that nobody else gets them.
Example: {"queue_id":"support-triage","n":5}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input,
  output,

  async run(args, context): Promise<Claim> {
    const {
      queue_id,
      n = args.release ? 0 : 10,
      minutes = 15,
      reviewers_per_item,
      annotator,
      filter = {},
      order,
    } = args;
    const { release = [], prolong = false, by_user } = args;
    const project = projectOf(args, context);
    const queue = { ...context, id: queue_id, project, byUser: by_user };
    const readAtMs = Date.now();
    const request = { n, minutes, reviewers_per_item, annotator, filter, order, release, prolong };
    const { items, held_until, free_at, released, hint } = await claimItems(request, queue);
    const isFiltered = items.length === 0 && n > 0 && args.filter !== undefined;
    const readable = items.map(withReadableTimes);
    // A person sees the values on the board.
    const shown = by_user ? readable : await withCallValues(readable, project, maxValueChars, context);
    const selection = { ...itemFields, fields: undefined, known: Object.keys(queueItem.shape) };
    return {
      ...showRows(shown, selection),
      ...(held_until !== undefined && items.length > 0 && { held_until }),
      ...(free_at != null && { free_at }),
      ...(released !== undefined && { released }),
      as_of: rememberItems(queue, readAtMs, items),
      ...(hint !== undefined ? { hint } : isFiltered && { hint: filterHint }),
    };
  },

  render({ items, common, held_until, free_at, released, as_of, ids_only, hint }: Claim) {
    const until = held_until === undefined ? '' : ` held until ${held_until}`;
    const fewer =
      free_at === undefined ? '' : ` No other item is free now; the next claim of someone else ends at ${free_at}.`;
    const rows = items.map((item) => toItemRow(item, common));
    const isRelease = released !== undefined && items.length === 0;
    return [
      ...(released === undefined ? [] : [`Released ${pluralize(released, 'item')} that you held.`]),
      isRelease
        ? 'No item was claimed.'
        : items.length === 0
          ? `No item wants your opinion now.${fewer}`
          : `${pluralize(items.length, 'item')}${until}. as_of ${as_of}.${fewer}`,
      ...(ids_only === undefined ? [] : [`Of the last ${ids_only} only the id is shown, because of the size limit.`]),
      ...(hint === undefined ? [] : [hint]),
      ...(items.length > 0 ? [compactTable(rows, itemColumns, common && toItemRow(common))] : []),
    ].join('\n');
  },

  // Whoever does not learn of an item would hold it in vain, so the ids of all of them stay.
  shrink({ items, ...rest }, share) {
    const whole = items.filter((item) => Object.keys(item).length > 1);
    if (whole.length === 0) return undefined;
    const kept = Math.min(Math.floor(whole.length * share), whole.length - 1);
    const cut = items.slice(kept).map(({ id }) => ({ id }));
    return { ...rest, items: [...whole.slice(0, kept), ...cut], ids_only: cut.length };
  },
});
