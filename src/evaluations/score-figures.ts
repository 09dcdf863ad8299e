import * as z from 'zod';
import type { EvaluationSummary, EvaluationTrial } from '../contract/evaluation-runs.ts';
import { countEach } from '../core/statistics/count-each.ts';
import { rounded } from '../core/statistics/rounded.ts';
import {
  meanOf,
  type ScoreList,
  ScoreLists,
  type ScoreValue,
  scoreNumber,
  sumOf,
} from '../core/statistics/score-lists.ts';

/** Maximum number of scorers, or of members of their outputs, that get figures. */
const maxScorers = 50;
/** Different values that are counted one by one; more numbers are described by quartiles, and more texts not at all. */
const maxCountedValues = 10;

/** Figures of one scorer in one run, over the trials with a score. */
const scorerFigures = z.object({
  scorer: z.string().describe('Name, with the path of a member like judge.passed where its output is an object.'),
  n: z.int(),
  errors: z.int().optional().describe('Trials without a score of this scorer.'),
  pass_rate: z.number().optional().describe('Share from 0 to 1.'),
  mean: z.number().optional(),
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
  cost: z.number().optional(),
  judge_tokens: z.number().optional(),
  judge_cost: z.number().optional(),
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
  | 'model_latency_seconds'
>;

/** Returns the figures of a run from all of its trials. */
export function figuresOf(trials: readonly ScoredTrial[]): RunFigures {
  const lists = new ScoreLists();
  const scored = new Map<string, number>();
  for (const { scores, scorer_errors } of trials) {
    lists.add(scores);
    for (const name of Object.keys(scorer_errors ?? {})) if (!scored.has(name)) scored.set(name, 0);
    for (const [name, value] of Object.entries(scores ?? {})) {
      scored.set(name, (scored.get(name) ?? 0) + (value === null || value === undefined ? 0 : 1));
    }
  }
  const scorers = [...scored].flatMap(([scorer, count]) => {
    const errors = trials.length - count;
    const listsOfScorer = lists.toArray().filter((list) => list.scorer === scorer);
    if (listsOfScorer.length === 0) return [{ scorer, n: 0, ...(errors > 0 && { errors }) }];
    return listsOfScorer.flatMap((list) => figuresOfList(list, errors) ?? []);
  });
  return roundedFigures({
    predictions: trials.length,
    errors: trials.filter(({ error }) => error).length,
    tokens: sumOf(trials.flatMap(({ total_tokens }) => total_tokens ?? [])),
    cost: sumOf(trials.flatMap(({ total_cost }) => total_cost ?? [])),
    judge_tokens: sumOf(trials.flatMap(({ judge_tokens }) => judge_tokens ?? [])),
    judge_cost: sumOf(trials.flatMap(({ judge_cost }) => judge_cost ?? [])),
    latency_seconds: meanOf(trials.flatMap(({ model_latency_seconds }) => model_latency_seconds ?? [])),
    scorers,
  });
}

/** Returns the figures of a run from the statistics that the service has computed. */
export function summarizedFigures({
  trial_count,
  error_count,
  predict_total_tokens,
  predict_total_cost,
  judge_total_tokens,
  judge_total_cost,
  scorer_stats,
}: Pick<
  EvaluationSummary,
  | 'trial_count'
  | 'error_count'
  | 'predict_total_tokens'
  | 'predict_total_cost'
  | 'judge_total_tokens'
  | 'judge_total_cost'
  | 'scorer_stats'
>): RunFigures {
  const scorers = scorer_stats.flatMap(({ scorer_key, path, ...stats }): ScorerFigures[] => {
    const n = stats.pass_known_count || stats.numeric_count || 0;
    const errors = stats.error_count ?? 0;
    // Texts have no figure here.
    if (n === 0 && errors === 0) return [];
    return [
      {
        scorer: path ? `${scorer_key}.${path}` : scorer_key,
        n,
        ...(errors > 0 && { errors }),
        ...(typeof stats.pass_rate === 'number' &&
          stats.pass_known_count && { pass_rate: rounded(stats.pass_rate, 4) }),
        ...(typeof stats.numeric_mean === 'number' && stats.numeric_count && { mean: rounded(stats.numeric_mean, 4) }),
      },
    ];
  });
  return roundedFigures({
    predictions: trial_count,
    errors: error_count,
    tokens: predict_total_tokens,
    cost: predict_total_cost,
    judge_tokens: judge_total_tokens,
    judge_cost: judge_total_cost,
    scorers,
  });
}

interface Totals {
  predictions: number;
  errors: number | null | undefined;
  tokens: number | null | undefined;
  cost: number | null | undefined;
  judge_tokens: number | null | undefined;
  judge_cost: number | null | undefined;
  latency_seconds?: number | undefined;
  scorers: ScorerFigures[];
}

/** Rounds the figures of a run and leaves out those that are unknown. */
function roundedFigures({ predictions, errors, latency_seconds, scorers, ...used }: Totals): RunFigures {
  const { tokens, cost, judge_tokens, judge_cost } = used;
  return {
    predictions,
    ...(errors && { errors }),
    ...(typeof tokens === 'number' && { tokens }),
    ...(typeof cost === 'number' && { cost: Number(cost.toPrecision(6)) }),
    ...(typeof judge_tokens === 'number' && { judge_tokens }),
    ...(typeof judge_cost === 'number' && { judge_cost: Number(judge_cost.toPrecision(6)) }),
    ...(latency_seconds !== undefined && { latency_seconds: rounded(latency_seconds, 3) }),
    scorers: scorers.slice(0, maxScorers),
  };
}

/** Returns the figures of one scorer; undefined for texts that are no labels, such as reasons. */
function figuresOfList({ scorer, path, values }: ScoreList, errors: number): ScorerFigures | undefined {
  const counts = countValues(values);
  const figures = { scorer: [scorer, ...path].join('.'), n: values.length, ...(errors > 0 && { errors }) };
  const numbers = values.flatMap((value) => scoreNumber(value) ?? []);
  if (numbers.length < values.length) {
    return areLabels(counts.length, values.length) ? { ...figures, values: counts } : undefined;
  }
  const mean = rounded(meanOf(numbers)!, 4);
  if (values.every((value) => typeof value === 'boolean')) return { ...figures, pass_rate: mean };
  return {
    ...figures,
    mean,
    ...(counts.length > maxCountedValues ? { quartiles: quartilesOf(numbers) } : { values: counts }),
  };
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
