import { button, element, setAttribute, setText } from '../shared/element.ts';
import { labelOf } from '../shared/labels.ts';
import type { Problem } from '../shared/problem.ts';
import type { Formats } from '../shared/theme.ts';
import { valueView } from '../shared/value-view.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { type Control, createControl } from './controls.ts';
import { Draft, isComplete, isSameValue, valueIn } from './draft.ts';
import type { Field, GivenJudgement, ItemData, SuggestedValue } from './review-data.ts';
import { stateNames } from './words.ts';

/** The part of the board that a card uses. */
export interface CardOwner {
  fields: () => readonly Field[];
  canWrite: () => boolean;
  formats: () => Formats;
  /** Gives a value to the card, or to all selected cards if it is one of them. */
  give: (card: Card, field: string, value: unknown) => void;
  setState: (card: Card, state: Draft['state']) => void;
  /** Called after a change of the draft or the selection that concerns this card alone. */
  changed: () => void;
  loadValue: (card: Card, path: string) => Promise<unknown>;
  loadJudgements: (card: Card) => Promise<GivenJudgement[]>;
  reload: (card: Card) => Promise<void>;
  account: () => string | undefined;
}

interface Row {
  field: Field;
  node: HTMLElement;
  control: Control | undefined;
  saved: HTMLElement;
  savedLine: HTMLElement;
  undo: HTMLButtonElement;
  suggestions: HTMLElement;
  problem: HTMLElement;
}

let lastCard = 0;

/** A queue item on the board: its values, the controls to judge it, and what was decided about it. */
export class Card {
  readonly node: HTMLElement;
  readonly draft = new Draft();
  item: ItemData;
  asOf: string;
  selected = false;
  problem: Problem | undefined;
  /** True if the service refused the item because of its state, and the person has seen the new one. */
  isReread = false;
  isWritten = false;
  refusedAtMs = 0;
  /** Position of the field that number keys judge. */
  active = 0;
  readonly #owner: CardOwner;
  readonly #rows: Row[];
  readonly #id: string;
  readonly #values = element('dl', { class: 'values' });
  readonly #state = element('span', { class: 'state' });
  readonly #problem = element('div', { class: 'problem', hidden: true });
  readonly #select: HTMLInputElement;
  readonly #skip: HTMLButtonElement;
  readonly #finish: HTMLButtonElement;
  readonly #clear: HTMLButtonElement;
  readonly #note: HTMLTextAreaElement;
  readonly #noteBox: HTMLDetailsElement;
  readonly #others: HTMLDetailsElement;
  #shownValues = '';

