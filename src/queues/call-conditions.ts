import type { QueueItem } from '../contract/queue-items.ts';
import { inBatches } from '../core/in-batches.ts';
import { millisecondsOf } from '../core/timestamps.ts';
import { callsQuery } from '../records/calls-query.ts';
import type { QueueAccess } from './queue-access.ts';
import type { ItemQuery } from './read-items.ts';

/** Calls that one request looks through. */
const callsPerRequest = 500;

/**
 * Returns the items that fulfil the conditions on their calls, for services that ignore these. Errors and texts take a request per
 * 500 calls.
 */
export async function fulfillingItems(
  items: readonly QueueItem[],
  { ids, started_after, started_before, latency_above, has_error, text }: NonNullable<ItemQuery['filter']>,
  { project, service, progress }: QueueAccess,
): Promise<QueueItem[]> {
  const named = ids && new Set(ids);
  const fulfilling = items.filter((item) => {
    const started = millisecondsOf(item.call_started_at) / 1000;
    return (
      (!named || named.has(item.id) || named.has(item.call_id)) &&
      (started_after == null || started >= started_after) &&
      (started_before == null || started < started_before) &&
      (latency_above == null || latencyMs(item) > latency_above * 1000)
    );
  });
  if (has_error == null && text == null) return fulfilling;
  const { query } = callsQuery({ has_error: has_error ?? undefined, text: text ?? undefined });
  const found = new Set<string>();
  let done = 0;
  for (const batch of inBatches(fulfilling, callsPerRequest)) {
    const filter = { call_ids: batch.map(({ call_id }) => call_id) };
    const body = { project_id: project, filter, query, columns: ['id'], limit: batch.length };
    for (const { id } of await service.call('queryCalls', { body })) found.add(id);
    done += batch.length;
    progress?.({ done, total: fulfilling.length, unit: 'items' });
  }
  return fulfilling.filter(({ call_id }) => found.has(call_id));
}

/** Returns the milliseconds that the call of an item took; -1 if it has not ended. */
export function latencyMs({ call_started_at, call_ended_at }: QueueItem): number {
  return call_ended_at ? millisecondsOf(call_ended_at) - millisecondsOf(call_started_at) : -1;
}
