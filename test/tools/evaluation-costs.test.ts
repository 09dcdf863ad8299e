import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { basic, startTestService } from '../support/embedded-service.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { startScriptedModel } from '../support/scripted-model.ts';
import { account } from '../support/test-account.ts';

const project_id = 'team/costs';
const run = { evaluation: 'Answers', model: 'small', prompt: '{question}' };

/** Starts a service with an evaluation of four rows and a judge, each of whose requests takes 7 tokens and 3 of the reply. */
async function connect() {
  const model = await startScriptedModel(({ model: name, messages }) =>
    name === 'judge' ? '{"score":true}' : messages[0]!.content,
  );
  const service = await startTestService({ modelProvider: { url: model.url } });
  const { call } = await connectClient(
    emptyHome(temporaryFolder(), {
      HEDDLE_BASE_URL: service.running.url,
      HEDDLE_USERNAME: account.name,
      HEDDLE_PASSWORD: account.password,
      HEDDLE_INFERENCE_KEY: account.token,
      HEDDLE_PROJECT: project_id,
    }),
  );
  const price = async (name: string) => {
    const costs = { [name]: { prompt_token_cost: 0.01, completion_token_cost: 0.07 } };
    expect((await service.send('POST', '/cost/create', basic, { project_id, costs })).status).toBe(200);
  };
  await call('create_dataset', { name: 'Questions', rows: ['a', 'b', 'c', 'd'].map((question) => ({ question })) });
  const scale = { type: 'boolean' };
  await call('create_scorer', { name: 'Good', kind: 'llm_judge', model: 'judge', prompt: 'Good? {output}', scale });
  const stored = await call('create_evaluation', { name: 'Answers', dataset: 'questions', scorers: ['good'] });
  expect(stored.error).toBeUndefined();
  return { call, price };
}

describe('the cost of a run', () => {
  it('is in USD, and names the models without a price once another has one', async () => {
    const { call, price } = await connect();
    const unknown = await call('run_evaluation', run);
    expect(unknown).not.toHaveProperty('cost');
    expect(unknown).not.toHaveProperty('unpriced_models');
    await price('small');
    const known = await call('run_evaluation', { ...run, prompt: 'Kindly: {question}' });
    expect(known).toMatchObject({ cost: 1.12, unpriced_models: ['judge'] });
    expect(known.text).toContain(
      '40 tokens, cost 1.12 USD, judges 40 tokens, no price is known for judge (`heddle price` stores it),',
    );
    const { runs, text } = await call('read_evaluation', { evaluation: 'Answers', limit: 1 });
    expect(runs).toMatchObject([{ cost: 1.12, unpriced_models: ['judge'] }]);
    expect(text).toContain('cost 1.12 USD, judges 40 tokens, no price is known for judge');
    const { text: totals } = await call('query_calls', { totals: true, filter: { include_evaluations: true } });
    expect(totals).toMatch(/cost 2\.24 USD\. No price is known for judge \(`heddle price` stores it\)\./);
  });

  it('is limited by a budget, of which a dry run says whether it ends the run', async () => {
    const { call } = await connect();
    const dry = await call('run_evaluation', { ...run, budget: { requests: 5 }, dry_run: true });
    expect(dry).toMatchObject({ status: 'dry_run', model_requests: 4, judge_requests: 4, budget: { requests: 5 } });
    expect(dry.text).toContain('\nThe budget {"requests":5} ends the run before that.\n');
    const enough = await call('run_evaluation', { ...run, budget: { requests: 8 }, dry_run: true });
    expect(enough.text).toContain('\nThe budget {"requests":8} limits the run.\n');
  });

  it('cannot be limited in USD without the prices of the models and judges, which is said before anything runs', async () => {
    const { call, price } = await connect();
    const limited = { ...run, budget: { usd: 1 } };
    for (const dry_run of [true, false]) {
      expect((await call('run_evaluation', { ...limited, dry_run })).error).toMatchObject({
        code: 'invalid_arguments',
        message:
          'Nothing was started: A budget in USD needs the price of the model small, and project team/costs has none.',
        hint: expect.stringMatching(
          /^The user can store it with `heddle price small --input USD --output USD --base-url .*`, for a million tokens each; or limit requests or tokens\.$/,
        ),
      });
    }
    await price('small');
    expect((await call('run_evaluation', limited)).error.message).toContain('the price of the model judge,');
    await price('judge');
    expect(await call('run_evaluation', { ...limited, dry_run: true })).toMatchObject({ budget: { usd: 1 } });
  });
});
