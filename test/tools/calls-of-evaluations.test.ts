import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

/** The sample project has twelve recorded calls; the run on two rows adds nine: itself, its summary, and three for each row and one judge. */
const sampleCalls = 12;
const calls = { run: 1, summary: 1, trials: 2, predictions: 2, judges: 2 };
const evaluationCalls = Object.values(calls).reduce((sum, count) => sum + count);

const model = await startScriptedModel(({ model: name }) => (name === 'judge' ? '{"score":true}' : 'An answer'));
const { call } = await connectClient(emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: model.url }));
await call('create_dataset', { name: 'Questions', rows: ['a', 'b', 'c'].map((question) => ({ question })) });
await call('create_scorer', {
  name: 'Good',
  kind: 'llm_judge',
  model: 'judge',
  prompt: 'Good? {output}',
  scale: { type: 'boolean' },
});
await call('create_evaluation', { name: 'Answers', dataset: 'questions', scorers: ['good'] });
const evaluated = { evaluation: 'Answers', model: 'small', prompt: '{question}', sample: { n: 2 } };
const run = await call('run_evaluation', evaluated);

describe('calls that an evaluation made', () => {
  it('are left out of recorded calls, counted, and shown when they are asked for', async () => {
    const page = await call('query_calls', { limit: 5 });
    expect(page).toMatchObject({ total: sampleCalls, evaluation_calls: evaluationCalls });
    expect(page.text).toContain(
      `5 calls of 12 from offset 0. ${evaluationCalls} calls of evaluations left out; include_evaluations in filter adds them.`,
    );
    expect(await call('query_calls', { limit: 5, offset: 10 })).not.toHaveProperty('evaluation_calls');
    const all = await call('query_calls', { filter: { include_evaluations: true } });
    expect(all).toMatchObject({ total: sampleCalls + evaluationCalls });
    expect(all).not.toHaveProperty('evaluation_calls');
  });

  it('are no candidates for a misspelled operation, unless they are asked for', async () => {
    const hintFor = async (filter: object) => (await call('query_calls', { filter })).error.hint;
    expect(await hintFor({ op_name: 'smal.predict' })).toBe(
      'The nearest operations are support.answer, support.escalate.',
    );
    expect(await hintFor({ op_name: 'smal.predict', include_evaluations: true })).toMatch(/ are small\.predict, /);
  });

  it('are found by their trace', async () => {
    expect(await call('query_calls', { filter: { trace_id: run.run_id } })).toMatchObject({ total: evaluationCalls });
  });

  it('are not added to a queue', async () => {
    const request = { queue_id: 'support-triage', filter: {}, dry_run: true };
    const result = await call('add_queue_items', request);
    expect(result).toMatchObject({ matched: sampleCalls, evaluation_calls: evaluationCalls });
    expect(result.text).toContain(`${evaluationCalls} calls of evaluations left out`);
    const all = await call('add_queue_items', { ...request, filter: { include_evaluations: true } });
    expect(all).toMatchObject({ matched: sampleCalls + evaluationCalls });
  });

  it('are added up with each token once', async () => {
    const { totals } = await call('query_calls', { totals: true, filter: { include_evaluations: true } });
    expect(totals).toMatchObject({
      calls: sampleCalls + evaluationCalls,
      tokens: 40,
      unpriced_models: ['judge', 'small'],
    });
    const used = totals.operations.filter(({ tokens }: { tokens?: number }) => tokens);
    expect(used).toMatchObject([
      { operation: 'good.score', calls: 2, tokens: 20 },
      { operation: 'small.predict', calls: 2, tokens: 20 },
    ]);
    const own = await call('query_calls', { totals: true });
    expect(own).toMatchObject({ calls: [], totals: { calls: sampleCalls }, evaluation_calls: evaluationCalls });
    expect(own.text).toMatch(/^Totals: calls 12\. \d+ calls of evaluations left out/);
  });
});

