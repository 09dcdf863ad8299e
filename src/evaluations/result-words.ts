import { rounded } from '../core/statistics/rounded.ts';
import type { ScorerComparison } from './compare-runs.ts';
import type { RunWithFigures } from './read-run-results.ts';
import type { ScorerFigures } from './score-figures.ts';

/** Writes numbers for a reader; a page writes them as its reader's language does. */
export interface NumberFormats {
  number(value: number): string;
  /** Writes a share from 0 to 1 as a percentage. */
  percent(share: number): string;
}

/** Digits after the decimal point, and digits in all of a smaller number. */
const digits = 3;

/** Writes numbers for terminals and models. */
export const plainFormats: NumberFormats = {
  number: (value) => String(Math.abs(value) < 1 ? Number(value.toPrecision(digits)) : rounded(value, digits)),
  percent: (share) => `${rounded(100 * share, 2)}%`,
};

/** Probability below which its exact value tells a reader nothing more. */
const leastP = 0.001;

/** The columns of a comparison in their order, with the members that they show. */
export const comparisonColumns = ['better', 'worse', 'same', 'changed', 'p', 'p_holm'] as const;

/** Returns whether a column of a comparison has the results of a test. */
export function isProbability(column: (typeof comparisonColumns)[number]): boolean {
  return column === 'p' || column === 'p_holm';
}

/** Explains comparisons of runs, and the probabilities that they have. */
export function comparisonNote(comparisons: readonly { scorers: readonly ScorerComparison[] }[]): string {
  const note = 'Passed or a higher number counts as better, and + is better; 95 % intervals in brackets.';
  const scorers = comparisons.flatMap((comparison) => comparison.scorers);
  if (scorers.every(({ p }) => p === undefined)) return note;
  const holm = scorers.some(({ p_holm }) => p_holm !== undefined) ? '; p_holm is corrected for several scorers' : '';
  return `${note} p: exact McNemar test, for numbers the sign test${holm}. From 0.05 on, the difference could be chance.`;
}

/** Returns a score, like `passed`, `0.475` or `no score`. */
export function scoreWords(score: unknown, formats = plainFormats): string {
  if (score === undefined || score === null) return 'no score';
  if (typeof score === 'boolean') return score ? 'passed' : 'not passed';
  if (typeof score === 'number') return formats.number(score);
  return typeof score === 'string' ? score : JSON.stringify(score);
}

/** Returns the scores of a row in each run, like `passed → not passed`, or one if they are equal. */
export function changeWords(scores: readonly string[]): string {
  return scores.every((score) => score === scores[0]) ? scores[0]! : scores.join(' → ');
}

/** Returns the status of a run, and how far it is. */
export function statusWords({ status, completed, total }: RunWithFigures, formats = plainFormats): string {
  if (completed === undefined) return status;
  return `${status} (${formats.number(completed)} of ${total === undefined ? '?' : formats.number(total)} predictions)`;
}

/** Returns what a run took. */
export function usageWords(run: Omit<RunWithFigures, 'run_id' | 'status'>, formats = plainFormats): string[] {
  const { predictions, errors, tokens, cost, judge_tokens, judge_cost, unpriced_models, latency_seconds } = run;
  return [
    ...(predictions === undefined ? [] : [countWords(predictions, 'prediction', formats)]),
    ...(errors === undefined ? [] : [`${formats.number(errors)} of them failed`]),
    ...(tokens === undefined ? [] : [`${formats.number(tokens)} tokens`]),
    ...(cost === undefined ? [] : [`cost ${formats.number(cost)} USD`]),
    ...(judge_tokens === undefined ? [] : [`judges ${formats.number(judge_tokens)} tokens`]),
    ...(judge_cost === undefined ? [] : [`judges cost ${formats.number(judge_cost)} USD`]),
    ...(unpriced_models === undefined
      ? []
      : [`no price is known for ${unpriced_models.join(' and ')} (\`heddle price\` stores it)`]),
    ...(latency_seconds === undefined ? [] : [`mean latency ${formats.number(latency_seconds)} s`]),
  ];
}

/**
 * Returns the figures of one scorer, like `40% (16.8 to 68.7) of 10 passed` or `mean 3.5 (3.1 to 3.9) of 10, 1 without a score`.
 * @param spread how the values are distributed, where no drawing shows it.
 */
