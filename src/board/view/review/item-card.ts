import { type ComponentChild, h, type TargetedEvent } from 'preact';
import type { GivenFeedback } from '../../../queues/given-feedback.ts';
import type { Suggestion } from '../../../queues/own-feedback.ts';
import type { FieldSummary } from '../../../queues/queue-fields.ts';
import type { ReviewedItem } from '../../../tools/review-queue.ts';
import { button } from '../shared/button.ts';
import { labelOf } from '../shared/labels.ts';
import { PureComponent } from '../shared/pure-component.ts';
import type { Formats } from '../shared/theme.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { Differences } from '../values/differences.ts';
import {
  isComplete,
  isEmpty,
  isFinal,
  isSameValue,
  isWritable,
  lackingFields,
  storedValue,
  valueIn,
  withRetraction,
} from './draft.ts';
import { fieldControl } from './field-control.ts';
import { readTyped } from './field-values.ts';
import { itemValues, outputText, titlesOfCard } from './item-values.ts';
import type { Board } from './review-board.ts';
import {
  type Card,
  chooseState,
  give,
  giveTyped,
  hasChoiceOfState,
  isSettled,
  withDraft,
  withoutDecision,
} from './review-state.ts';

interface CardProps {
  card: Card;
  /** Position among the cards, from 1, and their number; -1 if more follow. */
  position: number;
  setSize: number;
  /** Number of the items that are shown, and that still come, if it is known. */
  total: number | undefined;
  /** True if there is a way on from this card. */
  hasNext: boolean;
  isCurrent: boolean;
  /** True if the item fills the page, false in a list. */
  isAlone: boolean;
  /** True to show text as it is written. */
  isRaw: boolean;
  /** True if the items are of several operations. */
  isMixed: boolean;
  fields: readonly FieldSummary[];
  canWrite: boolean;
  account: string | undefined;
  formats: Formats;
  board: Board;
}

/** A queue item on the board: its values, the controls to judge it, and what was decided about it. */
export class ItemCard extends PureComponent<CardProps> {
  override render(props: CardProps): ComponentChild {
    const { card, position, setSize, isCurrent, isAlone, fields, board } = props;
    const { item, draft, isWritten } = card;
    const id = `card-${position}`;
    const decided = isWritable(item, draft) ? 'staged' : isWritten ? 'written' : undefined;
    const isFinished = decided === 'staged' ? isDecided(card, fields) : isFinal(item.annotation_state);
    const isFolded = isFinished && !isAlone && !isCurrent && !card.problem;
    return h(
      'article',
      {
        id,
        class: isAlone ? 'card alone' : isFolded ? 'card folded' : 'card',
        tabIndex: isCurrent ? 0 : -1,
        'data-decided': decided,
        'aria-labelledby': `${id}-title ${id}-state`,
        'aria-posinset': position,
        'aria-setsize': setSize,
        onFocusIn: () => board.setCurrent(item.id),
      },
      cardHead(id, decided, props),
      isFolded
        ? h('div', { class: 'summary' }, summaryOf(props))
        : [
            h('div', { class: 'item-values' }, itemValues(props)),
            h('div', { class: 'controls' }, controls(!isEmpty(draft), props)),
          ],
    );
  }
}

function controls(isStaged: boolean, props: CardProps): ComponentChild[] {
  const { card, fields, canWrite, isAlone, position, hasNext, board } = props;
  const { item, draft } = card;
  const hasChoice = hasChoiceOfState(item);
  const actions = [
    hasChoice && stateButton('Skip', 'skipped', 's', 'Someone else gets this item', props),
    hasChoice &&
      !isComplete(item, draft, fields) &&
      stateButton('Finish as it is', 'completed', 'f', 'Finished, although values are missing', props),
    isStaged && button('Take back', () => board.update(withoutDecision, item.id), { class: 'quiet' }),
  ];
  const isReady = isWritable(item, draft) && (draft.state !== undefined || isSettled(board.state, item.id));
  const steps = h('div', { class: 'line' }, [
    button('Previous', () => board.step(-1), { disabled: position === 1 }),
    button('Next', () => board.step(1), { disabled: !hasNext, class: isReady ? 'primary' : undefined }),
  ]);
  const lacksValue = !isEmpty(draft) && !isWritable(item, draft);
  return [
    card.problem && problemOfCard(props),
    item.disputes && h('p', { class: 'description' }, settling),
    fields.map((field, index) => fieldRow(field, index, props)),
    canWrite && note(props),
    lacksValue && h('p', { class: 'description' }, 'Choose a value too: the reason is written with it.'),
    !item.disputes && others(props),
    h('div', { class: 'line actions' }, canWrite && actions, isAlone && steps),
  ];
}

