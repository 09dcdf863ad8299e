import { describe, expect, it } from 'vitest';
import { startTestService } from '../../support/embedded-service.ts';
import { EvaluationSetup, project_id } from '../../support/evaluation-setup.ts';
import { type Script, startScriptedModel } from '../../support/scripted-model.ts';

const rows = ['a', 'b', 'c'].map((question) => ({ question, answer: `${question}!` }));

/** Replies with the message and `!`; the judge says how long the output is. */
const reply: Script = ({ model, messages }) => {
  const text = messages[0]!.content;
  return model === 'judge' ? JSON.stringify({ score: text.length }) : `${text}!`;
};

async function setUp(script: Script = reply) {
  const model = await startScriptedModel(script);
  const setup = new EvaluationSetup(await startTestService({ modelProvider: { url: model.url } }));
  const asked = (name: string): string[] =>
    model.asked.filter((request) => request.model === name).map(({ messages }) => messages[0]!.content);
  return { setup, asked };
}

/** Runs an evaluation with a judge and a comparison to its end, and returns what it consists of. */
async function runOnce(setup: EvaluationSetup, more: object = {}) {
  const judge = await setup.judge('rated', { scoring_prompt: '{output}' });
  const exact = await setup.scorer('exact', { kind: 'equals', expected: 'answer' });
  const evaluation = await setup.evaluation(await setup.dataset(rows), [judge, exact]);
  const model_ref = await setup.model('{question}');
  const run = await setup.start(evaluation, model_ref, { concurrency: 1, ...more });
  const status = await setup.ended(run);
  return { run, status, judge, exact, evaluation, model_ref };
}

async function recordCall(setup: EvaluationSetup, id: string, call: { inputs: object; output: unknown }) {
  const start = { project_id, id, trace_id: id, op_name: 'answer', started_at: '2026-01-01T00:00:00Z', attributes: {} };
  await setup.post('/call/start', { start: { ...start, inputs: call.inputs } });
  const end = { project_id, id, ended_at: '2026-01-01T00:00:02Z', output: call.output, summary: {} };
  await setup.post('/call/end', { end });
}

const feedbackOf = async (setup: EvaluationSetup) => (await setup.post('/feedback/query', {})).result;

describe('rescoreEvaluation', () => {
  it('asks no model for outputs that exist, and no judge that has scored them', async () => {
    const { setup, asked } = await setUp();
    const { run, judge, exact } = await runOnce(setup);
    expect([asked('small').length, asked('judge').length]).toEqual([3, 3]);
    const contains = await setup.scorer('has_mark', { kind: 'matches', pattern: '!$', negate: true });
    const body = { source_evaluation_run_id: run, scorer_refs: [judge, exact, contains] };
    const again = await setup.post('/evaluations/rescore', body);
    expect(again.evaluation_run_id).toBe(again.call_id);
    expect(await setup.ended(again.call_id)).toMatchObject({ code: 'complete' });
    expect([asked('small').length, asked('judge').length]).toEqual([3, 3]);
    expect((await setup.trials(again.call_id)).a).toMatchObject({
      model_output: 'a!',
      scores: { rated: { score: 2 }, exact: true, has_mark: false },
      error: null,
      total_tokens: null,
    });
    expect((await setup.results([again.call_id])).warnings).toEqual([
      `Run ${again.call_id} used 3 kept scores of the same scorer, row and output again.`,
    ]);
  });

  it('scores a run that was itself scored again', async () => {
    const { setup, asked } = await setUp();
    const { run, exact } = await runOnce(setup);
    const fast = await setup.scorer('fast', { kind: 'latency_within', limit: 1000 });
    const rescore = async (source_evaluation_run_id: string) => {
      const body = { source_evaluation_run_id, scorer_refs: [exact, fast] };
      const { call_id } = await setup.post('/evaluations/rescore', body);
      await setup.ended(call_id);
      return call_id;
    };
    const first = await rescore(run);
    const second = await rescore(first);
    const [ofFirst, ofSecond] = [await setup.trials(first), await setup.trials(second)];
    expect(ofSecond.a).toMatchObject({ model_output: 'a!', scores: { exact: true, fast: true } });
    expect(ofSecond.a.predict_call_id).toBe((await setup.trials(run)).a.predict_call_id);
    expect(ofSecond.a.model_latency_seconds).toBe(ofFirst.a.model_latency_seconds);
    expect(asked('small')).toHaveLength(3);
  });

  it('asks a judge with another prompt', async () => {
    const { setup, asked } = await setUp();
    const { run } = await runOnce(setup);
    const other = await setup.judge('rated', { scoring_prompt: 'Long? {output}' });
    const { call_id } = await setup.post('/evaluations/rescore', {
      source_evaluation_run_id: run,
      scorer_refs: [other],
    });
    await setup.ended(call_id);
    expect(asked('judge').slice(3).sort()).toEqual(['Long? a!', 'Long? b!', 'Long? c!']);
    expect((await setup.trials(call_id)).b.scores).toEqual({ rated: { score: 8 } });
  });

  it('refuses an unknown run, one in progress, and scorers that cannot be run', async () => {
    const { setup } = await setUp();
    const { run } = await runOnce(setup);
    const rescore = (source_evaluation_run_id: string, scorer_refs: string[]) =>
      setup.send('/evaluations/rescore', { source_evaluation_run_id, scorer_refs });
    expect(await rescore('none', [])).toMatchObject({ status: 404, body: { reason: 'Evaluation run none not found' } });
    expect(await rescore(run, [])).toMatchObject({ status: 400, body: { reason: 'There are no scorers' } });
    const { body } = await rescore(run, [`weave:///${project_id}/object/none:latest`]);
    expect(body.reason).toBe(`No scorer can be run: weave:///${project_id}/object/none:latest: It was not found.`);
  });
});

