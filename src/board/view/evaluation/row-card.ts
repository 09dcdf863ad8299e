import { button, element, setAttribute } from '../shared/element.ts';
import { beginningOf } from '../shared/labels.ts';
import { problemOfFailure } from '../shared/problem.ts';
import type { Formats } from '../shared/theme.ts';
import { isCut, valueView } from '../shared/value-view.ts';
import { visibleText } from '../shared/visible-text.ts';
import { outcomesOf, type RowData, type RowOutcome, runName } from './evaluation-data.ts';

/** The part of the page that a row uses. */
export interface RowOwner {
  formats: () => Formats;
  /** Reads the values at paths of a recorded call whole; a path that leads nowhere is missing. */
  readValues: (callId: string, paths: string[]) => Promise<Record<string, unknown>>;
}

/** Characters of a closed row's inputs, outputs and scores. */
const maxInputChars = 160;
const maxOutputChars = 140;
const maxScoreChars = 40;

const markSigns: Record<string, string> = { better: '▲', worse: '▼', changed: '◆' };

let lastRow = 0;

/** A row of the dataset with what the runs made of it; closed it shows beginnings, opened the whole values. */
export class RowCard {
  readonly node: HTMLElement;
  readonly toggle: HTMLButtonElement;
  row: RowData;
  readonly #owner: RowOwner;
  readonly #body: HTMLElement;
  readonly #title: HTMLElement;
  /** Whole values by the id of their call and their path. */
  readonly #wholes = new Map<string, unknown>();
  #isOpen = false;
  #problem: string | undefined;
  #shown = '';

  constructor(row: RowData, owner: RowOwner) {
    lastRow += 1;
    const id = `row-${lastRow}`;
    this.row = row;
    this.#owner = owner;
    this.#title = element('span');
    this.toggle = button('', () => this.#setOpen(!this.#isOpen), {
      class: 'row-title',
      'aria-expanded': 'false',
      'aria-controls': id,
    });
    this.toggle.append(this.#title);
    this.#body = element('div', { id });
    this.node = element('li', { class: 'card' }, element('h3', {}, this.toggle), this.#body);
    this.receive(row);
  }

  /** Takes the row as it is now. */
  receive(row: RowData): void {
    const key = JSON.stringify(row);
    if (key === this.#shown) return;
    this.#shown = key;
    this.row = row;
    const inputs = Object.values(row.inputs ?? {}).map((value) =>
      typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
    );
    this.#title.replaceChildren(visibleText(beginningOf(inputs.join(' · '), maxInputChars) || 'Row without inputs'));
    this.#update();
  }

  #setOpen(isOpen: boolean): void {
    this.#isOpen = isOpen;
    setAttribute(this.toggle, 'aria-expanded', String(isOpen));
    this.#update();
    if (isOpen) void this.#loadWholes();
  }

  /** Loads what the result has cut, in one call for each run. */
  async #loadWholes(): Promise<void> {
    const wanted = this.#cutPaths();
    if (wanted.size === 0) return;
    this.#problem = undefined;
    setAttribute(this.#body, 'aria-busy', 'true');
    try {
      for (const [callId, paths] of wanted) {
        const values = await this.#owner.readValues(callId, paths);
        for (const path of paths) this.#wholes.set(`${callId} ${path}`, values[path]);
      }
    } catch (error) {
      this.#problem = problemOfFailure(error).sentence;
    }
    setAttribute(this.#body, 'aria-busy', undefined);
    if (!this.#isOpen) return;
    const hadFocus = this.#body.contains(document.activeElement);
    this.#update();
    if (hadFocus) this.toggle.focus();
  }

  /** Returns the paths of the values that were cut and not loaded yet, by the call that has them. */
  #cutPaths(): Map<string, string[]> {
    const { row } = this;
    const found = new Map<string, string[]>();
    const add = (value: unknown, callId: string | undefined, paths: string[]): void => {
      if (!isCut(value) || callId === undefined) return;
      const unread = paths.filter((path) => !this.#wholes.has(`${callId} ${path}`));
      if (unread.length > 0) found.set(callId, [...(found.get(callId) ?? []), ...unread]);
    };
    for (const [name, value] of Object.entries(row.inputs ?? {})) add(value, row.call_id, inputPaths(name));
    for (const { callId, output, scores } of outcomesOf(row)) {
      add(output, callId, outputPaths);
      for (const [name, value] of Object.entries(scores)) add(value, callId, scorePaths(name));
    }
    return found;
  }

  #update(): void {
    const outcomes = outcomesOf(this.row);
    this.#body.replaceChildren(...(this.#isOpen ? this.#details(outcomes) : this.#summary(outcomes)));
  }

  #summary(outcomes: readonly RowOutcome[]): HTMLElement[] {
    const names = Object.keys(this.row.scores).filter((name) => !this.#isLong(name, outcomes));
    const scores = names.map((name) => {
      const values = outcomes.map(({ scores: given }) => this.#scoreText(given[name]));
      const isSame = values.every((value) => value === values[0]);
      return element(
        'li',
        {},
        element('span', { class: 'run-name' }, visibleText(name), ' '),
        isSame ? values[0] : values.join(' → '),
        ...this.#mark(name),
      );
    });
    const outputs = outcomes.map(({ output, error }, index) =>
      element(
        'li',
        {},
        outcomes.length > 1 && element('span', { class: 'run-name' }, runName(index, outcomes.length)),
        error === undefined
          ? element('p', { class: 'beginning', dir: 'auto' }, outputText(output))
          : element('p', { class: 'problem' }, beginningOf(error, maxOutputChars)),
      ),
    );
    return [element('ol', { class: 'side-by-side' }, ...outputs), element('ul', { class: 'scores' }, ...scores)];
  }

  /** Tells whether a score is a text that is no label, like a reason; it shows only in an opened row. */
  #isLong(name: string, outcomes: readonly RowOutcome[]): boolean {
    return outcomes.some(({ scores }) => {
      const value = scores[name];
      return typeof value === 'string' && value.length > maxScoreChars;
    });
  }

  #scoreText(value: unknown): string {
    if (value === undefined) return 'no score';
    if (typeof value === 'boolean') return value ? 'passed' : 'not passed';
    if (typeof value === 'number') return this.#owner.formats().number(value);
    return beginningOf(String(value), maxScoreChars);
  }

  #mark(name: string): (HTMLElement | string)[] {
    const change = this.row.changes?.[name];
    if (change === undefined) return [];
    return [' ', element('b', { class: `mark ${change}` }, `${markSigns[change] ?? ''} ${change}`)];
  }