describe('a run', () => {
  it('says what its model and its judges used, apart', async () => {
    expect(run).toMatchObject({ status: 'complete', tokens: 20, judge_tokens: 20 });
    expect(run.text).toContain('2 predictions, 20 tokens, judges 20 tokens');
    const { runs } = await call('read_evaluation', { run_ids: [run.run_id] });
    expect(runs).toMatchObject([{ tokens: 20, judge_tokens: 20 }]);
  });

  it('of a sample makes a dataset and an evaluation that lists leave out', async () => {
    const datasets = await call('list_objects', { kind: 'dataset' });
    expect(datasets.objects.map(({ object_id }: { object_id: string }) => object_id)).toEqual(['questions', 'tickets']);
    expect(datasets).toMatchObject({ left_out: 1 });
    expect(datasets.text).toContain('1 object that runs of samples made left out; name "-sample-" finds them.');
    const found = await call('list_objects', { kind: 'evaluation', name: '-sample-' });
    expect(found.objects).toMatchObject([{ object_id: 'answers-sample-2-seed-0' }]);
  });

  it('of a sample is among the runs of its evaluation, and its models are left out of lists', async () => {
    const { runs } = await call('read_evaluation', { evaluation: 'Answers' });
    expect(runs).toMatchObject([{ run_id: run.run_id, evaluation: 'answers-sample-2-seed-0' }]);
    expect(await call('list_objects', { kind: 'stored_model' })).toMatchObject({ objects: [], left_out: 2 });
    const operations = await call('list_objects', { kind: 'op' });
    expect(operations).toMatchObject({ objects: [], left_out: 5 });
    expect(operations.text).toContain('5 ops that runs and judges stored left out; a part of its name finds one.');
    expect((await call('list_objects', { kind: 'op', name: 'Evaluation.summarize' })).objects).toMatchObject([
      { object_id: 'Evaluation.summarize', description: 'Stored for the calls of runs, without code.' },
    ]);
    const whole = { evaluation: 'Answers', model: 'small', prompt: '{question}' };
    await call('run_evaluation', whole);
    const { error } = await call('read_evaluation', { evaluation: 'Answers', compare: true });
    expect(error.message).toBe('Nothing can be compared: the evaluation has 2 finished runs, each on other rows.');
    await call('run_evaluation', { ...whole, prompt: 'Now: {question}' });
    const { comparisons } = await call('read_evaluation', { evaluation: 'Answers', compare: true });
    expect(comparisons).toMatchObject([{ shared_rows: 3 }]);
  });

  it('uses the stored prompt whose name is the prompt, and says so', async () => {
    await call('create_prompt', { name: 'Kind answer', text: 'Answer kindly: {question}' });
    const dry = { ...evaluated, prompt: 'Kind answer', dry_run: true };
    const { text, warnings } = await call('run_evaluation', dry);
    expect(text).toContain('2 of 3 rows: 2 requests to the model');
    expect(text).toContain(`\n${warnings[0]}`);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^"Kind answer" is the stored prompt weave:\/\/\/demo\/support\/object\/kind_answer:\w+, which is used; pass messages to send these words themselves\.$/,
      ),
    ]);
  });

  it('refuses a word that is written like a name or almost is one, and warns of a text that almost is one', async () => {
    await call('create_prompt', { name: 'summarize-v2', text: 'Summarize: {question}' });
    const asked = (prompt: string) => call('run_evaluation', { ...evaluated, prompt, dry_run: true });
    for (const prompt of ['summarise-v2', 'sumarizev2', 'other_prompt.4']) {
      expect((await asked(prompt)).error).toMatchObject({
        code: 'not_found',
        message: `Project demo/support has no object ${prompt}.`,
        hint: expect.stringMatching(/^The nearest are .*summarize-v2:\w+/),
      });
    }
    expect((await asked('Kind anser')).warnings[0]).toBe(
      '"Kind anser" is sent as text: it is no stored prompt. Did you mean kind_answer?',
    );
  });

  it('says that tokens over recorded calls are not known before, and names the nearest operation', async () => {
    const scored = { scorers: ['Good'], dry_run: true };
    const { text, ...known } = await call('run_evaluation', { calls: { queue_id: 'support-triage' }, ...scored });
    expect(text).toContain(
      '12 to judges (12 in all, up to 12 more if replies of judges do not fit). How many tokens these take is not known before.',
    );
    expect(known).not.toHaveProperty('estimated_tokens');
    const { error } = await call('run_evaluation', { calls: { filter: { op_name: 'support.anser' } }, ...scored });
    expect(error).toMatchObject({
      code: 'not_found',
      hint: expect.stringContaining('The nearest operations are support.answer'),
    });
  });

  it('warns of a prompt without a placeholder, and refuses a model that does not exist, in a dry run too', async () => {
    const dry = { ...evaluated, dry_run: true };
    expect((await call('run_evaluation', { ...dry, prompt: 'Hello' })).warnings).toEqual([
      'The messages have no {column} placeholder, so the model is asked the same for every row.',
    ]);
    expect((await call('run_evaluation', { ...dry, model: 'smal' })).error.message).toBe(
      'Nothing was started. Inference does not list the model smal. The nearest models are small, judge, heddle/echo.',
    );
  });
});

describe('run_inference beside a model provider', () => {
  const messages = [{ role: 'user', content: 'Hello' }];

  it('has heddle/echo, which the provider does not list, and lists it', async () => {
    const idsOf = async (args: object): Promise<string[]> =>
      (await call('list_objects', { kind: 'model', ...args })).objects.map(({ id }: { id: string }) => id);
    expect(await idsOf({})).toEqual(['judge', 'small', 'heddle/echo']);
    expect(await idsOf({ name: 'heddle/echo' })).toEqual(['heddle/echo']);
    const asked = model.asked.length;
    expect((await call('run_inference', { model: 'heddle/echo', messages })).text).toContain('This is heddle/echo');
    const echoed = await call('run_evaluation', { ...evaluated, model: 'heddle/echo', sample: { n: 1 } });
    expect(echoed).toMatchObject({ status: 'complete', predictions: 1 });
    expect((await call('run_evaluation', { ...evaluated, model: 'heddle/ecko' })).error.message).toBe(
      'Nothing was started. Inference does not list the model heddle/ecko. The nearest models are heddle/echo, judge, small.',
    );
    // Only the judge was asked.
    expect(model.asked.slice(asked).map(({ model: name }) => name)).toEqual(['judge']);
  });
});
