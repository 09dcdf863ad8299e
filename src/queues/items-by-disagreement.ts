import { readCountedItems } from './counted-items.ts';
import { disagreementsOf, queueOrder, sortItems } from './item-order.ts';
import { type ItemsFilter, judgementCondition, wholeFilter } from './items-filter.ts';
import { judgementsOf } from './judgements.ts';
import { matchingItems, type OrderedItems, partOf } from './matching-items.ts';
import type { QueueAccess } from './queue-access.ts';
import { countItems } from './queue-summary.ts';
import { type ItemQuery, type ItemsWithFeedback, readItems, readItemsBy } from './read-items.ts';

type SortKeys = NonNullable<ItemQuery['sort_by']>;

/** Returns whether items are to be sorted by how far annotators differ, which no service knows. */
export function sortsByDisagreement(keys: ItemQuery['sort_by']): keys is SortKeys {
  return keys?.some(({ field }) => field === 'disagreement') ?? false;
}

/**
 * Reads the items of a queue that match a filter, from `offset` on, in an order that has disagreement among its keys: as many as the
 * limit, or all where they had to be read for the order.
 * @throws HeddleError as {@link matchingItems} does.
 */
export async function readByDisagreement(
  queue: QueueAccess,
  given: ItemsFilter,
  { sort_by, offset, limit, ...form }: ItemQuery & { sort_by: SortKeys; offset: number; limit: number },
): Promise<OrderedItems> {
  const [first, ...others] = sort_by;
  const comesFirst = first?.field === 'disagreement' && !sortsByDisagreement(others);
  const counted = comesFirst ? await readCountedItems(queue, given, form) : undefined;
  const whole = counted ? counted.whole : await matchingItems(queue, given, { ...form, include_feedback: true });
  if (whole) {
    const { items, feedback, filter } = whole;
    const disagreements = disagreementsOf(judgementsOf(feedback), filter, queue);
    return partOf(whole, sortItems(items, sort_by, disagreements), offset);
  }
  const { filter, items, judgements } = counted!;
  const differs = await judgementCondition({ ...filter, disagreement: true }, judgements, queue);
  const ids = items.filter(({ call_id }) => differs(call_id)).map(({ id }) => id);
  const query = { ...form, ...(others.length > 0 && { sort_by: others }) };
  const parts = [
    {
      size: ids.length,
      read: async (from: number, to: number): Promise<ItemsWithFeedback> => {
        const calls = new Set(items.map(({ call_id }) => call_id));
        const ofItems = judgements.filter(({ call_id }) => calls.has(call_id));
        const disagreements = disagreementsOf(ofItems, filter, queue);
        const disputed = sortItems(
          (await readItemsBy('id', ids, queue)).items,
          [...sort_by, ...queueOrder],
          disagreements,
        );
        const wanted = disputed.slice(from, to).map(({ id }) => id);
        const read = await readItemsBy('id', wanted, queue, query);
        const byId = new Map(read.items.map((item) => [item.id, item]));
        return { items: wanted.flatMap((id) => byId.get(id) ?? []), feedback: read.feedback };
      },
    },
    {
      size: countItems(items) - ids.length,
      read: (from: number, to: number) => {
        const undisputed = { ...wholeFilter(filter, queue), disagreement: false };
        return readItems(queue, { ...query, filter: undisputed, offset: from, limit: to - from });
      },
    },
  ];
  const page: OrderedItems = { items: [], feedback: [], filter };
  let start = 0;
  for (const { size, read } of first!.direction === 'desc' ? parts : parts.toReversed()) {
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
