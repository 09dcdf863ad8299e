import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { RunnerLimits } from '../../../src/service/runs/evaluation-runner.ts';
import { execute, startTestService, temporaryData, withStore } from '../../support/embedded-service.ts';
import { EvaluationSetup, project_id } from '../../support/evaluation-setup.ts';
import { type ScriptedModel, startScriptedModel } from '../../support/scripted-model.ts';

const rows = Array.from({ length: 40 }, (_, index) => ({ question: `q${index}` }));
/** Processes look at their runs four times in this time. */
const shortLease = { leaseMs: 400 };

/** Starts a model that waits until it is let go, or for 20 ms. */
async function startModel(isHeld = false): Promise<ScriptedModel & { release: () => void }> {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const model = await startScriptedModel(async ({ messages }) => {
    await (isHeld ? held : wait(20));
    return `${messages[0]!.content}!`;
  });
  return Object.assign(model, { release });
}

/** Starts a run of all rows on a service with this model. */
async function startRun(model: ScriptedModel, concurrency: number, limits: RunnerLimits = {}) {
  const data = await temporaryData();
  const service = await startTestService({ data, modelProvider: { url: model.url }, evaluation: limits });
  const setup = new EvaluationSetup(service);
  const evaluation = await setup.evaluation(await setup.dataset(rows), []);
  const run = await setup.start(evaluation, await setup.model('{question}'), { concurrency });
  return { data, service, setup, run };
}

/** Starts a run again some times, with two predictions at once. Returns the ids of all, and what they run. */
async function startAgain(setup: EvaluationSetup, run: string, times: number) {
  const { evaluation_ref, model_ref } = (await setup.results([run])).summary.evaluations[0];
  const runs = [run];
  for (let time = 0; time < times; time += 1) {
    runs.push(await setup.start(evaluation_ref, model_ref, { concurrency: 2 }));
  }
  return { runs, evaluation_ref, model_ref };
}

const asks = (model: ScriptedModel): string[] => model.asked.map(({ messages }) => messages[0]!.content).sort();
const allRows = rows.map(({ question }) => question).sort();

describe('a run', () => {
  it('is the work of one of the processes on its data, which requests each prediction once', async () => {
    const model = await startModel();
    const { data, setup, run } = await startRun(model, 4);
    await startTestService({ data, modelProvider: { url: model.url } });
    expect(await setup.ended(run)).toMatchObject({ code: 'complete' });
    expect(asks(model)).toEqual(allRows);
    expect(model.maxOpenRequests).toBeLessThanOrEqual(4);
    expect(Object.keys(await setup.trials(run)).sort()).toEqual(allRows);
  });

  it('waits for a free process when its own works on four others', async () => {
    const model = await startModel(true);
    const { data, setup, run } = await startRun(model, 2);
    const { runs } = await startAgain(setup, run, 5);
    await expect.poll(() => model.openRequests).toBe(8);
    await startTestService({ data, modelProvider: { url: model.url } });
    await expect.poll(() => model.openRequests).toBe(12);
    model.release();
    for (const id of runs) expect(await setup.ended(id, 60_000)).toMatchObject({ code: 'complete' });
    expect(model.asked).toHaveLength(6 * rows.length);
  });

  it('begins at once when another account has all four turns of its process', async () => {
    const model = await startModel(true);
    const { data, service, setup, run } = await startRun(model, 2);
    const { runs, evaluation_ref, model_ref } = await startAgain(setup, run, 3);
    await expect.poll(() => model.openRequests).toBe(8);
    const { password } = await withStore(data, (store) => store.addUser('other', 'all'));
    const authorization = `Basic ${Buffer.from(`other:${password}`).toString('base64')}`;
    const request = { project_id, evaluation_ref, model_ref, concurrency: 3 };
    const started = await service.send('POST', '/evaluations/evaluate_model', authorization, request);
    await expect.poll(() => model.openRequests).toBe(11);
    model.release();
    for (const id of [...runs, started.body.call_id])
      expect(await setup.ended(id, 60_000)).toMatchObject({ code: 'complete' });
    expect(model.asked).toHaveLength(5 * rows.length);
  });

  it('takes the place of one whose turn was long, which goes on later without asking again', async () => {
    const model = await startModel(true);
    const { setup, run } = await startRun(model, 2, { turnMs: 1, ...shortLease });
    const { runs } = await startAgain(setup, run, 4);
    await expect.poll(() => model.openRequests).toBe(10);
    model.release();
    for (const id of runs) expect(await setup.ended(id, 60_000)).toMatchObject({ code: 'complete' });
    expect(model.asked).toHaveLength(5 * rows.length);
  });

  it('is given up by a process that has lost its lease, and continues when the new holder stops', async () => {
    const model = await startModel(true);
    const { data, setup, run } = await startRun(model, 2, shortLease);
    await expect.poll(() => model.openRequests).toBe(2);
    const take = "update evaluation_jobs set owner = 'another process', beat = beat + 1";
    // The data file may be locked for a moment.
    await vi.waitFor(() => execute(data, take), 60_000);
    // It asks for both again once it has taken the run back, because nothing was stored.
    await expect.poll(() => model.asked.length).toBe(4);
    await expect.poll(() => model.openRequests).toBe(2);
    model.release();
    expect(await setup.ended(run)).toMatchObject({ code: 'complete' });
    expect(Object.keys(await setup.trials(run)).sort()).toEqual(allRows);
    expect(model.asked).toHaveLength(rows.length + 2);
  });

  it('continues in the next process when its process is closed, without requesting stored predictions again', async () => {
    const model = await startModel();
    const { data, service, setup, run } = await startRun(model, 2);
    await expect.poll(async () => (await setup.status(run)).completed_rows).toBeGreaterThan(3);
    await service.running.close();
    const stored = await execute(
      data,
      "select inputs from calls where op_name like '%predict:%' and ended_at is not null",
    );
    const questions = stored.map(({ inputs }) => JSON.parse(String(inputs)).inputs.question);
    const before = model.asked.length;
    const next = await startTestService({ data, modelProvider: { url: model.url } });
    expect(await new EvaluationSetup(next).ended(run)).toMatchObject({ code: 'complete' });
    const later = model.asked.slice(before).map(({ messages }) => messages[0]!.content);
    expect(later.filter((question) => questions.includes(question))).toEqual([]);
    expect([...new Set([...questions, ...later])].sort()).toEqual(allRows);
    expect(Object.keys(await new EvaluationSetup(next).trials(run)).sort()).toEqual(allRows);
  });

  it('is left alone by a process with another model provider', async () => {
    const [model, other] = [await startModel(true), await startModel()];
    const { data, setup, run } = await startRun(model, 2);
    await expect.poll(() => model.openRequests).toBe(2);
    await startTestService({ data, modelProvider: { url: other.url } });
    await startTestService({ data });
    model.release();
    expect(await setup.ended(run)).toMatchObject({ code: 'complete' });
    expect(other.asked).toEqual([]);
    expect(asks(model)).toEqual(allRows);
  });
});