const settling =
  'Your choice settles the dispute. It is kept as the right value, called gold, and changes the judgement of nobody.';

function isDecided({ item, draft }: Card, fields: readonly FieldSummary[]): boolean {
  return draft.state !== undefined || isComplete(item, draft, fields);
}

/** Draws a finished item on one line: what it is, its output, the values that it has, and what others judged. */
function summaryOf({ card, fields, account }: CardProps): ComponentChild[] {
  const values = fields.flatMap(({ name }) => {
    const value = valueIn(card.item, card.draft, name);
    return value === undefined ? [] : [h('b', {}, `${plainText(name)}: ${labelOf(value)}`)];
  });
  const { judgements = {} } = card.item.given ?? {};
  const others = Object.entries(judgements).filter(([name]) => name !== account);
  return [
    titlesOfCard(card).map((title) => h('span', { dir: 'auto' }, title)),
    h(
      'div',
      { class: 'line' },
      values,
      others.map(([name, given]) => h('i', {}, `${plainText(name)}: `, h('b', {}, textsOf(given).join(', ')))),
    ),
  ];
}

function cardHead(
  id: string,
  decided: string | undefined,
  { card, position, total, isAlone, isMixed, fields, canWrite, formats, board }: CardProps,
): ComponentChild {
  const { annotation_state, call_op_name, call_started_at, exception } = card.item;
  const lacking =
    card.isWritten || annotation_state !== 'completed' || card.item.disputes
      ? []
      : lackingFields(card.item, card.draft, fields);
  const without = lacking.map(({ name }) => ` without ${plainText(name)}`).join(' and');
  const state = `${plainText(annotation_state).replace('_', ' ')}${without}`;
  const suffix = decided === 'staged' ? 'not written yet' : decided;
  const number = formats.number(position);
  const toDo = board.state.kind === 'todo' ? ' to do' : '';
  const place = total === undefined ? `Item ${number}` : `${number} of ${formats.number(total)}${toDo}`;
  const select = h('input', {
    type: 'checkbox',
    'aria-label': 'Select this item',
    checked: card.isSelected,
    onChange: () => board.toggleSelection(card.item.id),
  });
  return h(
    'header',
    { class: 'line' },
    canWrite && !isAlone && select,
    h('h2', { id: `${id}-title` }, place),
    exception !== undefined && h('b', { class: 'badge' }, 'Failed'),
    isMixed && h('span', { class: 'origin', title: 'Operation' }, visibleText(call_op_name)),
    call_started_at !== undefined && h('time', { dateTime: call_started_at }, formats.time(call_started_at)),
    h('span', { id: `${id}-state`, class: 'state' }, suffix === undefined ? state : `${state} · ${suffix}`),
  );
}

