import type { AddQueueItemsRequest } from '../../contract/queue-items.ts';
import { addItems } from '../admin/import-items.ts';
import { refusal } from '../http/refusal.ts';
import type { Transaction } from '../storage/database.ts';
import { inChunks } from '../storage/in-chunks.ts';
import { readQueue } from './queues.ts';

/** Most missing calls that a refusal names. */
const maxNamed = 20;

/**
 * Puts recorded calls into a queue, in a write transaction (design §7; `POST /annotation_queues/{queue_id}/items`). A call that
 * is in it already, or named twice, is a duplicate. Refuses with 404, and adds nothing, where the queue or a call is unknown.
 */
export async function addQueueItems(
  transaction: Transaction,
  queueId: string,
  account: string,
  { project_id, call_ids, display_fields }: AddQueueItemsRequest,
): Promise<{ added_count: number; duplicates: number }> {
  await readQueue(transaction, project_id, queueId);
  const found = await inChunks(call_ids, (ids) =>
    transaction
      .selectFrom('calls')
      .select(['id', 'op_name', 'trace_id', 'started_at', 'ended_at'])
      .where('project_id', '=', project_id)
      .where('id', 'in', ids)
      .execute(),
  );
  const calls = new Map(found.map((call) => [call.id, call]));
  const missing = [...new Set(call_ids)].filter((id) => !calls.has(id));
  if (missing.length > 0) {
    const more = missing.length > maxNamed ? ` and ${missing.length - maxNamed} more` : '';
    throw refusal(404, `Call ${missing.slice(0, maxNamed).join(', ')}${more} not found`);
  }
  const items = call_ids.map((call_id) => {
    const call = calls.get(call_id)!;
    return {
      call_id,
      call_op_name: call.op_name,
      call_trace_id: call.trace_id,
      call_started_at: call.started_at,
      call_ended_at: call.ended_at,
      display_fields,
      annotation_state: 'unstarted' as const,
      // The call is there already, and stays as it was recorded.
      call: {},
    };
  });
  const { added, duplicates } = await addItems(transaction, items, {
    projectId: project_id,
    queueId,
    addedBy: account,
  });
  return { added_count: added, duplicates };
}