describe('POST /evaluations/cancel', () => {
  it('aborts running requests, sends no others and keeps what is stored', async () => {
    const model = await startModel(true);
    const { data, setup, run } = await startRun(model, 3);
    await expect.poll(() => model.openRequests).toBe(3);
    const failed = { code: 'failed', error: 'Cancelled by tester' };
    expect(await setup.post('/evaluations/cancel', { call_id: run })).toEqual({ status: failed });
    await expect.poll(() => model.openRequests).toBe(0);
    model.release();
    expect(await setup.status(run)).toEqual(failed);
    expect(model.asked).toHaveLength(3);
    expect(await setup.trials(run)).toEqual({});
    expect(await execute(data, 'select * from evaluation_jobs')).toEqual([]);
    expect(await setup.post('/evaluations/cancel', { call_id: run })).toEqual({ status: failed });
  });

  it('stops the run in every process', async () => {
    const model = await startModel(true);
    const { data, setup, run } = await startRun(model, 4, shortLease);
    await expect.poll(() => model.openRequests).toBe(4);
    const other = await startTestService({ data, modelProvider: { url: model.url } });
    await new EvaluationSetup(other).post('/evaluations/cancel', { call_id: run });
    await expect.poll(() => model.openRequests).toBe(0);
    expect(await setup.status(run)).toMatchObject({ code: 'failed' });
  });

  it('leaves a run that has ended, and one that is unknown, as it is', async () => {
    const { setup, run } = await startRun(await startModel(), 8);
    const status = await setup.ended(run);
    expect(await setup.post('/evaluations/cancel', { call_id: run })).toEqual({ status });
    expect(await setup.post('/evaluations/cancel', { call_id: 'none' })).toEqual({ status: { code: 'not_found' } });
  });
});

describe('POST /evaluations/status', () => {
  it('counts the predictions of a running evaluation, and those that all its trials will make', async () => {
    const model = await startModel(true);
    const service = await startTestService({ modelProvider: { url: model.url } });
    const setup = new EvaluationSetup(service);
    const evaluation = await setup.evaluation(await setup.dataset(rows.slice(0, 2)), [], { trials: 3 });
    const run = await setup.start(evaluation, await setup.model('{question}'));
    expect(await setup.status(run)).toEqual({ code: 'running', completed_rows: 0, total_rows: 6 });
    model.release();
    expect(await setup.ended(run)).toMatchObject({ code: 'complete' });
  });
});

describe('POST /calls/delete', () => {
  it('ends a run that it deletes', async () => {
    const model = await startModel(true);
    const { data, setup, run } = await startRun(model, 2, shortLease);
    await expect.poll(() => model.openRequests).toBe(2);
    await setup.post('/calls/delete', { call_ids: [run] });
    expect(await setup.status(run)).toEqual({ code: 'not_found' });
    await expect.poll(() => model.openRequests).toBe(0);
    expect(await execute(data, 'select * from evaluation_jobs')).toEqual([]);
  });
});
