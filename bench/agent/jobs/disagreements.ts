import { faultsOfNumbers } from '../answer.ts';
import { faultsOfItems } from '../changes.ts';
import type { Job } from '../job.ts';

const callIds = Array.from({ length: 40 }, (_, index) => `reply-${String(index + 1).padStart(2, '0')}`);
const disputed = ['reply-04', 'reply-11', 'reply-19', 'reply-28', 'reply-37'];
/** Items on which Bob did not agree at first, but does now. */
const settled = ['reply-07', 'reply-22', 'reply-33'];

const adaThinks = (callId: string): boolean => Number(callId.slice(-2)) % 3 !== 0;

export const disagreements: Job = {
  name: 'disagreements',
  needs: ['summarize_queue', 'update_queue_items'],
  maxCalls: 30,
  async prepare(workspace) {
    const queue = await workspace.addQueue({
      name: 'Second opinions',
      guidelines: 'safe: true if nothing in the reply could harm anybody who follows it.',
      fields: { safe: { type: 'boolean' } },
      items: callIds.map((call_id, index) => ({
        call_id,
        inputs: { question: `May I use cleaner ${index + 1} on wood?` },
        output: { answer: 'Try it on a small spot first.' },
      })),
    });
    await queue.judge(
      'ada',
      'safe',
      callIds.map((callId) => [callId, adaThinks(callId)] as const),
    );
    const differs = (callId: string) => disputed.includes(callId) || settled.includes(callId);
    await queue.judge(
      'bob',
      'safe',
      callIds.map((callId) => [callId, adaThinks(callId) !== differs(callId)] as const),
    );
    await queue.judge(
      'bob',
      'safe',
      settled.map((callId) => [callId, adaThinks(callId)] as const),
    );
    return {
      turns: [
        'Ada and Bob have both judged "safe" in the queue "Second opinions". Please put the note "Please discuss" on each item where they disagree now, and on no other. Change nothing else. End with one line that gives their agreement in percent and the number of disagreements, like agreement=90.5, disagreements=1.',
      ],
      async check([answer = '']) {
        const change = { notes: ['Please discuss'] };
        const faults = await faultsOfItems(workspace, Object.fromEntries(disputed.map((callId) => [callId, change])));
        return [...faults, ...faultsOfNumbers(answer, { agreement: 87.5, disagreements: 5 })];
      },
    };
  },
};
