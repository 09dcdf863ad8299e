import * as z from 'zod';
import { withFallback } from '../client/with-fallback.ts';
import { reviewersPerItem } from '../contract/queues.ts';
import { readDisputedPage } from '../queues/disputed-items.ts';
import {
  type ItemPage,
  type ItemWithValues,
  readItemPage,
  toItemRow,
  withCallValues,
  withReadableTimes,
} from '../queues/item-pages.ts';
import { itemsFilter } from '../queues/items-filter.ts';
import { requireKnownNames, withWholeNames } from '../queues/known-names.ts';
import { type OwnFeedback, ownFeedback, readOwnFeedback } from '../queues/own-feedback.ts';
import { itemCounts, ownStateOf } from '../queues/own-progress.ts';
import { fieldSummaries, readFieldsOfQueues, renderFields, rulesOf, summarizeField } from '../queues/queue-fields.ts';
import { requireQueueWithStats } from '../queues/require-queue.ts';
import { rememberRules } from '../queues/shown-items.ts';
import { errorMember } from '../records/error-member.ts';
import { cutValue } from '../text/call-values.ts';
import { cell } from '../text/compact-table.ts';
import { pageArguments, pageMembers, pagePosition, pluralize, renderPage } from '../text/page.ts';
import { boardCommand } from './definition/people-only.ts';
import { defineTool, projectArgument, projectOf, queueArgument } from './definition/tool.ts';

const reviewFilter = itemsFilter.extend({
  unfinished_by_me: z.boolean().optional(),
  disagreement: z.boolean().optional().describe('Items on which annotators differ, the worst first, to settle.'),
});
/** The filter of the board: conditions on items, and whether the user has finished them. */
export type ReviewFilter = z.output<typeof reviewFilter>;

const input = z.strictObject({
  queue_id: queueArgument.describe('Id or name of the queue.'),
  project_id: projectArgument('Project of the queue'),
  filter: reviewFilter.optional().describe('As in query_queue_items; by default what the user has not finished.'),
  ...pageArguments,
  limit: z.int().min(1).max(100).optional().describe('For the board, which reads its items itself.'),
});

const output = z.object({
  queue: z
    .object({
      id: z.string(),
      project_id: z.string(),
      name: z.string(),
      guidelines: z.string().optional(),
      remaining: z.int().optional(),
      to_do: z.int().optional(),
      total: z.int().optional(),
      reviewers_per_item: reviewersPerItem.optional(),
    })
    .describe(
      'Id, project, name and guidelines; remaining: not finished by anyone; to_do: not finished by the user, if other.',
    ),
  fields: fieldSummaries,
  can_write: z.boolean().describe('False where this server offers no tool that judges.'),
  filter: reviewFilter,
  items: z
    .array(
      z.object({
        id: z.string(),
        annotation_state: z.string().describe("The user's own."),
        call_id: z.string(),
        call_op_name: z.string(),
        call_started_at: z.string(),
        call_values: z.record(z.string(), z.unknown()).optional(),
        call_error: errorMember.optional(),
        exception: z.string().optional(),
        ...ownFeedback.shape,
        disputes: z
          .record(z.string(), z.record(z.string(), z.unknown()))
          .optional()
          .describe('With disagreement: values by annotator, by field. What the user decides here becomes gold.'),
      }),
    )
    .describe(
      "With limit: the items with their call_values, the user's own judgements and note, and suggestions of scorers.",
    ),
  ...pageMembers,
  as_of: z.string().describe('Time of reading, for update_queue_items.'),
  account: z.string().optional().describe('Name of the account, if it is known.'),
  hint: z.string(),
});

/** The result of review_queue: a page of a queue, with what is needed to judge its items. */
export type Review = z.output<typeof output>;
/** An item of the board. */
export type ReviewedItem = Review['items'][number];

/** The name of the tool that writes judgements. */
const writingTool = 'update_queue_items';
const toDo: ReviewFilter = { unfinished_by_me: true };

/** Lengths at which a value is cut: for a person who judges it, and in the text for a model. */
const maxValueChars = 4000;
const maxTextValueChars = 300;
/** Length at which guidelines are cut for a model that shows the board. */
const maxShortChars = 200;

const columns = ['id', 'annotation_state', 'call_op_name', 'call_started_at', 'call_id'];

