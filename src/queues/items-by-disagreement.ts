import type { QueueItem } from '../contract/queue-items.ts';
import { readCountedItems } from './counted-items.ts';
import { disagreementsOf, queueOrder, sortItems } from './item-order.ts';
import { type ItemsFilter, judgementCondition, wholeFilter } from './items-filter.ts';
import { type OrderedItems, partOf } from './matching-items.ts';
import type { QueueAccess } from './queue-access.ts';
import { readQueueFields } from './queue-fields.ts';
import { countItems } from './queue-summary.ts';
import { type ItemQuery, type ItemsWithFeedback, readAllItems, readItems, readItemsBy } from './read-items.ts';

type SortKeys = NonNullable<ItemQuery['sort_by']>;

/** Returns whether items are to be sorted by how far annotators differ, which no service knows. */
export function sortsByDisagreement(keys: ItemQuery['sort_by']): keys is SortKeys {
  return keys?.some(isDisagreement) ?? false;
}

function isDisagreement({ field }: SortKeys[number]): boolean {
  return field === 'disagreement';
}

/**
 * Reads the items of a queue that match a filter, from `offset` on, in an order that has disagreement among its keys: as many as the
 * limit, or all where they had to be read for the order.
 * @throws HeddleError as {@link readCountedItems} does.
 */
export async function readByDisagreement(
  queue: QueueAccess,
  given: ItemsFilter,
  { sort_by, offset, limit, ...form }: ItemQuery & { sort_by: SortKeys; offset: number; limit: number },
): Promise<OrderedItems> {
  const keys = sort_by.filter((key) => !isDisagreement(key));
  // Positions are those in the order of the other keys.
  const query = { ...form, ...(keys.length > 0 && { sort_by: keys }) };
  const { filter, items, judgements, whole } = await readCountedItems(queue, given, query);
  const fields = await readQueueFields(queue.id, queue.project, queue.service);
  const disagreements = disagreementsOf(judgements, filter, queue, fields);
  if (whole) return partOf(whole, sortItems(whole.items, sort_by, disagreements), offset);
  const differs = await judgementCondition({ ...filter, disagreement: true }, judgements, queue);
  const disputed = items
    .filter(({ call_id }) => differs(call_id))
    .flatMap(({ call_id, named = [] }) => named.map((item) => ({ ...item, value: disagreements.get(call_id) ?? 0 })));
  const values = new Map(disputed.map(({ call_id, value }) => [call_id, value]));
  const parts: Parts = {
    disputed,
    sort: (some) => sortItems(some, [...sort_by, ...queueOrder], values),
    undisputed: {
      count: countItems(items) - disputed.length,
      query: { ...query, filter: { ...wholeFilter(filter, queue), disagreement: false } },
    },
  };
  const [first] = sort_by;
  const page = { offset, limit };
  const read = isDisagreement(first!)
    ? await readByDisagreementFirst(queue, parts, page, first!.direction)
    : await readMerged(queue, parts, page);
  return { ...read, filter, matching: countItems(items) };
}

/** The items that match, in two parts: those on which annotators differ, and how to query the others in their order. */
interface Parts {
  disputed: (QueueItemName & { place: number; value: number })[];
  undisputed: { count: number; query: ItemQuery };
  /** Sorts items by all keys. */
  sort(items: readonly QueueItem[]): QueueItem[];
}
type QueueItemName = Pick<QueueItem, 'id' | 'call_id'>;
type Page = { offset: number; limit: number };

/** Reads a page of an order in which one part follows the other. */
async function readByDisagreementFirst(
  queue: QueueAccess,
  { disputed, undisputed: { count, query }, sort }: Parts,
  { offset, limit }: Page,
  direction: SortKeys[number]['direction'],
): Promise<ItemsWithFeedback> {
  const sign = direction === 'desc' ? -1 : 1;
  disputed.sort((a, b) => sign * (a.value - b.value) || a.place - b.place);
  const readDisputed = async (from: number, to: number): Promise<ItemsWithFeedback> => {
    if (query.sort_by === undefined) return readInOrder(queue, disputed.slice(from, to), query);
    // The other keys sort items of equal disagreement.
    const start = disputed.findIndex(({ value }) => value === disputed[from]!.value);
    const end = disputed.findLastIndex(({ value }) => value === disputed[to - 1]!.value) + 1;
    const { items } = await readItemsBy('id', idsOf(disputed.slice(start, end)), queue);
    return readInOrder(queue, sort(items).slice(from - start, to - start), query);
  };
  const readUndisputed = (from: number, to: number) => readItems(queue, { ...query, offset: from, limit: to - from });
  const parts = [
    { size: disputed.length, read: readDisputed },
    { size: count, read: readUndisputed },
  ];
  const page: ItemsWithFeedback = { items: [], feedback: [] };
  let start = 0;
  for (const { size, read } of direction === 'desc' ? parts : parts.toReversed()) {
    const [from, to] = [Math.max(0, offset - start), Math.min(size, offset + limit - start)];
    if (from < to) {
      const { items, feedback } = await read(from, to);
      page.items.push(...items);
      page.feedback.push(...feedback);
    }
    start += size;
  }
  return page;
}

/** Reads a page of an order that has disputed items among the others. */
async function readMerged(
  queue: QueueAccess,
  { disputed, undisputed: { count, query }, sort }: Parts,
  { offset, limit }: Page,
): Promise<ItemsWithFeedback> {
  // At most all disputed items come before the page, and so at least this many of the others do.
  const start = Math.min(Math.max(0, offset - disputed.length), count);
  const end = Math.min(offset + limit, count);
  const { filter, sort_by } = query;
  const others =
    start < end ? await readAllItems(queue, { filter, sort_by, offset: start, limit: end - start }) : undefined;
  const { items } = await readItemsBy('id', idsOf(disputed), queue);
  const sorted = sort([...items, ...(others?.items ?? [])]);
  return readInOrder(queue, sorted.slice(offset - start, offset - start + limit), query);
}

/** Reads items, with their feedback if it is asked for, in the order in which they are named. */
async function readInOrder(
  queue: QueueAccess,
  named: readonly QueueItemName[],
  { filter: _, ...form }: ItemQuery,
): Promise<ItemsWithFeedback> {
  const { items, feedback } = await readItemsBy('id', idsOf(named), queue, form);
  const byId = new Map(items.map((item) => [item.id, item]));
  return { items: named.flatMap(({ id }) => byId.get(id) ?? []), feedback };
}

function idsOf(named: readonly QueueItemName[]): string[] {
  return named.map(({ id }) => id);
}
