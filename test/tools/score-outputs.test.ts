import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { listen } from '../../src/core/http/listen.ts';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { onEnd } from '../support/on-end.ts';
import { type AskedCompletion, startScriptedModel } from '../support/scripted-model.ts';

const project_id = 'demo/support';

/** Starts heddle on the sample project with a model whose judge prefers the longer of two answers. */
async function connect(settings: Record<string, string> = {}) {
  const model = await startScriptedModel(({ model: name, messages }) => {
    const text = messages.at(-1)!.content;
    if (name !== 'judge') return `${text}!`;
    const [first = '', second = ''] = text.split('|');
    if (!text.includes('|')) return JSON.stringify({ reasoning: 'Seen.', score: true });
    return JSON.stringify({
      better: first.length === second.length ? 'tie' : first.length > second.length ? 'first' : 'second',
    });
  });
  const environment = { HEDDLE_MODEL_PROVIDER_URL: model.url, HEDDLE_PROJECT: project_id, ...settings };
  const client = await connectClient(emptyHome(temporaryFolder(), environment));
  const asked = (name: string): AskedCompletion[] => model.asked.filter((request) => request.model === name);
  return { ...client, asked };
}

interface Figures {
  scorer: string;
  n: number;
  errors?: number;
  pass_rate?: number;
}

type Connected = Awaited<ReturnType<typeof connect>>;

/** Stores an evaluation of two rows with a judge. */
async function storeEvaluation({ call }: Connected): Promise<void> {
  const rows = ['a', 'bb'].map((question) => ({ question, answer: `${question}!` }));
  const { dataset_ref } = await call('create_dataset', { name: 'Letter rows', rows });
  const judge = { name: 'Good', kind: 'llm_judge', model: 'judge', prompt: '{output}' };
  const { scorer_ref } = await call('create_scorer', judge);
  const stored = await call('create_evaluation', { name: 'Letters', dataset: dataset_ref, scorers: [scorer_ref] });
  expect(stored.error).toBeUndefined();
}

const run = { evaluation: 'Letters', model: 'small', prompt: '{question}' };

