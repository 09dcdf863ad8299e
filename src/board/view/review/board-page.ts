import { type ComponentChild, h, type TargetedEvent } from 'preact';
import { button } from '../shared/button.ts';
import { countOf, scrollable } from '../shared/labels.ts';
import { statusLine } from '../shared/view.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { textView } from '../values/text-view.ts';
import { fieldsOf, isEmpty } from './draft.ts';
import { FieldForm } from './field-form.ts';
import { choicesIn } from './field-values.ts';
import { type FilterKind, kindOf } from './filters.ts';
import { ItemCard } from './item-card.ts';
import { shortcutsFor } from './keyboard.ts';
import type { Board } from './review-board.ts';
import { agentsOf, missingClause, placesOf, selectAll, stagedCards, toDoOf } from './review-state.ts';
import { theEnd } from './the-end.ts';

/** With more cards than this, those that are out of sight are not laid out. */
const manyCards = 100;

/** What the page has outside of a chat. */
interface PageParts {
  /** The mark and the name: a chat has its own. */
  brand?: ComponentChild;
  /** The queues to choose from, while none is open. */
  choice?: ComponentChild;
  /** Stands beside the other tools of an open queue. */
  tools?: ComponentChild;
}

/** Draws the page of the review board. */
export function boardPage(board: Board, { brand, choice, tools }: PageParts = {}): ComponentChild[] {
  const { page, fields, isLoadingMore, isList, cards, isBusy, isAsking } = board.state;
  const isEnd = page !== undefined && !isBusy && (cards.size === 0 || board.state.current === undefined);
  const more = {
    class: 'wide',
    hidden: page?.next_offset === undefined || (!isList && !isEnd),
    disabled: isLoadingMore,
  };
  return [
    h('header', { class: 'bar' }, barOf(board, brand)),
    h('div', { class: 'line toolbar', hidden: !page }, page && toolbar(board), tools),
    rules(board),
    choice,
    !page && isBusy && h('div', { class: 'skeleton' }),
    page?.can_write && fields.length === 0 && h(FieldForm, { board }),
    feed(board),
    isEnd && theEnd(board),
    button('Show more items', () => board.loadMore(), more),
    statusLine(board, footer(board), isAsking),
  ];
}

function barOf(board: Board, brand: ComponentChild): ComponentChild[] {
  const { page, formats, isGuided, judged } = board.state;
  const { name = 'Queues', guidelines, total, to_do, reviewers_per_item: opinions } = page?.queue ?? {};
  const finished = (total ?? 0) - toDoOf(page?.queue ?? {});
  const people = typeof opinions === 'object' ? opinions.people : opinions;
  const agents = agentsOf(board.state).map(([agent, count]) => `, ${plainText(agent)} ${formats.number(count)}`);
  const { account = '' } = page ?? {};
  const own = judged?.get(account);
  const isAlone = judged?.size === 1 && own !== undefined;
  // Without a count of one's own, it is that of anyone.
  const isOwn = agents.length === 0 && (to_do !== undefined || opinions !== undefined || isAlone);
  // An account has one progress, whether the person or an agent has made it.
  const byAgents =
    agents.length > 0 ? `; judged: ${plainText(account)} ${formats.number(own ?? 0)}${agents.join('')}` : '';
  const details = `${isOwn ? ' by you' : ''}${missingClause(board.state)}${byAgents}`;
  const each = people === undefined ? '' : `; ${countOf(people, 'opinion')} each`;
  const progress = total !== undefined && [
    h('progress', { 'aria-label': 'Finished items', max: Math.max(total, 1), value: finished }),
    h(
      'span',
      {},
      `${formats.number(finished)} of ${formats.number(total)}`,
      h('span', { class: 'wording' }, ` ${total === 1 ? 'item' : 'items'} finished${details}${each}`),
    ),
  ];
  return [
    brand,
    h('h1', {}, visibleText(name)),
    h('p', { class: 'progress', hidden: !progress }, progress),
    guidelines && button('Guidelines', () => board.toggleGuidelines(), { 'aria-expanded': isGuided }),
    account && h('span', { class: 'account' }, 'You are ', h('b', {}, plainText(account))),
  ];
}

function rules({ state: { page, formats, isGuided } }: Board): ComponentChild {
  const { guidelines } = page?.queue ?? {};
  if (!guidelines || !isGuided) return undefined;
  return h('div', scrollable('rules', 'Guidelines'), textView(guidelines, { formats, foldedChars: Infinity }));
}

function toolbar(board: Board): ComponentChild[] {
  const { page, asked, kind, isList, isRaw, cards } = board.state;
  const { can_write } = page!;
  const kinds = new Map<FilterKind, string>([
    ['todo', 'To do'],
    ['all', 'All items'],
    ['disputes', 'Disputes'],
    ['lacking', 'Without a value'],
  ]);
  if (kindOf(asked) === 'given') kinds.set('given', 'As asked');
  const raw = h('input', {
    type: 'checkbox',
    checked: isRaw,
    onChange: ({ currentTarget: { checked } }) => board.setMembers({ isRaw: checked }),
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
    h('label', { title: 'Shows every character, without drawing headings, lists and tables' }, raw, ' Text as written'),
    can_write && keyboardHelp(board),
  ];
}

function keyboardHelp(board: Board): ComponentChild {
  const singleKeys = h('input', {
    type: 'checkbox',
    checked: board.state.hasSingleKeys,
    onChange: ({ currentTarget: { checked } }) => board.setMembers({ hasSingleKeys: checked }),
  });
  const list = shortcutsFor(usedKeys(board)).flatMap(([key, what]) => [
    h('dt', {}, h('kbd', {}, key)),
    h('dd', {}, what),
  ]);
  const summary = h('summary', {}, 'Keyboard');
  return h(
    'details',
    { class: 'over' },
    summary,
    h('div', scrollable('panel', 'Keyboard'), h('label', {}, singleKeys, ' Single keys'), h('dl', {}, list)),
  );
}

/** Returns the keys that do something in this queue and view, of those that not every one has. */
function usedKeys({ state: { cards, fields, kind, isList } }: Board): string {
  const items = [...cards.values()].map(({ item }) => item);
  const [first] = items;
  const hasChoices = first !== undefined && fields.some((field) => choicesIn(field, first).length > 0);
  const hasBoxes = first !== undefined && fields.some((field) => choicesIn(field, first).length === 0);
  return [
    fields.length > 1 && '← →',
    hasChoices && '0–9',
    hasBoxes && 'e',
    items.some(({ suggestions }) => suggestions) && 'c',
    kind !== 'disputes' && 'sfo',
    isList && 'xa',
  ]
    .filter(Boolean)
    .join('');
}

function feed(board: Board): ComponentChild {
  const { page, cards, current, fields, isBusy, formats, isList, isRaw } = board.state;
  const { can_write: canWrite = false, account, next_offset } = page ?? {};
  const setSize = next_offset === undefined ? cards.size : -1;
  const total = placesOf(board.state);
  const hasDraft = [...cards.values()].some(({ draft }) => !isEmpty(draft));
  const isMixed = new Set([...cards.values()].map(({ item }) => item.call_op_name)).size > 1;
  const shown = [...cards].flatMap(([id, card], index) => {
    if (!isList && id !== current) return [];
    const hasNext = index + 1 < cards.size || next_offset !== undefined || hasDraft;
    const place = { position: index + 1, setSize, hasNext, isCurrent: id === current };
    const shape = { isAlone: !isList, isRaw, isMixed, total };
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
