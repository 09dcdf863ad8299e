import { finishedStates } from '../contract/queue-items.ts';
import { countEach } from '../core/statistics/count-each.ts';
import type { ItemPage, ItemPageRequest } from './item-pages.ts';
import { byCall, judgementsOf, latestJudgements } from './judgements.ts';
import { matchingItems } from './matching-items.ts';
import type { QueueAccess } from './queue-access.ts';
import { readQueueFields, unjudgedFields } from './queue-fields.ts';
import { rememberItems } from './shown-items.ts';

/** Reads a page of the completed items on which nobody gave a field the value that it needs, and counts them by field, and those that were skipped. */
export async function readLackingPage(
  { filter: given = {}, limit, offset = 0, include_own_state }: ItemPageRequest,
  queue: QueueAccess,
): Promise<ItemPage & { matching: number; lacking: Record<string, number>; skipped: number }> {
  const readAtMs = Date.now();
  const query = { include_feedback: true, include_own_state };
  // Finished items alone are counted.
  const finished = { annotation_states: [...finishedStates], ...given };
  const { items, feedback, filter } = await matchingItems(queue, finished, query);
  const fields = await readQueueFields(queue.id, queue.project, queue.service);
  const judgements = byCall(latestJudgements(judgementsOf(feedback)));
  const completed = items.filter(({ annotation_state }) => annotation_state === 'completed');
  const lacking = completed.flatMap((item) => {
    const judged = new Set(judgements.get(item.call_id)?.map(({ field }) => field));
    const names = unjudgedFields(fields, judged);
    return names.length === 0 ? [] : [{ item, names }];
  });
  const page = lacking.slice(offset, offset + limit).map(({ item }) => item);
  return {
    items: page,
    feedback,
    hasMore: lacking.length > offset + limit,
    matching: lacking.length,
    as_of: rememberItems(queue, readAtMs, page),
    filter,
    lacking: Object.fromEntries(countEach(lacking.flatMap(({ names }) => names))),
    skipped: items.filter(({ annotation_state }) => annotation_state === 'skipped').length,
  };
}
