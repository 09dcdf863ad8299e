import { faultsOfItems, type ItemChange } from '../changes.ts';
import type { Job } from '../job.ts';
import type { RecordedItem } from '../workspace.ts';

const guidelines =
  'Our policy: within 30 days of the purchase a customer gets the whole price back, from day 31 to day 60 half of it, later nothing. correct: true if the amount granted is what the policy says. problem: none, too_much or too_little. The tone of the reply does not matter.';

/** Price, days since the purchase and amount granted of each waiting decision. */
const decisions: readonly (readonly [price: number, days: number, granted: number])[] = [
  [40, 3, 40],
  [120, 31, 60],
  [90, 30, 45],
  [64, 60, 32],
  [250, 61, 125],
  [18, 12, 18],
  [76, 45, 76],
  [300, 59, 150],
  [55, 1, 0],
  [210, 92, 0],
  [130, 29, 130],
  [88, 33, 22],
  [46, 75, 46],
  [160, 60, 80],
  [34, 30, 34],
  [500, 31, 500],
  [72, 20, 72],
  [28, 61, 0],
  [110, 44, 55],
  [96, 9, 48],
];

function judgementOf([price, days, granted]: (typeof decisions)[number]): { correct: boolean; problem: string } {
  const owed = days <= 30 ? price : days <= 60 ? price / 2 : 0;
  return { correct: granted === owed, problem: granted === owed ? 'none' : granted > owed ? 'too_much' : 'too_little' };
}

function asCall([price, days, granted]: (typeof decisions)[number], call_id: string): RecordedItem {
  const reply =
    granted === 0
      ? 'I am sorry, we cannot refund this order.'
      : `Good news: we have refunded ${granted} euros, exactly as our policy says.`;
  return {
    call_id,
    op_name: 'refund.decide',
    inputs: { price_eur: price, days_since_purchase: days, message: 'I would like my money back, please.' },
    output: { granted_eur: granted, reply },
  };
}

const callId = (index: number): string => `refund-${String(index + 1).padStart(2, '0')}`;

export const judgeByRubric: Job = {
  name: 'judge-by-rubric',
  needs: ['query_queue_items', 'update_queue_items'],
  maxCalls: 60,
  async prepare(workspace) {
    const done = ['refund-done-1', 'refund-done-2', 'refund-done-3'];
    const queue = await workspace.addQueue({
      name: 'Refund decisions',
      guidelines,
      fields: { correct: { type: 'boolean' }, problem: { type: 'string', enum: ['none', 'too_much', 'too_little'] } },
      displayFields: [
        'inputs.price_eur',
        'inputs.days_since_purchase',
        'inputs.message',
        'output.granted_eur',
        'output.reply',
      ],
      items: [
        ...done.map((call_id) => asCall([80, 10, 80], call_id)),
        ...decisions.map((decision, index) => asCall(decision, callId(index))),
      ],
    });
    await queue.judge(
      'ada',
      'correct',
      done.map((call_id) => [call_id, true] as const),
    );
    await queue.move('ada', done, 'completed');
    const expected = decisions.map((decision, index): [string, ItemChange] => [
      callId(index),
      { annotation_state: 'completed', judgements: judgementOf(decision) },
    ]);
    return {
      turns: [
        'Please work through the queue "Refund decisions": judge every item that is still waiting by the guidelines of the queue, both fields, and complete it. These are 20 items; go ahead without asking me. Ada has done the others, leave those alone.',
      ],
      check: () => faultsOfItems(workspace, Object.fromEntries(expected)),
    };
  },
};
