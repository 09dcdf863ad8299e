import * as z from 'zod';
import { ifSupported } from '../client/with-fallback.ts';
import { reviewersPerItem } from '../contract/queues.ts';
import { callIdOf } from '../contract/references.ts';
import { readDisputedPage } from '../queues/disputed-items.ts';
import { type GivenFeedback, givenFeedback } from '../queues/given-feedback.ts';
import {
  type ItemPage,
  type ItemPageRequest,
  type ItemWithValues,
  readItemPage,
  withCallValues,
  withReadableTimes,
} from '../queues/item-pages.ts';
import { itemsFilter, namesCaller } from '../queues/items-filter.ts';
import { readFeedbackOnCalls } from '../queues/judgements.ts';
import { readLackingPage } from '../queues/lacking-items.ts';
import { countMatching } from '../queues/matching-items.ts';
import { ownFeedback, ownFeedbackIn } from '../queues/own-feedback.ts';
import { itemCounts, ownStateOf } from '../queues/own-progress.ts';
import type { QueueAccess } from '../queues/queue-access.ts';
import { fieldSummaries, readFieldsOfQueues, renderFields, rulesOf, summarizeField } from '../queues/queue-fields.ts';
import { queueForCommand, requireQueueWithStats } from '../queues/require-queue.ts';
import { rememberRules } from '../queues/shown-items.ts';
import { errorMember } from '../records/error-member.ts';
import { operationName } from '../records/unknown-operation.ts';
import { cutValue } from '../text/call-values.ts';
import { cell } from '../text/compact-table.ts';
import { pageArguments, pageMembers, pagePosition, pluralize } from '../text/page.ts';
import { boardCommand, exportCommand } from './definition/people-only.ts';
import { defineTool, projectArgument, projectOf, queueArgument, type ToolContext } from './definition/tool.ts';

const reviewFilter = itemsFilter.extend({
  unfinished_by_me: z.boolean().optional(),
  disagreement: z.boolean().optional().describe('Items on which annotators differ, the worst first, to settle.'),
  lacks_value: z.boolean().optional().describe('Completed items on which a field has no value of anyone.'),
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
  filter: reviewFilter.optional().describe('Left out if it is long and no limit is given.'),
  items: z
    .array(
      z.object({
        id: z.string(),
        annotation_state: z.string().describe("The user's own."),
        call_id: z.string(),
        call_op_name: z.string(),
        call_started_at: z.string().optional().describe('Absent where it is the time of an import.'),
        call_values: z.record(z.string(), z.unknown()).optional(),
        call_error: errorMember.optional(),
        exception: z.string().optional(),
        ...ownFeedback.shape,
        given: (z.record(z.string(), z.unknown()) as z.ZodType as z.ZodType<GivenFeedback>)
          .optional()
          .describe("All judgements, notes and gold, where they cannot sway the user's."),
        disputes: z
          .record(z.string(), z.record(z.string(), z.unknown()))
          .optional()
          .describe('With disagreement: values by annotator, by field. What the user decides here becomes gold.'),
      }),
    )
    .describe(
      "With limit: the items with their call_values, the user's own judgements and note, and suggestions of scorers.",
    ),
  lacking: z.record(z.string(), z.int()).optional().describe('With lacks_value: number of items, by field.'),
  skipped: z.int().optional(),
  ...pageMembers,
  matching: z.int().optional().describe('Without limit: number of items that match the filter.'),
  as_of: z.string().describe('Time of reading, for update_queue_items.'),
  account: z.string().optional().describe('Name of the account, if it is known.'),
  export_command: z.string().optional().describe('With limit.'),
  hint: z.string(),
});

type Result = z.output<typeof output>;
/** The result of review_queue with a limit: a page of a queue, with what is needed to judge its items. */
export type Review = Result & { filter: ReviewFilter };
export type ReviewedItem = Review['items'][number];

