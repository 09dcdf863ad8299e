import { faultsOfFacts, faultsOfNotDone } from '../answer.ts';
import { ferryJob } from '../ferry/ferry-job.ts';
import type { Job } from '../job.ts';

/** Questions about the data of the ferry line, which change nothing. */
function question(
  name: string,
  needs: readonly string[],
  turn: string,
  faultsOf: (answer: string) => readonly string[],
): Job {
  return ferryJob({
    name,
    needs,
    turns: [turn],
    check: async ([answer = ''], changes) => [...(await changes.faultsOf([])), ...faultsOf(answer)],
  });
}

export const costOfWeek = question(
  'cost-of-week',
  ['query_calls'],
  'What did the calls of our customers cost in the last seven days, how many of them failed, and which operation failed most often? End with one line like cost=1.23, failed=4, operation=desk.example.',
  (answer) => faultsOfFacts(answer, { cost: 90.78, failed: 27, operation: 'desk.rebook' }),
);

export const misspelledOperation = question(
  'misspelled-operation',
  ['query_calls'],
  'How many calls of desk.refnud did we have in the last seven days, and how many of them failed? I may have the name wrong; then take the one that I must have meant. End with one line like calls=1, failed=2, operation=desk.example.',
  (answer) => faultsOfFacts(answer, { calls: 63, failed: 2, operation: 'desk.refund' }),
);

export const worstDisagreements = question(
  'worst-disagreements',
  ['summarize_queue'],
  'Where do ana and ben differ on the severity of our autumn complaints? I want the three calls on which they are farthest apart, the worst first, the number of complaints on which they differ in severity, and their kappa, weighted, since it is a scale. End with one line like first=complaint-90, second=complaint-91, third=complaint-92, differ=5, kappa=0.12.',
  (answer) =>
    faultsOfFacts(answer, {
      first: 'complaint-17',
      second: 'complaint-31',
      third: 'complaint-08',
      differ: 8,
      kappa: 0.68,
    }),
);

export const unjudgedByMe = question(
  'unjudged-by-me',
  ['query_queue_items'],
  'Which of the autumn complaints have been waiting for more than 24 hours and I have not judged anything on them yet? With me I mean my own account, as which heddle runs here, not you. I need their number and the oldest of them. End with one line like waiting=5, oldest=complaint-90.',
  (answer) => faultsOfFacts(answer, { waiting: 42, oldest: 'complaint-11' }),
);

export const isItBetter = question(
  'is-it-better',
  ['read_evaluation'],
  'We ran the evaluation "Harbour answers" twice, first with the old prompt, then with the new one. Is the new one really better, or could that be chance? End with one line like old=10, new=20, verdict=better: the shares that pass in percent, and better, worse or chance.',
  (answer) => faultsOfFacts(answer, { old: 55, new: 67.5, verdict: 'chance' }),
);

export const spreadsheet = ferryJob({
  name: 'spreadsheet',
  needs: ['summarize_queue'],
  turns: [
    'Please save a spreadsheet with all judgements of "Autumn complaints" as complaints.csv in my home folder. If you cannot do that, write a line that begins with NOT DONE: and give me the link or the exact command with which I get it myself. End with one line like judgements=12, the number of judgements in that queue.',
  ],
  async check([answer = ''], changes, workspace) {
    const client = await workspace.client();
    const queues = await client.call('queryQueues', { body: { project_id: 'acme/support' } });
    const queue = queues.find(({ name }) => name === 'Autumn complaints')!;
    const link = `heddle://acme/support/queues/${queue.id}/judgements.csv`;
    const command = new RegExp(`heddle queue export (?:--\\S+ )*['"]?(?:${queue.id}|${queue.name})`);
    return [
      ...(await changes.faultsOf([])),
      ...(answer.includes(link) || command.test(answer) ? [] : ['the answer has neither the link nor the command']),
      ...faultsOfNotDone(answer, 1),
      ...faultsOfFacts(answer, { judgements: 273 }),
    ];
  },
});
