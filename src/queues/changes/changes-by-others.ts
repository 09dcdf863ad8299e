import { HeddleError } from '../../core/errors.ts';
import { isOwn } from '../authorship.ts';
import { judgementsOf } from '../judgements.ts';
import type { QueueAccess } from '../queue-access.ts';
import { readItemsBy } from '../read-items.ts';
import { stateAndAnnotator } from '../shown-items.ts';
import { judgementText, moveText, type Update } from './plan-updates.ts';

/** Changes of one item that are described. */
const maxTexts = 3;

/**
 * Reads the items of updates again, and adds to the updates what others did to them since `startedAtMs`. The service cannot be told to change an item only in a
 * certain state, so somebody may change it between the check and the change. Returns a hint if the items cannot be read.
 */
export async function noteChangesByOthers(
  updates: readonly Update[],
  queue: QueueAccess,
  startedAtMs: number,
): Promise<string | undefined> {
  if (updates.length === 0) return undefined;
  const ids = updates.map(({ item }) => item.id);
  const read = await readItemsBy('id', ids, queue, true).catch((error: unknown) => {
    if (!(error instanceof HeddleError) || queue.signal.aborted) throw error;
    return error;
  });
  // The changes are done, whether or not this can be read.
  if (read instanceof HeddleError) {
    return `The changes are done, but what others did to the items meanwhile could not be read: ${read.message}`;
  }
  const { learned } = queue.service;
  const since = Date.parse(learned.timeBefore(startedAtMs));
  const items = new Map(read.items.map((item) => [item.id, item]));
  const judgements = judgementsOf(read.feedback).filter(
    (judgement) => !isOwn(judgement, queue) && Date.parse(judgement.at) >= since,
  );
  for (const update of updates) {
    const now = items.get(update.item.id);
    const isMoved =
      now && stateAndAnnotator(now) !== stateAndAnnotator(update.item) && now.annotator_user_id !== learned.annotatorId;
    const judged = judgements.filter(({ call_id }) => call_id === update.item.call_id);
    const texts = [...(isMoved ? [moveText(now)] : []), ...judged.map(judgementText)];
    if (texts.length === 0) continue;
    const more = texts.length > maxTexts ? [`and ${texts.length - maxTexts} more`] : [];
    update.meanwhile = [...texts.slice(0, maxTexts), ...more].join('; ');
  }
  return undefined;
}