describe('run_evaluation', () => {
  it('scores an earlier run without a request, and says that scores were used again', async () => {
    const heddle = await connect();
    await storeEvaluation(heddle);
    const { run_id } = await heddle.call('run_evaluation', run);
    expect([heddle.asked('small').length, heddle.asked('judge').length]).toEqual([2, 2]);
    await heddle.call('create_scorer', { name: 'Long', kind: 'matches', pattern: '...', negate: true });
    const again = { run_id, score_again: true, scorers: ['Good', 'Long'] };
    expect(await heddle.call('run_evaluation', { ...again, dry_run: true })).toMatchObject({
      status: 'dry_run',
      rows: 2,
      model_requests: 0,
      judge_requests: 2,
    });
    const scored = await heddle.call('run_evaluation', again);
    expect(scored).toMatchObject({
      status: 'complete',
      predictions: 2,
      scorers: [
        { scorer: 'good.reasoning', n: 2, values: [['Seen.', 2]] },
        { scorer: 'good.score', n: 2, pass_rate: 1 },
        { scorer: 'long', n: 2, pass_rate: 0.5 },
      ],
      warnings: [`Run ${scored.run_id} used 2 kept scores of the same scorer, row and output again.`],
    });
    expect(heddle.asked('judge')).toHaveLength(2);
  });

  it('leaves scorers out of rows to which they do not apply', async () => {
    const heddle = await connect();
    const rows = [
      { question: 'a', long: true, answer: 'a!' },
      { question: 'bbb', long: true, answer: 'b!' },
      { question: 'cc', answer: null, judged: '' },
      // No model is asked about it, because a placeholder is missing.
      { judged: 'yes' },
    ];
    const { dataset_ref } = await heddle.call('create_dataset', { name: 'Mixed', rows });
    const definitions = [
      { name: 'Long', kind: 'matches', pattern: '...', options: { only_if: 'long' } },
      { name: 'Exact', kind: 'equals', expected: 'answer', negate: true, options: { only_if: 'answer' } },
      { name: 'Good', kind: 'llm_judge', model: 'judge', prompt: '{output}', options: { only_if: 'long' } },
      { name: 'All', kind: 'all_of', options: { scorers: ['Long', 'Exact'], threshold: 0.5 } },
    ];
    const scorers: string[] = [];
    for (const definition of definitions) {
      const { scorer_ref, error } = await heddle.call('create_scorer', definition);
      expect(error).toBeUndefined();
      scorers.push(scorer_ref);
    }
    const tried = { name: 'Any', kind: 'any_of', options: { scorers: ['Long', 'Exact'] } };
    expect((await heddle.call('create_scorer', { ...tried, try_on: [{ output: 'x' }] })).results).toEqual([
      { output: null },
    ]);
    await heddle.call('create_evaluation', { name: 'Letters', dataset: dataset_ref, scorers });
    const { run_id, ...result } = await heddle.call('run_evaluation', run);
    expect(result).toMatchObject({ status: 'complete with 1 error', predictions: 4, errors: 1 });
    expect(heddle.asked('judge')).toHaveLength(2);
    const read = await heddle.call('read_evaluation', { run_ids: [run_id, run_id] });
    expect(
      read.runs[0].scorers.map(({ scorer, n, errors, pass_rate }: Figures) => [scorer, n, errors, pass_rate]),
    ).toEqual([
      ['long', 2, undefined, 0.5],
      ['exact', 2, undefined, 0.5],
      ['good.reasoning', 2, undefined, undefined],
      ['good.score', 2, undefined, 1],
      ['all.passed', 2, undefined, 0.5],
      ['all.score', 2, undefined, undefined],
    ]);
    const worse = { run_id, score_again: true, scorers: ['All'] };
    expect(await heddle.call('run_evaluation', worse)).toMatchObject({ predictions: 4 });
    const rest = { run_id, only: 'errors', dry_run: true };
    expect(await heddle.call('run_evaluation', rest)).toMatchObject({ model_requests: 1 });
  });

  it('stops at a budget, says how to go on, and goes on', async () => {
    const heddle = await connect();
    await storeEvaluation(heddle);
    const stopped = await heddle.call('run_evaluation', { ...run, budget: { requests: 3 } });
    expect(stopped).toMatchObject({
      status: 'failed',
      error:
        'Stopped by its budget of 3 requests: 1 of 2 predictions took 2 requests and 20 tokens, and the next could exceed it.',
    });
    expect(stopped.text).toContain(
      `{"run_id":"${stopped.run_id}","only":"errors"} asks again only what failed or is missing.`,
    );
    const rest = { run_id: stopped.run_id, only: 'errors' };
    expect(await heddle.call('run_evaluation', { ...rest, dry_run: true })).toMatchObject({
      model_requests: 1,
      judge_requests: 1,
    });
    expect(await heddle.call('run_evaluation', rest)).toMatchObject({ status: 'complete', predictions: 2 });
    expect(heddle.asked('small')).toHaveLength(2);
  });

  it('scores the recorded calls of a filter or a queue, and the board suggests the scores', async () => {
    const heddle = await connect();
    const definition = { name: 'Some text', kind: 'matches', pattern: '.' };
    // The field of the queue takes the name over, so that only the reference leads to the scorer.
    const scorers = [(await heddle.call('create_scorer', definition)).scorer_ref];
    const { calls, total } = await heddle.call('query_calls', { filter: { op_name: 'support.answer' } });
    const byFilter = { calls: { filter: { op_name: 'support.answer' } }, scorers };
    expect(await heddle.call('run_evaluation', byFilter)).toMatchObject({ status: 'complete', predictions: total });
    const fields = [{ name: 'some_text', type: 'boolean' }];
    const { queue_id } = await heddle.call('create_queue', { name: 'Answers', fields });
    await heddle.call('add_queue_items', { queue_id, call_ids: [calls[0].id] });
    const scored = await heddle.call('run_evaluation', { calls: { queue_id: 'Answers' }, scorers });
    expect(scored).toMatchObject({
      status: 'complete',
      predictions: 1,
      scorers: [{ scorer: 'some_text', pass_rate: 1 }],
    });
    const [item] = (await heddle.call('review_queue', { queue_id, limit: 1 })).items;
    expect(item.suggestions).toEqual([{ field: 'some_text', value: true, by: 'some_text' }]);
  });

  it('refuses a judge whose model is not listed, over recorded calls and over an earlier run', async () => {
    const heddle = await connect();
    await storeEvaluation(heddle);
    const { run_id } = await heddle.call('run_evaluation', run);
    await heddle.call('create_scorer', { name: 'Fair', kind: 'llm_judge', model: 'judg', prompt: '{output}' });
    const over = [{ calls: { queue_id: 'support-triage' } }, { run_id, score_again: true }];
    for (const outputs of over) {
      const { error } = await heddle.call('run_evaluation', { ...outputs, scorers: ['Fair'], dry_run: true });
      expect(error.message).toBe(
        'Nothing was started. Inference does not list the model judg. The nearest models are judge, small, heddle/echo.',
      );
    }
  });

  it('refuses arguments that do not go together, and names without an object', async () => {
    const heddle = await connect();
    await storeEvaluation(heddle);
    const refusals: [Record<string, unknown>, string][] = [
      [{ calls: {}, scorers: ['x'] }, 'calls needs one of ids, filter and queue_id'],
      [{ calls: { ids: ['x'] } }, 'calls needs scorers, or an evaluation with some'],
      [{ score_again: true }, 'score_again needs run_id'],
      [{ run_id: 'x', only: 'errors', scorers: ['x'] }, 'only cannot be combined with scorers: leave that out'],
      [
        { ...run, scorers: ['Good'] },
        'a run cannot be combined with scorers: it applies those of the evaluation, so create an evaluation with them; or score a run with run_id and score_again, or calls',
      ],
      [{ calls: { filter: { operation: 'x' } }, scorers: ['Unknown'] }, 'There is no scorer \\"Unknown\\"'],
      [
        { calls: { filter: { operation: 'x' } }, scorers: ['Good'] },
        'Its members are those of the filter of query_calls',
      ],
      [{ ...run, budget: {} }, 'needs requests, tokens or usd'],
    ];
    for (const [args, reason] of refusals) {
      expect(JSON.stringify((await heddle.call('run_evaluation', args)).error)).toContain(reason);
    }
    expect(heddle.asked('small')).toEqual([]);
  });
});

