import { type ComponentChild, h } from 'preact';
import { beginningOf } from '../shared/labels.ts';
import type { Formats } from '../shared/theme.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { Differences } from '../values/differences.ts';
import { ValueView } from '../values/value-view.ts';
import type { Board } from './review-board.ts';
import type { Card } from './review-state.ts';

/** Characters of a text that show at first: where it is read, and in a list. */
const readChars = 8000;
const listedChars = 700;

/** The last name of a path to what the output should have been. */
const expectedName =
  /^(expected|reference|ideal|gold|target|ground_?truth|correct)(_?(answer|output|response|value|text))?$/i;

interface ValuesProps {
  card: Card;
  /** True if the item fills the page. */
  isAlone: boolean;
  isRaw: boolean;
  formats: Formats;
  board: Board;
}

interface ShownValue {
  path: string;
  /** Name of the value in its part of the recorded call; empty for the whole of it. */
  label: string;
  value: unknown;
}

/** Draws the values of an item: why its call failed, its inputs, apart from them the output, and the rest. */
export function itemValues(props: ValuesProps): ComponentChild[] {
  const { call_error, call_id, exception } = props.card.item;
  const values = valuesOf(props.card);
  const { inputs, output, rest } = partsOf(values);
  // A call that failed has no output.
  const given = exception === undefined ? output : output.filter(({ value }) => value !== null);
  const failure = exception !== undefined && [
    h('h3', {}, 'The call failed'),
    h('div', { class: 'failure' }, h(ValueView, { value: exception, ...styleOf(props) })),
  ];
  const unread =
    call_error &&
    h('p', { class: 'problem' }, `The recorded call cannot be read. ${plainText(call_error.message ?? '')}`);
  const nothing = values.length === 0 && !failure && !unread;
  return [
    section('inputs', 'Input', inputs, props),
    section('rest', 'About the call', rest, props),
    section('output', 'Output', given, props),
    h('section', { class: 'failed', hidden: !failure }, failure),
    unread,
    nothing && h('p', { class: 'reference' }, `No values to show. Recorded call ${plainText(call_id)}`),
    comparison(values, props),
  ];
}

/** Returns what tells an item from others on one line: the beginnings of its first value of several words, or else the first, and of its output. */
export function titlesOfCard(card: Card): string[] {
  const values = valuesOf(card);
  const { inputs, output } = partsOf(values);
  const told = inputs.find(({ value }) => / /.test(String(value))) ?? values[0];
  const shown = [...new Set([told, output[0]])].filter((each) => each !== undefined);
  if (shown.length === 0) return [plainText(card.item.call_op_name)];
  return shown.map(({ value }) => beginningOf(typeof value === 'string' ? value : JSON.stringify(value)));
}

/** Returns the output of an item, if it is one text. */
export function outputText(card: Card): string | undefined {
  const { output } = partsOf(valuesOf(card));
  const texts = output.filter(({ value }) => typeof value === 'string');
  return texts.length === 1 ? (texts[0]!.value as string) : undefined;
}

/** Returns the values of an item, whole where they were loaded. */
function valuesOf({ item, wholes }: Card): ShownValue[] {
  return Object.entries(item.call_values ?? {}).map(([path, value]) => {
    const whole = wholes.get(path);
    return { path, label: labelOfPath(path), value: typeof whole === 'object' ? whole.value : value };
  });
}

function labelOfPath(path: string): string {
  return path.replace(/^(inputs|output)(\.|(?=\[)|$)/, '');
}

function partsOf(values: readonly ShownValue[]): { inputs: ShownValue[]; output: ShownValue[]; rest: ShownValue[] } {
  const under = (name: string) => values.filter(({ path }) => /^\w*/.exec(path)![0] === name);
  const inputs = under('inputs');
  const output = under('output');
  return { inputs, output, rest: values.filter((value) => !inputs.includes(value) && !output.includes(value)) };
}

function styleOf({ formats, isAlone, isRaw }: ValuesProps) {
  return { formats, isRaw, foldedChars: isAlone ? readChars : listedChars };
}

function section(name: string, title: string, values: readonly ShownValue[], props: ValuesProps): ComponentChild {
  if (values.length === 0) return undefined;
  const { card, board } = props;
  const drawn = ({ path, value }: ShownValue): ComponentChild => {
    const whole = card.wholes.get(path);
    const loading =
      typeof whole === 'object' ? {} : { loading: whole, loadWhole: () => board.loadWholes(card.item, [path]) };
    return h(ValueView, { value, ...loading, ...styleOf(props) });
  };
  const [only] = values;
  const rows = values.flatMap((each) => [h('dt', {}, visibleText(each.label)), h('dd', {}, drawn(each))]);
  // A list of values needs names; the whole output stands for itself.
  const list = values.length === 1 && only!.label === '' ? drawn(only!) : h('dl', { class: 'values' }, rows);
  return h('section', { class: name }, h('h3', {}, title), list);
}

/** Draws how the output differs from what is expected, where the item has both as text. */
function comparison(values: readonly ShownValue[], { card }: ValuesProps): ComponentChild {
  const expected = values.find(
    ({ label, value }) => typeof value === 'string' && expectedName.test(label.split('.').at(-1)!),
  );
  const output = outputText(card);
  if (!expected || output === undefined || expected.value === output) return undefined;
  return h(
    'details',
    { class: 'more comparison', open: true },
    h('summary', {}, `Differences to ${plainText(expected.label)}`),
    h(Differences, { from: expected.value as string, to: output }),
  );
}
