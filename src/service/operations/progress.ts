import type { AnnotationState, QueueItem, UpdateProgressRequest } from '../../contract/queue-items.ts';
import { refusal } from '../http/refusal.ts';
import type { Transaction } from '../storage/database.ts';
import { itemOf } from './queue-items.ts';
import { readQueue } from './queues.ts';

/** What may follow each state of an annotator's progress. */
const successors: Record<AnnotationState, readonly AnnotationState[]> = {
  unstarted: ['in_progress', 'completed', 'skipped'],
  in_progress: ['completed', 'skipped'],
  completed: [],
  skipped: [],
};

/**
 * Moves the progress of an annotator, and with it the item, in a write transaction (design §7;
 * `POST /annotation_queues/{queue_id}/items/{item_id}/progress`). The same state again changes nothing. Refuses with 404 where
 * the queue or the item is unknown, and with 400 what cannot follow.
 */
export async function updateProgress(
  transaction: Transaction,
  queueId: string,
  itemId: string,
  annotator: string,
  { project_id, annotation_state }: UpdateProgressRequest,
): Promise<QueueItem> {
  await readQueue(transaction, project_id, queueId);
  const item = await transaction
    .selectFrom('queue_items')
    .selectAll()
    .where('id', '=', itemId)
    .where('project_id', '=', project_id)
    .where('queue_id', '=', queueId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!item) throw refusal(404, `Item ${itemId} not found`);
  const record = await transaction
    .selectFrom('annotator_progress')
    .select('annotation_state')
    .where('item_id', '=', itemId)
    .where('annotator_user_id', '=', annotator)
    .executeTakeFirst();
  // A state that no annotator gave came with the item, by import: it is where everyone starts, so that an item imported
  // as completed does not become in_progress. A state that another annotator gave says nothing about this one.
  const inherited = item.annotator_user_id === null ? item.annotation_state : 'unstarted';
  const before = record?.annotation_state ?? inherited;
  if (before === annotation_state) return itemOf(item);
  if (!successors[before].includes(annotation_state)) {
    throw refusal(400, `Invalid state transition from ${before} to ${annotation_state}`);
  }
  const updated_at = new Date().toISOString();
  await transaction
    .insertInto('annotator_progress')
    .values({ item_id: itemId, annotator_user_id: annotator, annotation_state, created_at: updated_at, updated_at })
    .onConflict((conflict) =>
      conflict.columns(['item_id', 'annotator_user_id']).doUpdateSet({ annotation_state, updated_at }),
    )
    .execute();
  const change = { annotation_state, annotator_user_id: annotator, updated_at };
  await transaction.updateTable('queue_items').set(change).where('id', '=', itemId).execute();
  return itemOf({ ...item, ...change });
}
