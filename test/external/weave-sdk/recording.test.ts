import { describe, expect, it } from 'vitest';
import { temporaryData, withStore } from '../../support/embedded-service.ts';
import { call, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { callsAt, opNamed } from '../../support/recorded-calls.ts';
import { RestartableService } from '../../support/restartable-service.ts';
import { hasWeaveSdk } from '../../support/weave-sdk.ts';
import { Recorder } from './recorder.ts';

const project = 'team/support';
/** Seconds that the SDK waits before its retries add up to half a minute. */
const timeout = 300_000;

/** Creates storage with an account, for services that share it. */
async function createStorage() {
  const data = await temporaryData();
  const { password, token } = await withStore(data, (store) => store.addUser('ada', 'all'));
  return { password, token, startService: () => RestartableService.on(data) };
}

interface Reader {
  url: string;
  password: string;
  token: string;
}

const reference = (kind: string, name: string) =>
  expect.stringMatching(new RegExp(`^weave:///team/support/${kind}/${name}:[A-Za-z0-9]{43}$`));
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);

/** Runs each step that records something, and checks what is recorded then. Before each of them, `disturb` runs. */
const recordingSteps: [name: string, (recorder: Recorder, reader: Reader) => Promise<void>][] = [
  [
    'a call that makes another',
    async (recorder, reader) => {
      expect(await recorder.run('nested', 3)).toBe(8);
      await recorder.run('flush');
      const [outer] = await callsAt(reader, { filter: opNamed('outer') });
      expect(outer).toMatchObject({
        id: uuid,
        project_id: project,
        op_name: reference('op', 'outer'),
        parent_id: null,
        inputs: { arg0: 3 },
        output: 8,
        exception: null,
        attributes: { weave: { client_version: '0.11.1', source: 'js-sdk' } },
        summary: { weave: { status: 'success', trace_name: 'outer' } },
        wb_user_id: 'ada',
      });
      expect(await callsAt(reader, { filter: { parent_ids: [outer.id] } })).toMatchObject([
        { op_name: reference('op', 'add'), trace_id: outer.trace_id, inputs: { arg0: 3, arg1: 1 }, output: 4 },
      ]);
    },
  ],
  [
    'a call that throws',
    async (recorder, reader) => {
      expect(await recorder.run('throws')).toBe('threw no luck');
      await recorder.run('flush');
      expect(await callsAt(reader, { filter: opNamed('boom') })).toMatchObject([
        { exception: 'no luck', output: null, ended_at: expect.any(String), summary: { weave: { status: 'error' } } },
      ]);
    },
  ],
  [
    'a call with a name, named arguments and a usage',
    async (recorder, reader) => {
      await recorder.run('named', 'Why');
      await recorder.run('flush');
      expect(await callsAt(reader, { filter: opNamed('answer') })).toMatchObject([
        {
          display_name: 'about Why',
          inputs: { question: 'Why' },
          output: { text: 'Why?', usage: { prompt_tokens: 3, completion_tokens: 2 } },
          summary: {
            usage: { 'echo-1': { requests: 1, prompt_tokens: 3, completion_tokens: 2 } },
            weave: { status: 'success', display_name: 'about Why' },
          },
        },
      ]);
    },
  ],
  [
    'a call with attributes',
    async (recorder, reader) => {
      expect(await recorder.run('tagged', { tenant: 'a' }, 40)).toBe(41);
      await recorder.run('flush');
      const $expr = { $eq: [{ $getField: 'attributes.tenant' }, { $literal: 'a' }] };
      expect(await callsAt(reader, { query: { $expr } })).toMatchObject([
        { inputs: { arg0: 40, arg1: 1 }, output: 41 },
      ]);
    },
  ],
  [
    'a new name of a call',
    async (recorder, reader) => {
      const [{ id }] = await callsAt(reader, { filter: opNamed('boom') });
      await recorder.run('updateCall', id, 'renamed');
      expect(await recorder.run('getCall', id)).toMatchObject({
        op_name: reference('op', 'boom'),
        display_name: 'renamed',
        exception: 'no luck',
      });
      expect(await callsAt(reader, { filter: { call_ids: [id] } })).toMatchObject([{ display_name: 'renamed' }]);
    },
  ],
  [
    'a score of a call',
    async (recorder, reader) => {
      const [scored] = await callsAt(reader, { filter: opNamed('outer') });
      const [scorer] = await callsAt(reader, { filter: opNamed('add') });
      const id = await recorder.run('addScore', scored.id, scorer.id, scorer.op_name, { good: true });
      const [{ summary }] = await callsAt(reader, { filter: { call_ids: [scored.id] }, include_feedback: true });
      expect(summary.weave.feedback).toMatchObject([
        {
          id,
          feedback_type: 'wandb.runnable.add',
          payload: { output: { good: true } },
          runnable_ref: scorer.op_name,
          call_ref: `weave:///team/support/call/${scorer.id}`,
          wb_user_id: 'ada',
        },
      ]);
    },
  ],
  [
    'an evaluation',
    async (recorder, reader) => {
      const results = {
        model_success: { true_count: 2, true_fraction: 1 },
        model_output: { mean: 3 },
        correct: { true_count: 1, true_fraction: 0.5 },
      };
      expect(await recorder.run('evaluate')).toEqual(results);
      await recorder.run('flush');
      const [evaluation] = await callsAt(reader, {
        filter: { ...opNamed('Evaluation.evaluate'), trace_roots_only: true },
      });
      expect(evaluation).toMatchObject({
        display_name: 'sums-evaluation_model',
        inputs: { self: reference('object', 'sums-evaluation'), model: reference('op', 'model') },
        output: results,
      });
      const rows = await callsAt(reader, {
        filter: { parent_ids: [evaluation.id] },
        expand_columns: ['inputs.example'],
      });
      expect(rows.map(({ inputs, output }) => [inputs.example, output.scores])).toMatchObject([
        [{ q: '1+1', target: 2, _ref: expect.stringContaining('/attr/rows/id/') }, { correct: true }],
        [{ q: '2+2', target: 5 }, { correct: false }],
      ]);
      const all = await callsAt(reader, { filter: { trace_ids: [evaluation.trace_id] } });
      expect(all.map(({ op_name }) => /op\/(.*):/.exec(op_name)![1]).sort()).toEqual([
        'Evaluation.evaluate',
        'Evaluation.predictAndScore',
        'Evaluation.predictAndScore',
        'correct',
        'correct',
        'model',
        'model',
      ]);
    },
  ],
  [
    'an evaluation that is logged by hand',
    async (recorder, reader) => {
      await recorder.run('logEvaluation');
      await recorder.run('flush');
      const field = { $getField: 'attributes._weave_eval_meta.imperative' };
      const $expr = { $eq: [{ $convert: { input: field, to: 'bool' } }, { $literal: true }] };
      const logged = await callsAt(reader, { query: { $expr }, include_feedback: true });
      const outputsOf = (name: string) =>
        logged.filter(({ op_name }) => op_name.includes(`/op/${name}:`)).map(({ output }) => output);
      expect(outputsOf('Evaluation.evaluate')).toEqual([{ exact: { mean: 0.5 } }]);
      expect(outputsOf('Evaluation.summarize')).toEqual([{ exact: { mean: 0.5 } }]);
      expect(outputsOf('Model.predict').sort()).toEqual(['A', 'C']);
      expect(outputsOf('exact.score').sort()).toEqual([0, 1]);
      expect(outputsOf('Evaluation.predict_and_score')).toEqual(
        expect.arrayContaining([
          { output: 'A', scores: { exact: 1 } },
          { output: 'C', scores: { exact: 0 } },
        ]),
      );
      const scores = logged.flatMap(({ summary, output }) =>
        summary.weave.feedback.map(({ feedback_type, payload }: Record<string, unknown>) => [
          output,
          feedback_type,
          payload,
        ]),
      );
      expect(scores.sort()).toEqual([
        ['A', 'wandb.runnable.exact', { output: 1 }],
        ['C', 'wandb.runnable.exact', { output: 0 }],
      ]);
    },
  ],
];

