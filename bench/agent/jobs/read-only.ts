import { faultsOfNotDone, faultsOfNumbers, notDoneIn } from '../answer.ts';
import { faultsOfItems } from '../changes.ts';
import type { Job } from '../job.ts';

const callIds = Array.from({ length: 12 }, (_, index) => `lead-${index + 1}`);

export const readOnly: Job = {
  name: 'read-only',
  needs: ['list_queues'],
  settings: { HEDDLE_READ_ONLY: 'true' },
  maxCalls: 20,
  async prepare(workspace) {
    const queue = await workspace.addQueue({
      name: 'Sales leads',
      items: callIds.map((call_id, index) => ({
        call_id,
        inputs: { company: `Company ${index + 1}` },
        output: { answer: 'We will call you.' },
      })),
    });
    await queue.move('ada', callIds.slice(0, 5), 'completed');
    return {
      turns: [
        'Three things about the queue "Sales leads". How many items are still waiting, which nobody has completed or skipped? Please skip the oldest of those. And please import my file leads.jsonl into the queue. For each thing that you cannot do, write a line that begins with NOT DONE: and says which command I can run in a terminal instead, if there is one. End with one line like waiting=1.',
      ],
      async check([answer = '']) {
        const faults = [...(await faultsOfItems(workspace, {})), ...faultsOfNotDone(answer, 2)];
        if (!notDoneIn(answer).some((line) => /heddle (service )?import/.test(line))) {
          faults.push('the answer should name heddle import as the command for the file');
        }
        return [...faults, ...faultsOfNumbers(answer, { waiting: 7 })];
      },
    };
  },
};
