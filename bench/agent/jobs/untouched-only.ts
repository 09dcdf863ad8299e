import { faultsOfNumbers } from '../answer.ts';
import { faultsOfItems } from '../changes.ts';
import type { Job } from '../job.ts';

const callIds = Array.from({ length: 10 }, (_, index) => `night-${index + 1}`);
/** Items that Grace judges and completes after the model has read the queue. */
const judgedMeanwhile = ['night-3', 'night-8'];

export const untouchedOnly: Job = {
  name: 'untouched-only',
  needs: ['query_queue_items', 'update_queue_items'],
  maxCalls: 30,
  async prepare(workspace) {
    const queue = await workspace.addQueue({
      name: 'Night shift',
      guidelines: 'urgent: true if somebody must call the customer before the morning.',
      fields: { urgent: { type: 'boolean' } },
      displayFields: ['inputs.message'],
      items: callIds.map((call_id, index) => ({
        call_id,
        inputs: { message: `Question ${index + 1} about the yearly report.` },
        output: { reply: 'We will look into it.' },
      })),
    });
    const ours = callIds.filter((callId) => !judgedMeanwhile.includes(callId));
    return {
      turns: [
        'Grace and I are working on the queue "Night shift" at the same time. Please read it first. Then mark what is unstarted as not urgent and complete it, but do not touch anything that Grace has judged or moved since you read it. End with one line that says how many you left to her, like left=0.',
      ],
      async meanwhile() {
        await queue.judge(
          'grace',
          'urgent',
          judgedMeanwhile.map((callId) => [callId, true] as const),
        );
        await queue.move('grace', judgedMeanwhile, 'completed');
      },
      async check([answer = '']) {
        const change = { annotation_state: 'completed', judgements: { urgent: false } };
        const faults = await faultsOfItems(workspace, Object.fromEntries(ours.map((callId) => [callId, change])));
        return [...faults, ...faultsOfNumbers(answer, { left: 2 })];
      },
    };
  },
};