/** Names and outputs of all calls that the steps record, as the SDK reads them. */
async function expectAll(recorder: Recorder): Promise<void> {
  const found: { op_name: string; id: string }[] = await recorder.run('getCalls', {});
  const names = found.map(({ op_name }) => /op\/(.*):/.exec(op_name)![1]!);
  const counts = Object.fromEntries(
    [...new Set(names)].sort().map((name) => [name, names.filter((n) => n === name).length]),
  );
  expect(counts).toEqual({
    'Evaluation.evaluate': 2,
    'Evaluation.predictAndScore': 2,
    'Evaluation.predict_and_score': 2,
    'Evaluation.summarize': 1,
    'Model.predict': 2,
    add: 2,
    answer: 1,
    boom: 1,
    correct: 2,
    'exact.score': 2,
    model: 2,
    outer: 1,
  });
  expect(new Set(found.map(({ id }) => id)).size).toBe(20);
}

describe.skipIf(!hasWeaveSdk)('npm weave 0.11.1', () => {
  it('can read every step as soon as it is acknowledged', { timeout }, async () => {
    const { startService, ...account } = await createStorage();
    const { url } = await startService();
    const recorder = new Recorder(url, account.password);
    expect(await recorder.run('init', project)).toBe(project);
    for (const [, step] of recordingSteps) await step(recorder, { url, ...account });
    await expectAll(recorder);
    await expect(recorder.run('getCall', 'nothing')).rejects.toThrow('Call not found: nothing');
  });

  it('loses nothing of what was acknowledged when the service is killed between steps', { timeout }, async () => {
    const { startService, ...account } = await createStorage();
    const service = await startService();
    const recorder = new Recorder(service.url, account.password);
    await recorder.run('init', project);
    for (const [index, [, step]] of recordingSteps.entries()) {
      await service.kill();
      // The step begins while the service is down, except those that first read what is recorded.
      const isDown = index < 4;
      if (!isDown) await service.start();
      const done = step(recorder, { url: service.url, ...account });
      await (isDown ? Promise.all([service.start(), done]) : done);
    }
    await service.kill();
    await service.start();
    await expectAll(recorder);
  });

  it('neither loses nor duplicates a call when the service is killed while calls are sent', { timeout }, async () => {
    const { startService, ...account } = await createStorage();
    const service = await startService();
    const recorder = new Recorder(service.url, account.password);
    await recorder.run('init', project);
    for (let round = 1; round <= 3; round += 1) {
      for (let n = 0; n < 25; n += 1) await recorder.run('nested', n);
      const flushed = recorder.run('flush');
      await service.kill();
      await service.start();
      await flushed;
      for (const name of ['outer', 'add']) {
        const found = await callsAt({ url: service.url, ...account }, { filter: opNamed(name) });
        expect(new Set(found.map(({ id }) => id)).size).toBe(25 * round);
        expect(found.filter(({ ended_at }) => ended_at === null)).toEqual([]);
      }
    }
  });
});

