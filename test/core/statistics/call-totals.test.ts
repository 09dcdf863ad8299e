import { describe, expect, it } from 'vitest';
import { CallTotals } from '../../../src/core/statistics/call-totals.ts';

const used = (total_tokens: number, cost?: number, latency_ms?: number) => ({
  usage: { small: { total_tokens } },
  weave: {
    ...(latency_ms !== undefined && { latency_ms }),
    ...(cost !== undefined && {
      costs: { small: { prompt_tokens_total_cost: cost / 2, completion_tokens_total_cost: cost / 2 } },
    }),
  },
});

describe('CallTotals', () => {
  it('adds up errors, tokens, costs and latencies of each operation, the one with the most calls first', () => {
    const totals = new CallTotals();
    totals.add('plan', { id: '1', summary: used(5, 0.5, 200) });
    for (const [id, ms] of [100, 200, 300, 4000].entries()) {
      totals.add('chat', { id: `c${id}`, exception: id === 0 ? 'Error' : null, summary: used(10, 0.25, ms) });
    }
    expect(totals.byOperation()).toEqual([
      { operation: 'chat', calls: 4, errors: 1, tokens: 40, cost: 1, latency_seconds: 1.15, p95_latency_seconds: 4 },
      { operation: 'plan', calls: 1, tokens: 5, cost: 0.5, latency_seconds: 0.2, p95_latency_seconds: 0.2 },
    ]);
    expect(totals.size).toBe(5);
  });

  it('counts each token once where calls are recorded with what the calls used that they made', () => {
    const totals = new CallTotals();
    totals.add('agent', { id: 'a', summary: used(30, 3) });
    totals.add('chat', { id: 'b', parent_id: 'a', summary: used(10, 1) });
    totals.add('chat', { id: 'c', parent_id: 'a', summary: used(15, 1.5) });
    expect(totals.byOperation()).toEqual([
      { operation: 'chat', calls: 2, tokens: 25, cost: 2.5 },
      { operation: 'agent', calls: 1, tokens: 5, cost: 0.5 },
    ]);
  });

  it('has no cost for a call whose calls cost as much, whatever the rounding', () => {
    const totals = new CallTotals();
    totals.add('run', { id: 'a', summary: used(30, 0.3) });
    totals.add('ask', { id: 'b', parent_id: 'a', summary: used(10, 0.1) });
    totals.add('ask', { id: 'c', parent_id: 'a', summary: used(10, 0.19999999999999996) });
    expect(totals.byOperation()).toEqual([
      { operation: 'ask', calls: 2, tokens: 20, cost: 0.3 },
      { operation: 'run', calls: 1, tokens: 10 },
    ]);
  });

  it('counts the tokens of calls whose parent has none, or was not added', () => {
    const totals = new CallTotals();
    totals.add('agent', { id: 'a', summary: null });
    totals.add('chat', { id: 'b', parent_id: 'a', summary: used(10) });
    totals.add('chat', { id: 'c', parent_id: 'elsewhere', summary: used(7) });
    expect(totals.byOperation()).toEqual([
      { operation: 'chat', calls: 2, tokens: 17 },
      { operation: 'agent', calls: 1 },
    ]);
  });

  it('takes prompt and completion tokens where there is no sum, and names models without a price', () => {
    const totals = new CallTotals();
    const usage = { small: { input_tokens: 3, output_tokens: 4 }, large: { prompt_tokens: 5 }, none: { requests: 1 } };
    totals.add('chat', { id: '1', summary: { usage } });
    expect(totals.byOperation()).toEqual([{ operation: 'chat', calls: 1, tokens: 12 }]);
    expect(totals.report().unpriced_models).toEqual(['large', 'small']);
  });

  it('adds a call once', () => {
    const totals = new CallTotals();
    for (const id of ['1', '1']) totals.add('chat', { id, summary: used(1) });
    expect(totals.byOperation()).toEqual([{ operation: 'chat', calls: 1, tokens: 1 }]);
  });
});
