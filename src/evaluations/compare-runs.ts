import * as z from 'zod';
import { ownMember } from '../core/json/member-at.ts';
import { detectableDifference, meanInterval, pairedRateInterval } from '../core/statistics/intervals.ts';
import { rounded } from '../core/statistics/rounded.ts';
import { meanOf, ScoreLists, type ScoreValue, scoreNumber } from '../core/statistics/score-lists.ts';
import { holmCorrected, signTest } from '../core/statistics/sign-test.ts';
import { areLabels, intervalBounds, maxScorers, roundedInterval, type ScoredTrial } from './score-figures.ts';

/** Probability from which a difference counts as more than chance. */
const significance = 0.05;
/** Difference of two means that rounding can explain. */
const roundingError = 1e-9;

/** The scores of a row in one run, by scorer; the mean of the trials where they are numbers. */
export type RowScores = ReadonlyMap<string, ScoreValue>;

/** The change of one row from one run to the other. */
export const rowChange = z.enum(['better', 'worse', 'same', 'changed']);
export type RowChange = z.output<typeof rowChange>;

/** Counts of the rows that two runs share, for one scorer. */
export const scorerComparison = z.object({
  scorer: z.string(),
  better: z.int(),
  worse: z.int(),
  same: z.int(),
  changed: z.int().optional().describe('Rows with another label, of which none is better.'),
  lost: z.int().optional().describe('Rows that always passed before and never now.'),
  unscored: z.int().optional().describe('Rows with a score before but none now, which are left out.'),
  difference: z.number().optional().describe('Mean change of a row.'),
  interval: intervalBounds.optional().describe('95 % interval of difference.'),
  detectable: z.number().optional().describe('Difference that so many rows show in 80 % of cases.'),
  p: z.number().optional().describe('Two-sided exact McNemar or sign test.'),
  p_holm: z.number().optional().describe('p corrected for several scorers.'),
  verdict: z.enum(['better', 'worse', 'mixed', 'could be chance', 'no difference', 'labels differ']),
});
export type ScorerComparison = z.output<typeof scorerComparison>;

/** Returns the scores of a row by scorer and member, like `judge.passed`: the mean of the trials, or the label of the first. */
export function rowScores(trials: readonly Pick<ScoredTrial, 'scores'>[]): Map<string, ScoreValue> {
  const lists = new ScoreLists();
  for (const { scores } of trials) lists.add(scores);
  return new Map(lists.toArray().map(({ scorer, path, values }) => [[scorer, ...path].join('.'), typicalOf(values)]));
}

function typicalOf(values: readonly ScoreValue[]): ScoreValue {
  const numbers = values.flatMap((value) => scoreNumber(value) ?? []);
  const hasOneMean = numbers.length === values.length && values.some((value) => value !== values[0]);
  return hasOneMean ? meanOf(numbers)! : values[0]!;
}

/** Returns the scores of a row without those of scorers that do not apply to it in the trials of another run. */
export function applicableScores(scores: RowScores, trials: readonly ScoredTrial[]): RowScores {
  const inapplicable = trials.flatMap(({ scores: given, scorer_errors }) =>
    Object.entries(given ?? {})
      .filter(([scorer, score]) => score === null && ownMember(scorer_errors, scorer) === undefined)
      .map(([scorer]) => `${scorer}.`),
  );
  const isLeftOut = (name: string): boolean => inapplicable.some((scorer) => `${name}.`.startsWith(scorer));
  return new Map([...scores].filter(([name]) => !isLeftOut(name)));
}

/** Returns the change of a score; undefined if one of the runs lacks it. Passed and a higher number count as better. */
export function changeOf(before: ScoreValue | undefined, after: ScoreValue | undefined): RowChange | undefined {
  if (before === undefined || after === undefined) return undefined;
  const [first, second] = [scoreNumber(before), scoreNumber(after)];
  if (first === undefined || second === undefined) return before === after ? 'same' : 'changed';
  const difference = second - first;
  if (Math.abs(difference) <= roundingError * Math.max(1, Math.abs(first), Math.abs(second))) return 'same';
  return difference > 0 ? 'better' : 'worse';
}

