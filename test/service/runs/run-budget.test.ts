import { describe, expect, it } from 'vitest';
import { type Booking, BudgetReached, RunBudget } from '../../../src/service/runs/run-budget.ts';
import { startTestService } from '../../support/embedded-service.ts';
import { EvaluationSetup } from '../../support/evaluation-setup.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';

/** Ends a request of a booking that took 10 tokens. */
function settle(booking: Booking | undefined, tokens = 10): void {
  booking!.begin();
  booking!.end('small', 0, {
    usage: { prompt_tokens: tokens - 3, completion_tokens: 3, total_tokens: tokens },
    chars: 0,
  });
}

describe('RunBudget', () => {
  it('books no more requests than its limit, and refuses one that was not booked', () => {
    const budget = new RunBudget({ requests: 3 }, undefined, {});
    const booking = budget.book(2);
    expect(budget.book(2)).toBeUndefined();
    settle(booking);
    settle(booking);
    settle(booking);
    expect(() => booking!.begin()).toThrow(BudgetReached);
    expect(budget.spent).toEqual({ requests: 3, tokens: 30 });
  });

  it('sends one trial until it knows what requests take, and then reckons with the largest', () => {
    const budget = new RunBudget({ tokens: 100 }, undefined, {});
    const first = budget.book(1);
    expect(budget.book(1)).toBeUndefined();
    settle(first, 30);
    expect(budget.book(3)).toBeUndefined();
    expect(budget.book(2)).toBeDefined();
    expect(budget.book(1)).toBeUndefined();
  });

  it('has at most as many requests in progress as have ended, so that the first ones cannot exceed a small limit', () => {
    const budget = new RunBudget({ tokens: 1000 }, undefined, {});
    const opened: number[] = [];
    for (let open = [budget.book(1)]; open.length > 0; ) {
      opened.push(open.length);
      for (const booking of open) settle(booking, budget.spent.requests === 0 ? 110 : 400);
      open = [];
      for (let next = budget.book(1); next; next = budget.book(1)) open.push(next);
    }
    expect([opened, budget.spent]).toEqual([[1, 1, 1], { requests: 3, tokens: 910 }]);
  });

  it('adds up costs by the prices of the models, and estimates tokens that were not counted', () => {
    const budget = new RunBudget({ usd: 1 }, { small: { prompt: 0.01, completion: 0.02 } }, {});
    const booking = budget.book(2);
    settle(booking);
    booking!.begin();
    booking!.end('small', 40, { usage: undefined, chars: 8 });
    expect(budget.spent).toEqual({ requests: 2, tokens: 22, usd: 0.27 });
  });

  it('stores booked requests as if they had been sent, until they are released', () => {
    const budget = new RunBudget({ requests: 9 }, undefined, {});
    const booking = budget.book(2);
    settle(booking);
    expect(budget.toStored()).toMatchObject({ requests: 2, tokens: 20 });
    booking!.release();
    expect(budget.toStored()).toMatchObject({ requests: 1, tokens: 10 });
    expect(new RunBudget({ requests: 9 }, undefined, budget.toStored()).spent).toEqual({ requests: 1, tokens: 10 });
  });
});

describe('a run with a budget', () => {
  const rows = Array.from({ length: 12 }, (_, index) => ({ question: `q${index}` }));

  async function setUp() {
    const model = await startScriptedModel(({ model: name }) => (name === 'judge' ? '{"score":1}' : 'yes'));
    const setup = new EvaluationSetup(await startTestService({ modelProvider: { url: model.url } }));
    const judge = await setup.judge('rated', { scoring_prompt: '{output} {question}' });
    const evaluation = await setup.evaluation(await setup.dataset(rows), [judge]);
    return {
      model,
      setup,
      start: async (budget: object) => setup.start(evaluation, await setup.model('{question}'), { budget }),
    };
  }

  it('ends before it sends more requests, and can go on with another budget', async () => {
    const { model, setup, start } = await setUp();
    const run = await start({ requests: 9 });
    expect(await setup.ended(run)).toEqual({
      code: 'failed',
      error:
        'Stopped by its budget of 9 requests: 4 of 12 predictions took 8 requests and 80 tokens, and the next could exceed it.',
    });
    expect(model.asked).toHaveLength(8);
    expect(Object.keys(await setup.trials(run))).toHaveLength(4);
    const { call_id } = await setup.post('/evaluations/resume', { call_id: run, budget: { requests: 16 } });
    expect(await setup.ended(call_id)).toMatchObject({ code: 'complete' });
    expect(model.asked).toHaveLength(24);
  });

  it('says what it cost where all its models have a price, whatever its limit', async () => {
    const { setup, start } = await setUp();
    const price = { prompt_token_cost: 0.01, completion_token_cost: 0.01 };
    await setup.post('/cost/create', { costs: { small: price } });
    expect((await setup.ended(await start({ requests: 3 }))).error).toContain('took 2 requests and 20 tokens,');
    await setup.post('/cost/create', { costs: { judge: price } });
    // The judge's score of the first row is kept.
    expect((await setup.ended(await start({ requests: 5 }))).error).toContain(
      'took 5 requests, 50 tokens and 0.5 USD,',
    );
  });

  it('ends before it takes more tokens', async () => {
    const { model, setup, start } = await setUp();
    expect(await setup.ended(await start({ tokens: 75 }))).toMatchObject({ code: 'failed' });
    expect(model.asked.length).toBeLessThanOrEqual(7);
    expect(model.asked.length).toBeGreaterThanOrEqual(5);
  });

  it('needs prices for a limit in USD, and ends before it costs more', async () => {
    const { model, setup } = await setUp();
    const refused = await setup.send('/evaluations/evaluate_model', await bodyOf(setup, { usd: 1 }));
    expect(refused.status).toBe(400);
    expect(refused.body.reason).toContain('A budget in USD needs the price of the model small');
    const price = { prompt_token_cost: 0.01, completion_token_cost: 0.01 };
    await setup.post('/cost/create', { costs: { small: price, judge: price } });
    const { call_id } = await setup.post('/evaluations/evaluate_model', await bodyOf(setup, { usd: 0.65 }));
    expect(await setup.ended(call_id)).toMatchObject({ code: 'failed' });
    expect(model.asked).toHaveLength(6);
  });

  async function bodyOf(setup: EvaluationSetup, budget: object) {
    const judge = await setup.judge('rated', { scoring_prompt: '{output} {question}' });
    const evaluation_ref = await setup.evaluation(await setup.dataset(rows), [judge]);
    return { evaluation_ref, model_ref: await setup.model('{question}'), budget };
  }
});
