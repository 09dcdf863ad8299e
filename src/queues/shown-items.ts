import type { ServiceFacts } from '../client/service-facts.ts';
import type { QueueItem } from '../contract/queue-items.ts';
import type { QueueAccess } from './queue-access.ts';
import type { QueueField } from './queue-fields.ts';

/** The items and fields that were shown with one `as_of`. */
interface ShownPage {
  /** States by item id, as {@link stateAndAnnotator} has them. */
  states: Map<string, string>;
  /** The fields of queues, by project and queue. */
  fields: Map<string, readonly QueueField[]>;
}

/** Pages by `as_of`, for each service and account; the tool calls of one server share them. */
const shownPages = new WeakMap<ServiceFacts, Map<string, ShownPage>>();
const maxRememberedItems = 100_000;

/**
 * Remembers the state of items that a tool shows, for changes with `as_of`, and returns this `as_of`: a time by the clock of
 * the service that is surely before they were read. Only the newest items are kept.
 */
export function rememberItems(
  { service: { facts } }: QueueAccess,
  readAtMs: number,
  items: readonly QueueItem[],
): string {
  const asOf = facts.timeBefore(readAtMs);
  const pages = shownPages.get(facts) ?? new Map<string, ShownPage>();
  shownPages.set(facts, pages);
  const page: ShownPage = pages.get(asOf) ?? { states: new Map(), fields: new Map() };
  for (const item of items) page.states.set(item.id, stateAndAnnotator(item));
  pages.delete(asOf);
  pages.set(asOf, page);
  let count = 0;
  for (const { states } of pages.values()) count += states.size;
  for (const [oldest, { states }] of pages) {
    if (count <= maxRememberedItems || oldest === asOf) break;
    pages.delete(oldest);
    count -= states.size;
  }
  return asOf;
}

/** Remembers the fields that were shown with the items of an `as_of`: a judgement refers to the version that its judge saw. */
export function rememberFields(queue: QueueAccess, asOf: string, fields: readonly QueueField[]): void {
  pageOf(queue, asOf)?.fields.set(keyOf(queue), fields);
}

/** Returns the fields that were shown with an `as_of`; undefined if that is not remembered. */
export function shownFields(queue: QueueAccess, asOf: string): readonly QueueField[] | undefined {
  return pageOf(queue, asOf)?.fields.get(keyOf(queue));
}

/** Returns how an item was shown with an `as_of`, as {@link stateAndAnnotator} has it; undefined if that is not remembered. */
export function shownItem(queue: QueueAccess, asOf: string, itemId: string): string | undefined {
  return pageOf(queue, asOf)?.states.get(itemId);
}

function pageOf({ service: { facts } }: QueueAccess, asOf: string): ShownPage | undefined {
  return shownPages.get(facts)?.get(asOf);
}

function keyOf({ project, id }: QueueAccess): string {
  return JSON.stringify([project, id]);
}

/** Returns the state of an item and who set it, as one string for comparisons. */
export function stateAndAnnotator({ annotation_state, annotator_user_id }: QueueItem): string {
  return `${annotation_state} ${annotator_user_id ?? ''}`;
}
