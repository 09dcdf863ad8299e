import { finishedStates, type QueueItem } from '../contract/queue-items.ts';
import { readCountedItems } from './counted-items.ts';
import type { ItemPage, ItemPageRequest } from './item-pages.ts';
import { wholeFilter } from './items-filter.ts';
import { byCall, latestJudgements } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { readQueueFields, unjudgedFields } from './queue-fields.ts';
import { countItems } from './queue-summary.ts';
import { readItems } from './read-items.ts';
import { rememberItems } from './shown-items.ts';

/** Reads a page of the completed items on which nobody gave a field the value that it needs, and counts them by field, and those that were skipped. */
export async function readLackingPage(
  { filter: given = {}, limit, offset = 0, include_own_state }: ItemPageRequest,
  queue: QueueAccess,
): Promise<Omit<ItemPage, 'feedback'> & { matching: number; lacking: Record<string, number>; skipped: number }> {
  const readAtMs = Date.now();
  // Finished items alone are counted.
  const finished = { annotation_states: [...finishedStates], ...given };
  const { filter, items, judgements, whole } = await readCountedItems(queue, finished, { include_own_state });
  const fields = await readQueueFields(queue.id, queue.project, queue.service);
  const judged = byCall(latestJudgements(judgements));
  const needed = unjudgedFields(fields, new Set());
  const lacking = items
    .filter(({ annotation_state }) => annotation_state === 'completed')
    .map((item) => ({
      item,
      names: unjudgedFields(fields, new Set(judged.get(item.call_id)?.map(({ field }) => field))),
    }))
    .filter(({ names }) => names.length > 0);
  const countOf = (some: typeof lacking): number => countItems(some.map(({ item }) => item));
  const matching = countOf(lacking);
  let page: QueueItem[] = [];
  if (whole) {
    const ids = new Set(lacking.slice(offset, offset + limit).map(({ item }) => item.id));
    page = whole.items.filter(({ id }) => ids.has(id));
  } else if (matching > offset) {
    const ofCompleted = { ...wholeFilter(filter, queue), annotation_states: ['completed' as const] };
    const asked = { filter: { ...ofCompleted, lacks_value_of: needed }, offset, limit, include_own_state };
    page = (await readItems(queue, asked)).items;
  }
  return {
    items: page,
    hasMore: matching > offset + limit,
    matching,
    as_of: rememberItems(queue, readAtMs, page),
    filter,
    lacking: Object.fromEntries(
      needed
        .map((name) => [name, countOf(lacking.filter(({ names }) => names.includes(name)))] as const)
        .filter(([, count]) => count > 0),
    ),
    skipped: countItems(items.filter(({ annotation_state }) => annotation_state === 'skipped')),
  };
}