describe.skipIf(!hasWeaveSdk)('npm weave 0.11.1 with two services on one storage', () => {
  it('records at one service what the other returns', { timeout }, async () => {
    const { startService, ...account } = await createStorage();
    const services = [await startService(), await startService()];
    const recorder = new Recorder(services[0]!.url, account.password);
    await recorder.run('init', project);
    for (const [, step] of recordingSteps) await step(recorder, { url: services[1]!.url, ...account });
    const other = new Recorder(services[1]!.url, account.password);
    await other.run('init', project);
    await expectAll(other);
  });

  it('records at both services at the same time', { timeout }, async () => {
    const { startService, ...account } = await createStorage();
    const services = [await startService(), await startService()];
    const recorders = services.map(({ url }) => new Recorder(url, account.password));
    await Promise.all(
      recorders.map(async (recorder, index) => {
        await recorder.run('init', project);
        for (let n = 0; n < 20; n += 1)
          expect(await recorder.run('nested', 100 * index + n)).toBe(2 * (100 * index + n + 1));
        await recorder.run('flush');
      }),
    );
    const outer = await callsAt({ url: services[0]!.url, ...account }, { filter: opNamed('outer') });
    expect(outer.map(({ output }) => output).sort((a, b) => a - b)).toEqual(
      [0, 100].flatMap((base) => Array.from({ length: 20 }, (_, n) => 2 * (base + n + 1))),
    );
    expect(await callsAt({ url: services[1]!.url, ...account }, { filter: opNamed('add') })).toHaveLength(40);
  });
});

describe.skipIf(!hasWeaveSdk)('calls that npm weave recorded', () => {
  it('are found by the short names of their operations, queued and shown by the tools', { timeout }, async () => {
    const { startService, ...account } = await createStorage();
    const { url } = await startService();
    const recorder = new Recorder(url, account.password);
    await recorder.run('init', project);
    await recorder.run('nested', 3);
    await recorder.run('named', 'Why');
    await recorder.run('throws');
    await recorder.run('flush');
    const environment = emptyHome(temporaryFolder(), {
      HEDDLE_BASE_URL: url,
      HEDDLE_PROJECT: project,
      HEDDLE_USERNAME: 'ada',
      HEDDLE_PASSWORD: account.password,
      HEDDLE_TOKEN: account.token,
    });
    const use = async (tool: string, args: object) => {
      const { code, result } = await call(tool, args, environment);
      expect(code, JSON.stringify(result)).toBe(0);
      return result;
    };
    const { calls } = await use('query_calls', { filter: { op_name: 'answer' } });
    expect(calls).toMatchObject([{ op_name: reference('op', 'answer'), inputs: { question: 'Why' } }]);
    expect((await use('query_calls', { filter: { has_error: true } })).calls).toMatchObject([{ exception: 'no luck' }]);
    expect((await use('read_call', { call_id: calls[0].id, paths: ['output.text'] })).values).toEqual({
      'output.text': 'Why?',
    });
    const { queue_id } = await use('create_queue', {
      name: 'Answers',
      fields: [{ name: 'good', type: 'boolean' }],
    });
    const added = await use('add_queue_items', {
      queue_id,
      filter: { op_name: 'answer' },
      display_fields: ['inputs.question', 'output.text'],
    });
    expect(added).toMatchObject({ matched: 1, added: 1, duplicates: 0 });
    const { items } = await use('query_queue_items', { queue_id, include_call: true });
    expect(items).toMatchObject([
      { call_id: calls[0].id, call_values: { 'inputs.question': 'Why', 'output.text': 'Why?' } },
    ]);
  });
});
