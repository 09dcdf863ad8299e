import type { QueryQueueItemsRequest, sortDirections, sortFields } from '../contract/query-queue-items.ts';

type SortField = (typeof sortFields)[number];

/** One key of a total order of queue items. */
export interface OrderKey {
  column: SortField | 'id';
  direction: (typeof sortDirections)[number];
}

/** The requested order, made total: `created_at` when nothing is asked for, and always `id` last. */
export function totalOrder(sortBy: QueryQueueItemsRequest['sort_by']): OrderKey[] {
  const keys: OrderKey[] = [];
  for (const { field, direction } of sortBy ?? []) {
    // A field that was named before decides nothing any more.
    if (!keys.some(({ column }) => column === field)) keys.push({ column: field, direction });
  }
  if (keys.length === 0) keys.push({ column: 'created_at', direction: 'asc' });
  return [...keys, { column: 'id', direction: 'asc' }];
}
