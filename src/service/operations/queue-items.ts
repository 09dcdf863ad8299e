import type { QueryQueueItemsRequest, QueueItem } from '../../contract/queue-items.ts';
import type { Transaction } from '../storage/database.ts';
import { positionsInQueue } from '../storage/queue-positions.ts';
import type { Tables } from '../storage/tables.ts';
import { totalOrder } from '../storage/total-order.ts';

const equalityFilters = ['id', 'call_id', 'call_op_name', 'call_trace_id', 'added_by'] as const;

/** A page of a queue's items (interface 4.1), and the places of these items in the whole queue where asked for. */
export async function queryQueueItems(
  transaction: Transaction,
  queueId: string,
  request: QueryQueueItemsRequest,
): Promise<QueueItem[]> {
  const queue = { project_id: request.project_id, queue_id: queueId };
  const order = totalOrder(request.sort_by, { field: 'created_at', direction: 'asc' });
  const offset = request.offset ?? 0;

  let page = transaction
    .selectFrom('queue_items')
    .select('id')
    .where('project_id', '=', queue.project_id)
    .where('queue_id', '=', queue.queue_id)
    .where('deleted_at', 'is', null)
    .limit(request.limit ?? Number.MAX_SAFE_INTEGER)
    .offset(offset);
  for (const { column, direction } of order) page = page.orderBy(column, direction);
  let filtered = false;
  for (const field of equalityFilters) {
    const value = request.filter?.[field];
    if (value == null) continue;
    page = page.where(field, '=', value);
    filtered = true;
  }
  const states = request.filter?.annotation_states;
  if (states?.length) {
    page = page.where('annotation_state', 'in', [...new Set(states)]);
    filtered = true;
  }

  // The ids come from an index alone; whole rows are read for the page only, not for what the offset passes over.
  let rows = transaction.selectFrom(page.as('page')).innerJoin('queue_items', 'queue_items.id', 'page.id');
  for (const { column, direction } of order) rows = rows.orderBy(`queue_items.${column}`, direction);
  const items = (await rows.selectAll('queue_items').execute()).map(itemOf);
  if (!request.include_position) return items;

  const keys = items.map((item) => order.map(({ column }) => item[column]));
  const positions = filtered
    ? await positionsInQueue(transaction, queue, order, keys)
    : items.map((_, index) => offset + index + 1);
  return items.map((item, index) => ({ ...item, position_in_queue: positions[index]! }));
}

/** An item as the interface shows it (2.1), from its row; its position is not known. */
export function itemOf(row: Tables['queue_items']): QueueItem {
  return { ...row, display_fields: JSON.parse(row.display_fields), position_in_queue: null };
}
