import * as z from 'zod';
import { groupBy } from '../core/append-to.ts';
import { canonicalJson } from '../core/json/canonical-json.ts';
import { countEach } from '../core/statistics/count-each.ts';
import { rounded } from '../core/statistics/rounded.ts';
import { valuesByAnnotator } from './given-feedback.ts';
import type { Judgement } from './judgements.ts';
import { freeTextsAmong, type QueueField } from './queue-fields.ts';
import { eachItem, type JudgedItem } from './queue-summary.ts';

/** A field of an item to which annotators gave different values. */
export const disagreement = z.object({
  item_id: z.string(),
  call_id: z.string(),
  field: z.string(),
  values: z.record(z.string(), z.unknown()).describe('By annotator.'),
  distance: z.number().describe('Between the outermost numbers; otherwise the different values, less one.'),
  share: z
    .number()
    .describe('How bad it is, to 1: distance in the range of numbers, or pairs of annotators who differ.'),
});
export type Disagreement = z.output<typeof disagreement>;

/** Disagreements, the worst first, and the numbers of those that gold settles and of those in free text, which are not among them. */
export interface Disagreements {
  open: Disagreement[];
  settled: number;
  inTexts: number;
}

/**
 * Finds the fields of items on which annotators differ, the worst first: numbers by their distance as a share of the range that
 * the field's values have, anything else by the share of the pairs of annotators who differ. Fields for any text are only counted.
 */
export function findDisagreements(
  judged: readonly JudgedItem[],
  gold: readonly Judgement[],
  fields: readonly QueueField[],
): Disagreements {
  const texts = freeTextsAmong(fields);
  const settledPlaces = new Set(gold.map(placeOf));
  const judgedByField = groupBy(judged, ({ judgement }) => judgement.field);
  const all = [...judgedByField.values()].flatMap(disagreementsInField);
  const found = all.filter(({ shown }) => !texts.has(shown.field));
  const open = found.filter(({ place }) => !settledPlaces.has(place)).sort((a, b) => b.shown.share - a.shown.share);
  const inTexts = all.length - found.length;
  return { open: open.map(({ shown }) => shown), settled: found.length - open.length, inTexts };
}

function placeOf({ call_id, field }: Judgement): string {
  return JSON.stringify([call_id, field]);
}

interface Found {
  shown: Disagreement;
  place: string;
}

function disagreementsInField(judged: readonly JudgedItem[]): Found[] {
  const numbers = judged.map(({ judgement }) => judgement.value).filter((value) => typeof value === 'number');
  const range = numbers.length === judged.length ? rangeOf(numbers) : undefined;
  const byPlace = groupBy(judged, ({ judgement }) => placeOf(judgement));
  const found = [...byPlace].flatMap(([place, given]) => {
    const judgements = given.map(({ judgement }) => judgement);
    const uses = countEach(judgements.map(({ value }) => canonicalJson(value)));
    const [first] = given;
    if (!first || uses.size < 2) return [];
    const distance = range === undefined ? uses.size - 1 : rangeOf(judgements.map(({ value }) => value as number));
    const values = valuesByAnnotator(judgements);
    const share = range === undefined ? shareOfPairs([...uses.values()]) : distance / range;
    const { item, judgement } = first;
    const figures = { distance: rounded(distance, 6), share: rounded(share, 3) };
    const { field } = judgement;
    return eachItem(item).map(({ id, call_id, place: inQueue }) => ({
      shown: { item_id: id, call_id, field, values, ...figures },
      place,
      inQueue,
    }));
  });
  return found.sort((a, b) => a.inQueue - b.inQueue);
}

/** Returns the difference of the largest and the smallest number. */
export function rangeOf(numbers: readonly number[]): number {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const number of numbers) {
    min = Math.min(min, number);
    max = Math.max(max, number);
  }
  return max - min;
}

/** Returns the share of the pairs that differ, from the uses of each value. */
export function shareOfPairs(uses: readonly number[]): number {
  const pairs = (count: number): number => count * (count - 1);
  const total = uses.reduce((sum, count) => sum + count, 0);
  return 1 - uses.reduce((sum, count) => sum + pairs(count), 0) / pairs(total);
}