export const reviewQueueTool = defineTool({
  name: 'review_queue',
  title: 'Show the review board',
  groups: ['queue'],
  uses: ['queryQueueItems', 'readQueue', 'queueStats'],
  description: `Shows the user a board on which they judge a queue's items themselves. To judge items yourself, use query_queue_items.
Example: {"queue_id":"support-triage"}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  view: 'ui://heddle/review',
  input,
  output,

  async run(args, callContext): Promise<Review> {
    // The board is the user's, and so are the judgements on it.
    const context = { ...callContext, byUser: true };
    const { service, commandFlags: flags } = context;
    const { queue_id, offset = 0, filter = toDo } = args;
    const project = projectOf(args, context);
    const access = { ...context, id: queue_id, project };
    const { unfinished_by_me: isUnfinishedOnly = false, disagreement = false, ...conditions } = filter;
    const { limit } = args;
    const query = { ...args, filter: conditions, isUnfinishedOnly, include_own_state: true };
    // A board that is only announced has read no items, which would have told of an unknown name.
    if (limit === undefined) await requireKnownNames(await withWholeNames(conditions, access), access);
    const readPage = disagreement ? readDisputedPage : readItemPage;
    const page: Omit<ItemPage, 'feedback' | 'filter'> =
      limit === undefined
        ? { items: [], hasMore: false, as_of: service.facts.now() }
        : await readPage({ ...query, limit }, access);
    const { queue, stats } = await requireQueueWithStats(queue_id, project, service);
    const callIds = page.items.map(({ call_id }) => call_id);
    const [fields = []] = limit === undefined ? [] : await readFieldsOfQueues([queue], context.service);
    if (limit !== undefined) rememberRules(access, page.as_of, rulesOf(queue, fields));
    const [items, feedback] = await Promise.all([
      withCallValues(page.items.map(withReadableTimes), project, maxValueChars, context),
      callIds.length === 0 || disagreement
        ? new Map<string, OwnFeedback>()
        : withFallback(
            () => readOwnFeedback(callIds, access, fields),
            async () => new Map<string, OwnFeedback>(),
          ),
    ]);
    const { name, description } = queue;
    const { userId } = service.facts;
    return {
      queue: {
        id: queue_id,
        project_id: project,
        name,
        // The board reads them whole, with its first items.
        ...(description && {
          guidelines: limit === undefined ? String(cutValue(description, maxShortChars)) : description,
        }),
        ...(stats && itemCounts(stats)),
        ...(queue.reviewers_per_item && { reviewers_per_item: queue.reviewers_per_item }),
      },
      ...(fields.length > 0 && { fields: fields.map(summarizeField) }),
      can_write: context.offersTool(writingTool),
      filter,
      items: items.map((item) => {
        const own = feedback.get(item.call_id);
        const state = ownStateOf(item, Object.keys(own?.judgements ?? {}), fields, access);
        const disputes = page.disputes?.get(item.id);
        return { ...reviewedItem(item), annotation_state: state, ...own, ...(disputes && { disputes }) };
      }),
      ...pagePosition(offset, items.length, page.hasMore),
      as_of: page.as_of,
      ...(userId !== undefined && { account: userId }),
      hint: `If the user sees no board here, they can tell you their judgements (pass by_user: true), or run ${boardCommand({ flags, project: context.project, calledProject: project, queueId: queue_id })} in a terminal.`,
    };
  },

  render({ queue, fields, can_write, items, offset, next_offset, as_of, hint }: Review) {
    const { id, name, guidelines, remaining, to_do, total } = queue;
    const own = to_do === undefined ? '' : `, ${to_do} to do for the user`;
    const counts = total === undefined ? '' : ` ${remaining} of ${pluralize(total, 'item')} remaining${own}.`;
    const about = [
      `The user sees the board of queue ${cell(name)} (${cell(id)}).${counts}`,
      ...(guidelines === undefined ? [] : [`Guidelines: ${cell(guidelines)}`]),
      ...(fields === undefined ? [] : [`Fields: ${renderFields(fields)}`]),
      ...(can_write ? [] : ['Nothing can be judged here: the user has switched off the tools that change data.']),
      hint,
    ];
    if (items.length === 0) return about.join('\n');
    const rows = items.map(({ call_values, ...item }) => {
      const values = Object.entries(call_values ?? {}).map(([path, value]) => [
        path,
        cutValue(value, maxTextValueChars),
      ]);
      return toItemRow({ ...item, call_values: Object.fromEntries(values) });
    });
    const summary = `${pluralize(items.length, 'item')} from offset ${offset}. as_of ${as_of}.`;
    return [...about, renderPage(summary, rows, columns, next_offset)].join('\n');
  },

  rows: 'items',
});

function reviewedItem({
  id,
  call_id,
  call_op_name,
  call_started_at,
  call_values,
  call_error,
  exception,
}: ItemWithValues): Omit<ReviewedItem, 'annotation_state'> {
  return {
    id,
    call_id,
    call_op_name,
    call_started_at,
    ...(call_values && { call_values }),
    ...(call_error && { call_error }),
    ...(exception && { exception }),
  };
}
