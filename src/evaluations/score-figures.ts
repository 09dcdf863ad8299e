import * as z from 'zod';
import type { EvaluationSummary, EvaluationTrial } from '../contract/evaluation-runs.ts';
import { ownMember } from '../core/json/member-at.ts';
import { commonestOf, countEach } from '../core/statistics/count-each.ts';
import {
  correctedRate,
  type Interval,
  independentOutcomes,
  type JudgeErrors,
  meanInterval,
  type RowTotal,
  rateInterval,
  wilsonInterval,
} from '../core/statistics/intervals.ts';
import { passAllK, passAtK } from '../core/statistics/pass-at-k.ts';
import { rounded } from '../core/statistics/rounded.ts';
import {
  meanOf,
  type ScoreList,
  ScoreLists,
  type ScoreValue,
  scoreNumber,
  sumOf,
} from '../core/statistics/score-lists.ts';
import { cutValue } from '../text/call-values.ts';

/** Maximum number of scorers, or of members of their outputs, that get figures. */
export const maxScorers = 50;
/** Different values that are counted one by one; more numbers are described by quartiles, and more texts not at all. */
const maxCountedValues = 10;
/** Characters of the reason why scores are missing. */
const maxErrorChars = 200;

/** The bounds of an interval in a result. */
export const intervalBounds = z.tuple([z.number(), z.number()]);

/** Figures of one scorer in one run, over the trials with a score. */
export const scorerFigures = z.object({
  scorer: z.string().describe('Name, with the path of a member like judge.passed where its output is an object.'),
  n: z.int(),
  errors: z.int().optional().describe('Trials without a score of this scorer.'),
  commonest_error: z.object({ error: z.string(), n: z.int() }).optional().describe('Why most of them are missing.'),
  pass_rate: z.number().optional().describe('Share from 0 to 1.'),
  mean: z.number().optional(),
  interval: intervalBounds.optional().describe('95 % interval of the rate or mean.'),
  judge: z.string().optional().describe('Of a scorer that asks a judge, like κ 0.71 (0.58 to 0.82), n 84.'),
  calibrated: z.boolean().optional().describe('Whether this judge has shown that it may judge.'),
  corrected: z
    .object({ rate: z.number(), interval: intervalBounds })
    .optional()
    .describe('Pass rate that people would have given, by the errors of the judge.'),
  flaky_rows: z.int().optional().describe('Rows whose trials differ; absent with one trial.'),
  pass_at_k: z
    .array(
      z.object({
        k: z.int(),
        any: z.number(),
        any_interval: intervalBounds,
        all: z.number(),
        all_interval: intervalBounds,
      }),
    )
    .optional()
    .describe('Share of rows of which any (pass@k) or all (pass^k) of k trials pass.'),
  values: z
    .array(z.tuple([z.union([z.boolean(), z.number(), z.string()]), z.int()]))
    .optional()
    .describe('Number of times that each value occurs, if there are few.'),
  quartiles: z.array(z.number()).optional().describe('Least value, quartiles and greatest value, if there are many.'),
});
export type ScorerFigures = z.output<typeof scorerFigures>;

/** Result members with the figures of one run. */
export const runFigures = z.object({
  predictions: z.int(),
  errors: z.int().optional().describe('Predictions that failed.'),
  tokens: z.number().optional().describe('Of the model.'),
  cost: z.number().optional().describe('USD.'),
  judge_tokens: z.number().optional(),
  judge_cost: z.number().optional().describe('USD.'),
  unpriced_models: z.array(z.string()).optional().describe('Not in the costs.'),
  latency_seconds: z.number().optional().describe('Mean over the predictions for which it is known.'),
  scorers: z.array(scorerFigures),
});
export type RunFigures = z.output<typeof runFigures>;

/** The members of a trial that figures need. */
export type ScoredTrial = Pick<
  EvaluationTrial,
  | 'scores'
  | 'error'
  | 'scorer_errors'
  | 'total_tokens'
  | 'total_cost'
  | 'judge_tokens'
  | 'judge_cost'
  | 'unpriced_models'
  | 'model_latency_seconds'
>;