describe('create_scorer', () => {
  it('tries a pairwise judge in both orders, blinded', async () => {
    const heddle = await connect();
    const definition = {
      name: 'Better',
      kind: 'pairwise',
      model: 'judge',
      prompt: '{first}|{second}',
      expected: 'other',
    };
    const try_on = [
      { other: 'short', output: 'much longer' },
      { other: 'equal', output: 'other' },
    ];
    const tried = await heddle.call('create_scorer', { ...definition, options: { both_orders: true }, try_on });
    expect(tried.results).toEqual([
      { output: { score: 1, same_in_both_orders: true } },
      { output: { score: 0.5, same_in_both_orders: true } },
    ]);
    expect(
      heddle
        .asked('judge')
        .slice(0, 2)
        .map(({ messages }) => messages.at(-1)!.content)
        .sort(),
    ).toEqual(['much longer|short', 'short|much longer']);
    const orders = new Set<string>();
    for (let seed = 0; seed < 12; seed += 1) {
      const { results } = await heddle.call('create_scorer', {
        ...definition,
        options: { seed },
        try_on: try_on.slice(0, 1),
      });
      expect(results[0].output.score).toBe(1);
      orders.add(results[0].output.output_was);
    }
    expect([...orders].sort()).toEqual(['first', 'second']);
  });

  it('joins scorers, with weights', async () => {
    const heddle = await connect();
    await heddle.call('create_scorer', { name: 'Has a', kind: 'matches', pattern: 'a' });
    await heddle.call('create_scorer', { name: 'Has b', kind: 'matches', pattern: 'b' });
    const attempt = async (kind: string, options: object) => {
      const try_on = ['ab', 'a', 'c'].map((output) => ({ output }));
      const args = { name: 'Both', kind, options: { scorers: ['Has a', 'Has b'], ...options }, try_on };
      return (await heddle.call('create_scorer', args)).results.map(({ output }: { output: unknown }) => output);
    };
    expect(await attempt('all_of', {})).toEqual([true, false, false]);
    expect(await attempt('any_of', {})).toEqual([true, true, false]);
    expect(await attempt('all_of', { weights: [3, 1], threshold: 0.7 })).toEqual([
      { passed: true, score: 1 },
      { passed: true, score: 0.75 },
      { passed: false, score: 0 },
    ]);
  });

  it('asks a program at an address of the settings, and at no other', async () => {
    const bodies: unknown[] = [];
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      bodies.push(JSON.parse(text));
      response.end('{"score":0.5}');
    });
    const url = await listen(server, 0, '127.0.0.1');
    onEnd(() => server.close());
    const heddle = await connect({ HEDDLE_SCORER_ENDPOINTS: `tone=${url}/score` });
    const attempt = (endpoint: string) => {
      const try_on = [{ question: 'Why?', output: 'Because.' }];
      return heddle.call('create_scorer', { name: 'Tone', kind: 'endpoint', options: { endpoint }, try_on });
    };
    expect((await attempt('tone')).results).toEqual([{ output: { score: 0.5 } }]);
    expect(bodies).toEqual([{ inputs: { question: 'Why?' }, output: 'Because.' }]);
    expect((await attempt(url)).error.message).toContain('The settings of the service name no endpoint');
  });

  it('says what a kind needs', async () => {
    const heddle = await connect();
    const { error } = await heddle.call('create_scorer', { name: 'Tools', kind: 'tool_calls' });
    const text = JSON.stringify(error);
    expect(text).toContain(
      'calls (Expected tool calls; arguments is a JSON Schema.) is needed for the kind tool_calls',
    );
    expect(text).toContain('it can also have ordered (In this order.), exact (And no others.)');
  });
});
