import type { ServiceFacts } from '../client/service-facts.ts';
import type { QueueItem } from '../contract/queue-items.ts';
import type { QueueAccess } from './queue-access.ts';
import type { QueueRules } from './queue-fields.ts';

/** The items and rules that were shown with one `as_of`. */
interface ShownPage {
  /** States by item id, as {@link stateAndAnnotator} has them. */
  states: Map<string, string>;
  /** The rules of queues, by project and queue. */
  rules: Map<string, QueueRules>;
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
  const page: ShownPage = pages.get(asOf) ?? { states: new Map(), rules: new Map() };
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

/** Remembers the rules that were shown with the items of an `as_of`: a judgement refers to the versions that its judge saw. */
export function rememberRules(queue: QueueAccess, asOf: string, rules: QueueRules): void {
  pageOf(queue, asOf)?.rules.set(keyOf(queue), rules);
}

/** Returns the rules that were shown with an `as_of`; undefined if that is not remembered. */
export function shownRules(queue: QueueAccess, asOf: string): QueueRules | undefined {
  return pageOf(queue, asOf)?.rules.get(keyOf(queue));
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
