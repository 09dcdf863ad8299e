import { type ComponentChild, h } from 'preact';
import { changeWords, scoreWords, withoutCommonBeginning } from '../../../evaluations/result-words.ts';
import { button } from '../shared/button.ts';
import { beginningOf } from '../shared/labels.ts';
import { PureComponent } from '../shared/pure-component.ts';
import type { Formats } from '../shared/theme.ts';
import { visibleText } from '../shared/visible-text.ts';
import { ValueView } from '../values/value-view.ts';
import type { OpenableRow } from './evaluation-state.ts';
import type { EvaluationView } from './evaluation-view.ts';
import { inputPaths, keyOf, outcomesOf, outputPaths, type RowOutcome, runName, scorePaths } from './row-outcomes.ts';

interface RowProps {
  id: string;
  openable: OpenableRow;
  formats: Formats;
  view: EvaluationView;
}

/** Characters of a closed row's inputs, outputs and scores. */
const maxInputChars = 160;
const maxOutputChars = 140;
const maxScoreChars = 40;
/** Characters of a value of an opened row that show at first. */
const foldedChars = 900;

const markSigns = new Map([
  ['better', '▲'],
  ['worse', '▼'],
  ['changed', '◆'],
]);

/** A row of the dataset with what the runs made of it; closed it shows beginnings, opened the whole values. */
export class RowCard extends PureComponent<RowProps> {
  override render(props: RowProps): ComponentChild {
    const { id, openable, view } = props;
    const { row, isOpen, isLoading } = openable;
    const inputs = Object.values(row.inputs ?? {})
      .map(textOf)
      .join(' · ');
    const title = h('span', {}, visibleText(beginningOf(inputs, maxInputChars) || 'Row without inputs'));
    const attributes = { class: 'row-title', 'aria-expanded': isOpen, 'aria-controls': id };
    const outcomes = outcomesOf(row);
    return h(
      'li',
      { class: 'card' },
      h(
        'h3',
        {},
        button(title, () => view.toggleRow(row.call_id), attributes),
      ),
      h(
        'div',
        { id, 'aria-busy': isLoading || undefined },
        isOpen ? details(outcomes, props) : summary(outcomes, props),
      ),
    );
  }
}

function summary(outcomes: readonly RowOutcome[], { openable: { row }, formats }: RowProps): ComponentChild[] {
  const names = Object.keys(row.scores).filter((name) => !outcomes.some(({ scores }) => isLong(scores.get(name))));
  const scores = names.map((name) => {
    const values = outcomes.map(({ scores: given }) => scoreText(given.get(name), formats));
    const label = h('span', { class: 'run-name' }, visibleText(name), ' ');
    return h('li', {}, label, changeWords(values), markOf(name, row));
  });
  const texts = withoutCommonBeginning(outcomes.map(({ output }) => (output === undefined ? output : textOf(output))));
  const outputs = outcomes.map(({ error }, index) =>
    error === undefined
      ? h('p', { class: 'beginning', dir: 'auto' }, beginningOf(texts[index] ?? 'no output', maxOutputChars))
      : h('p', { class: 'problem' }, beginningOf(error, maxOutputChars)),
  );
  return [sideBySide(outputs), h('ul', { class: 'line scores' }, scores)];
}

function details(outcomes: readonly RowOutcome[], props: RowProps): ComponentChild[] {
  const { row, problem } = props.openable;
  const again = button('Load the whole values', () => props.view.loadWholes(row.call_id));
  const inputs = Object.entries(row.inputs ?? {}).flatMap(([name, value]) => [
    h('dt', {}, visibleText(name)),
    h('dd', {}, shownValue(value, row.call_id, inputPaths(name), props)),
  ]);
  const outputs = outcomes.map(({ callId, output, error }) => [
    output !== undefined && shownValue(output, callId, outputPaths, props),
    error !== undefined && h('p', { class: 'problem' }, visibleText(error)),
    output === undefined && error === undefined && h('p', { class: 'reference' }, 'no output'),
  ]);
  const scores = Object.keys(row.scores).map((name) => {
    const values = outcomes.map(({ callId, scores: given }) => {
      const value = given.get(name);
      const isText = isLong(value);
      return isText
        ? shownValue(value, callId, scorePaths(name), props)
        : h('span', {}, scoreText(value, props.formats));
    });
    return h('section', {}, h('h4', {}, visibleText(name), markOf(name, row)), sideBySide(values));
  });
  const trials = `${row.trials} trials: the output is that of the first, and scores are means.`;
  return [
    problem !== undefined && h('p', { class: 'problem' }, problem, ' ', again),
    h('dl', { class: 'values' }, inputs),
    h('h4', {}, outcomes.length > 1 ? 'Outputs' : 'Output'),
    sideBySide(outputs),
    scores,
    row.trials !== undefined && h('p', { class: 'quiet-line' }, trials),
    h('p', { class: 'quiet-line' }, 'Recorded call ', visibleText(row.call_id)),
  ];
}

/** Draws a value, whole if it was loaded. What is too long even for that is loaded when the person asks. */
function shownValue(
  value: unknown,
  callId: string | undefined,
  paths: readonly string[],
  { openable: { row, wholes }, formats, view }: RowProps,
): ComponentChild {
  const loaded = paths.find((path) => wholes.get(keyOf(callId ?? '', path))?.value !== undefined);
  if (callId === undefined || loaded === undefined) return h(ValueView, { value, formats, foldedChars });
  const whole = wholes.get(keyOf(callId, loaded))!;
  const loadWhole = whole.isAlone ? undefined : () => view.loadWhole(row.call_id, callId, [loaded]);
  return h(ValueView, { value: whole.value, formats, foldedChars, loadWhole });
}

/** Returns whether a score is a text that is no label, like a reason; it shows only in an opened row. */
function isLong(value: unknown): boolean {
  return typeof value === 'string' && value.length > maxScoreChars;
}

function scoreText(value: unknown, formats: Formats): string {
  return beginningOf(scoreWords(value, formats), maxScoreChars);
}

function markOf(name: string, { changes = {} }: OpenableRow['row']): ComponentChild {
  const change = new Map(Object.entries(changes)).get(name);
  return change && [' ', h('b', { class: `change ${change}` }, `${markSigns.get(change) ?? ''} ${change}`)];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function sideBySide(cells: readonly ComponentChild[]): ComponentChild {
  const nameOf = (index: number): ComponentChild =>
    cells.length > 1 && h('span', { class: 'run-name' }, runName(index));
  return h(
    'ol',
    { class: 'side-by-side' },
    cells.map((cell, index) => h('li', {}, nameOf(index), cell)),
  );
}
