import type { ServiceClient } from '../client/service-client.ts';
import type { ServiceFacts } from '../client/service-facts.ts';
import type { QueueItem } from '../contract/queue-items.ts';

/** The texts of the items that were shown, by `as_of` and item id. */
type ShownItems = Map<string, Map<string, string>>;

/** One entry for each service and account; the tool calls of one server share it. */
const shownAt = new WeakMap<ServiceFacts, ShownItems>();
const maxRememberedItems = 100_000;

/**
 * Remembers the state of items that a tool shows, for changes with `as_of`, and returns this `as_of`: a time by the clock of
 * the service that is surely before they were read. Only the newest items are kept.
 */
export function rememberItems({ facts }: ServiceClient, readAtMs: number, items: readonly QueueItem[]): string {
  const asOf = facts.timeBefore(readAtMs);
  const pages: ShownItems = shownAt.get(facts) ?? new Map();
  shownAt.set(facts, pages);
  const page = pages.get(asOf) ?? new Map<string, string>();
  for (const item of items) page.set(item.id, stateAndAnnotator(item));
  pages.delete(asOf);
  pages.set(asOf, page);
  let count = 0;
  for (const { size } of pages.values()) count += size;
  for (const [oldest, { size }] of pages) {
    if (count <= maxRememberedItems || oldest === asOf) break;
    pages.delete(oldest);
    count -= size;
  }
  return asOf;
}

/** Returns how an item was shown with an `as_of`, as {@link stateAndAnnotator} has it; undefined if that is not remembered. */
export function shownItem({ facts }: ServiceClient, asOf: string, itemId: string): string | undefined {
  return shownAt.get(facts)?.get(asOf)?.get(itemId);
}

/** Returns the state of an item and who set it, as one string for comparisons. */
export function stateAndAnnotator({ annotation_state, annotator_user_id }: QueueItem): string {
  return `${annotation_state} ${annotator_user_id ?? ''}`;
}
