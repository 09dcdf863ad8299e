// Records with the SDK, one step for each line of stdin, which is JSON: {"step":"…","arguments":[…]}. Prints the result of each
// step as a line of JSON after @@; the SDK itself prints other lines.
import { createInterface } from 'node:readline';
import * as weave from 'weave';

let client;
const add = weave.op(async function add(a, b) {
  return a + b;
});
const outer = weave.op(async function outer(x) {
  return (await add(x, 1)) * 2;
});
const boom = weave.op(async function boom() {
  throw new Error('no luck');
});
const answer = weave.op(
  async function answer(question) {
    return { text: `${question}?`, usage: { prompt_tokens: 3, completion_tokens: 2 } };
  },
  {
    callDisplayName: (question) => `about ${question}`,
    parameterNames: ['question'],
    summarize: ({ usage }) => ({ usage: { 'echo-1': usage } }),
  },
);
const dataset = new weave.Dataset({
  name: 'sums',
  rows: [
    { q: '1+1', target: 2 },
    { q: '2+2', target: 5 },
  ],
});

const steps = {
  init: async (project) => {
    client = await weave.init(project, { printCallLink: false });
    return client.projectId;
  },
  nested: (x) => outer(x),
  throws: () => boom().catch((error) => `threw ${error.message}`),
  named: (question) => answer(question),
  tagged: (attributes, x) => weave.withAttributes(attributes, () => add(x, 1)),
  flush: () => client.waitForBatchProcessing(),
  getCalls: async (filter) =>
    (await client.getCalls(filter, true)).map(({ id, op_name, output }) => ({ id, op_name, output })),
  getCall: async (id) => {
    const { op_name, display_name, exception, inputs, output, summary, attributes } = await client.getCall(id);
    return { op_name, display_name, exception, inputs, output, summary, attributes };
  },
  updateCall: (id, name) => client.updateCall(id, name),
  addScore: async (id, scorerCall, scorer, output) => client.addScore(id, scorerCall, scorer, output),
  evaluate: async () => {
    const model = weave.op(async function model({ datasetRow: { q } }) {
      const [a, b] = q.split('+').map(Number);
      return a + b;
    });
    const correct = weave.op(function correct({ modelOutput, datasetRow: { target } }) {
      return modelOutput === target;
    });
    const evaluation = new weave.Evaluation({ name: 'sums-evaluation', dataset, scorers: [correct] });
    const { model_latency, ...summary } = await evaluation.evaluate({ model, maxConcurrency: 1 });
    return summary;
  },
  logEvaluation: async () => {
    const logger = new weave.EvaluationLogger({ name: 'logged', model: { name: 'by-hand' }, dataset: 'weave-rows' });
    for (const [question, output, score] of [
      ['a', 'A', 1],
      ['b', 'C', 0],
    ]) {
      const prediction = logger.logPrediction({ question }, output);
      prediction.logScore('exact', score);
      prediction.finish();
    }
    await logger.logSummary();
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { step, arguments: given } = JSON.parse(line);
  const printed = await steps[step](...given).then(
    (result) => ({ result }),
    (error) => ({ error: `${error?.status ?? ''} ${error?.message ?? JSON.stringify(error?.error)}` }),
  );
  console.log(`@@${JSON.stringify(printed)}`);
}
process.exit(0);