/** Whether a judge of a run is calibrated, and how results say so. */
export interface JudgeStanding {
  calibrated: boolean;
  /** For a reader, like `κ 0.71 (0.58 to 0.82), n 84` or `not calibrated`. */
  judge: string;
  /** By which rates are corrected; only of a calibrated judge of yes and no. */
  errors?: JudgeErrors;
}

/** The standings of the judges of a run, by the names of the scorers. */
export type JudgesOfRun = ReadonlyMap<string, JudgeStanding>;

/** The members of a judge's output that are its verdict. */
const verdictMembers = ['passed', 'score'];

/**
 * Returns the members of a figure that tell what its judge has shown; none for a scorer without a judge.
 * @param path the member of the output that the figure is of.
 * @param passRate the rate to correct, with the number of independent outcomes that it has.
 */
function shownBy(
  standing: JudgeStanding | undefined,
  path: string,
  passRate?: { rate: number; independent: number },
): Pick<ScorerFigures, 'judge' | 'calibrated' | 'corrected'> {
  if (!standing || (path !== '' && !verdictMembers.includes(path))) return {};
  const { judge, calibrated, errors } = standing;
  const corrected = errors && passRate && correctedRate(passRate.rate, passRate.independent, errors);
  return {
    judge,
    calibrated,
    ...(corrected && {
      corrected: { rate: rounded(corrected.rate, 4), interval: roundedInterval(corrected.interval) },
    }),
  };
}

/** Returns the figures of a run from the trials of each of its rows. */
export function figuresOf(rows: readonly (readonly ScoredTrial[])[], judges: JudgesOfRun = new Map()): RunFigures {
  const trials = rows.flat();
  const lists = new ScoreLists();
  for (const [row, trialsOfRow] of rows.entries()) for (const { scores } of trialsOfRow) lists.add(scores, row);
  const scored = new Map<string, number>();
  for (const { scores, scorer_errors } of trials) {
    const failed = new Set(Object.keys(scorer_errors ?? {}));
    for (const name of failed) if (!scored.has(name)) scored.set(name, 0);
    // A score of null says that the scorer does not apply, so none is missing.
    const given = Object.keys(scores ?? {}).filter((name) => !failed.has(name));
    for (const name of given) scored.set(name, (scored.get(name) ?? 0) + 1);
  }
  const scorers: ScorerFigures[] = [];
  for (const [scorer, count] of scored) {
    const errors = trials.length - count;
    const missing = { ...(errors > 0 && { errors, ...commonestError(trials, scorer) }) };
    const listsOfScorer = lists.toArray().filter((list) => list.scorer === scorer);
    const standing = judges.get(scorer);
    if (listsOfScorer.length === 0) {
      scorers.push({ scorer, n: 0, ...missing, ...shownBy(standing, '') });
    }
    for (const list of listsOfScorer) {
      const figures = scorers.length < maxScorers ? figuresOfList(list, missing, standing) : undefined;
      if (figures) scorers.push(figures);
    }
  }
  return roundedFigures({
    predictions: trials.length,
    errors: trials.filter(({ error }) => error).length,
    tokens: sumOf(trials.flatMap(({ total_tokens }) => total_tokens ?? [])),
    cost: sumOf(trials.flatMap(({ total_cost }) => total_cost ?? [])),
    judge_tokens: sumOf(trials.flatMap(({ judge_tokens }) => judge_tokens ?? [])),
    judge_cost: sumOf(trials.flatMap(({ judge_cost }) => judge_cost ?? [])),
    unpriced_models: [...new Set(trials.flatMap(({ unpriced_models }) => unpriced_models ?? []))].sort(),
    latency_seconds: meanOf(trials.flatMap(({ model_latency_seconds }) => model_latency_seconds ?? [])),
    scorers,
  });
}

/** Returns the commonest reason why a scorer gave no score; nothing where none is known. */
function commonestError(trials: readonly ScoredTrial[], scorer: string): Pick<ScorerFigures, 'commonest_error'> {
  const found = trials.flatMap(({ scorer_errors }) => (ownMember(scorer_errors, scorer) as string | undefined) ?? []);
  const error = commonestOf(found);
  if (error === undefined) return {};
  const n = found.filter((each) => each === error).length;
  return { commonest_error: { error: String(cutValue(error, maxErrorChars)), n } };
}