function fieldRow(field: FieldSummary, index: number, props: CardProps): ComponentChild {
  const { card, fields, canWrite, board } = props;
  const { item, draft, active } = card;
  const { name, description } = field;
  const value = valueIn(item, draft, name);
  const typed = draft.typed.get(name);
  const control = {
    field,
    value,
    typed: typed?.text,
    onGive: (given: unknown) => board.update(give, item.id, name, given),
    onType: ({ value: text, validity }: HTMLInputElement | HTMLTextAreaElement) =>
      board.update(giveTyped, item.id, name, readTyped(field, text, validity.badInput)),
  };
  const suggestions = (item.suggestions ?? []).filter((each) => each.field === name);
  return h(
    'fieldset',
    {
      'data-active': (index === active && fields.length > 1) || undefined,
      onFocusIn: () => board.activate(item.id, index),
    },
    h('legend', { onClick: focusBox }, visibleText(name)),
    description !== undefined && h('p', { class: 'description' }, visibleText(description)),
    disputeLine(field, item, props, control.onGive),
    canWrite && fieldControl(control),
    canWrite && field.type === 'correction' && correction(field, value, card, board),
    suggestions.map((each) => suggestionLine(each, canWrite && !isSameValue(value, each.value), control.onGive)),
    savedLine(name, card, canWrite, board),
    h('p', { class: 'problem', role: 'alert' }, typed?.problem),
  );
}

/** Draws how a corrected answer differs from the output, or offers to begin with the output. */
function correction(field: FieldSummary, value: unknown, card: Card, board: Board): ComponentChild {
  const output = outputText(card);
  if (output === undefined) return undefined;
  if (typeof value === 'string') return h(Differences, { from: output, to: value });
  const problem = 'Change what is wrong. Until then nothing is decided.';
  return button(
    'Begin with the output',
    (event) => {
      board.update(giveTyped, card.item.id, field.name, { text: output, problem });
      focusBox(event);
    },
    { class: 'quiet' },
  );
}

/** Puts the cursor into the box of the field of a control. */
function focusBox({ currentTarget }: TargetedEvent): void {
  (currentTarget as Element).closest('fieldset')?.querySelector<HTMLElement>('.box')?.focus();
}

/** Draws the values of a dispute, each as a button that settles it. */
function disputeLine(
  field: FieldSummary,
  { disputes = {} }: ReviewedItem,
  { canWrite, account }: CardProps,
  onGive: (value: unknown) => void,
): ComponentChild {
  const given = new Map(Object.entries(disputes)).get(field.name);
  const lines = Object.entries(given ?? {}).map(([annotator, value]) => {
    const text = `${annotatorLabel(annotator, account)}: ${labelOf(value)}`;
    return canWrite ? button(text, () => onGive(value), { class: 'quiet' }) : h('span', {}, text);
  });
  return given && h('div', { class: 'line' }, lines);
}

function suggestionLine(
  { field, value, by }: Suggestion,
  canAccept: boolean,
  onGive: (value: unknown) => void,
): ComponentChild {
  const label = labelOf(value);
  const name = `Accept the suggestion ${label} for ${plainText(field)}`;
  const accept = canAccept && button('Accept', () => onGive(value), { class: 'quiet', 'aria-label': name });
  return h('p', { class: 'suggestion' }, `Suggested by the scorer ${plainText(by)}: `, h('b', {}, label), ' ', accept);
}

function savedLine(field: string, { item, draft }: Card, canWrite: boolean, board: Board): ComponentChild {
  const stored = storedValue(item, field);
  if (stored === undefined) return undefined;
  const isRetracted = draft.retracted.has(field);
  const verb = item.disputes ? 'You settled' : 'You judged';
  const text = `${verb}: ${labelOf(stored)}${isRetracted ? '. This is taken back when you write.' : ''}`;
  const label = `${isRetracted ? 'Keep' : 'Take back'} your judgement of ${plainText(field)}`;
  const toggle = (): void =>
    board.update(withDraft, item.id, `${isRetracted ? 'judgement of' : 'taking back'} ${plainText(field)}`, (current) =>
      withRetraction(current, field),
    );
  const undo =
    canWrite && button(isRetracted ? 'Keep it' : 'Take back', toggle, { class: 'quiet', 'aria-label': label });
  return h('div', { class: 'saved-line' }, h('span', { class: 'saved' }, text), undo);
}