/** Compares two runs on the rows that they share, scorer by scorer. */
export function compareScores(rows: readonly (readonly [before: RowScores, after: RowScores])[]): ScorerComparison[] {
  const names = new Set(rows.flatMap(([before, after]) => [...before.keys()].filter((name) => after.has(name))));
  const isComparable = (scorer: string): boolean => {
    const texts = rows.flatMap((scores) =>
      scores.map((of) => of.get(scorer)).filter((value) => typeof value === 'string'),
    );
    return texts.length === 0 || areLabels(new Set(texts).size, texts.length);
  };
  const compared = [...names]
    .filter(isComparable)
    .slice(0, maxScorers)
    .map((scorer) => compareScorer(scorer, rows));
  const tested = compared.filter(({ better, worse }) => better + worse > 0);
  const pValues = tested.map(({ better, worse }) => signTest(better, worse));
  const corrected = holmCorrected(pValues);
  return compared.map((counts) => {
    const test = tested.indexOf(counts);
    if (test === -1) return { ...counts, verdict: counts.changed === undefined ? 'no difference' : 'labels differ' };
    return {
      ...counts,
      p: Number(pValues[test]!.toPrecision(2)),
      ...(tested.length > 1 && { p_holm: Number(corrected[test]!.toPrecision(2)) }),
      verdict: verdictOf(counts, corrected[test]!),
    };
  });
}

/** The scores of a row in two runs. */
type ScorePair = readonly [before: ScoreValue, after: ScoreValue];
type ComparedScorer = Omit<ScorerComparison, 'p' | 'p_holm' | 'verdict'>;

function compareScorer(scorer: string, rows: readonly (readonly [RowScores, RowScores])[]): ComparedScorer {
  const pairs = rows.flatMap(([before, after]): ScorePair[] => {
    const [first, second] = [before.get(scorer), after.get(scorer)];
    return first === undefined || second === undefined ? [] : [[first, second]];
  });
  const changes = { better: 0, worse: 0, same: 0, changed: 0 };
  for (const [before, after] of pairs) changes[changeOf(before, after)!] += 1;
  const { changed, ...counts } = changes;
  const unscored = rows.filter(([before, after]) => before.has(scorer) && !after.has(scorer)).length;
  return {
    scorer,
    ...counts,
    ...(changed > 0 && { changed }),
    ...(unscored > 0 && { unscored }),
    ...differenceOf(pairs),
  };
}

/** Returns the mean difference of scores that are no labels, with its interval, and what so many rows could show. */
function differenceOf(pairs: readonly ScorePair[]): Partial<ComparedScorer> {
  const differences = pairs.flatMap(([before, after]) => {
    const [first, second] = [scoreNumber(before), scoreNumber(after)];
    return first === undefined || second === undefined ? [] : [second - first];
  });
  const n = differences.length;
  if (n === 0) return {};
  const mean = meanOf(differences)!;
  const isPassed = pairs.every(([before, after]) => typeof before === 'boolean' && typeof after === 'boolean');
  const count = (of: number): number => differences.filter((difference) => difference === of).length;
  const interval = isPassed
    ? pairedRateInterval(count(1), count(-1), n)
    : meanInterval(differences.map((sum) => ({ sum, count: 1 })));
  const deviation = Math.sqrt(meanOf(differences.map((difference) => (difference - mean) ** 2))!);
  return {
    ...(isRate(pairs) && { lost: pairs.filter(([before, after]) => before === true && after === false).length }),
    difference: rounded(mean, 4),
    ...(interval && { interval: roundedInterval(interval) }),
    ...(deviation > 0 && { detectable: rounded(detectableDifference(deviation, n), 4) }),
  };
}

/** Returns whether scores tell what share passed: passed or not, or the share of the trials of a row. */
function isRate(pairs: readonly ScorePair[]): boolean {
  const values = pairs.flat();
  return (
    values.some((value) => typeof value === 'boolean') &&
    values.every((value) => Number(value) >= 0 && Number(value) <= 1)
  );
}

/**
 * Returns the verdict on a scorer. A difference needs both: that more rows changed in one direction than chance explains, and
 * that the interval of the mean change is on that side.
 */
function verdictOf({ better, worse, interval }: ComparedScorer, p: number): ScorerComparison['verdict'] {
  if (p >= significance) return 'could be chance';
  const [low, high] = interval ?? [better - worse, better - worse];
  if (better > worse) return low > 0 ? 'better' : high < 0 ? 'mixed' : 'could be chance';
  return high < 0 ? 'worse' : low > 0 ? 'mixed' : 'could be chance';
}