  #details(outcomes: readonly RowOutcome[]): HTMLElement[] {
    const { row } = this;
    const inputs = Object.entries(row.inputs ?? {}).flatMap(([name, value]) => [
      element('dt', {}, visibleText(name)),
      element('dd', {}, this.#value(value, row.call_id, inputPaths(name))),
    ]);
    const outputs = outcomes.map(({ callId, output, error }) => [
      output !== undefined && this.#value(output, callId, outputPaths),
      error !== undefined && element('p', { class: 'problem' }, visibleText(error)),
      output === undefined && error === undefined && element('p', { class: 'reference' }, 'no output'),
    ]);
    const scores = Object.keys(row.scores).map((name) =>
      element(
        'section',
        {},
        element('h4', {}, visibleText(name), ...this.#mark(name)),
        sideBySide(
          outcomes.map(({ callId, scores: given }) => {
            const value = given[name];
            return [
              typeof value === 'string' && value.length > maxScoreChars
                ? this.#value(value, callId, scorePaths(name))
                : element('span', {}, this.#scoreText(value)),
            ];
          }),
        ),
      ),
    );
    const again = button('Load the whole values', () => void this.#loadWholes());
    return [
      ...(this.#problem === undefined ? [] : [element('p', { class: 'problem' }, this.#problem, ' ', again)]),
      element('dl', { class: 'values' }, ...inputs),
      element('h4', {}, outcomes.length > 1 ? 'Outputs' : 'Output'),
      sideBySide(outputs),
      ...scores,
      ...(row.trials === undefined
        ? []
        : [
            element(
              'p',
              { class: 'quiet-line' },
              `${row.trials} trials: the output is that of the first, and scores are means.`,
            ),
          ]),
      element('p', { class: 'quiet-line' }, 'Recorded call ', visibleText(row.call_id)),
    ];
  }

  /** Lays out a value, whole if it was loaded. What is too long even for that is loaded when the person asks. */
  #value(value: unknown, callId: string | undefined, paths: readonly string[]): HTMLElement {
    const wholes = paths.map((path) => this.#wholes.get(`${callId} ${path}`));
    const at = wholes.findIndex((whole) => whole !== undefined);
    return valueView(wholes[at] ?? value, {
      formatNumber: (count) => this.#owner.formats().number(count),
      ...(callId !== undefined &&
        at !== -1 && {
          loadWhole: async () => (await this.#owner.readValues(callId, [paths[at]!]))[paths[at]!],
        }),
    });
  }
}

/** A trial is recorded with its row as `example`, and its output under one of two names. */
const outputPaths = ['output.output', 'output.model_output'];

/** A row that is no object is shown as the input `row`. */
function inputPaths(name: string): string[] {
  const path = `inputs.example.${name}`;
  return name === 'row' ? [path, 'inputs.example'] : [path];
}

function scorePaths(name: string): string[] {
  return [`output.scores.${name}`];
}

function outputText(output: unknown): string {
  if (output === undefined) return 'no output';
  return beginningOf(typeof output === 'string' ? output : JSON.stringify(output), maxOutputChars);
}

function sideBySide(cells: readonly (readonly (Node | false)[])[]): HTMLElement {
  const items = cells.map((cell, index) =>
    element(
      'li',
      {},
      cells.length > 1 && element('span', { class: 'run-name' }, runName(index, cells.length)),
      ...cell,
    ),
  );
  return element('ol', { class: 'side-by-side' }, ...items);
}
