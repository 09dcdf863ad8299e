import type { QueueItem } from '../../contract/queue-items.ts';
import { HeddleError } from '../../core/errors.ts';
import type { QueueAccess } from '../queue-access.ts';

/**
 * Removes up to 1,000 items from a queue, and returns how many it had until now.
 * @throws HeddleError `unsupported` at a service that cannot remove items.
 */
export async function removeItems(
  items: readonly QueueItem[],
  { id: queue_id, project: project_id, service }: QueueAccess,
): Promise<number> {
  if (items.length === 0) return 0;
  try {
    const item_ids = items.map(({ id }) => id);
    const body = { project_id, item_ids };
    return (await service.call('removeQueueItems', { path: { queue_id }, body })).removed_count;
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== 'unsupported') throw error;
    throw new HeddleError({
      code: 'unsupported',
      message: 'Nothing was changed: this service cannot remove items from a queue.',
      hint: 'Set them to skipped with update_queue_items, or fill another queue with the calls to keep and delete this one.',
    });
  }
}