  constructor(item: ItemData, asOf: string, owner: CardOwner) {
    lastCard += 1;
    this.#id = `card-${lastCard}`;
    this.item = item;
    this.asOf = asOf;
    this.#owner = owner;
    this.#rows = owner.fields().map((field) => this.#createRow(field));
    this.#select = element('input', {
      type: 'checkbox',
      'aria-label': 'Select this item',
      onchange: () => {
        this.selected = this.#select.checked;
        owner.changed();
      },
    });
    this.#skip = this.#stateButton('Skip', 'skipped', 's');
    this.#finish = this.#stateButton('Finish as it is', 'completed', 'f');
    this.#clear = button('Undo', () => this.clear(), { class: 'quiet', 'aria-keyshortcuts': 'u' });
    this.#note = element('textarea', {
      rows: 2,
      maxlength: 1024,
      'aria-label': 'Note for other people',
      dir: 'auto',
      oninput: () => {
        this.draft.note = this.#note.value;
        owner.changed();
        this.update();
      },
    });
    this.#noteBox = element('details', { class: 'more' }, element('summary', {}, 'Note'), this.#note);
    this.#others = this.#createOthers();
    this.node = this.#createNode();
    this.update();
  }

  /** Takes a newer state of the item; what the person has decided stays. */
  receive(item: ItemData, asOf: string): void {
    this.item = item;
    this.asOf = asOf;
    this.update();
  }

  /** Drops what was decided and not written. */
  clear(): void {
    this.draft.clear();
    this.problem = undefined;
    this.#note.value = this.item.note ?? '';
    for (const { problem } of this.#rows) setText(problem, '');
    this.#owner.changed();
    this.update();
  }

  /** Chooses for the active field, and goes on to the next one without a value. Returns true when the item is complete. */
  choose(index: number): boolean {
    const row = this.#rows[this.active];
    if (!row?.control?.choose(index)) return false;
    const next = this.#rows.findIndex(
      ({ field }, at) => at > this.active && valueIn(this.item, this.draft, field.name) === undefined,
    );
    if (next !== -1) this.active = next;
    this.update();
    return isComplete(this.item, this.draft, this.#owner.fields());
  }

  /** Moves the active field, and returns its name. */
  moveActive(by: number): string | undefined {
    this.active = Math.min(Math.max(this.active + by, 0), this.#rows.length - 1);
    this.update();
    return this.#rows[this.active]?.field.name;
  }

  /** Puts the focus into the box of the active field, if it has one. */
  editField(): void {
    this.#rows[this.active]?.control?.focusInput();
  }

  openNote(): void {
    this.#noteBox.open = true;
    this.#note.focus();
  }

  toggleOthers(): void {
    this.#others.open = !this.#others.open;
  }

  /** Gives every suggested value to a field that has none. */
  acceptSuggestions(): void {
    for (const { field, value } of this.item.suggestions ?? []) {
      if (valueIn(this.item, this.draft, field) === undefined) this.#owner.give(this, field, value);
    }
  }

  focus(): void {
    this.node.focus();
    this.node.scrollIntoView({ block: 'nearest' });
  }

  /** Brings the page up to date with the item and the draft. */
  update(): void {
    const { item, draft } = this;
    this.#updateValues();
    const state = stateNames[item.annotation_state] ?? plainText(item.annotation_state);
    const decided = draft.isEmpty ? (this.isWritten ? 'written' : '') : 'not written yet';
    setText(this.#state, decided === '' ? state : `${state} · ${decided}`);
    setAttribute(this.node, 'data-decided', draft.isEmpty ? (this.isWritten ? 'written' : undefined) : 'staged');
    this.#select.checked = this.selected;
    setAttribute(this.#skip, 'aria-pressed', String(draft.state === 'skipped'));
    setAttribute(this.#finish, 'aria-pressed', String(draft.state === 'completed'));
    this.#finish.hidden = isComplete(item, draft, this.#owner.fields());
    this.#clear.hidden = draft.isEmpty;
    if (document.activeElement !== this.#note) this.#note.value = draft.note ?? item.note ?? '';
    for (const [index, row] of this.#rows.entries()) this.#updateRow(row, index);
    this.#updateProblem();
  }

  #stateButton(label: string, state: 'completed' | 'skipped', key: string): HTMLButtonElement {
    const node = button('', () => this.#owner.setState(this, this.draft.state === state ? undefined : state), {
      'aria-pressed': 'false',
      'aria-keyshortcuts': key,
    });
    node.append(label, element('kbd', { 'aria-hidden': 'true' }, key));
    return node;
  }

  #createNode(): HTMLElement {
    const { item } = this;
    const title = element('h2', { id: `${this.#id}-title` }, visibleText(item.call_op_name));
    const time = element('time', { datetime: item.call_started_at }, this.#owner.formats().time(item.call_started_at));
    const canWrite = this.#owner.canWrite();
    return element(
      'article',
      { id: this.#id, class: 'card', tabindex: -1, 'aria-labelledby': `${this.#id}-title ${this.#id}-state` },
      element(
        'header',
        {},
        canWrite && this.#select,
        title,
        time,
        Object.assign(this.#state, { id: `${this.#id}-state` }),
      ),
      this.#values,
      ...this.#rows.map(({ node }) => node),
      this.#problem,
      canWrite && element('div', { class: 'actions' }, this.#skip, this.#finish, this.#clear),
      canWrite && this.#noteBox,
      this.#others,
    );
  }

  #createRow(field: Field): Row {
    const legend = plainText(field.name);
    const problem = element('p', { class: 'problem', role: 'alert' });
    const control = this.#owner.canWrite()
      ? createControl(
          field,
          legend,
          (value) => this.#owner.give(this, field.name, value),
          (sentence) => setText(problem, sentence ?? ''),
        )
      : undefined;
    const saved = element('span', { class: 'saved' });
    const undo = button(
      'Take back',
      () => {
        if (this.draft.retracted.has(field.name)) this.draft.retracted.delete(field.name);
        else this.draft.retracted.add(field.name);
        this.draft.judgements.delete(field.name);
        this.#owner.changed();
        this.update();
      },
      { class: 'quiet', 'aria-label': `Take back your judgement of ${legend}`, 'aria-pressed': 'false' },
    );
    const savedLine = element('div', { class: 'saved-line' }, saved, control && undo);
    const suggestions = element('div', { class: 'suggestions' });
    const node = element(
      'fieldset',
      { onfocusin: () => this.#activate(field) },
      element('legend', {}, visibleText(field.name)),
      field.description !== undefined && element('p', { class: 'description' }, visibleText(field.description)),
      control?.node,
      suggestions,
      savedLine,
      problem,
    );
    return { field, node, control, saved, savedLine, undo, suggestions, problem };
  }

  #activate(field: Field): void {
    this.active = this.#rows.findIndex((row) => row.field === field);
    for (const [index, { node }] of this.#rows.entries()) setAttribute(node, 'data-active', index === this.active);
  }

  #updateRow({ field, node, control, saved, savedLine, undo, suggestions }: Row, index: number): void {
    const { item, draft } = this;
    const stored = item.judgements?.[field.name];
    control?.show(valueIn(item, draft, field.name));
    const isRetracted = draft.retracted.has(field.name);
    setText(saved, stored === undefined ? '' : `${isRetracted ? 'You take back' : 'You judged'}: ${labelOf(stored)}`);
    savedLine.hidden = stored === undefined;
    setAttribute(undo, 'aria-pressed', String(isRetracted));
    setAttribute(node, 'data-active', index === this.active && this.#rows.length > 1);
    const wanted = (item.suggestions ?? []).filter((each) => each.field === field.name);
    const key = JSON.stringify(wanted);
    if (suggestions.dataset.key !== key) {
      suggestions.dataset.key = key;
      suggestions.replaceChildren(...wanted.map((each) => this.#suggestion(each, control !== undefined)));
    }
    for (const [at, each] of [...suggestions.querySelectorAll('button')].entries()) {
      each.hidden = isSameValue(valueIn(item, draft, field.name), wanted[at]?.value);
    }
  }

  #suggestion({ field, value, by }: SuggestedValue, canAccept: boolean): HTMLElement {
    const label = labelOf(value);
    const accept = button('Accept', () => this.#owner.give(this, field, value), {
      class: 'quiet',
      'aria-label': `Accept the suggestion ${label} for ${plainText(field)}`,
    });
    return element(
      'p',
      { class: 'suggestion' },
      `Suggested by the scorer ${plainText(by)}: `,
      element('b', {}, label),
      ' ',
      canAccept && accept,
    );
  }

  #updateValues(): void {
    const { call_values = {}, call_error } = this.item;
    const key = JSON.stringify([call_values, call_error]);
    if (key === this.#shownValues) return;
    this.#shownValues = key;
    const formats = this.#owner.formats();
    const rows = Object.entries(call_values).flatMap(([path, value]) => [
      element('dt', {}, visibleText(path)),
      element(
        'dd',
        {},
        valueView(value, {
          loadWhole: () => this.#owner.loadValue(this, path),
          formatNumber: (count) => formats.number(count),
        }),
      ),
    ]);
    const failure =
      call_error &&
      element('dd', { class: 'problem' }, `The recorded call cannot be read. ${plainText(call_error.message ?? '')}`);
    const none =
      rows.length === 0 &&
      !failure &&
      element('dd', { class: 'reference' }, `No values to show. Recorded call ${plainText(this.item.call_id)}`);
    this.#values.replaceChildren(
      ...rows,
      ...(failure ? [element('dt', {}, 'Recorded call'), failure] : []),
      ...(none ? [element('dt', {}, 'Recorded call'), none] : []),
    );
  }

  #updateProblem(): void {
    const { problem } = this;
    this.#problem.hidden = problem === undefined;
    if (!problem) {
      this.#problem.replaceChildren();
      return;
    }
    const again = button('Look at it again', async () => {
      again.disabled = true;
      await this.#owner.reload(this);
    });
    this.#problem.replaceChildren(
      element('p', {}, problem.sentence),
      ...(problem.detail === undefined
        ? []
        : [element('details', {}, element('summary', {}, 'Details'), problem.detail)]),
      again,
    );
  }

  #createOthers(): HTMLDetailsElement {
    const list = element('ul');
    const box = element(
      'details',
      {
        class: 'more',
        ontoggle: async () => {
          if (!box.open) return;
          list.replaceChildren(element('li', {}, 'Loading …'));
          try {
            const given = await this.#owner.loadJudgements(this);
            const lines = given.map((each) => this.#given(each));
            list.replaceChildren(
              ...(lines.length > 0 ? lines : [element('li', {}, 'Nobody has judged this item yet.')]),
            );
          } catch {
            list.replaceChildren(element('li', {}, 'This could not be read. Close and open it to try again.'));
          }
        },
      },
      element('summary', {}, 'What everybody judged'),
      list,
    );
    return box;
  }

  #given({ annotator, field, value, note, at }: GivenJudgement): HTMLElement {
    const name = `${plainText(annotator)}${annotator === this.#owner.account() ? ' (you)' : ''}`;
    const said = field === undefined ? `note: ${plainText(note ?? '')}` : `${plainText(field)}: ${labelOf(value)}`;
    return element(
      'li',
      {},
      element('b', {}, name),
      ` ${said} `,
      element('time', { datetime: at }, this.#owner.formats().time(at)),
    );
  }
}