/** The members of a summary that figures need. */
type SummarizedRun = Pick<
  EvaluationSummary,
  | 'trial_count'
  | 'error_count'
  | 'predict_total_tokens'
  | 'predict_total_cost'
  | 'judge_total_tokens'
  | 'judge_total_cost'
  | 'unpriced_models'
  | 'scorer_stats'
  | 'row_count'
>;

/** Returns the figures of a run from the statistics that the service has computed. */
export function summarizedFigures(run: SummarizedRun, judges: JudgesOfRun = new Map()): RunFigures {
  const scorers = run.scorer_stats.flatMap(({ scorer_key, path, ...stats }): ScorerFigures[] => {
    const n = stats.pass_known_count || stats.numeric_count || 0;
    const errors = stats.error_count ?? 0;
    // Texts have no figure here.
    if (n === 0 && errors === 0) return [];
    // The statistics do not tell which trials are of one row.
    const isIndependent = run.row_count === run.trial_count;
    const rate = typeof stats.pass_rate === 'number' && stats.pass_known_count ? stats.pass_rate : undefined;
    const shown = shownBy(
      judges.get(scorer_key),
      path ?? '',
      rate === undefined || !isIndependent ? undefined : { rate, independent: n },
    );
    return [
      {
        scorer: path ? `${scorer_key}.${path}` : scorer_key,
        n,
        ...(errors > 0 && { errors }),
        ...(rate !== undefined && {
          pass_rate: rounded(rate, 4),
          ...(isIndependent && { interval: roundedInterval(wilsonInterval(rate, n)) }),
        }),
        ...shown,
        ...(typeof stats.numeric_mean === 'number' && stats.numeric_count && { mean: rounded(stats.numeric_mean, 4) }),
      },
    ];
  });
  return roundedFigures({
    predictions: run.trial_count,
    errors: run.error_count,
    tokens: run.predict_total_tokens,
    cost: run.predict_total_cost,
    judge_tokens: run.judge_total_tokens,
    judge_cost: run.judge_total_cost,
    unpriced_models: run.unpriced_models,
    scorers,
  });
}

/** The figures of a run before they are rounded, where those that are unknown may be null. */
type Totals = Pick<RunFigures, 'predictions' | 'scorers'> & {
  [Name in keyof Omit<RunFigures, 'predictions' | 'scorers'>]: RunFigures[Name] | null;
};

/** Rounds the figures of a run and leaves out those that are unknown. */
function roundedFigures({ predictions, errors, latency_seconds, scorers, ...used }: Totals): RunFigures {
  const { tokens, cost, judge_tokens, judge_cost, unpriced_models } = used;
  // Without any price, no cost is shown that could be taken for the whole.
  const isPartial = typeof (cost ?? judge_cost) === 'number' && unpriced_models?.length;
  return {
    predictions,
    ...(errors && { errors }),
    ...(typeof tokens === 'number' && { tokens }),
    ...(typeof cost === 'number' && { cost: Number(cost.toPrecision(6)) }),
    ...(typeof judge_tokens === 'number' && { judge_tokens }),
    ...(typeof judge_cost === 'number' && { judge_cost: Number(judge_cost.toPrecision(6)) }),
    ...(isPartial && { unpriced_models: [...unpriced_models] }),
    ...(typeof latency_seconds === 'number' && { latency_seconds: rounded(latency_seconds, 3) }),
    scorers: scorers.slice(0, maxScorers),
  };
}

