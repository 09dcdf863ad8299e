import { groupBy } from '../core/append-to.ts';
import { readCountedItems } from './counted-items.ts';
import { findDisagreements } from './disagreements.ts';
import type { ItemPage, ItemPageRequest } from './item-pages.ts';
import { judgementCondition } from './items-filter.ts';
import { latestJudgements } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { readQueueFields } from './queue-fields.ts';
import { eachItem, judgedItems } from './queue-summary.ts';
import { readItemsBy } from './read-items.ts';
import { rememberItems } from './shown-items.ts';

/**
 * Reads a page of the items on which annotators differ and which no gold settles, the worst first. `settled` is the number of the other
 * items on which they differ: gold settles it, or it is in free text.
 */
export async function readDisputedPage(
  { filter: given = {}, limit, offset = 0, include_own_state }: ItemPageRequest,
  queue: QueueAccess,
): Promise<ItemPage & { matching: number; settled: number }> {
  const readAtMs = Date.now();
  const query = { include_feedback: true, include_own_state };
  const { filter, items, judgements, gold, whole } = await readCountedItems(queue, given, query);
  const differs = await judgementCondition({ ...filter, disagreement: true }, judgements, queue);
  const judged = judgedItems(items, latestJudgements(judgements));
  const differing = new Set(
    items
      .filter(({ call_id }) => differs(call_id))
      .flatMap(eachItem)
      .map(({ id }) => id),
  );
  const fields = await readQueueFields(queue.id, queue.project, queue.service);
  const { open } = findDisagreements(judged, gold, fields);
  const inField = given.field === undefined ? open : open.filter(({ field }) => field === given.field);
  const all = [...groupBy(inField, ({ item_id }) => item_id)].filter(([id]) => differing.has(id));
  const disputed = all.slice(offset, offset + limit);
  const ids = disputed.map(([id]) => id);
  const read = whole ?? (await readItemsBy('id', ids, queue, query));
  const itemsById = new Map(read.items.map((item) => [item.id, item]));
  const page = ids.flatMap((id) => itemsById.get(id) ?? []);
  return {
    items: page,
    feedback: read.feedback,
    hasMore: all.length > offset + limit,
    matching: all.length,
    settled: differing.size - all.length,
    as_of: rememberItems(queue, readAtMs, page),
    filter,
    disputes: new Map(
      disputed.map(([id, list]) => [id, Object.fromEntries(list.map(({ field, values }) => [field, values]))]),
    ),
  };
}
