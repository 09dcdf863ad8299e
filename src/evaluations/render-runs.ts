import { rounded } from '../core/statistics/rounded.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { pluralize } from '../text/page.ts';
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

/** Renders the figures of one scorer, like `40% of 10 passed` or `mean 3.5 of 10 (3×5 4×5), 1 without a score`. */
function renderFigures({ n, errors, pass_rate, mean, values, quartiles }: ScorerFigures): string {
  const counts = values?.map(([value, count]) => `${cell(value)}×${count}`).join(' ');
  const spread = counts ?? (quartiles && `least, quartiles, greatest ${quartiles.join(' ')}`);
  const details = spread === undefined || pass_rate !== undefined ? '' : ` (${spread})`;
  const figure =
    pass_rate !== undefined
      ? `${rounded(100 * pass_rate, 2)}% of ${n} passed`
      : mean !== undefined
        ? `mean ${mean} of ${n}`
        : pluralize(n, 'value');
  return `${figure}${details}${errors === undefined ? '' : `, ${errors} without a score`}`;
}
