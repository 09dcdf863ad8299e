import { type ComponentChild, h } from 'preact';
import { button } from '../shared/button.ts';
import { countOf } from '../shared/labels.ts';
import { plainText } from '../shared/visible-text.ts';
import type { Board } from './review-board.ts';
import { agentsOf, missingClause, stagedCards, takenSentence, toDoOf } from './review-state.ts';

/** Draws what stands after the last item: what is done, what is not written yet, and what happens with it. */
export function theEnd(board: Board): ComponentChild {
  const { page, cards, kind, formats, judged, written, skipped } = board.state;
  const { queue, account, next_offset, can_write, export_command } = page!;
  const staged = stagedCards(board.state).length;
  const { total = cards.size } = queue;
  const remaining = toDoOf(queue);
  const agents = staged === 0 ? agentsOf(board.state) : [];
  const missing = staged === 0 ? missingClause(board.state) : '';
  const look =
    agents.length > 0
      ? button('Check what was judged', () => board.check(), { class: missing ? undefined : 'primary' })
      : button('Look at all items', () => board.reload('all'));
  const actions = [
    missing && button('Judge what is missing', () => board.reload('lacking'), { class: 'primary' }),
    kind !== 'all' && total > 0 && look,
    board.leave && button('Choose another queue', () => board.leave!()),
  ];
  const panel = (title: string, ...rest: ComponentChild[]): ComponentChild =>
    h('section', { class: 'panel end' }, h('h2', {}, title), rest, h('div', { class: 'line' }, actions));
  if (total === 0) return panel('This queue has no items yet', h('p', {}, 'Ask an agent to add recorded calls to it.'));
  if (staged > 0) {
    const items = countOf(staged, 'item', formats);
    return panel(
      next_offset === undefined
        ? `You are through${cards.size === 1 ? '' : ` all ${formats.number(cards.size)}`}`
        : `${items} decided`,
      h(
        'p',
        {},
        `What you decided about ${items} is not written yet: press Enter, or the button below. Until then you can change it, and u takes the last decision back.`,
      ),
    );
  }
  if (next_offset !== undefined) return panel('The next items could not be loaded', h('p', {}, 'Try again below.'));
  if (!can_write) return panel('This was the last item');
  if (kind === 'disputes') return panel('No disputes left');
  if (remaining > 0 && cards.size > 0)
    return panel(
      'This was the last item here',
      h('p', {}, `${countOf(remaining, 'item', formats)} of this queue are not finished.`),
      button('Show what is to do', () => board.reload('todo'), { class: 'primary' }),
    );
  const isByPerson = account === undefined || judged?.has(account) || written.size > 0;
  const skips = skipped ? `finished, ${formats.number(skipped)} of them skipped` : 'done';
  const done = `All ${formats.number(total)} ${missing ? `finished${missing}` : skips}`;
  return panel(
    remaining > 0 ? takenSentence.slice(0, -1) : done,
    agents.map(([name, count]) =>
      h('p', {}, `${plainText(name)} judged ${countOf(count, 'item', formats)} under your account.`),
    ),
    judged && !isByPerson && h('p', {}, 'You have judged none on the board.'),
    isByPerson &&
      h(
        'p',
        {},
        `Your judgements are stored under ${account === undefined ? 'your account' : plainText(account)}. Whoever asked you for them can count, compare and export them now, and agents can use them.${agents.length > 0 || missing ? '' : ' You need not do anything more.'}`,
      ),
    board.host.hasTerminal && h('p', {}, 'To save the judgements as a file, run ', h('code', {}, export_command)),
  );
}
