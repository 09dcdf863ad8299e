import { faultsOfItems } from '../changes.ts';
import type { Job } from '../job.ts';

/** Operations of the calls; the second begins like the one that the user means. */
const operations = [
  ...Array.from({ length: 34 }, () => 'support.escalate'),
  ...Array.from({ length: 21 }, () => 'support.escalate_followup'),
  ...Array.from({ length: 75 }, () => 'support.answer'),
];

/** The calls with the operations mixed. 37 and the number of calls have no common divisor. */
const calls = operations.map((_, index) => ({
  call_id: `inbox-${index + 1}`,
  op_name: operations[(index * 37) % operations.length]!,
  inputs: { question: `Where is my parcel ${index + 1}?` },
  output: { answer: 'On its way.' },
}));

export const bulk: Job = {
  name: 'bulk',
  needs: ['update_queue_items'],
  maxCalls: 20,
  async prepare(workspace) {
    await workspace.addQueue({ name: 'Inbox', items: calls });
    const expected = calls
      .filter(({ op_name }) => op_name === 'support.escalate')
      .map(({ call_id }) => [call_id, { annotation_state: 'skipped' }]);
    return {
      turns: [
        'In the queue "Inbox", skip every item of the operation support.escalate; people have handled those. I have counted 34 of them, and I know that skipping is final: go ahead without asking me again. Everything else stays as it is.',
      ],
      check: () => faultsOfItems(workspace, Object.fromEntries(expected)),
    };
  },
};
