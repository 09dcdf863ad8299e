import { describe, expect, it } from 'vitest';
import { bodyOf, invalidAt, startServiceWithCalls } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();
const second = (n: number): string => `2026-02-01T00:00:0${n}Z`;
const recorded = [
  {
    id: 'agent',
    op_name: 'weave:///acme/support/op/agent:abc',
    ended: 4,
    usage: { small: { total_tokens: 30, prompt_tokens: 20, completion_tokens: 10 } },
  },
  {
    id: 'reply',
    op_name: 'reply',
    parent_id: 'agent',
    ended: 2,
    usage: { small: { total_tokens: 20, prompt_tokens: 15, completion_tokens: 5 } },
  },
  { id: 'failed', op_name: 'reply', ended: 1, exception: 'Error', usage: { other: { total_tokens: 4 } } },
];
for (const { id, ended, usage, ...call } of recorded) {
  const project_id = 'acme/support';
  const start = { ...call, project_id, id, started_at: second(0), attributes: {}, inputs: {} };
  const { exception } = call as { exception?: string };
  const end = { project_id, id, ended_at: second(ended), summary: { usage }, ...(exception && { exception }) };
  bodyOf(await service.post('/call/start', { start }));
  bodyOf(await service.post('/call/end', { end }));
}
await service.post('/cost/create', { costs: { small: { prompt_token_cost: 0.01, completion_token_cost: 0.1 } } });
const recent = {
  query: { $expr: { $gte: [{ $getField: 'started_at' }, { $literal: Date.parse('2026-02-01') / 1000 }] } },
};

describe('callTotals', () => {
  it('adds up the calls of each operation, with prices, and counts each token once', async () => {
    expect(bodyOf(await service.post('/calls/totals', recent))).toEqual({
      count: 3,
      has_more: false,
      operations: [
        {
          operation: 'reply',
          calls: 2,
          errors: 1,
          tokens: 24,
          cost: 0.65,
          latency_seconds: 1.5,
          p95_latency_seconds: 2,
        },
        { operation: 'agent', calls: 1, tokens: 10, cost: 0.55, latency_seconds: 4, p95_latency_seconds: 4 },
      ],
      unpriced_models: ['other'],
    });
  });

  it('adds up the newest calls up to the limit, and says that more match', async () => {
    expect(bodyOf(await service.post('/calls/totals', { filter: { op_names: ['plan', 'chat'] }, limit: 1 }))).toEqual({
      count: 1,
      has_more: true,
      operations: [{ operation: 'chat', calls: 1, latency_seconds: 0, p95_latency_seconds: 0 }],
      unpriced_models: [],
    });
    expect(await service.post('/calls/totals', { limit: 25_001 })).toMatchObject(invalidAt('body', 'limit'));
  });
});

describe('countCalls', () => {
  it.each([
    [['trace-0'], 6 + 3 - 2],
    [['trace-0', 'trace-1'], 6 + 3 - 4],
  ])('counts the calls that are not in the traces %j', async (traces, count) => {
    const isIn = { $in: [{ $getField: 'trace_id' }, traces.map((id) => ({ $literal: id }))] };
    const query = { $expr: { $not: [isIn] } };
    expect(bodyOf(await service.post('/calls/query_stats', { query }))).toEqual({ count });
    const both = { $expr: { $and: [{ $not: [isIn] }, { $eq: [{ $getField: 'exception' }, { $literal: null }] }] } };
    expect(bodyOf(await service.post('/calls/query_stats', { query: both }))).toEqual({ count: count - 1 });
  });
});
