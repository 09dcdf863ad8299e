import type { QueueItem } from '../../contract/queue-items.ts';
import { HeddleError } from '../../core/errors.ts';
import type { QueueAccess } from '../queue-access.ts';
import { readItemsBy } from '../read-items.ts';

/** Returns the items with these ids, or of the calls with these ids, and the ids that belong to no item of the queue. */
export async function itemsToRemove(
  ids: readonly string[],
  queue: QueueAccess,
): Promise<{ items: QueueItem[]; unknown: string[] }> {
  const { items } = await readItemsBy('id', [...new Set(ids)], queue);
  const found = new Set(items.map(({ id }) => id));
  const others = [...new Set(ids)].filter((id) => !found.has(id));
  const ofCalls = others.length === 0 ? [] : (await readItemsBy('call_id', others, queue)).items;
  const calls = new Set(ofCalls.map(({ call_id }) => call_id));
  return {
    items: [...items, ...ofCalls.filter(({ id }) => !found.has(id))],
    unknown: others.filter((id) => !calls.has(id)),
  };
}

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
