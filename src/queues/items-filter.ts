import * as z from 'zod';
import {
  type AnnotatorName,
  annotatorTest,
  hasJudgementConditions,
  judgementTest,
} from '../contract/judgement-test.ts';
import { judgementConditions, latestSecond, queueItemsFilter } from '../contract/queue-items.ts';
import { shapeWithoutNull } from '../contract/shape-without-null.ts';
import { HeddleError } from '../core/errors.ts';
import { requireTimeRange, secondsOf, timeArgument } from '../records/time-argument.ts';
import { creatorOf, isOwn, isSame, learnAccount, meansCaller } from './authorship.ts';
import { byCall, type Judgement, latestJudgements } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import type { ItemQuery } from './read-items.ts';

const {
  call_ids: _ids,
  own_creator: _creator,
  unfinished_by_me: _mine,
  lacks_value_of: _lacks,
  ...members
} = queueItemsFilter.shape;

/** The filter of queue items, for every tool that takes items. */
export const itemsFilter = z.strictObject({
  ...shapeWithoutNull(members),
  // An empty list would select everything, which is seldom meant.
  ids: z.array(z.string()).min(1).max(1000).optional().describe('Items or calls.'),
  started_after: timeArgument.optional().describe('Date, time or 7d ago.'),
  started_before: timeArgument.optional(),
  value: z
    .union([z.string(), z.number(), z.boolean(), z.looseObject({}), z.array(z.string())])
    .optional()
    .describe('Its value.'),
});
export type ItemsFilter = z.output<typeof itemsFilter>;

/** Returns the conditions for a service, besides those on judgements. @throws HeddleError for a time range without a time in it. */
export function serviceFilter(filter: ItemsFilter): NonNullable<ItemQuery['filter']> {
  requireTimeRange(filter);
  const { started_after, started_before, ...rest } = filter;
  const onCalls = Object.fromEntries(
    Object.entries(rest).filter(([member]) => !Object.hasOwn(judgementConditions.shape, member)),
  );
  return {
    ...onCalls,
    ...(started_after !== undefined && { started_after: secondForService(started_after) }),
    ...(started_before !== undefined && { started_before: secondForService(started_before) }),
  };
}

/** Returns whether a filter has conditions besides those on judgements. */
export function hasCallConditions(filter: ItemsFilter): boolean {
  return Object.keys(serviceFilter(filter)).length > 0;
}

/** Before and after what a service takes, there are no calls. */
function secondForService(time: string): number {
  return Math.min(Math.max(0, secondsOf(time)), latestSecond);
}

/** Returns all conditions of a filter for a service, which knows no name of the caller but that of the account. */
export function wholeFilter(filter: ItemsFilter, queue: QueueAccess): NonNullable<ItemQuery['filter']> {
  requireFieldOfValue(filter);
  const { judged_by, field, value, judged_at_least, disagreement, unjudged_by_me } = filter;
  const onJudgements = { judged_by, field, value, judged_at_least, disagreement, unjudged_by_me };
  return {
    ...serviceFilter(filter),
    ...(hasJudgementConditions(filter) && { ...onJudgements, own_creator: creatorOf(queue) }),
  };
}

/** Returns how to find what there is when a filter matches nothing; undefined for a filter that names nothing to look up. */
export function emptyFilterHint({ call_op_name, judged_by, field }: ItemsFilter): string | undefined {
  if (judged_by !== undefined || field !== undefined) {
    return 'Call summarize_queue by annotator and field to see who judged what.';
  }
  if (call_op_name === undefined) return undefined;
  return 'Call summarize_queue by operation and state to see what there is.';
}

/** Returns a function that tells whether a call fits the conditions on judgements. `judgements` are all of the calls. */
export async function judgementCondition(
  filter: ItemsFilter,
  judgements: readonly Judgement[],
  queue: QueueAccess,
): Promise<(callId: string) => boolean> {
  if (!hasJudgementConditions(filter)) return () => true;
  requireFieldOfValue(filter);
  await learnCaller(filter, judgements, queue);
  const passes = judgementTest<Judgement>(filter, (judgement) => isOwn(judgement, queue));
  const judged = byCall(latestJudgements(judgements));
  return (callId) => passes(judged.get(callId) ?? []);
}

/** Learns the name of the account from its judgements, if a filter has a condition on the caller. */
export async function learnCaller(
  filter: ItemsFilter,
  judgements: readonly Judgement[],
  queue: QueueAccess,
): Promise<void> {
  if (namesCaller(filter)) await learnAccount(judgements, queue);
}

/** Returns whether a filter has a condition on the caller, whose judgements are known by their ids alone. */
export function namesCaller({ judged_by, unjudged_by_me }: ItemsFilter): boolean {
  return unjudged_by_me !== undefined || meansCaller(judged_by);
}

function requireFieldOfValue({ field, value }: ItemsFilter): void {
  if (value === undefined || field !== undefined) return;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: 'filter.value needs filter.field.',
    hint: 'Pass the field whose value you mean.',
  });
}

/** Returns a function that tells whether something was given by an annotator whom a filter names. */
export function isByNamed({ judged_by }: ItemsFilter, queue: QueueAccess): (given: AnnotatorName) => boolean {
  return annotatorTest(judged_by, (given) => isOwn(given, queue));
}

/** Returns whether a judgement has the value that a filter names. */
export function hasValue(judgement: Judgement, { value }: ItemsFilter): boolean {
  return value === undefined || isSame(judgement.value, value);
}
