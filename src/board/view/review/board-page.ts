import { type ComponentChild, h, type TargetedEvent } from 'preact';
import { button } from '../shared/button.ts';
import { countOf } from '../shared/labels.ts';
import { statusLine } from '../shared/view.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { FieldForm } from './field-form.ts';
import { type FilterKind, kindOf } from './filters.ts';
import { ItemCard } from './item-card.ts';
import { shortcuts } from './keyboard.ts';
import type { Board } from './review-board.ts';
import { selectAll, stagedCards, toDoOf } from './review-state.ts';

/** With more cards than this, those that are out of sight are not laid out. */
const manyCards = 100;

/** Draws the page of the review board. */
export function boardPage(board: Board): ComponentChild[] {
  const { page, queues, fields, isLoadingMore } = board.state;
  const more = { class: 'wide', hidden: page?.next_offset === undefined, disabled: isLoadingMore };
  return [
    h('header', { class: 'head' }, page ? queueHead(board) : queues && queueList(board)),
    h('div', { class: 'line toolbar', hidden: !page }, page && toolbar(board)),
    page?.can_write && fields.length === 0 && h(FieldForm, { board }),
    feed(board),
    button('Show more items', () => board.loadMore(), more),
    statusLine(board, footer(board)),
  ];
}

function queueHead({ state: { page, formats } }: Board): ComponentChild[] {
  const { name, guidelines, total } = page!.queue;
  const finished = (total ?? 0) - toDoOf(page!.queue);
  const progress = total !== undefined && [
    h('progress', { 'aria-label': 'Finished items', max: Math.max(total, 1), value: finished }),
    h('span', {}, `${formats.number(finished)} of ${countOf(total, 'item', formats)} finished`),
  ];
  return [
    h('h1', {}, visibleText(name)),
    h('p', { class: 'line progress' }, progress),
    h('div', { class: 'guidelines', hidden: !guidelines }, visibleText(guidelines ?? '')),
  ];
}

function queueList(board: Board): ComponentChild[] {
  const { queues = [] } = board.state;
  const entries = queues.map(({ id, name, guidelines, total, ...counts }) =>
    h(
      'li',
      {},
      button(plainText(name), () => board.open({ queue_id: id }), { class: 'wide' }),
      h('span', {}, total === undefined ? '' : ` ${toDoOf(counts)} of ${total} to do`),
      guidelines !== undefined && h('p', { class: 'description' }, plainText(guidelines)),
    ),
  );
  return [h('h1', {}, 'Queues'), h('ul', { class: 'queues' }, entries)];
}

function toolbar(board: Board): ComponentChild[] {
  const { page, asked, kind } = board.state;
  const { can_write } = page!;
  const kinds = new Map<FilterKind, string>([
    ['todo', 'To do'],
    ['all', 'All items'],
  ]);
  if (kindOf(asked) === 'given') kinds.set('given', 'As asked');
  return [
    h(
      'select',
      {
        'aria-label': 'Items to show',
        value: kind,
        onChange: ({ currentTarget }: TargetedEvent<HTMLSelectElement>) =>
          board.reload(currentTarget.value as FilterKind),
      },
      [...kinds].map(([value, label]) => h('option', { value }, label)),
    ),
    button('Refresh', () => board.reload()),
    can_write && button('Select all', () => board.update(selectAll), { 'aria-keyshortcuts': 'a' }),
    can_write && keyboardHelp(board),
  ];
}

function keyboardHelp(board: Board): ComponentChild {
  const singleKeys = h('input', {
    type: 'checkbox',
    checked: board.state.hasSingleKeys,
    onChange: ({ currentTarget: { checked } }) => board.update((state) => ({ ...state, hasSingleKeys: checked })),
  });
  const list = shortcuts.flatMap(([key, what]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, what)]);
  const summary = h('summary', {}, 'Keyboard');
  return h('details', { class: 'keys' }, summary, h('label', {}, singleKeys, ' Single keys'), h('dl', {}, list));
}

function feed(board: Board): ComponentChild {
  const { page, cards, current, fields, isBusy, formats } = board.state;
  const { can_write: canWrite = false, account, next_offset } = page ?? {};
  const setSize = next_offset === undefined ? cards.size : -1;
  const shown = [...cards].map(([id, card], index) => {
    const place = { position: index + 1, setSize, isCurrent: id === current };
    return h(ItemCard, { key: id, card, ...place, fields, canWrite, account, formats, board });
  });
  const attributes = { role: 'feed', 'aria-label': 'Items', 'aria-busy': isBusy, hidden: cards.size === 0 && !isBusy };
  return h('div', { class: cards.size > manyCards ? 'feed long' : 'feed', ...attributes }, shown);
}

function footer(board: Board): ComponentChild {
  const { isWriting, isAsking } = board.state;
  const count = stagedCards(board.state).length;
  const items = countOf(count, 'item');
  const label = isWriting ? `Writing ${items} …` : `${isAsking ? 'Really write' : 'Write'} ${items}`;
  const attributes = { class: 'primary', 'aria-disabled': isWriting || undefined };
  return h(
    'footer',
    { hidden: count === 0 },
    button(label, () => board.writeOrAsk(), attributes),
  );
}
