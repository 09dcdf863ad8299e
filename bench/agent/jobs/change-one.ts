import { faultsOfItems } from '../changes.ts';
import type { Job } from '../job.ts';

const replies: Readonly<Record<string, string>> = {
  'reply-1': 'Thank you for writing. I have looked into it and your invoice is on its way.',
  'reply-2': 'As the manual says, the export is in the menu.',
  'reply-3': 'Of course! I have reset your password and will check tomorrow that all is well.',
  'reply-4': 'Your ticket is number 4.',
  'reply-5': 'Please do not hesitate to write again.',
};

export const changeOne: Job = {
  name: 'change-one',
  needs: ['query_queue_items', 'update_queue_items'],
  maxCalls: 20,
  async prepare(workspace) {
    await workspace.addQueue({
      name: 'Tone of replies',
      guidelines: 'Judge the tone, not the facts.',
      fields: { tone: { type: 'string', enum: ['kind', 'neutral', 'rude'] } },
      displayFields: ['output.reply'],
      items: Object.entries(replies).map(([call_id, reply]) => ({ call_id, inputs: {}, output: { reply } })),
    });
    return {
      turns: [
        'In the queue "Tone of replies", please judge the three oldest replies: the first is kind, the second rude, the third kind. Complete these three.',
        'I changed my mind on the second one: it is neutral.',
      ],
      check: () =>
        faultsOfItems(workspace, {
          'reply-1': { annotation_state: 'completed', judgements: { tone: 'kind' } },
          'reply-2': { annotation_state: 'completed', judgements: { tone: 'neutral' } },
          'reply-3': { annotation_state: 'completed', judgements: { tone: 'kind' } },
        }),
    };
  },
};
