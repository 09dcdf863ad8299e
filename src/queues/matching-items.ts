import * as z from 'zod';
import { queueItemsFilter } from '../contract/queue-items.ts';
import { shapeWithoutNull } from '../contract/shape-without-null.ts';
import { HeddleError } from '../core/errors.ts';
import { isOwn, isSame, learnAccount } from './authorship.ts';
import { type Judgement, judgementsOf, latestJudgements } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { type ItemQuery, type ItemsWithFeedback, readAllItems } from './read-items.ts';
import { requireField } from './require-field.ts';

/** The filter of queue items, with conditions on their judgements. */
export const itemsFilter = z.strictObject({
  ...shapeWithoutNull(queueItemsFilter.omit({ ids: true, call_ids: true, unfinished_by_me: true }).shape),
  judged_by: z.string().optional().describe('Name of an annotator, or a part of it.'),
  field: z.string().optional().describe('Judged field.'),
  value: z
    .union([z.string(), z.number(), z.boolean(), z.looseObject({}), z.array(z.string())])
    .optional()
    .describe('Its value.'),
  unjudged_by_me: z.boolean().optional(),
});
export type ItemsFilter = z.output<typeof itemsFilter>;

/** Returns whether a filter has conditions that need the judgements of the queue. */
export function hasJudgementConditions({ judged_by, field, value, unjudged_by_me }: ItemsFilter): boolean {
  return judged_by !== undefined || field !== undefined || value !== undefined || unjudged_by_me === true;
}

/** Returns the conditions that the service applies. */
export function serviceFilter({ judged_by, field, value, unjudged_by_me, ...filter }: ItemsFilter) {
  return filter;
}

/**
 * Reads every item of a queue that matches a filter, in the order of the query. Conditions on judgements are applied
 * here: services do not know them.
 */
export async function matchingItems(
  queue: QueueAccess,
  filter: ItemsFilter,
  query: ItemQuery = {},
): Promise<ItemsWithFeedback> {
  const include_feedback = query.include_feedback || hasJudgementConditions(filter);
  const { items, feedback } = await readAllItems(queue, { ...query, filter: serviceFilter(filter), include_feedback });
  const matches = await judgementCondition(filter, judgementsOf(feedback), queue);
  return { items: items.filter(({ call_id }) => matches(call_id)), feedback };
}

/** Returns how to find what there is when a filter matches nothing; undefined for a filter that names nothing to look up. */
export function emptyFilterHint({ call_op_name, judged_by, field }: ItemsFilter): string | undefined {
  if (judged_by !== undefined || field !== undefined) {
    return 'Call summarize_queue by annotator and field to see who judged what.';
  }
  if (call_op_name === undefined) return undefined;
  return 'Call summarize_queue by operation and state to see what there is.';
}

/**
 * Returns a function that tells whether a call fits the conditions on judgements. `judgements` are all of the calls.
 * @throws HeddleError `invalid_arguments` for a field that the queue does not have.
 */
export async function judgementCondition(
  filter: ItemsFilter,
  judgements: readonly Judgement[],
  queue: QueueAccess,
): Promise<(callId: string) => boolean> {
  if (!hasJudgementConditions(filter)) return () => true;
  const { judged_by, field, value, unjudged_by_me } = filter;
  if (value !== undefined && field === undefined) {
    throw new HeddleError({
      code: 'invalid_arguments',
      message: 'filter.value needs filter.field.',
      hint: 'Pass the field whose value you mean.',
    });
  }
  if (field !== undefined) await requireField(field, judgements, queue);
  if (unjudged_by_me) learnAccount(judgements, await queue.service.accountTag(), queue);
  const needsJudgement = judged_by !== undefined || field !== undefined;
  const matching = latestJudgements(judgements).filter(
    (judgement) => isByAnnotatorInField(judgement, filter) && hasValue(judgement, filter),
  );
  const judged = new Set(matching.map(({ call_id }) => call_id));
  const own = new Set(judgements.filter((judgement) => isOwn(judgement, queue)).map(({ call_id }) => call_id));
  return (callId) => (!needsJudgement || judged.has(callId)) && !(unjudged_by_me && own.has(callId));
}

/** Returns whether a judgement or note is by the annotator whom a filter names. */
export function isByAnnotator({ annotator }: Pick<Judgement, 'annotator'>, { judged_by }: ItemsFilter): boolean {
  return annotator.toLowerCase().includes(judged_by?.toLowerCase() ?? '');
}

/** Returns whether a judgement is by the annotator and in the field that a filter names. */
export function isByAnnotatorInField(judgement: Judgement, filter: ItemsFilter): boolean {
  return isByAnnotator(judgement, filter) && (filter.field === undefined || judgement.field === filter.field);
}

/** Returns whether a judgement has the value that a filter names. */
export function hasValue(judgement: Judgement, { value }: ItemsFilter): boolean {
  return value === undefined || isSame(judgement.value, value);
}
