import { groupBy } from '../core/append-to.ts';
import { findDisagreements } from './disagreements.ts';
import type { ItemPage, ItemPageRequest } from './item-pages.ts';
import { judgementCondition } from './items-filter.ts';
import { goldOf, judgementsOf, latestJudgements } from './judgements.ts';
import { matchingItems } from './matching-items.ts';
import type { QueueAccess } from './queue-access.ts';
import { readQueueFields } from './queue-fields.ts';
import { judgedItems } from './queue-summary.ts';
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
  const { items, feedback, filter } = await matchingItems(queue, given, { include_feedback: true, include_own_state });
  const itemsByCall = new Map(items.map((item) => [item.call_id, item]));
  const judgements = latestJudgements(judgementsOf(feedback)).filter(({ call_id }) => itemsByCall.has(call_id));
  const differs = await judgementCondition({ ...filter, disagreement: true }, judgements, queue);
  const differing = items.filter(({ call_id }) => differs(call_id));
  const fields = await readQueueFields(queue.id, queue.project, queue.service);
  const { open } = findDisagreements(judgedItems(items, judgements), goldOf(feedback), fields);
  const inField = given.field === undefined ? open : open.filter(({ field }) => field === given.field);
  const disagreements = groupBy(inField, ({ item_id }) => item_id);
  const itemsById = new Map(differing.map((item) => [item.id, item]));
  const all = [...disagreements].filter(([id]) => itemsById.has(id));
  const disputed = all.slice(offset, offset + limit);
  const page = disputed.map(([id]) => itemsById.get(id)!);
  return {
    items: page,
    feedback,
    hasMore: all.length > offset + limit,
    matching: all.length,
    settled: differing.length - all.length,
    as_of: rememberItems(queue, readAtMs, page),
    filter,
    disputes: new Map(
      disputed.map(([id, list]) => [id, Object.fromEntries(list.map(({ field, values }) => [field, values]))]),
    ),
  };
}
