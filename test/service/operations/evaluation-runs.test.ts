import { describe, expect, it } from 'vitest';
import { type Answer, basic, startTestService } from '../../support/embedded-service.ts';

const project_id = 'acme/runs';
const service = await startTestService();
const scorer = (name: string): string => `weave:///${project_id}/object/${name}:${'s'.repeat(43)}`;
const model = `weave:///${project_id}/object/helper:${'m'.repeat(43)}`;
const evaluation = `weave:///${project_id}/object/quality:${'e'.repeat(43)}`;

async function send(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
  return service.send(method, `/v2/${project_id}/${path}`, basic, body);
}

async function post(path: string, body?: object): Promise<Answer['body']> {
  const answer = await send('POST', path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

/** Reads a list of lines. */
async function list(path: string): Promise<Answer['body'][]> {
  const { status, body } = await send('GET', path);
  expect(status, String(body)).toBe(200);
  return String(body)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

interface Trial {
  inputs: object;
  output: unknown;
  scores: Record<string, unknown>;
}

/** Records a finished run and returns its id. */
async function recordRun(trials: readonly Trial[], ofModel = model): Promise<string> {
  const { evaluation_run_id } = await post('evaluation_runs', { evaluation, model: ofModel });
  for (const { inputs, output, scores } of trials) {
    const { prediction_id } = await post('predictions', { model: ofModel, inputs, output, evaluation_run_id });
    for (const [name, value] of Object.entries(scores)) {
      await post('scores', { prediction_id, scorer: scorer(name), value, evaluation_run_id });
    }
    expect(await post(`predictions/${prediction_id}/finish`)).toEqual({ success: true });
  }
  expect(await post(`evaluation_runs/${evaluation_run_id}/finish`, { summary: { note: 'done' } })).toEqual({
    success: true,
  });
  return evaluation_run_id;
}

const first = await recordRun([
  { inputs: { question: 'A' }, output: 'a', scores: { exact: true, detail: { length: 2, good: true } } },
  { inputs: { question: 'B' }, output: 'b', scores: { exact: false, detail: { length: 4, good: true } } },
  { inputs: { question: 'C' }, output: 'c', scores: { exact: true, detail: { length: 9, good: false } } },
]);
const otherModel = model.replace('helper', 'other');
const second = await recordRun(
  [
    { inputs: { question: 'A' }, output: 'x', scores: { exact: false } },
    { inputs: { question: 'B' }, output: 'y', scores: { exact: false } },
  ],
  otherModel,
);

/** Returns the questions of the rows of a response, in their order. */
async function questions(request: object): Promise<unknown[]> {
  const body = { evaluation_run_ids: [first, second], include_raw_data_rows: true, ...request };
  const { rows } = await post('eval_results/query', body);
  return rows.map((row: { raw_data_row: { question: string } }) => row.raw_data_row.question);
}

const condition = (operator: string, field: string, value: unknown) => ({
  query: { $expr: { [operator]: [{ $getField: field }, { $literal: value }] } },
});

describe('runs that a client records', () => {
  it('are listed with their evaluation, model and state, and can be read', async () => {
    const run = {
      evaluation_run_id: first,
      evaluation,
      model,
      status: 'completed',
      summary: { note: 'done' },
    };
    expect(await list('evaluation_runs')).toMatchObject([run, { evaluation_run_id: second, model: otherModel }]);
    expect((await send('GET', `evaluation_runs/${first}`)).body).toMatchObject(run);
    const { evaluation_run_id } = await post('evaluation_runs', { evaluation, model, source_evaluation_run_id: first });
    expect((await send('GET', `evaluation_runs/${evaluation_run_id}`)).body).toMatchObject({
      status: 'running',
      finished_at: null,
      source_evaluation_run_id: first,
    });
    await post(`evaluation_runs/${evaluation_run_id}/finish`, {});
  });

  it('are filtered by repeated parameters, and paged', async () => {
    const ids = async (query: string) => (await list(`evaluation_runs?${query}`)).map((run) => run.evaluation_run_id);
    expect(await ids(new URLSearchParams({ models: otherModel }).toString())).toEqual([second]);
    expect(await ids(`evaluation_run_ids=${second}&evaluation_run_ids=${first}`)).toEqual([first, second]);
    expect(await ids(new URLSearchParams({ evaluations: 'weave:///a/b/object/c:d' }).toString())).toEqual([]);
    expect(await ids('limit=1&offset=1')).toEqual([second]);
    expect(await ids('limit=0')).toEqual([]);
  });

  it('record the summary of their scores once', async () => {
    const { body } = await service.send('POST', '/call/read', basic, { project_id, id: first });
    const { model_latency, ...scores } = body.call.output;
    expect(scores).toEqual({
      exact: { true_count: 2, true_fraction: 2 / 3 },
      detail: { length: { mean: 5 }, good: { true_count: 2, true_fraction: 2 / 3 } },
    });
    expect(model_latency).toEqual({ mean: expect.any(Number) });
    await post(`evaluation_runs/${first}/finish`, { summary: { note: 'again' } });
    expect((await send('GET', `evaluation_runs/${first}`)).body.summary.note).toBe('done');
    const summaries = await service.send('POST', '/calls/query_stats', basic, {
      project_id,
      filter: { parent_ids: [first], op_names: [`weave:///${project_id}/op/Evaluation.summarize:*`] },
    });
    expect(summaries.body).toEqual({ count: 1 });
  });

  it('have predictions and scores that are listed and read', async () => {
    const predictions = await list(`predictions?evaluation_run_id=${first}`);
    expect(predictions).toMatchObject([
      { model, inputs: { question: 'A' }, output: 'a', evaluation_run_id: first, wb_user_id: 'tester' },
      { output: 'b' },
      { output: 'c' },
    ]);
    expect((await send('GET', `predictions/${predictions[1].prediction_id}`)).body).toEqual(predictions[1]);
    expect(await list(`predictions?evaluation_run_id=${first}&limit=1&offset=2`)).toEqual([predictions[2]]);
    const scores = await list(`scores?evaluation_run_id=${second}`);
    expect(scores).toMatchObject([
      { scorer: scorer('exact'), value: false, evaluation_run_id: second },
      { value: false },
    ]);
    expect((await send('GET', `scores/${scores[0].score_id}`)).body).toEqual(scores[0]);
    expect(await list('scores')).toHaveLength(8);
  });

  it.each([
    ['GET', 'evaluation_runs/none'],
    ['GET', 'predictions/none'],
    ['GET', 'scores/none'],
    ['POST', 'evaluation_runs/none/finish'],
    ['POST', 'predictions/none/finish'],
  ] as const)('are not found under an unknown id: %s %s', async (method, path) => {
    expect(await send(method, path, method === 'POST' ? {} : undefined)).toMatchObject({ status: 404 });
  });

  it('accept no prediction for an unknown run, and no score for an unknown prediction', async () => {
    const prediction = { model, inputs: {}, output: 1, evaluation_run_id: 'none' };
    expect(await send('POST', 'predictions', prediction)).toMatchObject({ status: 404 });
    const score = { prediction_id: 'none', scorer: scorer('exact'), value: 1 };
    expect(await send('POST', 'scores', score)).toMatchObject({ status: 404 });
  });

  it('record a score as feedback on the prediction', async () => {
    const [{ prediction_id }] = await list(`predictions?evaluation_run_id=${first}`);
    const { body } = await service.send('POST', '/feedback/query', basic, { project_id });
    const ofPrediction = body.result.filter(({ weave_ref }: { weave_ref: string }) =>
      weave_ref.endsWith(prediction_id),
    );
    expect(ofPrediction).toMatchObject([
      { feedback_type: 'wandb.runnable.exact', payload: { output: true }, runnable_ref: scorer('exact') },
      { feedback_type: 'wandb.runnable.detail', payload: { output: { length: 2, good: true } } },
    ]);
  });
});

describe('the results of runs', () => {
  it('are grouped by row, with the trials of each run', async () => {
    const { rows, total_rows, summary, warnings } = await post('eval_results/query', {
      evaluation_run_ids: [first, second],
      include_raw_data_rows: true,
    });
    expect([total_rows, summary, warnings]).toEqual([3, null, []]);
    const row = rows.find((candidate: Answer['body']) => candidate.raw_data_row.question === 'A');
    expect(row).toEqual({
      row_digest: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
      raw_data_row: { question: 'A' },
      evaluations: [
        {
          evaluation_call_id: first,
          trials: [
            {
              predict_and_score_call_id: expect.any(String),
              predict_call_id: expect.any(String),
              model_output: 'a',
              scores: { exact: true, detail: { length: 2, good: true } },
              model_latency_seconds: expect.any(Number),
              total_tokens: null,
              total_cost: null,
              judge_tokens: null,
              judge_cost: null,
              scorer_call_ids: { exact: expect.any(String), detail: expect.any(String) },
              error: null,
              scorer_errors: {},
            },
          ],
        },
        {
          evaluation_call_id: second,
          trials: [expect.objectContaining({ model_output: 'x', scores: { exact: false } })],
        },
      ],
    });
  });

  it('are summarized by scorer and member of its scores', async () => {
    const { rows, total_rows, summary } = await post('eval_results/query', {
      evaluation_call_ids: [first],
      include_rows: false,
      include_summary: true,
    });
    expect([rows, total_rows]).toEqual([[], 0]);
    const counts = { trial_count: 3, numeric_count: 0, pass_true_count: 2, pass_known_count: 3, error_count: 0 };
    const rate = { value_type: 'binary', numeric_mean: null, pass_rate: 2 / 3, pass_signal_coverage: 1 };
    expect(summary).toEqual({
      row_count: 3,
      evaluations: [
        {
          evaluation_call_id: first,
          trial_count: 3,
          scorer_stats: [
            { scorer_key: 'exact', path: null, ...counts, ...rate },
            {
              scorer_key: 'detail',
              path: 'length',
              value_type: 'continuous',
              trial_count: 3,
              numeric_count: 3,
              numeric_mean: 5,
              pass_true_count: 0,
              pass_known_count: 0,
              pass_rate: null,
              pass_signal_coverage: 0,
              error_count: 0,
            },
            { scorer_key: 'detail', path: 'good', ...counts, ...rate },
          ],
          predict_total_tokens: null,
          predict_total_cost: null,
          judge_total_tokens: null,
          judge_total_cost: null,
          evaluation_ref: evaluation,
          model_ref: model,
          display_name: null,
          trace_id: first,
          started_at: expect.any(String),
          error_count: 0,
          row_count: 3,
        },
      ],
    });
  });

  it('can be limited to rows that all runs have, for the rows and for the summary', async () => {
    expect((await questions({ require_intersection: true })).sort()).toEqual(['A', 'B']);
    const counts = async (request: object) => {
      const body = { evaluation_run_ids: [first, second], include_summary: true, ...request };
      const { summary, total_rows } = await post('eval_results/query', body);
      return [total_rows, summary.row_count, ...summary.evaluations.map((run: Answer['body']) => run.trial_count)];
    };
    expect(await counts({ require_intersection: true })).toEqual([2, 2, 2, 2]);
    expect(await counts({ summary_require_intersection: true })).toEqual([3, 2, 2, 2]);
    expect(await counts({ require_intersection: true, summary_require_intersection: false })).toEqual([2, 3, 3, 2]);
  });

  it('are sorted by scores, inputs and output, of one run or of all', async () => {
    const by = (field: string, direction: string, more = {}) => questions({ sort_by: [{ field, direction, ...more }] });
    expect(await by('inputs.question', 'desc')).toEqual(['C', 'B', 'A']);
    expect(await by('scores.detail.length', 'asc')).toEqual(['A', 'B', 'C']);
    expect(await by('output', 'desc', { evaluation_call_id: second })).toEqual(['B', 'A', 'C']);
    // The mean of both runs is 0.5 for A, 0 for B and 1 for C.
    expect(await by('scores.exact', 'asc')).toEqual(['B', 'A', 'C']);
    expect(await by('scores.exact', 'desc', { mode: 'difference' })).toEqual([
      'A',
      ...(await by('scores.exact', 'desc', { mode: 'difference' })).slice(1),
    ]);
    const two = [
      { field: 'scores.exact', direction: 'desc', evaluation_call_id: first },
      { field: 'inputs.question', direction: 'desc' },
    ];
    expect(await questions({ sort_by: two })).toEqual(['C', 'A', 'B']);
  });

  it('are filtered by scores, inputs and output, where filters of different runs are alternatives', async () => {
    const filtered = async (filters: object[], more = {}) => (await questions({ filters, ...more })).sort();
    expect(await filtered([condition('$gt', 'scores.detail.length', 3)])).toEqual(['B', 'C']);
    expect(await filtered([condition('$eq', 'inputs.question', 'A'), condition('$eq', 'output', 'a')])).toEqual(['A']);
    const alternatives = [
      { evaluation_call_id: first, ...condition('$eq', 'scores.exact', true) },
      { evaluation_call_id: second, ...condition('$eq', 'output', 'y') },
    ];
    expect(await filtered(alternatives)).toEqual(['A', 'B', 'C']);
    expect(await filtered(alternatives, { filter_logic_operator: 'and' })).toEqual([]);
  });

  it('are paged, with the number of rows on all pages', async () => {
    const all = await questions({});
    expect(all.slice(1, 2)).toEqual(await questions({ limit: 1, offset: 1 }));
    const { total_rows } = await post('eval_results/query', { evaluation_run_ids: [first], limit: 1 });
    expect(total_rows).toBe(3);
  });

  it('have no call ids when the calls of models and scorers are not requested', async () => {
    const { rows } = await post('eval_results/query', {
      evaluation_run_ids: [second],
      include_predict_and_score_children: false,
      limit: 1,
    });
    expect(rows[0].evaluations[0].trials[0]).toMatchObject({
      predict_call_id: null,
      scorer_call_ids: {},
      scores: { exact: false },
      model_latency_seconds: expect.any(Number),
    });
  });

  it('warn of runs that do not exist', async () => {
    const { rows, warnings } = await post('eval_results/query', {
      evaluation_run_ids: ['none'],
      include_summary: true,
    });
    expect([rows, warnings]).toEqual([[], ['There is no run none.']]);
  });

  it('refuse unknown fields, differences between texts, and requests without runs', async () => {
    const refused = async (body: object) => (await send('POST', 'eval_results/query', body)).status;
    const evaluation_run_ids = [first];
    expect(await refused({ evaluation_run_ids, sort_by: [{ field: 'id', direction: 'asc' }] })).toBe(400);
    const difference = { field: 'inputs.question', direction: 'asc', mode: 'difference' };
    expect(await refused({ evaluation_run_ids, sort_by: [difference] })).toBe(400);
    expect(await refused({ evaluation_run_ids, filters: [condition('$eq', 'id', 'x')] })).toBe(400);
    expect(await refused({})).toBe(422);
  });
});
