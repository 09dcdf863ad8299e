import { hasJudgementConditions } from '../contract/judgement-test.ts';
import { commonFilterMembers, type QueueItem, sortColumns } from '../contract/queue-items.ts';
import { fulfillingItems } from './call-conditions.ts';
import { sortItems } from './item-order.ts';
import { type ItemsFilter, judgementCondition, learnCaller, serviceFilter, wholeFilter } from './items-filter.ts';
import { judgementsOf } from './judgements.ts';
import { findWithWholeNames, requireKnownNames, withWholeNames } from './known-names.ts';
import { unfinishedOf } from './own-progress.ts';
import type { QueueAccess } from './queue-access.ts';
import { countItems } from './queue-summary.ts';
import { type ItemQuery, type ItemsPage, type ItemsWithFeedback, isIgnored, readAllItems } from './read-items.ts';
import { readCounted } from './summarized-items.ts';

/** Items, and the filter that they match with the whole names of annotators. */
export interface MatchingItems extends ItemsWithFeedback {
  filter: ItemsFilter;
  /** Number of items that were read to apply the filter here. */
  itemsRead?: number;
}

/** Items in an order, and the filter that they match with the whole names of annotators. */
export interface OrderedItems extends ItemsPage {
  filter: ItemsFilter;
  /** Number of items that were read to find these, where the service does not apply the filter. */
  itemsRead?: number | undefined;
}

/** Returns the items from an offset on. They are the matching ones, all or some of them, in any order. */
export function partOf(
  { feedback, filter, itemsRead }: MatchingItems,
  items: QueueItem[],
  offset: number,
): OrderedItems {
  return { items: items.slice(offset), feedback, filter, matching: items.length, itemsRead };
}

/**
 * Reads every item of a queue that matches a filter, or at least as many as the limit of the query, in its order. Conditions and sort
 * keys that the service ignores are applied here.
 * @throws HeddleError `invalid_arguments` if nothing matches because of a name or value that the queue does not have.
 */
export async function matchingItems(
  queue: QueueAccess,
  givenFilter: ItemsFilter,
  query: ItemQuery = {},
): Promise<MatchingItems> {
  const filter = await withWholeNames(givenFilter, queue);
  const asked: ItemQuery = { ...query, filter: wholeFilter(filter, queue) };
  let read: Omit<MatchingItems, 'filter'> | undefined;
  if (!isIgnored(asked, queue)) read = await readAllItems(queue, asked);
  if (!read || isIgnored(asked, queue)) read = await matchingHere(queue, filter, query);
  await learnCaller(filter, judgementsOf(read.feedback), queue);
  await requireKnownNames(filter, queue, read.items.length);
  return { ...read, filter };
}

/**
 * Counts the items of a queue that match a filter, without reading them where the service counts.
 * @param isUnfinishedOnly leaves out items that the account has completed or skipped.
 * @throws HeddleError as {@link matchingItems} does.
 */
export async function countMatching(
  queue: QueueAccess,
  givenFilter: ItemsFilter,
  isUnfinishedOnly = false,
): Promise<number> {
  const { filter, found, judgements } = await findWithWholeNames(givenFilter, queue, {
    find: (tried) => readCounted(queue, tried, { judgements: false }, isUnfinishedOnly),
    isFound: (counted) => (counted?.items.length ?? 0) > 0,
  });
  if (!found) {
    const query = isUnfinishedOnly ? { include_own_state: true, include_feedback: true } : {};
    const all = await matchingItems(queue, filter, query);
    return (isUnfinishedOnly ? await unfinishedOf(all, queue) : all.items).length;
  }
  const count = countItems(found.items);
  await requireKnownNames(filter, queue, count, judgements);
  return count;
}

/** Applies all that the public service ignores. */
async function matchingHere(
  queue: QueueAccess,
  filter: ItemsFilter,
  query: ItemQuery,
): Promise<Omit<MatchingItems, 'filter'>> {
  const common: readonly string[] = commonFilterMembers;
  const include_feedback = query.include_feedback || hasJudgementConditions(filter);
  const atService = Object.fromEntries(Object.entries(filter).filter(([member]) => common.includes(member)));
  const columns: readonly string[] = sortColumns;
  const sort_by = query.sort_by?.every(({ field }) => columns.includes(field)) ? query.sort_by : undefined;
  const read = await readAllItems(queue, { ...query, limit: undefined, sort_by, filter: atService, include_feedback });
  const matches = await judgementCondition(filter, judgementsOf(read.feedback), queue);
  const judged = read.items.filter(({ call_id }) => matches(call_id));
  const items = await fulfillingItems(judged, serviceFilter(filter), queue);
  const isSorted = sort_by !== undefined || !query.sort_by;
  const { feedback } = read;
  const sorted = isSorted ? items : sortItems(items, query.sort_by!);
  return { items: sorted, feedback, itemsRead: read.items.length };
}
