import { Component, type ComponentChild, h, type TargetedEvent } from 'preact';
import type { SummaryTable } from '../../../queues/queue-summary.ts';
import { annotatorLabel } from '../review/item-card.ts';
import type { Board } from '../review/review-board.ts';
import { describeFailure } from '../shared/describe-error.ts';
import { scrollable } from '../shared/labels.ts';
import { countsTable } from './queue-table.ts';

/** The people who have judged, or a sentence instead of them. */
interface ProgressState {
  shown: SummaryTable | string;
}

/** People that are listed at most. */
const maxPeople = 100;

/** Shows how far each annotator is with the queue. It asks each time that it is opened. */
export class ProgressTable extends Component<{ board: Board }, ProgressState> {
  override state: ProgressState = { shown: '' };

  override render({ board }: { board: Board }, { shown }: ProgressState): ComponentChild {
    const onToggle = ({ currentTarget }: TargetedEvent<HTMLDetailsElement>): void => {
      if (currentTarget.open) void this.#load(board);
    };
    const panel = scrollable('panel', 'Progress of each annotator');
    const content = typeof shown === 'string' ? h('p', {}, shown) : tableOf(shown, board);
    return h('details', { class: 'over', onToggle }, h('summary', {}, 'Team'), h('div', panel, content));
  }

  async #load(board: Board): Promise<void> {
    this.setState({ shown: 'Counting …' });
    const { id: queue_id, project_id } = board.state.page!.queue;
    const args = { queue_id, project_id, by: ['annotator'], limit: maxPeople };
    try {
      const { tables } = await board.call<{ tables: SummaryTable[] }>('summarize_queue', args);
      this.setState({ shown: tables[0] ?? 'Nobody has judged here yet.' });
    } catch (error) {
      this.setState({ shown: describeFailure(error).sentence });
    }
  }
}

/** Draws the table of summarize_queue by annotator with the columns that people ask for. */
function tableOf({ rows, others }: SummaryTable, { state: { formats, page } }: Board): ComponentChild {
  const names = ['Annotator', 'Items', 'Today', 'In dispute', 'Time for an item'];
  const number = (value: unknown, unit = ''): string =>
    typeof value === 'number' ? `${formats.number(value)}${unit}` : '–';
  const lines = rows.map(([person, _judgements, items, today, shared, disputed, seconds]) =>
    h('tr', {}, [
      h('th', { scope: 'row' }, annotatorLabel(String(person), page?.account)),
      [
        number(items),
        number(today),
        shared === 0 ? 'none shared' : `${number(disputed)} of ${number(shared)} shared`,
        number(seconds, ' s'),
      ].map((text) => h('td', {}, text)),
    ]),
  );
  return [
    countsTable(names, lines),
    others && h('p', {}, `And ${formats.number(others.rows)} more.`),
    h(
      'p',
      { class: 'description' },
      'Today is the day in UTC. Shared are judgements of a field of an item that someone else judged too. The time is the median between two items; – if all were written at once.',
    ),
  ];
}
