import { meanOf, ScoreLists, type ScoreValue, scoreNumber } from '../core/statistics/score-lists.ts';
import { signTest } from '../core/statistics/sign-test.ts';
import { areLabels, type ScoredTrial } from './score-figures.ts';

/** Probability from which a difference counts as more than chance. */
const significance = 0.05;
/** Difference of two means that rounding can explain. */
const roundingError = 1e-9;

/** The scores of a row in one run, by scorer; the mean of the trials where they are numbers. */
export type RowScores = ReadonlyMap<string, ScoreValue>;

/** The change of one row from one run to the other. */
export type RowChange = 'better' | 'worse' | 'same' | 'changed';

/** Counts of the rows that two runs share, for one scorer. */
export interface ScorerComparison {
  scorer: string;
  better: number;
  worse: number;
  same: number;
  /** Rows with another label, of which none is better. */
  changed?: number;
  /** Two-sided p-value of the sign test. */
  p?: number;
  verdict: 'better' | 'worse' | 'could be chance' | 'no difference' | 'labels differ';
}

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
  return [...names].flatMap((scorer) => {
    const counts = { better: 0, worse: 0, same: 0, changed: 0 };
    const labels = new Set<string>();
    let texts = 0;
    for (const scores of rows) {
      const [before, after] = [scores[0].get(scorer), scores[1].get(scorer)];
      for (const value of [before, after]) {
        if (typeof value !== 'string') continue;
        labels.add(value);
        texts += 1;
      }
      const change = changeOf(before, after);
      if (change) counts[change] += 1;
    }
    if (texts > 0 && !areLabels(labels.size, texts)) return [];
    return [comparisonOf(scorer, counts)];
  });
}

function comparisonOf(scorer: string, { changed, ...counts }: Record<RowChange, number>): ScorerComparison {
  const { better, worse } = counts;
  const p = signTest(better, worse);
  const differing = better + worse;
  const verdict =
    differing === 0
      ? changed === 0
        ? 'no difference'
        : 'labels differ'
      : p >= significance
        ? 'could be chance'
        : better > worse
          ? 'better'
          : 'worse';
  return {
    scorer,
    ...counts,
    ...(changed > 0 && { changed }),
    ...(differing > 0 && { p: Number(p.toPrecision(2)) }),
    verdict,
  };
}
