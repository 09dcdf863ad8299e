import { describe, expect, it, vi } from 'vitest';
import { connectClient } from '../../support/client.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { type ConnectedSdk, connectSdk, hasWeaveSdk, sdkProject } from '../../support/weave-sdk.ts';

const rows = [
  { question: 'a', expected: 'A' },
  { question: 'b', expected: 'X' },
];
/** Reads the run with the tool, as a client on stdio does. */
async function readWithTool({ service, password }: ConnectedSdk, run_id: string) {
  const environment = {
    HEDDLE_BASE_URL: service.url,
    HEDDLE_USERNAME: 'ada',
    HEDDLE_PASSWORD: password,
    HEDDLE_PROJECT: sdkProject,
  };
  const { call } = await connectClient(emptyHome(temporaryFolder(), environment));
  return call('read_evaluation', { run_ids: [run_id] });
}

const references = (name: string) => expect.stringMatching(new RegExp(`^weave:///${sdkProject}/(object|op)/${name}:`));

/** Reads the only run of the project and its results, once they have arrived. */
async function readResults({ service, post, authorization }: ConnectedSdk) {
  return vi.waitFor(
    async () => {
      const response = await fetch(`${service.url}/v2/${sdkProject}/evaluation_runs`, { headers: { authorization } });
      const [run] = (await response.text())
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      expect(run).toMatchObject({ status: 'completed' });
      const { status, body } = await post(`/v2/${sdkProject}/eval_results/query`, {
        evaluation_run_ids: [run.evaluation_run_id],
        include_summary: true,
        include_raw_data_rows: true,
        resolve_row_refs: true,
        sort_by: [{ field: 'inputs.question', direction: 'asc' }],
      });
      expect(status).toBe(200);
      expect(body.total_rows).toBe(2);
      return { run, ...body };
    },
    { interval: 100, timeout: 60_000 },
  );
}

describe.skipIf(!hasWeaveSdk)('evaluations with npm weave 0.11.1', () => {
  it('have their results in the service when Evaluation has run them', async () => {
    const sdk = await connectSdk();
    const { weave } = sdk;
    const model = weave.op(
      async ({ datasetRow }: { datasetRow: { question: string } }) => datasetRow.question.toUpperCase(),
      {
        name: 'shout',
      },
    );
    type Scored = { modelOutput: string; datasetRow: { expected: string } };
    const exact = weave.op(({ modelOutput, datasetRow }: Scored) => modelOutput === datasetRow.expected, {
      name: 'exact',
    });
    const shape = weave.op(({ modelOutput }: Scored) => ({ length: modelOutput.length, short: true }), {
      name: 'shape',
    });
    const dataset = new weave.Dataset({ id: 'letters', rows: structuredClone(rows) });
    await new weave.Evaluation({ id: 'loud', dataset, scorers: [exact, shape] }).evaluate({ model });

    const results = await readResults(sdk);
    expect(results.run).toMatchObject({ evaluation: references('Evaluation'), model: references('shout') });
    const trial = (output: string, isExact: boolean) => ({
      evaluations: [
        {
          evaluation_call_id: results.run.evaluation_run_id,
          trials: [
            {
              model_output: output,
              scores: { exact: isExact, shape: { length: 1, short: true } },
              model_latency_seconds: expect.any(Number),
              predict_call_id: expect.any(String),
              scorer_call_ids: { exact: expect.any(String), shape: expect.any(String) },
              error: null,
              scorer_errors: {},
            },
          ],
        },
      ],
    });
    expect(results.rows).toMatchObject([
      { raw_data_row: rows[0], ...trial('A', true) },
      { raw_data_row: rows[1], ...trial('B', false) },
    ]);
    expect(results.summary.evaluations[0].scorer_stats).toMatchObject([
      { scorer_key: 'exact', path: null, trial_count: 2, pass_rate: 0.5 },
      { scorer_key: 'shape', path: 'length', trial_count: 2, numeric_mean: 1 },
      { scorer_key: 'shape', path: 'short', trial_count: 2, pass_rate: 1 },
    ]);

    const read = await readWithTool(sdk, results.run.evaluation_run_id);
    expect(read.runs).toMatchObject([
      {
        status: 'complete',
        model: 'shout',
        predictions: 2,
        scorers: [
          { scorer: 'exact', n: 2, pass_rate: 0.5 },
          { scorer: 'shape.length', n: 2, mean: 1 },
          { scorer: 'shape.short', n: 2, pass_rate: 1 },
        ],
      },
    ]);
    expect(read.rows).toMatchObject([
      { inputs: rows[1], output: 'B', scores: { exact: false, 'shape.length': 1, 'shape.short': true } },
      { inputs: rows[0], output: 'A', scores: { exact: true } },
    ]);
    expect(read.text).toContain('exact\t50% (9.4 to 90.5) of 2 passed');
  });

  it('have their results in the service when EvaluationLogger has recorded them', async () => {
    const sdk = await connectSdk();
    const logger = new sdk.weave.EvaluationLogger({ name: 'logged', model: { name: 'my-model' }, dataset: 'letters' });
    for (const row of structuredClone(rows)) {
      const output = row.question.toUpperCase();
      const prediction = logger.logPrediction(row, output);
      prediction.logScore('exact', output === row.expected);
      prediction.logScore('likes', 0.5);
      prediction.finish();
    }
    await logger.logSummary({ note: 'done' });

    const results = await readResults(sdk);
    expect(results.run).toMatchObject({ evaluation: references('logged'), model: references('my-model') });
    expect(results.rows).toMatchObject([
      {
        raw_data_row: rows[0],
        evaluations: [{ trials: [{ model_output: 'A', scores: { exact: true, likes: 0.5 } }] }],
      },
      {
        raw_data_row: rows[1],
        evaluations: [{ trials: [{ model_output: 'B', scores: { exact: false, likes: 0.5 } }] }],
      },
    ]);
    expect(results.summary.evaluations[0].scorer_stats).toMatchObject([
      { scorer_key: 'exact', trial_count: 2, pass_rate: 0.5 },
      { scorer_key: 'likes', trial_count: 2, numeric_mean: 0.5 },
    ]);

    const read = await readWithTool(sdk, results.run.evaluation_run_id);
    expect(read.runs).toMatchObject([
      {
        status: 'complete',
        evaluation: 'logged',
        model: 'my-model',
        predictions: 2,
        scorers: [
          { scorer: 'exact', n: 2, pass_rate: 0.5 },
          { scorer: 'likes', n: 2, mean: 0.5 },
        ],
      },
    ]);
    expect(read.rows).toMatchObject([
      { inputs: rows[1], output: 'B', scores: { exact: false, likes: 0.5 } },
      { inputs: rows[0], output: 'A', scores: { exact: true, likes: 0.5 } },
    ]);
  });
});