/** Returns the figures of one scorer; undefined for texts that are no labels, such as reasons. */
function figuresOfList(
  list: ScoreList,
  missing: Pick<ScorerFigures, 'errors' | 'commonest_error'>,
  standing: JudgeStanding | undefined,
): ScorerFigures | undefined {
  const { scorer, path, values } = list;
  const counts = countValues(values);
  const flaky = countFlaky(list);
  const figures = {
    scorer: [scorer, ...path].join('.'),
    n: values.length,
    ...missing,
    ...(flaky !== undefined && { flaky_rows: flaky }),
  };
  const numbers = values.flatMap((value) => scoreNumber(value) ?? []);
  if (numbers.length < values.length) {
    const labels = { ...figures, ...shownBy(standing, path.join('.')), values: counts };
    return areLabels(counts.length, values.length) ? labels : undefined;
  }
  const mean = rounded(meanOf(numbers)!, 4);
  const rows = totalsOfRows(list);
  if (values.every((value) => typeof value === 'boolean')) {
    const pass_at_k = passesAtK(rows);
    const interval = roundedInterval(rateInterval(rows));
    const passRate = { rate: meanOf(numbers)!, independent: independentOutcomes(rows) };
    const shown = shownBy(standing, path.join('.'), passRate);
    return { ...figures, pass_rate: mean, interval, ...shown, ...(pass_at_k.length > 0 && { pass_at_k }) };
  }
  const interval = meanInterval(rows);
  return {
    ...figures,
    mean,
    ...(interval && { interval: roundedInterval(interval) }),
    ...shownBy(standing, path.join('.')),
    ...(counts.length > maxCountedValues ? { quartiles: quartilesOf(numbers) } : { values: counts }),
  };
}

/** Returns the sum and the number of the values of each row, which are numbers. The trials of a row follow each other. */
function totalsOfRows({ values, rows }: ScoreList): RowTotal[] {
  const totals: RowTotal[] = [];
  for (const [place, row] of rows.entries()) {
    if (place === 0 || row !== rows[place - 1]) totals.push({ sum: 0, count: 0 });
    const total = totals.at(-1)!;
    total.sum += scoreNumber(values[place]!)!;
    total.count += 1;
  }
  return totals;
}

/** Counts the rows whose trials do not all have the same value; undefined if no row has several. */
function countFlaky({ values, rows }: ScoreList): number | undefined {
  const flaky = new Set<number>();
  let hasSeveral = false;
  for (const [place, row] of rows.entries()) {
    if (place === 0 || row !== rows[place - 1]) continue;
    hasSeveral = true;
    if (values[place] !== values[place - 1]) flaky.add(row);
  }
  return hasSeveral ? flaky.size : undefined;
}

/** Returns pass@k and pass^k for 2, 4, 8 and so on, up to the number of trials that every row has. */
function passesAtK(rows: readonly RowTotal[]): NonNullable<ScorerFigures['pass_at_k']> {
  const trials = rows.reduce((least, { count }) => Math.min(least, count), Number.POSITIVE_INFINITY);
  const found: NonNullable<ScorerFigures['pass_at_k']> = [];
  for (let k = 2; k <= trials; k = k < trials ? Math.min(2 * k, trials) : k + 1) {
    const [any, all] = [passAtK, passAllK].map((probability) => {
      const shares = rows.map(({ sum, count }) => ({ sum: probability(count, sum, k), count: 1 }));
      return [rounded(meanOf(shares.map(({ sum }) => sum))!, 4), roundedInterval(rateInterval(shares))] as const;
    });
    found.push({ k, any: any![0], any_interval: any![1], all: all![0], all_interval: all![1] });
  }
  return found;
}

/** Returns an interval as results show it. */
export function roundedInterval([low, high]: Interval): Interval {
  return [rounded(low, 4), rounded(high, 4)];
}

/** Returns whether texts are labels: a few that occur again, unlike reasons. */
export function areLabels(different: number, texts: number): boolean {
  return different <= maxCountedValues && different < texts;
}

/** Counts values: numbers in their order, labels with the most frequent first. */
function countValues(found: readonly ScoreValue[]): [ScoreValue, number][] {
  return [...countEach(found)].sort(([a, times], [b, others]) =>
    typeof a === 'string' || typeof b === 'string'
      ? others - times || (String(a) < String(b) ? -1 : 1)
      : Number(a) - Number(b),
  );
}

/** Returns the least value, the quartiles and the greatest value; between two values it interpolates. */
function quartilesOf(numbers: readonly number[]): number[] {
  const sorted = [...numbers].sort((a, b) => a - b);
  return [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const place = share * (sorted.length - 1);
    const [below, above] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
    return rounded(below + (above - below) * (place - Math.floor(place)), 4);
  });
}
