import type { QueueItem } from '../contract/queue-items.ts';
import type { SortKey } from '../contract/sort-keys.ts';
import { groupBy } from '../core/append-to.ts';
import { canonicalJson } from '../core/json/canonical-json.ts';
import { ownMember } from '../core/json/member-at.ts';
import { countEach } from '../core/statistics/count-each.ts';
import { latencyMs } from './call-conditions.ts';
import { rangeOf, shareOfPairs } from './disagreements.ts';
import { type ItemsFilter, isByNamed } from './items-filter.ts';
import { byCall, type Judgement, latestJudgements } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { freeTextsAmong, type QueueField } from './queue-fields.ts';

/** The order of items in their queue. */
export const queueOrder: readonly SortKey[] = [
  { field: 'created_at', direction: 'asc' },
  { field: 'id', direction: 'asc' },
];

/**
 * Sorts items by keys that services do not know; equal ones stay in their order.
 * @param disagreements how far annotators differ, by call; 0 for all others.
 */
export function sortItems(
  items: readonly QueueItem[],
  keys: readonly SortKey[],
  disagreements: ReadonlyMap<string, number> = new Map(),
): QueueItem[] {
  const valueFor = (item: QueueItem, key: string): string | number => {
    if (key === 'disagreement') return disagreements.get(item.call_id) ?? 0;
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
 * Returns how far annotators differ about calls, from 0 to 1, by call: in the field in which they differ most, of those that the
 * annotator of the filter has judged, or in the field of the filter. In a field of numbers it is the largest difference, as a share of
 * the range of its values; in others, the share of the pairs of annotators that differ. In free text, where any two differ, it is less
 * than in all other fields.
 */
export function disagreementsOf(
  judgements: readonly Judgement[],
  filter: ItemsFilter,
  queue: QueueAccess,
  fields: readonly QueueField[],
): Map<string, number> {
  const latest = latestJudgements(judgements).filter(({ field }) => field === (filter.field ?? field));
  const isNamed = isByNamed(filter, queue);
  const texts = freeTextsAmong(fields);
  const ranges = new Map<string, number>();
  for (const [field, given] of groupBy(latest, ({ field }) => field)) ranges.set(field, rangeOfValues(given));
  const found = new Map<string, number>();
  for (const [callId, ofCall] of byCall(latest)) {
    const shares = [...groupBy(ofCall, ({ field }) => field)].map(([field, given]) => {
      if (!given.some(isNamed)) return 0;
      if (texts.has(field)) return shareOfDifferingPairs(given) > 0 ? Number.MIN_VALUE : 0;
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
