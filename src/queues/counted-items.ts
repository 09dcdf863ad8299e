import { hasCallConditions, type ItemsFilter, judgementCondition } from './items-filter.ts';
import { goldOf, type Judgement, judgementsOf } from './judgements.ts';
import { findWithWholeNames, isWholeNameOf, requireKnownNames } from './known-names.ts';
import { type MatchingItems, matchingItems } from './matching-items.ts';
import type { QueueAccess } from './queue-access.ts';
import type { SummarizedItem } from './queue-summary.ts';
import type { ItemForm } from './read-items.ts';
import { readCounted } from './summarized-items.ts';

/** The items that match a filter, and what was judged of them. */
interface CountedItems {
  /** The filter, with the whole names that it means. */
  filter: ItemsFilter;
  /** One for all that are alike, where the service counts. */
  items: SummarizedItem[];
  /** The judgements of these items. */
  judgements: Judgement[];
  gold: Judgement[];
  /** All of the items with their feedback, where the service does not count. */
  whole?: MatchingItems;
}

/**
 * Reads the items of a queue that match a filter with their judgements and gold, in groups where the service counts.
 * @param form what else to read with the items, where it does not count.
 * @throws HeddleError `invalid_arguments` if nothing matches because of a name or value that the queue does not have.
 */
export async function readCountedItems(
  queue: QueueAccess,
  given: ItemsFilter,
  form: ItemForm = {},
): Promise<CountedItems> {
  const {
    filter,
    found: counted,
    judgements: ofQueue,
  } = await findWithWholeNames(given, queue, {
    find: (tried) => readCounted(queue, tried, { judgements: true, gold: true }),
    isFound: (summary) => summary !== undefined && isWholeNameOf(given, summary.judgements),
    judgementsIn: (summary) => (hasCallConditions(given) ? undefined : summary?.judgements),
  });
  if (!counted) {
    const whole = await matchingItems(queue, filter, { ...form, include_feedback: true });
    const items = whole.items.map(({ id, call_id, call_op_name, annotation_state }, place) => {
      return { id, call_id, place, call_op_name, annotation_state };
    });
    const judgements = onItems(items, judgementsOf(whole.feedback));
    return { filter, items, judgements, gold: goldOf(whole.feedback), whole };
  }
  const { judgements, gold } = counted;
  const matches = await judgementCondition(filter, judgements, queue);
  const items = counted.items.filter(({ call_id }) => matches(call_id));
  await requireKnownNames(filter, queue, items.length, ofQueue);
  return { filter, items, judgements: onItems(items, judgements), gold };
}

function onItems(items: readonly SummarizedItem[], judgements: readonly Judgement[]): Judgement[] {
  const calls = new Set(items.map(({ call_id }) => call_id));
  return judgements.filter(({ call_id }) => calls.has(call_id));
}
