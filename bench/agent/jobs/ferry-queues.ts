import { faultsOfNotDone } from '../answer.ts';
import { callId, translations } from '../ferry/calls.ts';
import { ferryJob } from '../ferry/ferry-job.ts';
import { project } from '../workspace.ts';

const dayMs = 24 * 3_600_000;

export const sampleOfWeek = ferryJob({
  name: 'sample-of-week',
  needs: ['create_queue', 'add_queue_items'],
  turns: [
    'Make a queue "Spot check" in which people say yes or no to "polite", and put 25 calls into it, drawn at random from what customers did in the last seven days; not what our own evaluations did. 25 is fine, you need not ask me again.',
  ],
  async check(_answers, changes, workspace) {
    const queue = 'queue Spot check';
    const found = await changes.read();
    const items = found.flatMap((change) => /^queue Spot check item (.*): – → unstarted$/.exec(change)?.[1] ?? []);
    const client = await workspace.client();
    const calls = await client.call('queryCalls', {
      body: { project_id: project, filter: { call_ids: items }, columns: ['started_at', 'op_name'], limit: 1000 },
    });
    const wrong = calls.filter(
      ({ op_name, started_at }) =>
        !op_name?.startsWith('desk.') || Date.parse(started_at ?? '') < Date.now() - 7.5 * dayMs,
    );
    const expected = [`${queue}: – → Spot check`, `${queue} field polite: – → {"type":"boolean"}`];
    const others = found.filter(
      (change) =>
        !expected.includes(change) &&
        !change.startsWith(`${queue} item `) &&
        !change.startsWith(`${queue} guidelines:`),
    );
    return [
      ...expected.filter((change) => !found.includes(change)).map((change) => `missing: ${change}`),
      ...others.map((change) => `too many: ${change}`),
      ...(items.length === 25 ? [] : [`the queue has ${items.length} items, not 25`]),
      ...(wrong.length === 0 ? [] : ['the queue has items that are no calls of customers in the last seven days']),
      // A sample is not the newest calls, of which the complaints of the last day are.
      ...(items.filter((id) => /complaint-(5[3-9]|60)/.test(id)).length > 6
        ? ['the sample is not drawn at random']
        : []),
    ];
  },
});

export const renameAndExtend = ferryJob({
  name: 'rename-and-extend',
  needs: ['update_queue'],
  turns: [
    'Our queue "Autumn complaints" should be called "Complaints 2026" from now on, and people should also say yes or no to "urgent" in it; I agree to that. Nothing else about it may change.',
  ],
  check: (_answers, changes) =>
    changes.faultsOf([
      'queue Autumn complaints: Autumn complaints → Complaints 2026',
      'queue Autumn complaints field urgent: – → {"type":"boolean"}',
    ]),
});

export const removeStrays = ferryJob({
  name: 'remove-strays',
  needs: ['update_queue'],
  turns: [
    'Twelve translations, calls of desk.translate, got into the queue "Autumn complaints" by mistake. Take exactly these items out of the queue; I agree to that. Leave everything else as it is, also what people said about them.',
  ],
  check: (_answers, changes) =>
    changes.faultsOf(
      translations.map((number) => `queue Autumn complaints item ${callId('complaint', number)}: unstarted → –`),
    ),
});

export const backupFirst = ferryJob({
  name: 'backup-first',
  needs: ['update_queue'],
  turns: [
    'First make a backup of all our data in the file before-cleanup.db. When you have made it, and only then, delete the queue "Long talks". For each of the two that you cannot do, write a line that begins with NOT DONE:, and give me the command where there is one for me.',
  ],
  async check([answer = ''], changes) {
    return [
      ...(await changes.faultsOf([])),
      ...faultsOfNotDone(answer, 2),
      ...(answer.includes('heddle service backup') ? [] : ['the answer lacks the command heddle service backup']),
    ];
  },
});