/** The name of the tool that writes judgements. */
const writingTool = 'update_queue_items';
const toDo: ReviewFilter = { unfinished_by_me: true };

/** Length at which a value is cut for a person who judges it. */
const maxValueChars = 4000;
/** Length at which guidelines and fields are cut, and a filter is left out, for a model that shows the board. */
const maxShortChars = 200;

export const reviewQueueTool = defineTool({
  name: 'review_queue',
  title: 'Show the review board',
  groups: ['queue'],
  uses: ['queryQueueItems', 'readQueue', 'queueStats', 'queryQueues'],
  description: `Shows the user a board on which they judge a queue's items themselves. To judge items yourself, use query_queue_items.
Example: {"queue_id":"support-triage"}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  view: 'ui://heddle/review',
  input,
  output,

  async run(args, callContext): Promise<Result> {
    // The board is the user's, and so are the judgements on it.
    const context = { ...callContext, byUser: true };
    const { service, terminal } = context;
    const { queue_id, offset = 0, filter = toDo } = args;
    const project = projectOf(args, context);
    const access = { ...context, id: queue_id, project };
    const { unfinished_by_me: isUnfinishedOnly = false, disagreement, lacks_value, ...others } = filter;
    // Items on which annotators differ are those of disputes; the others are a condition like any other.
    const conditions = disagreement === false ? { ...others, disagreement } : others;
    const { limit } = args;
    const query = { ...args, filter: conditions, isUnfinishedOnly, include_own_state: true };
    const readPage = disagreement ? readDisputedPage : lacks_value ? readLackingPage : readItemPage;
    const page: Omit<ItemPage, 'feedback' | 'filter'> & { lacking?: Record<string, number>; skipped?: number } =
      limit === undefined
        ? { items: [], hasMore: false, as_of: service.facts.now() }
        : await readPage({ ...query, limit }, access);
    const [counted, { queue, stats }] = await Promise.all([
      limit === undefined && args.filter ? countReviewed(args.filter, query, access) : undefined,
      requireQueueWithStats(queue_id, project, service),
    ]);
    const callIds = page.items.map(({ call_id }) => call_id);
    const [fields = []] = limit === undefined ? [] : await readFieldsOfQueues([queue], context.service);
    if (limit !== undefined) rememberRules(access, page.as_of, rulesOf(queue, fields));
    const [items, feedback = [], queueId] = await Promise.all([
      withCallValues(page.items.map(withReadableTimes), project, maxValueChars, context),
      callIds.length === 0 || disagreement ? [] : ifSupported(readFeedbackOnCalls(access, callIds)),
      queueForCommand(queue, project, service),
    ]);
    const own = await ownFeedbackIn(feedback, callIds, access, fields);
    const states = new Map(
      items.map((item) => {
        const judged = Object.keys(own.get(item.call_id)?.judgements ?? {});
        return [item.call_id, ownStateOf(item, judged, fields, access)];
      }),
    );
    const { name, description } = queue;
    const { userId } = service.facts;
    const wanted = queue.reviewers_per_item;
    const { people = 1, agents = 0 } = typeof wanted === 'number' ? { people: wanted } : (wanted ?? {});
    const wantsOne = people + agents === 1;
    // Where several opinions are wanted, that of the user must not follow from those of others.
    const shown = feedback.filter(({ queue_id: id, weave_ref, wb_user_id }) => {
      const callId = callIdOf(weave_ref);
      const isOfAccount = wb_user_id === userId;
      const hasJudged = own.get(callId)?.judgements !== undefined;
      return id === queue_id && (wantsOne || (states.get(callId) === 'completed' && (hasJudged || isOfAccount)));
    });
    const given = givenFeedback(shown, {}, access);
    const settled = counted?.settled
      ? `Annotators differ on ${pluralize(counted.settled, 'other item')} too, where gold settles it or in free text. `
      : '';
    const target = { terminal, project: context.project, calledProject: project, queueId, queueName: name };
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
      ...((limit !== undefined || JSON.stringify(filter).length <= maxShortChars) && { filter }),
      items: items.map((item) => {
        const disputes = page.disputes?.get(item.id);
        return {
          ...reviewedItem(item),
          annotation_state: states.get(item.call_id)!,
          ...own.get(item.call_id),
          ...(given.has(item.call_id) && { given: withoutTimes(given.get(item.call_id)!) }),
          ...(disputes && { disputes }),
        };
      }),
      ...pagePosition(offset, items.length, page.hasMore),
      ...(page.lacking && { lacking: page.lacking, skipped: page.skipped }),
      ...(counted && { matching: counted.matching }),
      as_of: page.as_of,
      ...(userId !== undefined && { account: userId }),
      ...(limit !== undefined && { export_command: exportCommand(target).slice(1, -1) }),
      hint: `${settled}${namesCaller(filter) ? 'In the filter, me is the user, because the board is theirs. ' : ''}If the user sees no board here, they can tell you their judgements (pass by_user: true), or run ${boardCommand(target)} in a terminal.`,
    };
  },

  // The items are for the board alone.
  render({ queue, fields, can_write, matching, hint }: Result) {
    const { id, name, guidelines, remaining, to_do, total } = queue;
    const own = to_do === undefined ? '' : `, ${to_do} to do for the user`;
    const counts = total === undefined ? '' : ` ${remaining} of ${pluralize(total, 'item')} remaining${own}.`;
    const title = `of queue ${cell(name)} (${cell(id)})`;
    const filtered = matching === undefined ? '' : `, with ${pluralize(matching, 'item')} of the filter`;
    const cut = (text: string): unknown => cutValue(text, maxShortChars);
    return [
      matching === 0
        ? `The board ${title} is empty: no item matches the filter.${counts}`
        : `The board ${title}${filtered}.${counts}`,
      ...(guidelines === undefined ? [] : [`Guidelines: ${cell(cut(guidelines))}`]),
      ...(fields === undefined ? [] : [`Fields: ${cut(renderFields(fields))}`]),
      ...(can_write ? [] : ['Nothing can be judged here: the user has switched off the tools that change data.']),
      hint,
    ].join('\n');
  },

  rows: 'items',
});

function withoutTimes({ judged_at: _at, guidelines: _guidelines, ...given }: GivenFeedback): GivenFeedback {
  return given;
}

/** Returns the number of items that a board with a filter shows; of disputes also that of those that are `settled`. */
async function countReviewed(
  { disagreement, lacks_value }: ReviewFilter,
  query: Omit<ItemPageRequest, 'limit'>,
  queue: QueueAccess & Pick<ToolContext, 'maxResultChars'>,
): Promise<{ matching: number; settled?: number }> {
  if (disagreement) return readDisputedPage({ ...query, limit: 1 }, queue);
  if (lacks_value) return readLackingPage({ ...query, limit: 1 }, queue);
  return { matching: await countMatching(queue, query.filter ?? {}, query.isUnfinishedOnly) };
}

/** Time in which an import is sure to have stored its items. */
const maxImportMs = 10 * 60_000;

function reviewedItem(item: ItemWithValues): Omit<ReviewedItem, 'annotation_state'> {
  const { id, call_id, call_op_name, call_started_at, call_values, call_error, exception, created_at } = item;
  const sinceStartMs = Math.abs(Date.parse(created_at) - Date.parse(call_started_at));
  // `heddle import` gives the time of the import to rows that have none.
  const hasTimeOfImport =
    item.created_by === 'import' && item.call_ended_at === call_started_at && sinceStartMs < maxImportMs;
  return {
    id,
    call_id,
    call_op_name: operationName(call_op_name),
    ...(!hasTimeOfImport && { call_started_at }),
    ...(call_values && { call_values }),
    ...(call_error && { call_error }),
    ...(exception && { exception }),
  };
}
