import { rounded } from '../core/statistics/rounded.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { pluralize } from '../text/page.ts';
import type { ScorerComparison } from './compare-runs.ts';
import type { RunWithFigures } from './read-run-results.ts';
import type { ScorerFigures } from './score-figures.ts';

/** Renders one line for each run: how far it is, what it ran, and what that took. */
export function renderRuns(runs: readonly RunWithFigures[]): string[] {
  return runs.map((run, index) => `${runs.length > 1 ? `run ${index + 1}: ` : 'run '}${renderRun(run)}`);
}

function renderRun(run: RunWithFigures): string {
  const { run_id, status, completed, total, error, evaluation, model, prompt, started_at } = run;
  const { predictions, errors, tokens, cost, judge_tokens, judge_cost, latency_seconds } = run;
  const progress = completed === undefined ? '' : ` (${completed} of ${total ?? '?'} predictions)`;
  return [
    `${cell(run_id)} ${status}${progress}${error === undefined ? '' : `: ${cell(error)}`}`,
    ...(evaluation === undefined ? [] : [`evaluation ${cell(evaluation)}`]),
    ...(model === undefined ? [] : [`model ${cell(model)}`]),
    ...(prompt === undefined ? [] : [`prompt ${escapeInvisible(JSON.stringify(prompt))}`]),
    ...(started_at === undefined ? [] : [`started ${cell(started_at)}`]),
    ...(predictions === undefined ? [] : [pluralize(predictions, 'prediction')]),
    ...(errors === undefined ? [] : [`${errors} of them failed`]),
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ...(cost === undefined ? [] : [`cost ${cost}`]),
    ...(judge_tokens === undefined ? [] : [`judges ${judge_tokens} tokens`]),
    ...(judge_cost === undefined ? [] : [`judges cost ${judge_cost}`]),
    ...(latency_seconds === undefined ? [] : [`mean latency ${latency_seconds} s`]),
  ].join(', ');
}

/** Renders the figures of the scorers, a column for each run. */
export function renderRunTable(runs: readonly RunWithFigures[]): string[] {
  const names = new Set(runs.flatMap(({ scorers = [] }) => scorers.map(({ scorer }) => scorer)));
  if (names.size === 0) return [];
  const lines = [...names].map((name) => [
    cell(name),
    ...runs.map(({ scorers = [] }) => {
      const figures = scorers.find(({ scorer }) => scorer === name);
      return figures === undefined ? '' : renderFigures(figures);
    }),
  ]);
  const headings = runs.map((_, index) => (runs.length > 1 ? `run ${index + 1}` : 'result'));
  return [['scorer', ...headings], ...lines].map((line) => line.join('\t'));
}

/** Renders the figures of one scorer, like `40% (17 to 69) of 10 passed` or `mean 3.5 (3.1 to 3.9) of 10 (3×5 4×5), 1 without a score`. */
export function renderFigures(figures: ScorerFigures): string {
  const { n, errors, pass_rate, mean, interval, values, quartiles, flaky_rows, pass_at_k = [], ...more } = figures;
  const { judge, corrected } = more;
  const counts = values?.map(([value, count]) => `${cell(value)}×${count}`).join(' ');
  const spread = counts ?? (quartiles && `least, quartiles, greatest ${quartiles.join(' ')}`);
  const asShown = (bound: number): number => (pass_rate === undefined ? rounded(bound, 3) : rounded(100 * bound, 1));
  const bounds = interval === undefined ? '' : ` (${interval.map(asShown).join(' to ')})`;
  const figure =
    pass_rate !== undefined
      ? `${percent(pass_rate)}${bounds} of ${n} passed`
      : mean !== undefined
        ? `mean ${mean}${bounds} of ${n}`
        : n === 0 && errors === undefined
          ? 'applies to no row'
          : pluralize(n, 'value');
  return [
    `${figure}${spread === undefined || pass_rate !== undefined ? '' : ` (${spread})`}`,
    ...(corrected === undefined
      ? []
      : [`corrected ${percent(corrected.rate)} (${corrected.interval.map(asShown).join(' to ')})`]),
    ...pass_at_k.map(({ k, any, all }) => `pass@${k} ${percent(any)}, pass^${k} ${percent(all)}`),
    ...(flaky_rows === undefined ? [] : [`${pluralize(flaky_rows, 'flaky row')}`]),
    ...(errors === undefined ? [] : [`${errors} without a score`]),
    ...(judge === undefined ? [] : [`judge: ${judge}`]),
  ].join(', ');
}

function percent(share: number): string {
  return `${rounded(100 * share, 2)}%`;
}

/**
 * Returns a comparison as one line for a reader, like `better by 6 points (2 to 10) on 400 rows; 0 rows always passed before and
 * never now`. Points are hundredths of a rate.
 */
export function comparisonSentence({ verdict, difference, interval, lost, ...counts }: ScorerComparison): string {
  const { better, worse, same, changed = 0, unscored, detectable } = counts;
  const rows = pluralize(better + worse + same + changed, 'row');
  if (difference === undefined) return `${verdict} on ${rows}`;
  const [factor, unit] = lost === undefined ? [1, ''] : [100, ' points'];
  const sign = difference < 0 ? -1 : 1;
  const amount = (value: number): number => rounded(sign * factor * value, factor === 1 ? 3 : 1) + 0;
  const bounds =
    interval &&
    ` (${interval
      .map(amount)
      .sort((a, b) => a - b)
      .join(' to ')})`;
  const size = `${amount(difference)}${unit}`;
  const isSure = verdict === 'better' || verdict === 'worse';
  const direction = difference === 0 ? '' : difference < 0 ? ' worse' : ' better';
  return [
    `${verdict}${isSure ? ` by ${size}` : `: ${size}${direction}`}${bounds ?? ''} on ${rows}`,
    ...(isSure || detectable === undefined
      ? []
      : [`a difference of ${Math.abs(amount(detectable))}${unit} would show`]),
    ...(lost === undefined ? [] : [`${pluralize(lost, 'row')} always passed before and never now`]),
    ...(unscored === undefined ? [] : [`${pluralize(unscored, 'row')} without a score now left out`]),
  ].join('; ');
}
