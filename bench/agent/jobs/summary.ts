import { faultsOfNumbers } from '../answer.ts';
import { faultsOfItems } from '../changes.ts';
import type { Job } from '../job.ts';

const callIds = Array.from({ length: 60 }, (_, index) => `answer-${String(index + 1).padStart(2, '0')}`);

/** Returns judgements of the items from `start` to before `end`. */
function judged(start: number, end: number, isHelpful: (index: number) => boolean): [string, boolean][] {
  return callIds.slice(start, end).map((callId, offset) => [callId, isHelpful(start + offset)]);
}

export const summary: Job = {
  name: 'summary',
  needs: ['summarize_queue'],
  maxCalls: 20,
  async prepare(workspace) {
    const queue = await workspace.addQueue({
      name: 'Helpfulness',
      guidelines: 'helpful: true if the customer can go on with this answer.',
      fields: { helpful: { type: 'boolean' } },
      items: callIds.map((call_id, index) => ({
        call_id,
        inputs: { question: `How do I change setting ${index + 1}?` },
        output: { answer: `Open the menu and choose entry ${index + 1}.` },
      })),
    });
    // Ada has judged 40 items, 30 of them helpful; then she changed her mind on three.
    await queue.judge(
      'ada',
      'helpful',
      judged(0, 40, (index) => index % 4 !== 0),
    );
    await queue.judge(
      'ada',
      'helpful',
      judged(1, 4, () => false),
    );
    await queue.judge(
      'bob',
      'helpful',
      judged(20, 55, (index) => index % 5 === 0),
    );
    await queue.judge(
      'cleo',
      'helpful',
      judged(10, 30, (index) => index < 26),
    );
    return {
      turns: [
        'How many items of the queue "Helpfulness" did ada, bob and cleo each judge as helpful, and how many items has nobody judged yet? What counts is what each of them thinks now. End with one line like ada=1, bob=2, cleo=3, unjudged=4.',
      ],
      async check([answer = '']) {
        const numbers = faultsOfNumbers(answer, { ada: 27, bob: 7, cleo: 16, unjudged: 5 });
        return [...(await faultsOfItems(workspace, {})), ...numbers];
      },
    };
  },
};
