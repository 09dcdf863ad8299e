import { faultsOfFacts } from '../answer.ts';
import { isFair } from '../ferry/calls.ts';
import { harbourRows } from '../ferry/data.ts';
import { ferryJob } from '../ferry/ferry-job.ts';
import type { Changes } from '../follow-changes.ts';
import type { AskedModel, ReplyOfModel } from '../model-provider.ts';
import type { Workspace } from '../workspace.ts';

/** Models that a job has started, by its data. */
const askedIn = new WeakMap<Workspace, readonly AskedModel[]>();

const startModels = (models: readonly string[], reply: ReplyOfModel) => async (workspace: Workspace) => {
  askedIn.set(workspace, await workspace.startModels(models, reply));
};

/** Returns the number that follows a word in the last message of a request. */
const numberAfter = (word: string, { messages }: AskedModel): number =>
  Number(new RegExp(`${word} (\\d+)`).exec(messages.at(-1)!.content)?.[1]);

function faultsOfRequests(workspace: Workspace, expected: number): string[] {
  const { length } = askedIn.get(workspace) ?? [];
  return length === expected ? [] : [`the models were asked ${length} times, not ${expected}`];
}

/** Returns a fault for each change that is more than what runs need. */
async function faultsOfOtherChanges(changes: Changes): Promise<string[]> {
  const found = await changes.read();
  const others = found.filter((change) => !/^(run|calls without|Dataset|Evaluation) /.test(change));
  return others.map((change) => `too many: ${change}`);
}

/** Returns a fault unless as many runs were added, all have ended well, and nothing else has changed. */
async function faultsOfNewRuns(changes: Changes, expected: number): Promise<string[]> {
  const runs = (await changes.read()).filter((change) => change.startsWith('run '));
  const ended = runs.filter((change) => /: – → \S* completed$/.test(change));
  return [
    ...(ended.length === expected ? [] : [`${ended.length} runs have ended, not ${expected}`]),
    ...runs.filter((change) => !ended.includes(change)).map((change) => `too many: ${change}`),
    ...(await faultsOfOtherChanges(changes)),
  ];
}

/** A judge that passes all that is fair, and every other of what is not. */
const lenientJudge: ReplyOfModel = (request) => {
  const number = numberAfter('Ticket', request);
  return JSON.stringify({ reasoning: 'The rule was named.', score: isFair(number) || number % 2 === 1 });
};

export const trustJudge = ferryJob({
  name: 'trust-judge',
  needs: ['calibrate_scorer'],
  begin: startModels(['judge-large'], lenientJudge),
  turns: [
    'In the queue "Refund checks", people have said whether decisions are "fair". May we let the judge Fair-refund decide that from now on? I trust it if it finds at least nine of ten decisions that people find unfair. Measure it, on the part of the calls that is held back for that; it may ask its model 60 times. End with one line like agreement=90, found=80, trust=yes: both in percent.',
  ],
  check: async ([answer = ''], changes, workspace) => [
    ...(await faultsOfOtherChanges(changes)),
    ...faultsOfRequests(workspace, 60),
    ...faultsOfFacts(answer, { agreement: 87.1, found: 55.6, trust: 'no' }),
  ],
});

/** Knows where the lines up to 30 end, and fails at first for every eighth. */
const forgetfulModel: ReplyOfModel = (request, repeats) => {
  const line = numberAfter('line', request);
  if (line % 8 === 0 && repeats === 0) return undefined;
  return line <= 30 ? `It ends in ${harbourRows[line - 1]!.harbour}.` : 'I do not know.';
};

export const failedAgain = ferryJob({
  name: 'failed-again',
  needs: ['run_evaluation'],
  begin: startModels(['desk-small'], forgetfulModel),
  turns: [
    'Run the evaluation "Harbour answers" with the model desk-small and the prompt {question}, and tell me for how many rows the model failed to answer. End with one line like failed=1.',
    'The provider says that it is repaired. Ask again for what failed, and for nothing else, since each request costs money. How many rows fail now, and how many of all rows pass? End with one line like failed=1, passed=2.',
  ],
  check: async ([first = '', second = ''], changes, workspace) => [
    ...(await faultsOfNewRuns(changes, 2)),
    ...faultsOfRequests(workspace, 45),
    ...faultsOfFacts(first, { failed: 5 }),
    ...faultsOfFacts(second, { failed: 0, passed: 30 }),
  ],
});

export const noSuchModel = ferryJob({
  name: 'no-such-model',
  needs: ['run_evaluation'],
  begin: startModels(['desk-small'], forgetfulModel),
  turns: [
    'Run "Harbour answers" with the model nordic-huge and the prompt {question} {new_hint}. If we do not have that model, take heddle/echo. End with one line like model=nordic-huge, passed=12.5: the model that answered, and the share that passes in percent.',
  ],
  check: async ([answer = ''], changes, workspace) => [
    ...(await faultsOfNewRuns(changes, 1)),
    ...faultsOfRequests(workspace, 0),
    ...faultsOfFacts(answer, { model: 'heddle/echo', passed: 67.5 }),
  ],
});

export const withinBudget = ferryJob({
  name: 'within-budget',
  needs: ['run_evaluation'],
  begin: startModels(['desk-small'], (request) => forgetfulModel(request, 1)),
  turns: [
    'Let us see how desk-small does in "Harbour answers" with the prompt {question}. I pay for ten requests to it and not one more, so ten of the rows will have to do. End with one line like answered=3, the number of rows that it answered.',
  ],
  check: async ([answer = ''], changes, workspace) => [
    ...(await faultsOfOtherChanges(changes)),
    ...faultsOfRequests(workspace, 10),
    ...faultsOfFacts(answer, { answered: 10 }),
  ],
});
