import { element } from '../shared/element.ts';
import { labelOf } from '../shared/labels.ts';
import type { Formats } from '../shared/theme.ts';
import { visibleText } from '../shared/visible-text.ts';
import { type Comparison, type Figures, type RunData, runName, type ScorerChange } from './evaluation-data.ts';

/** Probability below which its exact value tells a person nothing more. */
const leastP = 0.001;

interface Scale {
  min: number;
  max: number;
}

/** Lays out every scorer: its distribution in each run, and what changed since the baseline. */
export function scorerCharts(
  runs: readonly RunData[],
  comparisons: readonly Comparison[],
  formats: Formats,
): HTMLElement[] {
  const names = new Set(runs.flatMap(({ scorers = [] }) => scorers.map(({ scorer }) => scorer)));
  return [...names].map((name) => {
    const figures = runs.map(({ scorers = [] }) => scorers.find(({ scorer }) => scorer === name));
    const scale = scaleOf(figures);
    const cells = figures.map((each, index) =>
      element(
        'li',
        {},
        runs.length > 1 && element('span', { class: 'run-name' }, runName(index, runs.length)),
        each ? distribution(each, scale, formats) : element('p', { class: 'reference' }, 'no scores'),
        changesOf(name, runs[index]!, comparisons, formats),
      ),
    );
    return element(
      'section',
      {},
      element('h3', {}, visibleText(name)),
      element('ol', { class: 'side-by-side', 'aria-label': 'Runs' }, ...cells),
    );
  });
}

/** Says the figures of a scorer in one line. */
export function figureText({ n, errors, pass_rate, mean }: Figures, formats: Formats): string {
  const count = formats.number(n);
  const figure =
    pass_rate !== undefined
      ? `${formats.percent(pass_rate)} of ${count} passed`
      : mean !== undefined
        ? `mean ${formats.number(mean)} of ${count}`
        : `${count} value${n === 1 ? '' : 's'}`;
  return errors === undefined ? figure : `${figure}, ${formats.number(errors)} without a score`;
}

function scaleOf(figures: readonly (Figures | undefined)[]): Scale {
  const ends = figures.flatMap((each) => each?.quartiles ?? []);
  return { min: Math.min(...ends), max: Math.max(...ends) };
}

function distribution(figures: Figures, scale: Scale, formats: Formats): HTMLElement {
  const { pass_rate, values, quartiles } = figures;
  return element(
    'div',
    {},
    element('p', { class: 'figure' }, figureText(figures, formats)),
    pass_rate !== undefined && bar(pass_rate),
    pass_rate === undefined && values && histogram(values, formats),
    quartiles && boxPlot(quartiles, scale, formats),
  );
}

/** Draws a share from 0 to 1; the text beside it says the number. */
function bar(share: number, className = 'bar'): HTMLElement {
  const node = element('div', { class: className, 'aria-hidden': 'true' });
  // The policy of the page allows no style attributes.
  node.style.setProperty('--share', String(share));
  return node;
}

function histogram(values: NonNullable<Figures['values']>, formats: Formats): HTMLElement {
  const largest = Math.max(...values.map(([, count]) => count));
  const lines = values.flatMap(([value, count]) => [
    element('dt', {}, typeof value === 'number' ? formats.number(value) : labelOf(value)),
    element('dd', {}, bar(count / largest), element('span', {}, formats.number(count))),
  ]);
  return element('dl', { class: 'histogram' }, ...lines);
}

/** Draws the least value, the quartiles and the greatest value on the scale that all runs share. */
function boxPlot(quartiles: readonly number[], { min, max }: Scale, formats: Formats): HTMLElement {
  const placeOf = (value: number): string => String(max > min ? (value - min) / (max - min) : 0.5);
  const plot = element(
    'div',
    { class: 'box-plot', 'aria-hidden': 'true' },
    element('div', { class: 'whiskers' }),
    element('div', { class: 'box' }),
    element('div', { class: 'median' }),
  );
  for (const [index, value] of quartiles.entries()) plot.style.setProperty(`--q${index}`, placeOf(value));
  const [least = 0, first = 0, median = 0, third = 0, greatest = 0] = quartiles;
  const numbers = [first, median, third].map((value) => formats.number(value)).join(' / ');
  return element(
    'div',
    {},
    plot,
    element(
      'p',
      { class: 'quiet-line' },
      `from ${formats.number(least)} to ${formats.number(greatest)}; quartiles ${numbers}`,
    ),
  );
}

function changesOf(
  name: string,
  { run_id }: RunData,
  comparisons: readonly Comparison[],
  formats: Formats,
): HTMLElement | undefined {
  const change = comparisons.find((each) => each.run_id === run_id)?.scorers.find(({ scorer }) => scorer === name);
  if (!change) return undefined;
  const { better, same, worse, changed = 0, p, verdict } = change;
  const counts: [keyof ScorerChange, number][] = [
    ['better', better],
    ['changed', changed],
    ['same', same],
    ['worse', worse],
  ];
  const parts = counts.map(([kind, count]) => bar(count, `part ${kind}`));
  const chance = p === undefined ? '' : ` (p ${p < leastP ? `< ${formats.number(leastP)}` : formats.number(p)})`;
  const texts = counts
    .filter(([kind, count]) => kind !== 'changed' || count > 0)
    .map(([kind, count]) => `${formats.number(count)} ${kind}`);
  return element(
    'div',
    { class: 'changes' },
    element('div', { class: 'stack', 'aria-hidden': 'true' }, ...parts),
    element('p', {}, `${texts.join(', ')}: `, element('b', {}, verdict), chance),
  );
}
