import { type ComponentChild, h, type TargetedEvent } from 'preact';
import { button } from '../shared/button.ts';
import { countOf } from '../shared/labels.ts';
import { mark } from '../shared/mark.ts';
import { statusLine } from '../shared/view.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { textView } from '../values/text-view.ts';
import { fieldsOf } from './draft.ts';
import { FieldForm } from './field-form.ts';
import { type FilterKind, kindOf } from './filters.ts';
import { ItemCard } from './item-card.ts';
import { shortcuts } from './keyboard.ts';
import { queueTable } from './queue-table.ts';
import type { Board } from './review-board.ts';
import { firstPlace, placesOf, selectAll, stagedCards, toDoOf } from './review-state.ts';
import { theEnd } from './the-end.ts';

/** With more cards than this, those that are out of sight are not laid out. */
const manyCards = 100;

/** Draws the page of the review board. */
export function boardPage(board: Board): ComponentChild[] {
  const { page, queues, fields, isLoadingMore, isList, cards, isBusy } = board.state;
  const isEnd = page !== undefined && !isBusy && (cards.size === 0 || board.state.current === undefined);
  const more = {
    class: 'wide',
    hidden: page?.next_offset === undefined || (!isList && !isEnd),
    disabled: isLoadingMore,
  };
  return [
    h('header', { class: 'bar' }, barOf(board)),
    h('div', { class: 'line toolbar', hidden: !page }, page && toolbar(board)),
    !page && queues && queueTable(board, queues),
    !page && isBusy && h('div', { class: 'skeleton' }),
    page?.can_write && fields.length === 0 && h(FieldForm, { board }),
    feed(board),
    isEnd && theEnd(board),
    button('Show more items', () => board.loadMore(), more),
    statusLine(board, footer(board)),
  ];
}

function barOf({ state: { page, formats }, host }: Board): ComponentChild[] {
  const { name = 'Queues', guidelines, total } = page?.queue ?? {};
  const finished = (total ?? 0) - toDoOf(page?.queue ?? {});
  const progress = total !== undefined && [
    h('progress', { 'aria-label': 'Finished items', max: Math.max(total, 1), value: finished }),
    h(
      'span',
      {},
      `${formats.number(finished)} of ${formats.number(total)}`,
      h('span', { class: 'wording' }, ` ${total === 1 ? 'item' : 'items'} finished`),
    ),
  ];
  // A chat has its own mark and name.
  const brand = !host.isChat && h('span', { class: 'brand' }, mark(), h('b', {}, 'heddle'));
  const guidelinesStyle = { formats, foldedChars: Infinity };
  const rules = h(
    'details',
    { class: 'guidelines' },
    h('summary', {}, 'Guidelines'),
    h('div', { tabIndex: 0, role: 'group', 'aria-label': 'Guidelines' }, textView(guidelines ?? '', guidelinesStyle)),
  );
  return [
    brand,
    h('h1', {}, visibleText(name)),
    h('p', { class: 'progress', hidden: !progress }, progress),
    guidelines && rules,
    page?.account !== undefined && h('span', { class: 'account' }, 'You are ', h('b', {}, plainText(page.account))),
  ];
}

function toolbar(board: Board): ComponentChild[] {
  const { page, asked, kind, isList, isRaw, cards } = board.state;
  const { can_write } = page!;
  const kinds = new Map<FilterKind, string>([
    ['todo', 'To do'],
    ['all', 'All items'],
    ['disputes', 'Disputes'],
  ]);
  if (kindOf(asked) === 'given') kinds.set('given', 'As asked');
  const raw = h('input', {
    type: 'checkbox',
    checked: isRaw,
    onChange: ({ currentTarget: { checked } }) => board.update((state) => ({ ...state, isRaw: checked })),
  });
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
    cards.size > 0 && button(isList ? 'One at a time' : 'List', () => board.toggleList(), { key: 'l' }),
    can_write && isList && button('Select all', () => board.update(selectAll), { 'aria-keyshortcuts': 'a' }),
    h('label', {}, raw, ' Text as written'),
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
  const { page, cards, current, fields, isBusy, formats, isList, isRaw } = board.state;
  const { can_write: canWrite = false, account, next_offset } = page ?? {};
  const setSize = next_offset === undefined ? cards.size : -1;
  const first = firstPlace(board.state);
  const total = placesOf(board.state);
  const shown = [...cards].flatMap(([id, card], index) => {
    if (!isList && id !== current) return [];
    const place = { position: index + 1, number: first + index, setSize, isCurrent: id === current };
    const shape = { isAlone: !isList, isRaw, total };
    const own = fieldsOf(fields, card.item);
    return [h(ItemCard, { key: id, card, ...place, ...shape, fields: own, canWrite, account, formats, board })];
  });
  const attributes = { role: 'feed', 'aria-label': 'Items', 'aria-busy': isBusy, hidden: shown.length === 0 };
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
