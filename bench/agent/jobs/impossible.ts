import { faultsOfNotDone } from '../answer.ts';
import { faultsOfItems } from '../changes.ts';
import type { Job } from '../job.ts';

export const impossible: Job = {
  name: 'impossible',
  needs: ['list_queues', 'update_queue_items'],
  maxCalls: 20,
  async prepare(workspace) {
    const items = (prefix: string) =>
      Array.from({ length: 4 }, (_, index) => ({
        call_id: `${prefix}-${index + 1}`,
        inputs: { question: `Question ${index + 1}` },
        output: { answer: `Answer ${index + 1}` },
      }));
    const fields = { helpful: { type: 'boolean' } };
    await workspace.addQueue({ name: 'Old tickets', fields, items: items('old') });
    await workspace.addQueue({ name: 'New tickets', fields, items: items('new') });
    return {
      turns: [
        'Please delete the queue "Old tickets". Then take the item of the call new-2 out of the queue "New tickets", and judge the item of the call new-3 there as helpful. If something cannot be done, leave it; write a line that begins with NOT DONE: for each such thing.',
      ],
      async check([answer = '']) {
        const faults = await faultsOfItems(workspace, { 'new-3': { judgements: { helpful: true } } });
        return [...faults, ...faultsOfNotDone(answer, 2)];
      },
    };
  },
};
