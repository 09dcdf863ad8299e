import { type ComponentChild, h } from 'preact';
import type { RunWithFigures } from '../../../evaluations/read-run-results.ts';
import {
  comparisonColumns,
  comparisonWords,
  figureWords,
  isProbability,
  probabilityWords,
  scoreWords,
} from '../../../evaluations/result-words.ts';
import type { ScorerFigures } from '../../../evaluations/score-figures.ts';
import type { RunComparison } from '../../../tools/read-evaluation.ts';
import { beginningOf } from '../shared/labels.ts';
import type { Formats } from '../shared/theme.ts';
import { visibleText } from '../shared/visible-text.ts';
import { runName } from './row-outcomes.ts';

interface Scale {
  min: number;
  max: number;
}

/** Lays out every scorer: its distribution in each run, and what changed since the baseline. */
export function scorerCharts(
  runs: readonly RunWithFigures[],
  comparisons: readonly RunComparison[],
  formats: Formats,
): ComponentChild[] {
  const names = new Set(runs.flatMap(({ scorers = [] }) => scorers.map(({ scorer }) => scorer)));
  return [...names].map((name) => {
    const figures = runs.map(({ scorers = [] }) => scorers.find(({ scorer }) => scorer === name));
    const scale = scaleOf(figures);
    const cells = figures.map((each, index) =>
      h(
        'li',
        {},
        runs.length > 1 && h('span', { class: 'run-name' }, runName(index)),
        each ? distribution(each, scale, formats) : h('p', { class: 'reference' }, 'no scores'),
        changesOf(name, runs[index]!, comparisons, formats),
      ),
    );
    return h(
      'section',
      {},
      h('h3', {}, visibleText(name)),
      h('ol', { class: 'side-by-side', 'aria-label': 'Runs' }, cells),
    );
  });
}

function scaleOf(figures: readonly (ScorerFigures | undefined)[]): Scale {
  const ends = figures.flatMap((each) => each?.quartiles ?? []);
  return { min: Math.min(...ends), max: Math.max(...ends) };
}

function distribution(figures: ScorerFigures, scale: Scale, formats: Formats): ComponentChild {
  const { pass_rate, values, quartiles } = figures;
  return h(
    'div',
    {},
    h('p', { class: 'figure' }, visibleText(figureWords(figures, formats))),
    pass_rate !== undefined && bar(pass_rate),
    pass_rate === undefined && values && histogram(values, formats),
    quartiles && boxPlot(quartiles, scale, formats),
  );
}

/** Draws a share from 0 to 1; the text beside it says the number. */
function bar(share: number, className = 'bar'): ComponentChild {
  return h('div', { class: className, 'aria-hidden': 'true', style: { '--share': share } });
}

function histogram(values: NonNullable<ScorerFigures['values']>, formats: Formats): ComponentChild {
  const largest = Math.max(...values.map(([, count]) => count));
  const lines = values.flatMap(([value, count]) => [
    h('dt', {}, beginningOf(scoreWords(value, formats))),
    h('dd', {}, bar(count / largest), h('span', {}, formats.number(count))),
  ]);
  return h('dl', { class: 'histogram' }, lines);
}

function placeOn({ min, max }: Scale, value: number): number {
  return max > min ? (value - min) / (max - min) : 0.5;
}

/** Draws the least value, the quartiles and the greatest value on the scale that all runs share. */
function boxPlot(quartiles: readonly number[], scale: Scale, formats: Formats): ComponentChild {
  const [q0, q1, q2, q3, q4] = quartiles.map((value) => placeOn(scale, value));
  const [least, first, median, third, greatest] = quartiles.map((value) => formats.number(value));
  const view = { class: 'box-plot', viewBox: '0 0 1 1', preserveAspectRatio: 'none', 'aria-hidden': 'true' };
  const d = `M${q0} .5H${q1}V.15H${q3}V.85H${q1}V.5M${q3} .5H${q4}M${q2} 0V1`;
  const text = `from ${least} to ${greatest}; quartiles ${first} / ${median} / ${third}`;
  return h('div', {}, h('svg', view, h('path', { d })), h('p', { class: 'quiet-line' }, text));
}

function changesOf(
  name: string,
  { run_id }: RunWithFigures,
  comparisons: readonly RunComparison[],
  formats: Formats,
): ComponentChild {
  const change = comparisons.find((each) => each.run_id === run_id)?.scorers.find(({ scorer }) => scorer === name);
  if (!change) return undefined;
  const counts = comparisonColumns.filter((column) => !isProbability(column));
  const parts = counts.map((kind) => bar(change[kind] ?? 0, `part ${kind}`));
  const texts = comparisonColumns.flatMap((column) => {
    const value = change[column];
    if (value === undefined) return [];
    return isProbability(column)
      ? `${column} ${probabilityWords(value, formats)}`
      : `${formats.number(value)} ${column}`;
  });
  return h(
    'div',
    { class: 'changes' },
    h('div', { class: 'stack', 'aria-hidden': 'true' }, parts),
    h('p', {}, texts.join(', ')),
    h(
      'p',
      {},
      h('b', { class: `change ${change.verdict}` }, change.verdict),
      comparisonWords(change, formats).slice(change.verdict.length),
    ),
  );
}
