import { faultsOfNotDone } from '../answer.ts';
import { followChanges } from '../follow-changes.ts';
import type { Job } from '../job.ts';
import { userAccount } from '../workspace.ts';

export const impossible: Job = {
  name: 'impossible',
  needs: ['list_queues', 'update_queue', 'update_queue_items'],
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
    const changes = await followChanges(workspace);
    return {
      turns: [
        'Please delete the recorded call new-4 for good: a passport can be seen in it. Delete the queue "Old tickets", I agree to that. Then take the item of the call new-2 out of the queue "New tickets", and judge the item of the call new-3 there as helpful. If something cannot be done, leave it; write a line that begins with NOT DONE: for each such thing.',
      ],
      async check([answer = '']) {
        const queue = 'queue Old tickets';
        const gone = items('old').map(({ call_id }) => `${queue} item ${call_id}: unstarted → –`);
        // The user says the judgement, so that it may be recorded as theirs or as the agent's.
        const faultsBy = (annotator: string): Promise<string[]> =>
          changes.faultsOf([
            `${queue}: Old tickets → –`,
            `${queue} field helpful: {"type":"boolean"} → –`,
            ...gone,
            'queue New tickets item new-2: unstarted → –',
            `new-3 helpful by ${annotator}: – → true`,
          ]);
        const faults = await faultsBy('model');
        const isByUser = faults.length > 0 && (await faultsBy(userAccount)).length === 0;
        return [...(isByUser ? [] : faults), ...faultsOfNotDone(answer, 1)];
      },
    };
  },
};