export function figureWords(figures: ScorerFigures, formats = plainFormats, spread = ''): string {
  const {
    n,
    errors,
    commonest_error: commonest,
    pass_rate,
    mean,
    interval,
    flaky_rows,
    pass_at_k = [],
    judge,
    corrected,
  } = figures;
  const boundOf = (bound: number): string => formats.number(pass_rate === undefined ? bound : rounded(100 * bound, 1));
  const bounds = interval === undefined ? '' : ` (${interval.map(boundOf).join(' to ')})`;
  const figure =
    pass_rate !== undefined
      ? `${formats.percent(pass_rate)}${bounds} of ${formats.number(n)} passed`
      : mean !== undefined
        ? `mean ${formats.number(mean)}${bounds} of ${formats.number(n)}`
        : n === 0 && errors === undefined
          ? 'applies to no row'
          : countWords(n, 'value', formats);
  const because = commonest === undefined ? '' : ` (${formats.number(commonest.n)} of them: ${commonest.error})`;
  return [
    `${figure}${spread}`,
    ...(corrected === undefined
      ? []
      : [`corrected ${formats.percent(corrected.rate)} (${corrected.interval.map(boundOf).join(' to ')})`]),
    ...pass_at_k.map(({ k, any, all }) => `pass@${k} ${formats.percent(any)}, pass^${k} ${formats.percent(all)}`),
    ...(flaky_rows === undefined ? [] : [countWords(flaky_rows, 'flaky row', formats)]),
    ...(errors === undefined ? [] : [`${formats.number(errors)} without a score${because}`]),
    ...(judge === undefined ? [] : [`judge: ${judge}`]),
  ].join(', ');
}

/** Returns a probability, like `0.031` or `< 0.001`. */
export function probabilityWords(p: number, formats = plainFormats): string {
  return p < leastP ? `< ${formats.number(leastP)}` : formats.number(p);
}

/**
 * Returns a comparison as one line, like `better: +6 points (+2.7 to +9.6) on 400 rows; 0 rows that passed before fail now`.
 * Points are hundredths of a rate.
 */
export function comparisonWords(comparison: ScorerComparison, formats = plainFormats): string {
  const { better, worse, same, changed = 0, verdict, difference, interval, lost, unscored } = comparison;
  const rows = countWords(better + worse + same + changed, 'row', formats);
  if (difference === undefined) return `${verdict} on ${rows}`;
  const unit = lost === undefined ? '' : ' points';
  const amount = (value: number): string => formats.number(lost === undefined ? value : rounded(100 * value, 1) + 0);
  const signed = (value: number): string => `${value > 0 ? '+' : ''}${amount(value)}`;
  const bounds = interval ? ` (${interval.map(signed).join(' to ')})` : '';
  const isSure = verdict === 'better' || verdict === 'worse';
  return [
    `${verdict}: ${signed(difference)}${unit}${bounds} on ${rows}`,
    ...(isSure ? [] : sizeWords(comparison, amount, unit, formats)),
    ...(lost === undefined
      ? []
      : [`${countWords(lost, 'row', formats)} that passed before ${lost === 1 ? 'fails' : 'fail'} now`]),
    ...(unscored === undefined ? [] : [`${countWords(unscored, 'row', formats)} without a score now left out`]),
  ].join('; ');
}

/** The least number of rows that, all better or all worse, are more than chance: for six p is 0.031. */
export const leastChanged = 6;

/** Says what so many rows could show; nothing if none of them differs. */
function sizeWords(
  { better, worse, same, changed = 0, verdict, difference = 0, detectable = 0 }: ScorerComparison,
  amount: (value: number) => string,
  unit: string,
  formats: NumberFormats,
): string[] {
  if (better + worse + same + changed < leastChanged) return [`it takes ${leastChanged} rows to show any difference`];
  if (verdict === 'could be chance' && Math.abs(difference) >= detectable)
    return [
      `${countWords(better + worse, 'row', formats)} ${better + worse === 1 ? 'differs' : 'differ'}, too few to tell`,
    ];
  return detectable === 0 ? [] : [`a difference of ${amount(detectable)}${unit} would show`];
}

/** Characters of a common beginning that stay before and after the ellipsis. */
const keptChars = 12;

/** Shortens a long beginning that all texts have in common, so that they differ where a reader looks first. */
export function withoutCommonBeginning<Value>(values: readonly Value[]): (Value | string)[] {
  const texts = values.filter((value) => typeof value === 'string');
  const [first = ''] = texts;
  const isCommon = (at: number): boolean => texts.every((text) => text[at] === first[at]);
  let common = 0;
  while (common < first.length && isCommon(common)) common += 1;
  const isShort = common < 4 * keptChars || texts.every((text) => text === first);
  const shorten = (text: string): string =>
    `${text.slice(0, keptChars).toWellFormed()}…${text.slice(common - keptChars).toWellFormed()}`;
  return isShort ? [...values] : values.map((value) => (typeof value === 'string' ? shorten(value) : value));
}

function countWords(count: number, noun: string, formats: NumberFormats): string {
  return `${formats.number(count)} ${noun}${count === 1 ? '' : 's'}`;
}