describe('resumeEvaluation', () => {
  it('asks again only for predictions and scores that failed', async () => {
    let isBroken = true;
    const { setup, asked } = await setUp((request, response, repeats) => {
      const text = request.messages[0]!.content;
      if (isBroken && (text === 'b' || (request.model === 'judge' && text === 'c!'))) {
        response.writeHead(400).end('{"error":"No."}');
        return undefined;
      }
      return reply(request, response, repeats);
    });
    const { run } = await runOnce(setup);
    expect((await setup.trials(run)).b.error).toContain('No.');
    isBroken = false;
    const before = [asked('small').length, asked('judge').length];
    const { call_id } = await setup.post('/evaluations/resume', { call_id: run });
    expect(await setup.ended(call_id)).toMatchObject({ code: 'complete' });
    expect(asked('small').slice(before[0])).toEqual(['b']);
    expect(asked('judge').slice(before[1]).sort()).toEqual(['b!', 'c!']);
    const trials = await setup.trials(call_id);
    for (const { question } of rows) {
      expect(trials[question]).toMatchObject({ model_output: `${question}!`, error: null, scorer_errors: {} });
      expect(trials[question].scores).toEqual({ rated: { score: 2 }, exact: true });
    }
  });

  it('goes on with a run that was cancelled', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { setup, asked } = await setUp(async (request, response, repeats) => {
      if (request.messages[0]!.content === 'c') await held;
      return reply(request, response, repeats);
    });
    const evaluation = await setup.evaluation(await setup.dataset(rows), []);
    const run = await setup.start(evaluation, await setup.model('{question}'), { concurrency: 1 });
    await expect.poll(async () => (await setup.status(run)).completed_rows, { timeout: 20_000 }).toBe(2);
    await expect.poll(() => asked('small').includes('c'), { timeout: 20_000 }).toBe(true);
    expect(await setup.send('/evaluations/resume', { call_id: run })).toMatchObject({ status: 400 });
    await setup.post('/evaluations/cancel', { call_id: run });
    release();
    const { call_id } = await setup.post('/evaluations/resume', { call_id: run });
    expect(await setup.ended(call_id)).toMatchObject({ code: 'complete' });
    expect(asked('small')).toEqual(['a', 'b', 'c', 'c']);
    expect(Object.keys(await setup.trials(call_id)).sort()).toEqual(['a', 'b', 'c']);
  });
});

describe('scoreCalls', () => {
  it('scores recorded calls as feedback, and as a run', async () => {
    const { setup, asked } = await setUp();
    await recordCall(setup, 'call-1', { inputs: { question: 'a' }, output: 'a!' });
    await recordCall(setup, 'call-2', { inputs: { question: 'b' }, output: 'no' });
    const judge = await setup.judge('rated', { scoring_prompt: '{question} {output}' });
    const fast = await setup.scorer('fast', { kind: 'latency_within', limit: 1 });
    const body = { call_ids: ['call-1', 'call-2'], scorer_refs: [judge, fast] };
    const { call_id } = await setup.post('/calls/score', body);
    expect(await setup.ended(call_id)).toMatchObject({ code: 'complete' });
    expect(asked('small')).toEqual([]);
    expect((await setup.trials(call_id)).b).toMatchObject({
      model_output: 'no',
      predict_call_id: 'call-2',
      scores: { rated: { score: 4 }, fast: false },
      model_latency_seconds: 2,
    });
    const feedback = await feedbackOf(setup);
    expect(feedback).toHaveLength(4);
    const ofFirst = feedback.filter(({ weave_ref }: { weave_ref: string }) => weave_ref.endsWith('/call/call-1'));
    expect(
      ofFirst.find(({ feedback_type }: { feedback_type: string }) => feedback_type.endsWith('.rated')),
    ).toMatchObject({
      feedback_type: 'wandb.runnable.rated',
      payload: { output: { score: 4 } },
      runnable_ref: judge,
      call_ref: expect.stringMatching(`^weave:///${project_id}/call/`),
    });
    await setup.ended((await setup.post('/calls/score', body)).call_id);
    expect(asked('judge')).toHaveLength(2);
  });

  it('refuses calls that do not exist', async () => {
    const { setup } = await setUp();
    const exact = await setup.scorer('exact', { kind: 'json_valid' });
    const answer = await setup.send('/calls/score', { call_ids: ['none'], scorer_refs: [exact] });
    expect(answer).toMatchObject({ status: 404, body: { reason: 'Call none not found' } });
  });
});

describe('tryScorer', () => {
  it('scores rows and recorded calls, and stores nothing', async () => {
    const { setup } = await setUp();
    await recordCall(setup, 'call-1', { inputs: { answer: 'a!' }, output: 'a!' });
    const before = await setup.post('/calls/query_stats', {});
    const val = { _class_name: 'HeddleScorer', kind: 'equals', expected: 'answer' };
    const rowsToTry = [
      { answer: 'x', output: 'x' },
      { answer: 'x', output: 'y' },
      { output: 'y' },
      { call_id: 'call-1' },
    ];
    expect(await setup.post('/scorers/try', { scorer: val, rows: rowsToTry })).toEqual({
      results: [{ output: true }, { output: false }, { exception: 'The row has no column answer.' }, { output: true }],
    });
    expect(await setup.post('/calls/query_stats', {})).toEqual(before);
    expect(await feedbackOf(setup)).toEqual([]);
  });
});
