import type { ResultOf } from '../contract/endpoints.ts';
import { isFinished, type QueueItem } from '../contract/queue-items.ts';
import { isOwn, learnAccount } from './authorship.ts';
import { byCall, judgementsOf } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { isFreeText, type QueueField, readQueueFields } from './queue-fields.ts';
import { type ItemQuery, type ItemsPage, type ItemsWithFeedback, readItems } from './read-items.ts';

/**
 * Returns the account's own state of an item. A service that does not send it shows the latest change of anyone: then it is
 * that of the account if the account made it, and otherwise follows from the fields that the account has judged.
 */
export function ownStateOf(
  { own_state, annotation_state, annotator_user_id }: QueueItem,
  judged: readonly string[],
  fields: readonly QueueField[],
  { service: { facts } }: QueueAccess,
): string {
  if (own_state) return own_state;
  if (!annotator_user_id || annotator_user_id === (facts.annotatorId ?? facts.userId)) return annotation_state;
  if (judged.length === 0) return 'unstarted';
  const needed = fields.filter((field) => !isFreeText(field));
  return needed.every(({ name }) => judged.includes(name)) ? 'completed' : 'in_progress';
}

/** Items that are read at once while those that the account has finished are left out. */
const itemsPerRequest = 200;

/** Reads a page of the items that the account has not finished. The query has an offset and a limit. */
export async function readUnfinished(
  queue: QueueAccess,
  query: ItemQuery & { offset: number; limit: number },
): Promise<ItemsPage> {
  const read = await readItems(queue, { ...query, filter: { ...query.filter, unfinished_by_me: true } });
  // Other services ignore the condition, and do not send the own state.
  if (read.items.every(({ own_state }) => own_state != null)) return read;
  const { offset, limit } = query;
  const found: ItemsWithFeedback = { items: [], feedback: [] };
  for (let from = 0; ; from += itemsPerRequest) {
    const page = await readItems(queue, { ...query, include_feedback: true, offset: from, limit: itemsPerRequest });
    found.items.push(...(await unfinishedOf(page, queue)));
    found.feedback.push(...page.feedback);
    if (page.items.length < itemsPerRequest || found.items.length >= offset + limit) break;
  }
  return { ...found, items: found.items.slice(offset, offset + limit) };
}

/** Returns the items that the account has not finished; `feedback` is that on all of them. */
export async function unfinishedOf(
  { items, feedback }: ItemsWithFeedback,
  queue: QueueAccess,
): Promise<ItemsWithFeedback['items']> {
  const judgements = judgementsOf(feedback);
  await learnAccount(judgements, queue);
  const own = byCall(judgements.filter((judgement) => isOwn(judgement, queue)));
  const fields = own.size > 0 ? await readQueueFields(queue.id, queue.project, queue.service) : [];
  return items.filter((item) => {
    const judged = own.get(item.call_id)?.map(({ field }) => field) ?? [];
    return !isFinished(ownStateOf(item, judged, fields, queue));
  });
}

/**
 * Returns the counts of a queue: `remaining` items that no one has finished, and `to_do`, which the account has not finished, if
 * that is another number and the service tells.
 */
export function itemCounts({
  total_items,
  completed_items,
  own_completed_items,
}: ResultOf<'queueStats'>['stats'][number]): { remaining: number; to_do?: number; total: number } {
  const isOther = own_completed_items !== undefined && own_completed_items !== completed_items;
  return {
    remaining: total_items - completed_items,
    ...(isOther && { to_do: total_items - own_completed_items }),
    total: total_items,
  };
}
