import { describe, expect, it } from 'vitest';
import { bodyOf, startServiceWithCalls } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();

/** Returns the ids of the calls that a query finds, in their order. */
async function found(request: object): Promise<string[]> {
  return bodyOf(await service.post('/calls/stream_query', request)).map(({ id }: { id: string }) => id);
}

describe('POST /call/read', () => {
  it('accepts include_costs', async () => {
    expect(bodyOf(await service.post('/call/read', { id: 'call-0', include_costs: false })).call.id).toBe('call-0');
  });

  it('returns null for an unknown call', async () => {
    expect(bodyOf(await service.post('/call/read', { id: 'nope' }))).toEqual({ call: null });
  });

  it('returns every member of a recorded call', async () => {
    const { call } = bodyOf(await service.post('/call/read', { id: 'call-0' }));
    expect(Object.keys(call).sort()).toEqual([
      'attributes',
      'deleted_at',
      'display_name',
      'ended_at',
      'exception',
      'id',
      'inputs',
      'op_name',
      'output',
      'parent_id',
      'project_id',
      'started_at',
      'storage_size_bytes',
      'summary',
      'thread_id',
      'total_storage_size_bytes',
      'trace_id',
      'turn_id',
      'wb_run_id',
      'wb_run_step',
      'wb_run_step_end',
      'wb_user_id',
    ]);
    expect(call).toMatchObject({
      id: 'call-0',
      project_id: 'acme/support',
      op_name: 'plan',
      trace_id: 'trace-0',
      inputs: { prompt: 'prompt 0', n: 0 },
      output: { text: 'response 0' },
    });
  });
});

