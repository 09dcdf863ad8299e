import { button, element } from '../shared/element.ts';
import { plainText } from '../shared/visible-text.ts';

/** The result of the tool list_queues. */
export interface QueuePage {
  queues: { id: string; name: string; guidelines?: string; remaining?: number; total?: number }[];
}

/** Returns a list of queues; `choose` takes the id of the one that the person presses. */
export function queueList(queues: QueuePage['queues'], choose: (id: string) => void): HTMLElement {
  const entries = queues.map(({ id, name, guidelines, remaining, total }) =>
    element(
      'li',
      {},
      button(plainText(name), () => choose(id), { class: 'wide' }),
      element('span', {}, total === undefined ? '' : ` ${remaining} of ${total} remaining`),
      guidelines !== undefined && element('p', { class: 'description' }, plainText(guidelines)),
    ),
  );
  return element('ul', { class: 'queues' }, ...entries);
}
