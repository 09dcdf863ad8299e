import { describe, expect, it } from 'vitest';
import { bodyOf, startServiceWithCalls } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();
const project_id = 'acme/usage';
const usage = (tokens: number) => ({
  model: { requests: 1, input_tokens: tokens, output_tokens: 1, total_tokens: tokens + 1 },
});
const calls = Array.from({ length: 60 }, (_, n) => ({
  project_id,
  id: `call-${n}`,
  trace_id: `trace-${n}`,
  op_name: 'chat',
  started_at: `2026-02-01T00:${String(n).padStart(2, '0')}:00.000Z`,
  ended_at: `2026-02-01T00:${String(n).padStart(2, '0')}:0${n % 3}.500Z`,
  attributes: {},
  inputs: { text: n === 0 ? 'é'.repeat(10_000) : 'é' },
  output: 'ok',
  summary: n % 2 === 0 ? { usage: usage(n) } : {},
  ...(n === 7 && { exception: 'Error' }),
}));
bodyOf(await service.post('/v2/acme/usage/calls/complete', { batch: calls }));

describe('callsStats', () => {
  it('computes each figure of a span, of short and long calls alike', async () => {
    const aggregations = ['sum', 'avg', 'min', 'max'];
    const body = {
      project_id,
      start: '2026-02-01T00:00:00Z',
      end: '2026-02-01T02:00:00Z',
      usage_metrics: [{ metric: 'input_tokens', aggregations }],
      call_metrics: ['latency_ms', 'error_count'].map((metric) => ({ metric, aggregations })),
    };
    const { usage_buckets, call_buckets } = bodyOf(await service.post('/calls/stats', body));
    expect(usage_buckets).toEqual([
      {
        timestamp: '2026-02-01T00:00:00',
        model: 'model',
        sum_input_tokens: 870,
        avg_input_tokens: 29,
        min_input_tokens: 0,
        max_input_tokens: 58,
        count: 30,
      },
      {
        timestamp: '2026-02-01T01:00:00',
        model: 'model',
        sum_input_tokens: 0,
        avg_input_tokens: null,
        min_input_tokens: null,
        max_input_tokens: null,
        count: 0,
      },
    ]);
    expect(call_buckets[0]).toEqual({
      timestamp: '2026-02-01T00:00:00',
      sum_latency_ms: 90_000,
      avg_latency_ms: 1500,
      min_latency_ms: 500,
      max_latency_ms: 2500,
      sum_error_count: 1,
      avg_error_count: 1 / 60,
      min_error_count: 0,
      max_error_count: 1,
      count: 60,
    });
  });

  it('computes the same figures of calls without their usage', async () => {
    const call_metrics = ['latency_ms', 'error_count', 'call_count'].map((metric) => ({
      metric,
      aggregations: ['sum', 'min', 'max'],
    }));
    const body = { project_id, start: '2026-02-01T00:00:00Z', end: '2026-02-01T02:00:00Z', call_metrics };
    expect(bodyOf(await service.post('/calls/stats', body)).call_buckets).toEqual([
      {
        timestamp: '2026-02-01T00:00:00',
        sum_latency_ms: 90_000,
        min_latency_ms: 500,
        max_latency_ms: 2500,
        sum_error_count: 1,
        min_error_count: 0,
        max_error_count: 1,
        sum_call_count: 60,
        min_call_count: 1,
        max_call_count: 1,
        count: 60,
      },
      {
        timestamp: '2026-02-01T01:00:00',
        sum_latency_ms: 0,
        min_latency_ms: null,
        max_latency_ms: null,
        sum_error_count: 0,
        min_error_count: null,
        max_error_count: null,
        sum_call_count: 0,
        min_call_count: null,
        max_call_count: null,
        count: 0,
      },
    ]);
  });

  it.each([
    ['spans of an hour', '00:00:00', '02:00:00', 3600, [60, 0]],
    ['spans of a minute', '00:58:00', '01:00:00', 60, [1, 1]],
    ['spans of 90 seconds', '00:00:00', '00:06:00', 90, [2, 1, 2, 1]],
    ['spans of which the first begins before the start', '00:00:00.500', '00:03:00.500', 120, [1, 2]],
    ['spans of which the first and the last are cut', '00:03:00', '01:03:00', 3600, [57, 0]],
  ])('counts the calls of %s', async (_, start, end, granularity, counts) => {
    const body = {
      project_id,
      start: `2026-02-01T${start}Z`,
      end: `2026-02-01T${end}Z`,
      granularity,
      call_metrics: [{ metric: 'call_count', aggregations: ['sum'] }],
    };
    const { call_buckets } = bodyOf(await service.post('/calls/stats', body));
    expect(call_buckets.map(({ sum_call_count }: { sum_call_count: number }) => sum_call_count)).toEqual(counts);
  });

  it('adds up only the calls with a reference in their inputs', async () => {
    const reference = 'weave:///acme/usage/object/prompt:abc';
    const call = {
      ...calls[1],
      id: 'with-reference',
      started_at: '2026-02-02T00:00:00Z',
      inputs: { prompt: reference },
    };
    bodyOf(
      await service.post('/v2/acme/usage/calls/complete', { batch: [{ ...call, ended_at: '2026-02-02T00:00:01Z' }] }),
    );
    const body = {
      project_id,
      start: '2026-02-02T00:00:00Z',
      end: '2026-02-03T00:00:00Z',
      granularity: 86_400,
      filter: { input_refs: [reference] },
      call_metrics: [{ metric: 'call_count', aggregations: ['sum'] }],
    };
    const { call_buckets } = bodyOf(await service.post('/calls/stats', body));
    expect(call_buckets).toEqual([{ timestamp: '2026-02-02T00:00:00', sum_call_count: 1, count: 1 }]);
  });

  it('has only the buckets of the metrics that are asked for, as the public service', async () => {
    const body = { project_id, start: '2026-02-01T00:00:00Z', end: '2026-02-01T01:00:00Z' };
    const aggregations = ['sum'];
    const usage_metrics = [{ metric: 'total_tokens', aggregations }];
    const call_metrics = [{ metric: 'call_count', aggregations }];
    const ofUsage = [{ timestamp: '2026-02-01T00:00:00', model: 'model', sum_total_tokens: 900, count: 30 }];
    const ofCalls = [{ timestamp: '2026-02-01T00:00:00', sum_call_count: 60, count: 60 }];
    const bucketsOf = async (metrics: object) => {
      const { usage_buckets, call_buckets } = bodyOf(await service.post('/calls/stats', { ...body, ...metrics }));
      return { usage_buckets, call_buckets };
    };
    expect(await bucketsOf({})).toEqual({ usage_buckets: [], call_buckets: [] });
    expect(await bucketsOf({ usage_metrics })).toEqual({ usage_buckets: ofUsage, call_buckets: [] });
    expect(await bucketsOf({ call_metrics })).toEqual({ usage_buckets: [], call_buckets: ofCalls });
  });
});

describe('callsUsage', () => {
  it('reads the traces of all calls that are asked for, however many', async () => {
    const call_ids = calls.map(({ id }) => id);
    const { call_usage } = bodyOf(await service.post('/calls/usage', { project_id, call_ids }));
    expect(Object.keys(call_usage).length).toBe(60);
    expect(call_usage['call-58'].model.total_tokens).toBe(59);
  });
});

describe('projectStats', () => {
  it('measures the bytes of the JSON of calls, as countCalls does', async () => {
    const stored = { project_id: 'acme/measured', inputs: { text: 'é' }, output: 'ok', summary: {} };
    bodyOf(await service.post('/v2/acme/measured/calls/complete', { batch: [{ ...calls[0], ...stored }] }));
    const ofProject = { project_id: 'acme/measured' };
    expect(bodyOf(await service.post('/project/stats', ofProject)).trace_storage_size_bytes).toBe(23);
    const counted = await service.post('/calls/query_stats', { ...ofProject, include_total_storage_size: true });
    expect(bodyOf(counted)).toEqual({ count: 1, total_storage_size_bytes: 23 });
  });
});
