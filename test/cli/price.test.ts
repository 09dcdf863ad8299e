import { describe, expect, it } from 'vitest';
import { call, emptyHome, run, temporaryFolder } from '../support/heddle.ts';

const environment = emptyHome(temporaryFolder());
const price = (...args: string[]) => run(['price', 'heddle/echo', ...args], environment);

describe('heddle price', () => {
  it('stores what a model costs, with which a budget in USD can be kept', async () => {
    const rows = [{ question: 'a' }, { question: 'b' }];
    await call('create_dataset', { name: 'Questions', rows }, environment);
    await call('create_scorer', { name: 'Found', kind: 'equals', expected: 'question' }, environment);
    const stored = { name: 'Answers', dataset: 'questions', scorers: ['found'] };
    expect((await call('create_evaluation', stored, environment)).code).toBe(0);
    const limited = {
      evaluation: 'Answers',
      model: 'heddle/echo',
      prompt: '{question}',
      budget: { usd: 1 },
      dry_run: true,
    };
    expect((await call('run_evaluation', limited, environment)).result.hint).toContain(
      '`node dist/heddle.js price heddle/echo --input USD --output USD`',
    );
    expect(await price('--input', '0.25', '--output', '2')).toMatchObject({
      code: 0,
      stdout: 'In demo/support, heddle/echo costs 0.25 USD for a million tokens of the messages and 2 of the reply.\n',
    });
    expect((await call('run_evaluation', limited, environment)).code).toBe(0);
  });

  it('refuses what is no price, and a server that changes nothing', async () => {
    const noPrice = await price('--input', 'free', '--output', '2');
    expect([noPrice.code, noPrice.stderr]).toEqual([2, expect.stringContaining('It must be a number.')]);
    const negative = await price('--input', '-1', '--output', '3');
    expect([negative.code, negative.stderr]).toEqual([2, expect.stringContaining('It must not be negative.')]);
    const readOnly = await price('--input', '1', '--output', '2', '--read-only');
    expect([readOnly.code, readOnly.stderr]).toEqual([2, expect.stringContaining('price changes data')]);
  });
});
