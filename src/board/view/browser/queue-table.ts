import { type ComponentChild, h } from 'preact';
import type { QueueSummary } from '../../../tools/list-queues.ts';
import type { Board } from '../review/review-board.ts';
import { toDoOf } from '../review/review-state.ts';
import { button } from '../shared/button.ts';
import { plainText } from '../shared/visible-text.ts';
import { showInAddress } from './hosted-connection.ts';

/** Says in place of the queues that the person may not see them. */
export function refusal(): ComponentChild {
  return h(
    'section',
    { class: 'panel' },
    h('h2', {}, 'You do not see this project'),
    h(
      'p',
      {},
      'Ask whoever sent you the address to give your account access, or ',
      h('a', { href: '?' }, 'go to your own project'),
      '.',
    ),
  );
}

/** Draws the queues among which a person chooses, with what remains in each. */
export function queueTable(board: Board, queues: readonly QueueSummary[]): ComponentChild {
  if (queues.length === 0) {
    return h(
      'section',
      { class: 'panel' },
      h('h2', {}, 'There are no queues'),
      h('p', {}, 'A queue holds recorded calls to judge. Ask an agent to create one and to add calls to it, or run:'),
      h('pre', { class: 'code' }, 'heddle import FILE --queue NAME'),
    );
  }
  const { formats } = board.state;
  const count = (number: number | undefined): string => (number === undefined ? '' : formats.number(number));
  const open = (queue_id: string): void => {
    showInAddress('queue', queue_id);
    board.open({ queue_id });
  };
  const rows = queues.map(({ id, name, guidelines, total, ...counts }) =>
    h(
      'tr',
      {},
      h(
        'th',
        { scope: 'row' },
        button(plainText(name), () => open(id), { class: 'quiet' }),
        guidelines !== undefined && h('p', { class: 'description' }, plainText(guidelines)),
      ),
      h('td', {}, total === undefined ? '' : toDoOf(counts) === 0 ? 'done' : count(toDoOf(counts))),
      h('td', {}, count(total)),
    ),
  );
  return countsTable(['Queue', 'To do', 'Items'], rows);
}

/** Draws a table with the names of its columns. */
export function countsTable(names: readonly string[], rows: readonly ComponentChild[]): ComponentChild {
  const heads = names.map((name) => h('th', { class: 'names', scope: 'col' }, name));
  return h('table', { class: 'queues' }, h('thead', {}, h('tr', {}, heads)), h('tbody', {}, rows));
}