describe('POST /calls/stream_query', () => {
  it('returns all calls for an empty filter, in the order in which they started', async () => {
    expect(await found({ filter: {}, include_costs: false, limit: 1000 })).toEqual([
      'call-0',
      'call-1',
      'call-2',
      'call-3',
      'call-4',
      'call-5',
    ]);
  });

  it.each([
    [{ op_names: ['chat'] }, ['call-1', 'call-3', 'call-5']],
    [{ op_names: ['nope'] }, []],
    [{ trace_ids: ['trace-0', 'trace-2'] }, ['call-0', 'call-1', 'call-4', 'call-5']],
    [{ call_ids: ['call-4', 'call-2', 'nope'] }, ['call-2', 'call-4']],
    [{ trace_ids: ['trace-1'], op_names: ['chat'] }, ['call-3']],
  ])('returns the calls that match the filter %j', async (filter, expected) => {
    expect(await found({ filter })).toEqual(expected);
  });

  it.each([
    [{ trace_roots_only: true }, ['root', 'other-root']],
    [{ trace_roots_only: false }, ['root', 'child', 'grandchild', 'other-root']],
    [{ parent_ids: ['root'] }, ['child']],
    [{ parent_ids: ['root', 'child'] }, ['child', 'grandchild']],
  ])('filters calls by their parents: %j', async (filter, expected) => {
    const project_id = 'acme/parents';
    await service.importCalls(project_id, [
      { call_id: 'root', call_started_at: '2026-01-01T00:00:00Z' },
      { call_id: 'child', call_started_at: '2026-01-02T00:00:00Z', call: { parent_id: 'root' } },
      { call_id: 'grandchild', call_started_at: '2026-01-03T00:00:00Z', call: { parent_id: 'child' } },
      { call_id: 'other-root', call_started_at: '2026-01-04T00:00:00Z', call_trace_id: 'other' },
    ]);
    expect(await found({ project_id, filter })).toEqual(expected);
  });

  it('sorts by started_at, the latest first', async () => {
    expect(await found({ sort_by: [{ field: 'started_at', direction: 'desc' }], limit: 1 })).toEqual(['call-5']);
  });

  it('sorts by an input, the highest number first', async () => {
    const sort_by = [{ field: 'inputs.n', direction: 'desc' }];
    expect(await found({ sort_by })).toEqual(['call-5', 'call-4', 'call-3', 'call-2', 'call-1', 'call-0']);
  });

  const opName = { $getField: 'op_name' };
  const prompt = { $getField: 'inputs.prompt' };
  const n = { $convert: { input: { $getField: 'inputs.n' }, to: 'double' } };
  const isChat = { $eq: [opName, { $literal: 'chat' }] };

  it.each([
    ['$eq', isChat, ['call-1', 'call-3', 'call-5']],
    ['$eq of an input', { $eq: [prompt, { $literal: 'prompt 2' }] }, ['call-2']],
    ['$not', { $not: [isChat] }, ['call-0', 'call-2', 'call-4']],
    ['$gt of a number', { $gt: [n, { $literal: 3 }] }, ['call-4', 'call-5']],
    ['$gte of a number', { $gte: [n, { $literal: 3 }] }, ['call-3', 'call-4', 'call-5']],
    ['$in', { $in: [prompt, [{ $literal: 'prompt 4' }, { $literal: 'prompt 1' }]] }, ['call-1', 'call-4']],
    ['$contains', { $contains: { input: opName, substr: { $literal: 'la' } } }, ['call-0', 'call-2', 'call-4']],
    ['$contains in another case', { $contains: { input: prompt, substr: { $literal: 'PROMPT 4' } } }, []],
    [
      '$contains that ignores case',
      { $contains: { input: prompt, substr: { $literal: 'PROMPT 4' }, case_insensitive: true } },
      ['call-4'],
    ],
    [
      '$convert to string',
      { $eq: [{ $convert: { input: { $getField: 'inputs.n' }, to: 'string' } }, { $literal: '2' }] },
      ['call-2'],
    ],
    ['$and', { $and: [isChat, { $gt: [n, { $literal: 1 }] }] }, ['call-3', 'call-5']],
    [
      '$or',
      { $or: [{ $eq: [prompt, { $literal: 'prompt 0' }] }, { $gt: [n, { $literal: 4 }] }] },
      ['call-0', 'call-5'],
    ],
  ])('returns the calls that satisfy an expression: %s', async (_, $expr, expected) => {
    expect(await found({ query: { $expr } })).toEqual(expected);
  });

  it('reads nested inputs along a dotted path', async () => {
    const project_id = 'acme/nested';
    await service.importCalls(project_id, [
      { call_id: 'urgent', call: { inputs: { ticket: { priority: 'high' } } } },
      { call_id: 'calm', call: { inputs: { ticket: { priority: 'low' } } } },
      { call_id: 'unknown', call: { inputs: {} } },
    ]);
    const $expr = { $eq: [{ $getField: 'inputs.ticket.priority' }, { $literal: 'high' }] };
    expect(await found({ project_id, query: { $expr } })).toEqual(['urgent']);
  });

  it('replaces a reference in an expanded column with the value of the object, which names it in _ref', async () => {
    const project_id = 'acme/expanded';
    const ticket = await service.createObject('ticket', { title: 'Late parcel' }, { project_id });
    await service.importCalls(project_id, [{ call_id: 'c', call: { inputs: { ticket, other: ticket } } }]);
    const [call] = bodyOf(await service.post('/calls/stream_query', { project_id, expand_columns: ['inputs.ticket'] }));
    expect(call.inputs).toEqual({ ticket: { title: 'Late parcel', _ref: ticket }, other: ticket });
  });
});

describe('POST /calls/query_stats', () => {
  it.each([
    ['all calls of the project', {}, 6],
    ['the calls that match a filter', { filter: { op_names: ['chat'] } }, 3],
    [
      'the calls that satisfy an expression',
      { query: { $expr: { $eq: [{ $getField: 'inputs.prompt' }, { $literal: 'prompt 2' }] } } },
      1,
    ],
  ])('counts %s', async (_, request, count) => {
    expect(bodyOf(await service.post('/calls/query_stats', request))).toMatchObject({ count });
  });
});
