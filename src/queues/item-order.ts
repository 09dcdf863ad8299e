import type { QueueItem } from '../contract/queue-items.ts';
import type { SortKey } from '../contract/sort-keys.ts';
import { groupBy } from '../core/append-to.ts';
import { canonicalJson } from '../core/json/canonical-json.ts';
import { ownMember } from '../core/json/member-at.ts';
import { countEach } from '../core/statistics/count-each.ts';
import { latencyMs } from './call-conditions.ts';
import { rangeOf, shareOfPairs } from './disagreements.ts';
import { byCall, type Judgement, judgementsOf, latestJudgements } from './judgements.ts';
import type { ItemsWithFeedback } from './read-items.ts';

/**
 * Sorts items by keys that services do not know; equal ones stay in their order. `feedback` is all that was given on them.
 * @param field the field whose disagreement counts; without it, that in which annotators differ most.
 */
export function sortItems(
  { items, feedback }: ItemsWithFeedback,
  keys: readonly SortKey[],
  field?: string,
): QueueItem[] {
  const needsDisagreement = keys.some((key) => key.field === 'disagreement');
  const isMeant = (judgement: Judgement): boolean => field === undefined || judgement.field === field;
  const disagreements = needsDisagreement ? disagreementsOf(judgementsOf(feedback).filter(isMeant)) : undefined;
  const valueFor = (item: QueueItem, key: string): string | number => {
    if (key === 'disagreement') return disagreements?.get(item.call_id) ?? 0;
    return key === 'latency' ? latencyMs(item) : String(ownMember(item, key) ?? '');
  };
  const rows = items.map((item) => ({ item, values: keys.map((key) => valueFor(item, key.field)) }));
  rows.sort((a, b) => {
    for (const [place, { direction }] of keys.entries()) {
      const [first, second] = [a.values[place]!, b.values[place]!];
      if (first !== second) return first < second === (direction === 'asc') ? -1 : 1;
    }
    return 0;
  });
  return rows.map(({ item }) => item);
}

/**
 * Returns how far annotators differ about calls, from 0 to 1, by call: in the field in which they differ most. In a field of numbers
 * it is the largest difference, as a share of the largest in the queue; in others, the share of the pairs of annotators that differ.
 */
function disagreementsOf(judgements: readonly Judgement[]): Map<string, number> {
  const latest = latestJudgements(judgements);
  const ranges = new Map<string, number>();
  for (const [field, given] of groupBy(latest, ({ field }) => field)) ranges.set(field, rangeOfValues(given));
  const found = new Map<string, number>();
  for (const [callId, ofCall] of byCall(latest)) {
    const shares = [...groupBy(ofCall, ({ field }) => field)].map(([field, given]) => {
      const range = ranges.get(field)!;
      return Number.isNaN(range) ? shareOfDifferingPairs(given) : rangeOfValues(given) / (range || 1);
    });
    found.set(callId, Math.max(...shares));
  }
  return found;
}

/** Returns the difference of the largest and the smallest number; NaN if not all values are numbers. */
function rangeOfValues(judgements: readonly Judgement[]): number {
  return rangeOf(judgements.map(({ value }) => (typeof value === 'number' ? value : Number.NaN)));
}

function shareOfDifferingPairs(judgements: readonly Judgement[]): number {
  const uses = countEach(judgements.map(({ value }) => canonicalJson(value)));
  return judgements.length < 2 ? 0 : shareOfPairs([...uses.values()]);
}
