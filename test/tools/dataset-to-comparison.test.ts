import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type ConnectedClient, connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { onEnd } from '../support/on-end.ts';

/** Questions of the sample project whose recorded answers a person finds unhelpful. */
const unhelpful = new Set([
  'Why was I charged twice in March?',
  'How do I change the e-mail address of my workspace?',
  'The export button does nothing in Firefox.',
  'I was promised a call back yesterday and nobody called.',
  'Can I schedule a report for Monday mornings?',
  'Is there a discount for schools?',
]);

interface ChatRequest {
  model: string;
  messages: { role: string; content: string }[];
}

/**
 * Starts a model provider. Its model answers well only when the prompt asks for steps, and its judge finds answers with steps
 * helpful.
 */
async function startProvider(): Promise<{ url: string; requests: ChatRequest[] }> {
  const requests: ChatRequest[] = [];
  const server = createServer(async (request, response) => {
    const send = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url?.endsWith('/models')) {
      return send({ object: 'list', data: [{ id: 'helper' }, { id: 'judge' }] });
    }
    const body = (await json(request)) as ChatRequest;
    requests.push(body);
    const prompt = body.messages.map(({ content }) => content).join('\n');
    const content =
      body.model === 'judge'
        ? JSON.stringify({
            reasoning: `Looked for steps in reply ${requests.length}.`,
            score: prompt.includes('First, '),
          })
        : prompt.includes('step by step')
          ? 'First, open Settings. Then follow the steps.'
          : 'We will look into it.';
    const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
    send({
      id: 'c',
      object: 'chat.completion',
      created: 0,
      model: body.model,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage,
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

const queue_id = 'support-triage';

/** Adds the field helpful to the judgements of the sample queue, as a person does who has read the answers. */
async function judgeSample({ call }: ConnectedClient): Promise<void> {
  const { items } = await call('query_queue_items', { queue_id, include_call: true, limit: 100 });
  const judged = items.map(({ id, call_values }: { id: string; call_values: Record<string, string> }) => ({
    item_id: id,
    judgements: { helpful: !unhelpful.has(call_values['inputs.question']!) },
  }));
  const { counts } = await call('update_queue_items', { queue_id, items: judged, by_user: true });
  expect(counts).toEqual({ done: items.length });
}

describe('an agent with only the tools of heddle', () => {
  it('creates a dataset of unhelpful answers, evaluates a new prompt on it, and compares the results, in at most eight calls', async () => {
    const provider = await startProvider();
    const environment = emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: provider.url });
    await judgeSample(await connectClient(environment));

    const { call: callTool } = await connectClient(environment);
    const calls: string[] = [];
    const call: ConnectedClient['call'] = async (name, args) => {
      calls.push(name);
      const result = await callTool(name, args);
      expect(result.error, JSON.stringify(result.error)).toBeUndefined();
      return result;
    };
    const { queues } = await call('list_queues', {});
    const dataset = await call('create_dataset', {
      name: 'Unhelpful',
      from_queue: {
        queue_id: queues[0].id,
        filter: { field: 'helpful', value: false },
        map: { question: 'inputs.question', answer: 'output.answer' },
      },
    });
    expect(dataset).toMatchObject({ row_count: 6, columns: ['question', 'answer'] });
    const scorer = await call('create_scorer', {
      name: 'Helpful answer',
      kind: 'llm_judge',
      model: 'judge',
      prompt: 'Does this answer solve "{question}"? {output}',
    });
    await call('create_evaluation', {
      name: 'Helpful answers',
      dataset: dataset.dataset_ref,
      scorers: [scorer.scorer_ref],
    });
    const before = await call('run_evaluation', {
      evaluation: 'Helpful answers',
      model: 'helper',
      prompt: 'Answer: {question}',
    });
    const after = await call('run_evaluation', {
      evaluation: 'Helpful answers',
      model: 'helper',
      prompt: 'Answer step by step: {question}',
    });
    const { runs, comparisons, rows, text } = await call('read_evaluation', { run_ids: [before.run_id, after.run_id] });

    expect(calls.length).toBeLessThanOrEqual(8);
    expect([before.status, after.status]).toEqual(['complete', 'complete']);
    expect(runs).toMatchObject([
      { prompt: 'Answer: {question}', predictions: 6, scorers: [{ n: 6, pass_rate: 0 }] },
      { prompt: 'Answer step by step: {question}', predictions: 6, scorers: [{ n: 6, pass_rate: 1 }] },
    ]);
    expect(comparisons[0]).toMatchObject({
      shared_rows: 6,
      scorers: [{ better: 6, worse: 0, same: 0, p: 0.031, verdict: 'better' }],
    });
    expect(new Set(rows.map(({ inputs }: { inputs: { question: string } }) => inputs.question))).toEqual(unhelpful);
    expect(text).toMatch(/\t6\t0\t0\t0\.031\tbetter/);
    // Six answers with each prompt, and as many judgements.
    expect(provider.requests.map(({ model }) => model).sort()).toEqual([
      ...Array<string>(12).fill('helper'),
      ...Array<string>(12).fill('judge'),
    ]);
  });

  it('calibrates a judge against the judgements of people, as the prompt calibrate_judge says', async () => {
    const provider = await startProvider();
    const environment = emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: provider.url });
    await judgeSample(await connectClient(environment));
    const { call, client } = await connectClient(environment);
    const { scorer_ref } = await call('create_scorer', {
      name: 'Helpful answer',
      kind: 'llm_judge',
      model: 'judge',
      prompt: 'Does this answer solve "{question}"? {output}',
    });
    const { messages: prompt } = await client.getPrompt({
      name: 'calibrate_judge',
      arguments: { queue_id, field: 'helpful', scorer: scorer_ref },
    });
    const steps = prompt[0]!.content.type === 'text' ? prompt[0]!.content.text : '';
    expect(steps).toContain('Call calibrate_scorer with this scorer, queue_id and field, first with dry_run.');

    const calibration = { scorer: scorer_ref, queue_id, field: 'helpful' };
    const plan = await call('calibrate_scorer', { ...calibration, dry_run: true });
    expect(plan).toMatchObject({ judge_requests: 12, held_out: { n: 6 }, tuning: { n: 6 } });
    const { held_out, tuning } = await call('calibrate_scorer', calibration);
    // This judge finds no recorded answer helpful, as it looks for steps only: chance alone explains its agreement.
    expect(held_out).toMatchObject({
      n: 6,
      percent: 16.7,
      kappa: 0,
      sensitivity: { rate: 0 },
      specificity: { rate: 1 },
    });
    expect(tuning.disagreements).toHaveLength(1);
    expect(provider.requests).toHaveLength(12);
  });
});
