import { describe, expect, it } from 'vitest';
import { execute, startTestService } from '../../support/embedded-service.ts';
import { EvaluationSetup, project_id } from '../../support/evaluation-setup.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';

const rows = [
  { question: 'one', expected: 'ONE', amount: 10 },
  { question: 'two', expected: 'two', amount: 11.5 },
  { question: 'three', expected: 'THREE', amount: 'a lot' },
];

/** The model answers in capitals; the judge gives the length of what it is shown. */
const model = await startScriptedModel(({ model: name, messages }) => {
  const text = messages.at(-1)!.content;
  return name === 'judge'
    ? JSON.stringify({ passed: text.length > 3, length: text.length })
    : text.slice(5).toUpperCase();
});
const service = await startTestService({ modelProvider: { url: model.url } });
const setup = new EvaluationSetup(service);
const dataset = await setup.dataset(rows);
const helper = await setup.model('Say: {question}', { temperature: 0.5, max_tokens: null });

describe('a run', () => {
  it('has the results that follow from its rows, model and scorers', async () => {
    const scorers = [
      await setup.scorer('exact', { kind: 'equals', expected: 'expected' }),
      await setup.scorer('folded', { kind: 'equals', expected: 'expected', ignore_case: true }),
      await setup.scorer('part', { kind: 'contains', expected: 'question', ignore_case: true }),
      await setup.scorer('shape', { kind: 'matches', pattern: '^[A-Z]{3}$' }),
      await setup.scorer('json', { kind: 'json_valid' }),
      await setup.scorer('near', { kind: 'number_within', expected: 'amount', tolerance: 1 }),
      await setup.judge('rated', {
        scoring_prompt: '{output}',
        reply_schema: { type: 'object', required: ['passed'] },
      }),
    ];
    const evaluation = await setup.evaluation(dataset, scorers, { trials: 2 });
    const run = await setup.start(evaluation, helper, { concurrency: 4 });
    const judged = (passed: boolean) => ({ true_count: passed ? 2 : 4, true_fraction: passed ? 1 / 3 : 2 / 3 });
    const status = await setup.ended(run);
    expect(status).toEqual({
      code: 'complete',
      output: {
        exact: judged(false),
        folded: { true_count: 6, true_fraction: 1 },
        part: { true_count: 6, true_fraction: 1 },
        shape: judged(false),
        json: { true_count: 0, true_fraction: 0 },
        near: { true_count: 0, true_fraction: 0 },
        rated: { passed: judged(true), length: { mean: 11 / 3 } },
        model_latency: { mean: expect.any(Number) },
      },
    });
    const { rows: found, summary } = await setup.results([run], {
      sort_by: [{ field: 'inputs.question', direction: 'asc' }],
    });
    expect(found.map((row: { raw_data_row: object }) => row.raw_data_row)).toEqual([rows[0], rows[2], rows[1]]);
    for (const { evaluations } of found) expect(evaluations[0].trials).toHaveLength(2);
    expect(found[1].evaluations[0].trials[0]).toMatchObject({
      model_output: 'THREE',
      scores: {
        exact: true,
        folded: true,
        part: true,
        shape: false,
        json: false,
        rated: { passed: true, length: 5 },
      },
      total_tokens: 10,
      error: null,
      scorer_errors: { near: 'The column amount of the row is no number.' },
    });
    expect(found[1].evaluations[0].trials[0].scores).not.toHaveProperty('near');
    const [{ scorer_stats, ...totals }] = summary.evaluations;
    expect(totals).toMatchObject({ trial_count: 6, predict_total_tokens: 60, error_count: 0, model_ref: helper });
    expect(scorer_stats).toContainEqual(
      expect.objectContaining({ scorer_key: 'near', trial_count: 4, pass_rate: 0, error_count: 2 }),
    );
    expect(scorer_stats).toContainEqual(
      expect.objectContaining({ scorer_key: 'rated', path: 'length', trial_count: 6, numeric_mean: 11 / 3 }),
    );
    const asked = model.asked.filter((request) => request.model === 'small');
    expect(asked).toHaveLength(6);
    expect(asked[0]).toEqual({
      model: 'small',
      temperature: 0.5,
      messages: [expect.objectContaining({ role: 'user' })],
    });
    expect(
      asked
        .map(({ messages }) => messages[0]!.content)
        .sort()
        .slice(0, 2),
    ).toEqual(['Say: one', 'Say: one']);
    expect(model.maxOpenRequests).toBeLessThanOrEqual(4);
  });

  it('is recorded as the SDK records one, and leaves no job behind', async () => {
    const evaluation = await setup.evaluation(dataset, [], { evaluation_name: 'Nightly' });
    const run = await setup.start(evaluation, helper);
    await setup.ended(run);
    const query = {
      filter: { trace_ids: [run] },
      columns: ['display_name', 'parent_id', 'inputs', 'output', 'summary'],
    };
    const calls = String(await setup.post('/calls/stream_query', query))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    const of = (name: string) => calls.filter((call) => call.op_name.includes(`/op/${name}:`));
    expect(of('Evaluation.evaluate')).toMatchObject([
      {
        id: run,
        display_name: 'Nightly',
        parent_id: null,
        inputs: { self: evaluation, model: helper },
        summary: {
          usage: { small: { requests: 3, total_tokens: 30 } },
          status_counts: { success: 3, error: 0 },
          weave: { status: 'success' },
        },
      },
    ]);
    expect(of('Evaluation.predict_and_score').map((call) => call.parent_id)).toEqual([run, run, run]);
    expect(of('Evaluation.predict_and_score')[0].inputs.example).toMatch(/questions:\w+\/attr\/rows\/id\/\w+$/);
    expect(
      of('helper.predict')
        .map((call) => call.inputs.inputs.question)
        .sort(),
    ).toEqual(['one', 'three', 'two']);
    expect(of('Evaluation.summarize')).toHaveLength(1);
    expect(await execute(service.data, 'select * from evaluation_jobs')).toEqual([]);
  });

  it('uses the rows as examples when the dataset contains them itself', async () => {
    const inline = await setup.object('inline', 'Dataset', 'Dataset', { rows: [{ question: 'here' }] });
    const run = await setup.start(await setup.evaluation(inline, []), helper);
    await setup.ended(run);
    expect(await setup.trials(run)).toMatchObject({ here: { model_output: 'HERE' } });
  });

  it('completes at once when the dataset has no rows', async () => {
    const run = await setup.start(await setup.evaluation(await setup.dataset([], 'nothing'), []), helper);
    expect(await setup.ended(run)).toEqual({ code: 'complete', output: {} });
  });

  it('uses the versions that latest names at its start', async () => {
    const latest = (reference: string) => reference.replace(/:\w+$/, ':latest');
    const evaluation = await setup.evaluation(latest(dataset), []);
    const run = await setup.start(latest(evaluation), latest(helper));
    await setup.ended(run);
    const { summary } = await setup.results([run]);
    expect(summary.evaluations).toMatchObject([{ evaluation_ref: evaluation, model_ref: helper }]);
  });

  it('leaves out scorers that are code, unknown or invalid, and reports why', async () => {
    const scorers = [
      `weave:///${project_id}/op/my_scorer:${'a'.repeat(43)}`,
      `weave:///${project_id}/object/missing:${'a'.repeat(43)}`,
      await setup.object('coded', 'Scorer', 'MyScorer', { name: 'coded' }),
      await setup.scorer('broken', { kind: 'matches', pattern: '(' }),
    ];
    const evaluation_ref = await setup.evaluation(dataset, scorers);
    const { call_id, left_out_scorers } = await setup.post('/evaluations/evaluate_model', {
      evaluation_ref,
      model_ref: helper,
    });
    const reasons = [
      'It is code of another program.',
      'It was not found.',
      'Objects of the class MyScorer cannot be run here.',
      expect.stringMatching(/^Its pattern is invalid: /),
    ];
    expect(left_out_scorers).toEqual(scorers.map((scorer, at) => ({ scorer, reason: reasons[at] })));
    expect(await setup.ended(call_id)).toMatchObject({ code: 'complete' });
    const { warnings } = await setup.results([call_id]);
    expect(warnings[0]).toBe(`Run ${call_id} left out the scorer ${scorers[0]}: It is code of another program.`);
    expect(warnings).toHaveLength(4);
  });

  it.each([
    [404, 'evaluation_ref', 'weave:///acme/support/object/none:latest'],
    [404, 'model_ref', 'weave:///acme/support/object/none:latest'],
    [400, 'evaluation_ref', 'helper'],
    [400, 'model_ref', 'dataset'],
    [404, 'evaluation_ref', 'no reference'],
  ])('is refused with status %s for the invalid %s: %s', async (status, member, value) => {
    const valid = { evaluation_ref: await setup.evaluation(dataset, []), model_ref: helper };
    const other = value === 'helper' ? helper : value === 'dataset' ? dataset : value;
    expect((await setup.send('/evaluations/evaluate_model', { ...valid, [member]: other })).status).toBe(status);
  });

  it('has the status not_found when it is unknown, and none when the call is not a run', async () => {
    expect(await setup.status('none')).toEqual({ code: 'not_found' });
    const call = String(await setup.post('/calls/stream_query', { limit: 20 }))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
      .find(({ op_name }) => op_name.includes('predict'));
    expect(await setup.send('/evaluations/status', { call_id: call.id })).toEqual({
      status: 400,
      body: { reason: 'Call is not an evaluation' },
    });
  });

  it('names the versions of the scorers that it applies', async () => {
    const scorer = await setup.scorer('lowest', { kind: 'json_valid' });
    const evaluation = await setup.evaluation(dataset, [scorer.replace(/:[^:]*$/, ':latest')]);
    const run = await setup.start(evaluation, helper);
    await setup.scorer('lowest', { kind: 'json_valid', negate: true });
    await setup.ended(run);
    const { body } = await setup.send(`/v2/${project_id}/evaluation_runs/${run}`, undefined, 'GET');
    expect(body.scorer_refs).toEqual([scorer]);
  });
});
