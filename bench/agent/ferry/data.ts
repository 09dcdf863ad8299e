import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { splitProjectId } from '../../../src/contract/identifiers.ts';
import { classMembers } from '../../../src/contract/objects.ts';
import { project, userAccount, Workspace } from '../workspace.ts';
import { callId, ferryCalls, isFair, prices } from './calls.ts';
import { talks } from './talks.ts';

const numbers = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Values that Ben gave where Ana gave another, by the number of the complaint. */
const severityOfBen: Record<number, number> = { 17: 5, 31: 2, 8: 4, 2: 3, 13: 3, 22: 3, 27: 3, 35: 3 };
const severityOfAna: Record<number, number> = { 17: 1, 31: 5, 8: 2, 2: 4, 13: 2, 22: 4, 27: 2, 35: 4 };
/** Complaints on whose answer Ana and Ben do not agree. */
const disputed = [3, 12, 19, 26, 38];

const isCorrect = (number: number): boolean => number % 3 !== 0;
const topics = ['cabin', 'delay', 'price', 'luggage', 'food'];

const complaint = (number: number): string => callId('complaint', number);

async function addComplaints(workspace: Workspace): Promise<void> {
  const queue = await workspace.addQueueOfCalls({
    name: 'Autumn complaints',
    guidelines: 'severity: 1 a trifle, 5 a danger. correct: the answer is right. topic: what it is about.',
    fields: {
      severity: { type: 'integer', minimum: 1, maximum: 5 },
      correct: { type: 'boolean' },
      topic: { type: 'string', enum: topics },
    },
    callIds: numbers(1, 60).map(complaint),
    displayFields: ['inputs.complaint', 'output.answer'],
  });
  const severity = (number: number) => (number % 4) + 1;
  const judge = <Value>(annotator: string, field: string, judged: number[], valueFor: (number: number) => Value) =>
    queue.judge(
      annotator,
      field,
      judged.map((number) => [complaint(number), valueFor(number)] as const),
    );
  await judge('ana', 'severity', numbers(1, 40), (number) => severityOfAna[number] ?? severity(number));
  await judge('ben', 'severity', numbers(1, 40), (number) => severityOfBen[number] ?? severity(number));
  await judge('ana', 'correct', numbers(1, 40), isCorrect);
  await judge('ben', 'correct', numbers(1, 40), (number) => isCorrect(number) !== disputed.includes(number));
  await judge('chiara', 'topic', numbers(1, 30), (number) => topics[(number - 1) % topics.length]);
  await judge('dmitri', 'topic', numbers(11, 50), (number) => topics[(number - 1) % topics.length]);
  await judge('emeka', 'severity', numbers(30, 60), severity);
  await judge(userAccount, 'correct', numbers(1, 10), isCorrect);
  await judge(userAccount, 'severity', [5, 7], () => 2);
}

async function addTalks(workspace: Workspace): Promise<void> {
  await workspace.addQueueOfCalls({
    name: 'Long talks',
    guidelines: 'resolved: true if the last message of the customer says that their problem is solved.',
    fields: { resolved: { type: 'boolean' } },
    callIds: talks.map((_, index) => callId('talk', index + 1)),
    displayFields: ['inputs.messages'],
  });
}

async function addRefunds(workspace: Workspace): Promise<void> {
  const queue = await workspace.addQueueOfCalls({
    name: 'Refund checks',
    guidelines: 'fair: true if the decision follows from the delay in the ticket.',
    fields: { fair: { type: 'boolean' } },
    callIds: numbers(1, 60).map((number) => callId('decision', number)),
    displayFields: ['inputs.ticket', 'output'],
  });
  const judged = (last: number) =>
    numbers(1, last).map((number) => [callId('decision', number), isFair(number)] as const);
  await queue.judge('chiara', 'fair', judged(60));
  await queue.judge('dmitri', 'fair', judged(20));
  await workspace.addObject('Fair-refund', 'LLMAsAJudgeScorer', {
    ...classMembers('Scorer', 'LLMAsAJudgeScorer'),
    name: 'Fair-refund',
    model: { llm_model_id: 'judge-large', default_params: { messages_template: [], response_format: 'json_object' } },
    scoring_prompt: 'Is the decision fair?\n{ticket}\n{output}',
  });
}

const harbours = ['Visby', 'Turku', 'Kiel', 'Gdynia', 'Tallinn'];

/** Rows of the evaluation. The hints of the second prompt name the harbour seven times more often and twice where the first do not. */
export const harbourRows = numbers(1, 40).map((number) => {
  const harbour = harbours[number % harbours.length]!;
  const first = number <= 22;
  const second = number <= 20 || (number > 22 && number <= 29);
  return {
    question: `Where does line ${number} end?`,
    harbour,
    old_hint: first ? `Ends in ${harbour}.` : 'Ends abroad.',
    new_hint: second ? `The last stop is ${harbour}.` : 'The last stop is abroad.',
  };
});

/** Runs an evaluation with heddle/echo and two prompts, which records calls beside those of the customers. */
async function addEvaluation(workspace: Workspace): Promise<void> {
  const client = await workspace.client();
  const dataset = await workspace.addDataset('harbour-questions', harbourRows);
  const scorer = await workspace.addObject('names-the-harbour', 'HeddleScorer', {
    ...classMembers('Scorer', 'HeddleScorer'),
    name: 'names-the-harbour',
    kind: 'contains',
    expected: 'harbour',
  });
  const { evaluation_ref } = await client.call('createEvaluation', {
    path: splitProjectId(project),
    body: { name: 'Harbour answers', dataset, scorers: [scorer] },
  });
  for (const content of ['{question} {old_hint}', '{question} {new_hint}']) {
    const model_ref = await workspace.addObject('echo', 'LLMStructuredCompletionModel', {
      ...classMembers('Model', 'LLMStructuredCompletionModel'),
      name: 'heddle/echo',
      llm_model_id: 'heddle/echo',
      default_params: { messages_template: [{ role: 'user', content }], response_format: 'text' },
    });
    await workspace.runEvaluation(evaluation_ref, model_ref);
  }
}

async function makeFerryData(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-ferry-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const workspace = await Workspace.open();
  const client = await workspace.client();
  const costs = Object.entries(prices).map(([model, price]) => [
    model,
    { ...price, effective_date: '2020-01-01T00:00:00Z' },
  ]);
  await client.call('createCosts', { body: { project_id: project, costs: Object.fromEntries(costs) } });
  await client.call('completeCalls', { path: splitProjectId(project), body: { batch: ferryCalls(Date.now()) } });
  await addComplaints(workspace);
  await addTalks(workspace);
  await addRefunds(workspace);
  await addEvaluation(workspace);
  const file = join(folder, 'ferry.db');
  await workspace.copyTo(file);
  await workspace.close();
  return file;
}

let made: Promise<string> | undefined;

/**
 * Returns the file with the data of a ferry line: calls of its desk, queues that five people have judged, an evaluation. It is
 * made once in a process; the same every time, but for the time to which all others refer.
 */
export function ferryData(): Promise<string> {
  made ??= makeFerryData();
  return made;
}
