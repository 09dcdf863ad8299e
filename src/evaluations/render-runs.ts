import { toSeconds } from '../core/timestamps.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import type { RunWithFigures } from './read-run-results.ts';
import { figureWords, statusWords, usageWords } from './result-words.ts';
import type { ScorerFigures } from './score-figures.ts';

/** Renders one line for each run: how far it is, what it ran, and what that took. */
export function renderRuns(runs: readonly RunWithFigures[]): string[] {
  return runs.map((run, index) => `${runs.length > 1 ? `run ${index + 1}: ` : 'run '}${renderRun(run)}`);
}

function renderRun(run: RunWithFigures): string {
  const { run_id, error, evaluation, model, prompt, baselines = [], started_at } = run;
  return [
    `${cell(run_id)} ${statusWords(run)}${error === undefined ? '' : `: ${cell(error)}`}`,
    ...(evaluation === undefined ? [] : [`evaluation ${cell(evaluation)}`]),
    ...(model === undefined ? [] : [`model ${cell(model)}`]),
    ...(prompt === undefined ? [] : [`prompt ${escapeInvisible(JSON.stringify(prompt))}`]),
    ...baselines.map((name) => `baseline ${cell(name)}`),
    ...(started_at === undefined ? [] : [`started ${cell(toSeconds(started_at))}`]),
    ...usageWords(run).map(escapeInvisible),
  ].join(', ');
}

/** Renders the figures of the scorers, a column for each run. */
export function renderRunTable(runs: readonly RunWithFigures[]): string[] {
  const names = scorersOf(runs);
  if (names.length === 0) return [];
  const lines = names.map((name) => [cell(name), ...runs.map((run) => figuresIn(run, name))]);
  const headings = runs.map((_, index) => (runs.length > 1 ? `run ${index + 1}` : 'result'));
  return [['scorer', ...headings], ...lines].map((line) => line.join('\t'));
}

/** Renders runs in a list by their ids, since their numbers are those of a comparison, and their figures with a line for each run. */
export function renderRunList(runs: readonly RunWithFigures[]): string[] {
  const names = scorersOf(runs);
  const lines = runs.map((run) => [cell(run.run_id), ...names.map((name) => figuresIn(run, name))]);
  const table = names.length === 0 ? [] : [['run', ...names.map(cell)], ...lines];
  return [...runs.map((run) => `run ${renderRun(run)}`), ...table.map((line) => line.join('\t'))];
}

function scorersOf(runs: readonly RunWithFigures[]): string[] {
  return [...new Set(runs.flatMap(({ scorers = [] }) => scorers.map(({ scorer }) => scorer)))];
}

function figuresIn({ scorers = [] }: RunWithFigures, name: string): string {
  const figures = scorers.find(({ scorer }) => scorer === name);
  return figures === undefined ? '' : renderFigures(figures);
}

/** Renders the figures of one scorer, like `mean 3.5 (3.1 to 3.9) of 10 (3×5 4×5), 1 without a score`. */
export function renderFigures(figures: ScorerFigures): string {
  const { pass_rate, values, quartiles } = figures;
  const counts = values?.map(([value, count]) => `${cell(value)}×${count}`).join(' ');
  const spread = counts ?? (quartiles && `least, quartiles, greatest ${quartiles.join(' ')}`);
  const words = figureWords(figures, undefined, spread === undefined || pass_rate !== undefined ? '' : ` (${spread})`);
  return escapeInvisible(words);
}
