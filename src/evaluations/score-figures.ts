import type { EvaluationTrial, ScorerStatistics } from '../contract/evaluation-runs.ts';

/** A score, or a member of one: passed or not, a number, or a label. */
export type ScoreValue = boolean | number | string;

/** Members of outputs of scorers that get figures, and how deep they are looked for. */
const maxScorers = 50;
const maxDepth = 10;
/** Different values that are counted one by one; more numbers are described by quartiles, and more texts not at all. */
const maxCountedValues = 10;

/** Figures of one scorer in one run, over the trials with a score. */
export interface ScorerFigures {
  /** Name of the scorer, followed by the path of a member like `judge.passed` where its output is an object. */
  scorer: string;
  n: number;
  /** Trials without a score of this scorer. */
  errors?: number;
  /** Share from 0 to 1. */
  pass_rate?: number;
  mean?: number;
  /** Number of times that each value occurs, if there are few. */
  values?: [ScoreValue, number][];
  /** Least value, quartiles and greatest value, if there are many. */
  quartiles?: number[];
}

/** Figures of one run. */
export interface RunFigures {
  predictions: number;
  /** Predictions that failed. */
  errors?: number;
  tokens?: number;
  cost?: number;
  /** Mean over the predictions for which it is known. */
  latency_seconds?: number;
  scorers: ScorerFigures[];
}

/** The members of a trial that figures need. */
export type ScoredTrial = Pick<
  EvaluationTrial,
  'scores' | 'error' | 'scorer_errors' | 'total_tokens' | 'total_cost' | 'model_latency_seconds'
>;

/** Returns the values in the outputs of scorers, by the name of the scorer and the path. Lists are not looked into. */
export function scoreValues(scores: EvaluationTrial['scores']): Map<string, ScoreValue> {
  const values = new Map<string, ScoreValue>();
  const addValues = (value: unknown, name: string, depth: number): void => {
    if (typeof value === 'boolean' || typeof value === 'string' || Number.isFinite(value)) {
      values.set(name, value as ScoreValue);
    } else if (typeof value === 'object' && value !== null && !Array.isArray(value) && depth < maxDepth) {
      for (const [member, part] of Object.entries(value)) addValues(part, `${name}.${member}`, depth + 1);
    }
  };
  for (const [scorer, value] of Object.entries(scores ?? {})) addValues(value, scorer, 0);
  return values;
}

/** Adds a value to the list of a name. */
export function collect<Value>(lists: Map<string, Value[]>, name: string, value: Value): void {
  const list = lists.get(name);
  if (list) list.push(value);
  else lists.set(name, [value]);
}

/** Returns the number that a score counts as: 1 for passed, 0 for not passed; undefined for a label. */
export function scoreNumber(value: ScoreValue): number | undefined {
  return typeof value === 'string' ? undefined : Number(value);
}

/** Returns the figures of a run from all of its trials. */
export function figuresOf(trials: readonly ScoredTrial[]): RunFigures {
  const values = new Map<string, ScoreValue[]>();
  const scored = new Map<string, number>();
  for (const { scores, scorer_errors } of trials) {
    for (const name of Object.keys(scorer_errors ?? {})) if (!scored.has(name)) scored.set(name, 0);
    for (const [name, value] of Object.entries(scores ?? {})) {
      scored.set(name, (scored.get(name) ?? 0) + (value === null || value === undefined ? 0 : 1));
    }
    for (const [name, value] of scoreValues(scores)) collect(values, name, value);
  }
  const errorsOf = (scorer: string): number => trials.length - (scored.get(scorer) ?? 0);
  const scorers = [...scored.keys()].flatMap((scorer) => {
    const errors = errorsOf(scorer);
    const named = [...values].filter(([name]) => name === scorer || name.startsWith(`${scorer}.`));
    if (named.length === 0) return [{ scorer, n: 0, ...(errors > 0 && { errors }) }];
    return named.flatMap(([name, found]) => scorerFigures(name, found, errors) ?? []);
  });
  const sum = (numbers: readonly (number | null | undefined)[]): number | undefined => {
    const known = numbers.filter((number) => typeof number === 'number');
    return known.length === 0 ? undefined : known.reduce((total, number) => total + number, 0);
  };
  const failed = trials.filter(({ error }) => error).length;
  const latencies = trials.flatMap(({ model_latency_seconds }) => model_latency_seconds ?? []);
  return runFigures({
    predictions: trials.length,
    errors: failed,
    tokens: sum(trials.map(({ total_tokens }) => total_tokens)),
    cost: sum(trials.map(({ total_cost }) => total_cost)),
    latency_seconds: latencies.length === 0 ? undefined : sum(latencies)! / latencies.length,
    scorers: scorers.slice(0, maxScorers),
  });
}

/** Returns the figures of a run from the statistics that the service has computed. */
export function summarizedFigures(summary: {
  trial_count: number;
  error_count?: number | null | undefined;
  predict_total_tokens?: number | null | undefined;
  predict_total_cost?: number | null | undefined;
  scorer_stats: readonly ScorerStatistics[];
}): RunFigures {
  const { trial_count, error_count, predict_total_tokens, predict_total_cost, scorer_stats } = summary;
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
        ...(typeof stats.pass_rate === 'number' && stats.pass_known_count && { pass_rate: rounded(stats.pass_rate) }),
        ...(typeof stats.numeric_mean === 'number' && stats.numeric_count && { mean: rounded(stats.numeric_mean) }),
      },
    ];
  });
  return runFigures({
    predictions: trial_count,
    errors: error_count ?? 0,
    tokens: predict_total_tokens ?? undefined,
    cost: predict_total_cost ?? undefined,
    latency_seconds: undefined,
    scorers: scorers.slice(0, maxScorers),
  });
}

interface Totals {
  predictions: number;
  errors: number;
  tokens: number | undefined;
  cost: number | undefined;
  latency_seconds: number | undefined;
  scorers: ScorerFigures[];
}

function runFigures({ predictions, errors, tokens, cost, latency_seconds, scorers }: Totals): RunFigures {
  return {
    predictions,
    ...(errors > 0 && { errors }),
    ...(tokens !== undefined && { tokens }),
    ...(cost !== undefined && { cost: Number(cost.toPrecision(6)) }),
    ...(latency_seconds !== undefined && { latency_seconds: rounded(latency_seconds, 3) }),
    scorers,
  };
}

/** Returns the figures of one scorer; undefined for texts that are no labels, such as reasons. */
function scorerFigures(scorer: string, found: readonly ScoreValue[], errors: number): ScorerFigures | undefined {
  const counts = countValues(found);
  const figures = { scorer, n: found.length, ...(errors > 0 && { errors }) };
  const numbers = found.flatMap((value) => scoreNumber(value) ?? []);
  if (numbers.length < found.length)
    return areLabels(counts.length, found.length) ? { ...figures, values: counts } : undefined;
  const mean = rounded(numbers.reduce((sum, number) => sum + number, 0) / numbers.length);
  if (found.every((value) => typeof value === 'boolean')) return { ...figures, pass_rate: mean };
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
  const counts = new Map<ScoreValue, number>();
  for (const value of found) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([a, times], [b, others]) =>
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
    return rounded(below + (above - below) * (place - Math.floor(place)));
  });
}

function rounded(number: number, digits = 4): number {
  return Number(number.toFixed(digits));
}
