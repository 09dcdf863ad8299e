import { countEach } from '../core/statistics/count-each.ts';
import type { ItemPage, ItemPageRequest } from './item-pages.ts';
import { judgementsOf, latestJudgements } from './judgements.ts';
import { matchingItems } from './matching-items.ts';
import type { QueueAccess } from './queue-access.ts';
import { isFreeText, readQueueFields } from './queue-fields.ts';
import { rememberItems } from './shown-items.ts';

/** Reads a page of the completed items on which nobody gave a field the value that it needs, and counts them by field, and those that were skipped. */
export async function readLackingPage(
  { filter: given = {}, limit, offset = 0, include_own_state }: ItemPageRequest,
  queue: QueueAccess,
): Promise<ItemPage & { matching: number; lacking: Record<string, number>; skipped: number }> {
  const readAtMs = Date.now();
  const { items, feedback, filter } = await matchingItems(queue, given, { include_feedback: true, include_own_state });
  const fields = await readQueueFields(queue.id, queue.project, queue.service);
  const judged = new Set(latestJudgements(judgementsOf(feedback)).map(({ call_id, field }) => placeOf(call_id, field)));
  const needed = fields.filter((field) => !isFreeText(field));
  const completed = items.filter(({ annotation_state }) => annotation_state === 'completed');
  const places = completed.flatMap((item) =>
    needed.filter(({ name }) => !judged.has(placeOf(item.call_id, name))).map(({ name }) => ({ item, name })),
  );
  const lacking = [...new Set(places.map(({ item }) => item))];
  const page = lacking.slice(offset, offset + limit);
  return {
    items: page,
    feedback,
    hasMore: lacking.length > offset + limit,
    matching: lacking.length,
    as_of: rememberItems(queue, readAtMs, page),
    filter,
    lacking: Object.fromEntries(countEach(places.map(({ name }) => name))),
    skipped: items.filter(({ annotation_state }) => annotation_state === 'skipped').length,
  };
}

function placeOf(callId: string, field: string): string {
  return JSON.stringify([callId, field]);
}