function stateButton(
  label: string,
  state: 'completed' | 'skipped',
  key: string,
  title: string,
  { card: { item, draft }, board }: CardProps,
): ComponentChild {
  const attributes = { 'aria-pressed': draft.state === state, key, title };
  return button(label, () => board.update(chooseState, item.id, state), attributes);
}

function problemOfCard({ card: { item, problem, isRereading }, board }: CardProps): ComponentChild {
  const { sentence, detail } = problem!;
  return h(
    'div',
    { class: 'problem' },
    h('p', {}, sentence),
    detail !== undefined && h('details', {}, h('summary', {}, 'Details'), detail),
    button('Look at it again', () => board.reread(item.id), { disabled: isRereading === true }),
  );
}

function note({ card: { item, draft }, board }: CardProps): ComponentChild {
  const name = item.disputes ? 'Reason' : 'Note';
  const box = h('textarea', {
    rows: 2,
    maxLength: 1024,
    'aria-label': `${name} for other people`,
    dir: 'auto',
    value: draft.note ?? item.note ?? '',
    onInput: ({ currentTarget: { value } }: TargetedEvent<HTMLTextAreaElement>) =>
      board.update(withDraft, item.id, 'note', (current) => ({ ...current, note: value })),
  });
  // A dispute is settled with a reason, which stays in view.
  const attributes = { class: 'more note', open: item.disputes ? true : undefined };
  const onClick = (event: TargetedEvent<HTMLElement>): void => {
    const details = event.currentTarget.parentElement as HTMLDetailsElement;
    if (details.open) return;
    event.preventDefault();
    details.open = true;
    details.querySelector('textarea')!.focus();
  };
  return h('details', attributes, h('summary', { onClick }, name), box);
}

function others({ card, account, board }: CardProps): ComponentChild {
  const { item } = card;
  // A person judges an item before seeing the judgements of others.
  const shown = board.state.kind === 'todo' && !isFinal(item.annotation_state) ? undefined : item.given;
  const given = card.given ?? shown;
  const lines = typeof given === 'object' ? givenLines(given, account) : given && h('li', {}, given);
  const onToggle = ({ currentTarget }: TargetedEvent<HTMLDetailsElement>): void => {
    if (currentTarget.open && !shown) void board.loadGiven(item.id);
  };
  const summary = h('summary', {}, 'All judgements');
  return h('details', { class: 'more others', open: given !== undefined, onToggle }, summary, h('ul', {}, lines));
}

function textsOf(values: object): string[] {
  return Object.entries(values).map(([field, value]) => `${plainText(field)}: ${labelOf(value)}`);
}

/** Returns the name of an annotator, marked if it is that of the account. */
export function annotatorLabel(name: string, account: string | undefined): string {
  return plainText(name === account ? `${name} (you)` : name);
}

/** Draws a line for each annotator, and one for gold. */
function givenLines(
  { judgements, notes = {}, gold, gold_reasons = {}, gold_by = {} }: GivenFeedback,
  account?: string,
): ComponentChild[] {
  const line = (name: string, texts: readonly string[]): ComponentChild =>
    h('li', {}, h('b', {}, name), ` ${texts.join(', ')}`);
  const notesBy = new Map(Object.entries(notes));
  const judgedBy = new Map(Object.entries(judgements));
  const settlers = [...new Set(Object.values(gold_by).map(String))];
  const reasons = [...new Set(Object.values(gold_reasons))].map((reason) => `reason: ${plainText(String(reason))}`);
  const isJudged = Object.keys({ ...judgements, ...notes, ...gold }).length > 0;
  return [
    !isJudged && h('li', {}, 'No one has judged this item yet.'),
    ...[...new Set([...judgedBy.keys(), ...notesBy.keys()])].map((name) => {
      const written = (notesBy.get(name) ?? []).map((note) => `note: ${plainText(note)}`);
      return line(annotatorLabel(name, account), [...textsOf(judgedBy.get(name) ?? {}), ...written]);
    }),
    gold && line(`Settled (gold) by ${settlers.map(plainText).join(', ')}`, [...textsOf(gold), ...reasons]),
  ];
}
