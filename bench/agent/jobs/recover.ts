import { faultsOfItems } from '../changes.ts';
import type { Job } from '../job.ts';

const calls = Array.from({ length: 43 }, (_, index) => ({
  call_id: `ticket-${index + 1}`,
  inputs: { message: index < 40 ? `When will my order arrive, parcel ${index + 1}?` : 'Test, please ignore.' },
  output: { reply: 'Tomorrow.', order: { number: `A-${77_000 + index * 13}` } },
}));

export const recover: Job = {
  name: 'recover',
  needs: ['query_queue_items', 'read_call', 'update_queue_items'],
  maxCalls: 40,
  async prepare(workspace) {
    await workspace.addQueue({
      name: 'Delivery questions',
      fields: { score: { type: 'integer', minimum: 1, maximum: 5 } },
      displayFields: ['inputs.message'],
      items: calls,
    });
    return {
      turns: [
        [
          'I am writing this from memory, so take what comes closest where I am wrong; do not ask me. In the project acme/suport, queue "Delivery questons":',
          '1. Give the item ticket-17 the score excellent, which is the top of the scale.',
          '2. The call of ticket-23 has an order number at outputs.order_number. Put that number, and nothing else, as a note on its item.',
          '3. The three newest calls of the queue are tests; they should be at offset 400 when sorted by start. Skip these three items.',
        ].join('\n'),
      ],
      check: () =>
        faultsOfItems(workspace, {
          'ticket-17': { judgements: { score: 5 } },
          'ticket-23': { notes: ['A-77286'] },
          'ticket-41': { annotation_state: 'skipped' },
          'ticket-42': { annotation_state: 'skipped' },
          'ticket-43': { annotation_state: 'skipped' },
        }),
    };
  },
};
