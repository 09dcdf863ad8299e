import { describe, expect, it } from 'vitest';
import { basic, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService({ sample: true });

const read = (project_id: string, id: string) => service.send('POST', '/call/read', basic, { project_id, id });

async function recordAll(projectId: string, calls: object[]): Promise<void> {
  const members = { call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
  const lines = calls.map((call) => JSON.stringify({ ...members, ...call }));
  await withStore(service.data, (store) => store.importItems(lines, { projectId, queueId: 'q' }));
}

const record = (call_id: string, call: object): Promise<void> => recordAll('p/q', [{ call_id, call }]);

describe('calls', () => {
  it('returns every member of a call of the sample project', async () => {
    const { status, body } = await read('demo/support', 'support-0001');
    expect([status, body]).toEqual([
      200,
      {
        call: {
          id: 'support-0001',
          project_id: 'demo/support',
          op_name: 'support.answer',
          display_name: null,
          trace_id: 'trace-support-0001',
          parent_id: null,
          started_at: '2026-01-12T09:00:00.000Z',
          ended_at: '2026-01-12T09:00:01.800Z',
          attributes: {},
          inputs: { question: 'Why was I charged twice in March?' },
          output: {
            answer: 'The second charge was a failed retry; it is refunded and will be back within five working days.',
          },
          summary: { weave: { status: 'success', trace_name: 'support.answer', latency_ms: 1800 } },
          exception: null,
          wb_user_id: null,
          wb_run_id: null,
          thread_id: null,
          turn_id: null,
          wb_run_step: null,
          wb_run_step_end: null,
          deleted_at: null,
          storage_size_bytes: null,
          total_storage_size_bytes: null,
        },
      },
    ]);
  });

  it('returns unknown recorded members, which cannot override the id, project, times and operation', async () => {
    await record('rich', {
      display_name: 'Answer',
      parent_id: 'parent',
      attributes: { env: 'test' },
      inputs: [1],
      output: 'text',
      summary: { usage: {} },
      exception: { type: 'ValueError' },
      wb_user_id: 'ada',
      wb_run_id: 12,
      deleted_at: 5,
      thread: 7,
      id: 'other',
      project_id: 'p/other',
      op_name: 5,
    });
    expect((await read('p/q', 'rich')).body).toEqual({
      call: {
        id: 'rich',
        project_id: 'p/q',
        op_name: 'op',
        display_name: 'Answer',
        trace_id: 't',
        parent_id: 'parent',
        started_at: '2026-01-01T00:00:00.000Z',
        ended_at: null,
        attributes: { env: 'test' },
        inputs: [1],
        output: 'text',
        summary: { usage: {}, weave: { status: 'error', display_name: 'Answer' } },
        exception: '{"type":"ValueError"}',
        wb_user_id: 'ada',
        wb_run_id: '12',
        thread_id: null,
        turn_id: null,
        wb_run_step: null,
        wb_run_step_end: null,
        deleted_at: '5',
        storage_size_bytes: null,
        total_storage_size_bytes: null,
        thread: 7,
      },
    });
  });

  it('returns null for a call that the project does not have', async () => {
    await record('mine', {});
    for (const [project, id] of [
      ['p/q', 'nothing'],
      ['p/other', 'mine'],
      ['p/q', "mine' or '1'='1"],
    ] as const) {
      expect(await read(project, id)).toMatchObject({ status: 200, body: { call: null } });
    }
  });

  it('keeps concurrent requests for different calls and by different accounts apart', async () => {
    const ada = await withStore(service.data, async (store) => {
      const line = {
        call_id: 'support-0001',
        call_op_name: 'mine',
        call_trace_id: 't',
        call_started_at: '2026-01-01T00:00:00Z',
      };
      await store.importItems([JSON.stringify(line)], { projectId: 'p/q', queueId: 'q' });
      return store.addUser('ada', 'all');
    });
    const right = `Basic ${btoa(`ada:${ada.password}`)}`;
    const wrong = `Basic ${btoa('ada:wrong')}`;
    const asked = Array.from({ length: 50 }, (_, index) => ({
      who: index % 5 === 4 ? wrong : right,
      project_id: index % 2 ? 'demo/support' : 'p/q',
      id: `support-${String((index % 12) + 1).padStart(4, '0')}`,
    }));
    const answers = await Promise.all(asked.map(({ who, ...body }) => service.send('POST', '/call/read', who, body)));
    asked.forEach(({ who, project_id, id }, index) => {
      const { status, body } = answers[index]!;
      if (who === wrong) expect([status, body]).toEqual([401, { reason: '401 Error' }]);
      else if (project_id === 'p/q' && id !== 'support-0001') expect([status, body]).toEqual([200, { call: null }]);
      else expect([status, body.call.project_id, body.call.id]).toEqual([200, project_id, id]);
    });
  });

  /** Queries calls and returns the lines of the response. */
  async function query(body: object) {
    const { status, headers, body: text } = await service.send('POST', '/calls/stream_query', basic, body);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    return (text as string)
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  it('streams the requested calls and leaves out those that the project does not have', async () => {
    const call_ids = ['support-0003', 'nothing', 'support-0001', 'support-0003', "x' or '1'='1"];
    const calls = await query({ project_id: 'demo/support', filter: { call_ids } });
    expect(calls.map(({ id }) => id)).toEqual(['support-0001', 'support-0003']);
    expect(calls[1]).toEqual((await read('demo/support', 'support-0003')).body.call);
    expect(await query({ project_id: 'p/nobody', filter: { call_ids } })).toEqual([]);
  });

  it('sorts calls by start and id, and pages them', async () => {
    const lines = [
      ['b', '2026-01-02'],
      ['c', '2026-01-01'],
      ['a', '2026-01-02'],
    ].map(([call_id, day]) =>
      JSON.stringify({ call_id, call_op_name: 'op', call_trace_id: 't', call_started_at: `${day}T00:00:00Z` }),
    );
    await withStore(service.data, (store) => store.importItems(lines, { projectId: 'p/order', queueId: 'q' }));
    const ids = async (body: object) => (await query({ project_id: 'p/order', ...body })).map(({ id }) => id);
    expect(await ids({})).toEqual(['c', 'a', 'b']);
    expect(await ids({ filter: { call_ids: [] }, columns: [] })).toEqual(['c', 'a', 'b']);
    expect(await ids({ filter: null, limit: null, offset: null, columns: null })).toEqual(['c', 'a', 'b']);
    expect(await ids({ limit: 2 })).toEqual(['c', 'a']);
    expect(await ids({ limit: 2, offset: 2 })).toEqual(['b']);
    expect(await ids({ limit: 0 })).toEqual([]);
  });

  it('empties members outside the requested columns, except those that identify the call', async () => {
    const inputs = { x: [{ y: 1, z: 2 }], deep: { a: 1, b: { c: null, d: 'd' } }, other: 'other' };
    await record('narrow', { inputs, output: 'text', summary: { usage: {} }, thread: 7 });
    const empty = {
      id: 'narrow',
      project_id: 'p/q',
      op_name: 'op',
      display_name: null,
      trace_id: 't',
      parent_id: null,
      started_at: '2026-01-01T00:00:00.000Z',
      ended_at: null,
      attributes: {},
      inputs: {},
      output: null,
      summary: null,
      exception: null,
      wb_user_id: null,
      wb_run_id: null,
      thread_id: null,
      turn_id: null,
      wb_run_step: null,
      wb_run_step_end: null,
      deleted_at: null,
      storage_size_bytes: null,
      total_storage_size_bytes: null,
    };
    const narrow = async (...columns: string[]) =>
      (await query({ project_id: 'p/q', filter: { call_ids: ['narrow'] }, columns }))[0];
    expect(await narrow('id', 'display_name')).toEqual(empty);
    expect(await narrow('inputs', 'inputs.x', 'summary')).toEqual({
      ...empty,
      inputs,
      summary: { usage: {}, weave: { status: 'running', trace_name: 'op' } },
    });
    // As at the public service, a part of a member is the whole member.
    expect(await narrow('inputs.deep.b.c', 'output.text')).toEqual({ ...empty, inputs, output: 'text' });
    expect(await narrow('inputs.__proto__')).toEqual({ ...empty, inputs });
  });

  it.each(['nonsense', 'inputsx', '', 'constructor.name'])(
    'refuses the column and the sort field %j',
    async (field) => {
      const body = { project_id: 'p/q', columns: [field] };
      const sorted = { project_id: 'p/q', sort_by: [{ field, direction: 'asc' }] };
      for (const request of [body, sorted]) {
        expect(await service.send('POST', '/calls/stream_query', basic, request)).toMatchObject({
          status: 403,
          body: { reason: `Field ${field} is not allowed` },
        });
      }
    },
  );

  it('reads a call with members that only the public service knows', async () => {
    const body = { project_id: 'demo/support', id: 'support-0001', include_costs: true, include_storage_size: true };
    expect(await service.send('POST', '/call/read', basic, body)).toMatchObject({
      status: 200,
      body: { call: { id: 'support-0001' } },
    });
  });

  it('accepts a query with unknown members, and null for every optional member', async () => {
    const nulls = { filter: null, query: null, sort_by: null, limit: null, offset: null, columns: null };
    const extras = { include_costs: true, include_feedback: false, colour: 'red' };
    const calls = await query({ project_id: 'demo/support', ...nulls, expand_columns: null, ...extras });
    expect(calls).toHaveLength(12);
    const filter = {
      call_ids: null,
      op_names: null,
      trace_ids: null,
      parent_ids: null,
      thread_ids: null,
      turn_ids: null,
      input_refs: null,
      output_refs: null,
      wb_user_ids: null,
      wb_run_ids: null,
      trace_roots_only: null,
      colour: 'red',
    };
    expect(await query({ project_id: 'demo/support', filter })).toHaveLength(12);
  });

  it.each([
    [{}, ['body', 'project_id'], 'missing'],
    [{ project_id: 'p/q', limit: -1 }, ['body', 'limit'], 'greater_than_equal'],
    [{ project_id: 'p/q', offset: 1.5 }, ['body', 'offset'], 'int_type'],
    [{ project_id: 'p/q', filter: { call_ids: 'a' } }, ['body', 'filter', 'call_ids'], 'array_type'],
    [{ project_id: 'p/q', filter: { op_names: [1] } }, ['body', 'filter', 'op_names', 0], 'string_type'],
    [{ project_id: 'p/q', columns: 'id' }, ['body', 'columns'], 'array_type'],
    [{ project_id: 'p/q', sort_by: [{ field: 'id' }] }, ['body', 'sort_by', 0, 'direction'], 'enum'],
    [{ project_id: 'p/q', query: {} }, ['body', 'query', '$expr'], 'missing'],
    [{ project_id: 'p/q', query: { $expr: [] } }, ['body', 'query', '$expr'], 'record_type'],
  ])('refuses the invalid query %j', async (body, loc, type) => {
    expect(await service.send('POST', '/calls/stream_query', basic, body)).toMatchObject({
      status: 422,
      body: { detail: [{ loc, type }] },
    });
  });

  it('sorts calls by members of any depth, those without a value last', async () => {
    const project_id = 'p/sorted';
    await recordAll(project_id, [
      { call_id: 'a', call_op_name: 'y', call_ended_at: '2026-01-02T00:00:00Z', call: { inputs: { n: 2, s: 'x' } } },
      { call_id: 'b', call_op_name: 'x', call: { inputs: { n: 10, s: 'X' } } },
      { call_id: 'c', call_op_name: 'y', call_ended_at: '2026-01-03T00:00:00Z', call: { inputs: { s: null } } },
      { call_id: 'd', call_op_name: 'x', call: { inputs: { n: 2, s: { toString: 1, valueOf: 1 } } } },
    ]);
    const sorted = async (...keys: string[]) => {
      const sort_by = keys.map((key) => {
        const [field, direction] = key.split(' ');
        return { field, direction };
      });
      return (await query({ project_id, sort_by })).map(({ id }) => id).join(' ');
    };
    expect(await sorted('inputs.n asc')).toBe('a d b c');
    expect(await sorted('inputs.n desc')).toBe('b a d c');
    expect(await sorted('inputs.s asc')).toBe('b a d c');
    expect(await sorted('op_name asc', 'inputs.n desc')).toBe('b d a c');
    expect(await sorted('ended_at asc')).toBe('a c b d');
    expect(await sorted('ended_at desc')).toBe('c a b d');
    expect(await sorted('started_at asc', 'id desc')).toBe('d c b a');
    expect(await sorted('op_name desc')).toBe('a c b d');
    const sort_by = [{ field: 'inputs.n', direction: 'asc' }];
    expect((await query({ project_id, sort_by, limit: 2, offset: 1 })).map(({ id }) => id)).toEqual(['d', 'b']);
  });

  it('counts calls, all of a project or those that match', async () => {
    const project_id = 'p/counted';
    await recordAll(
      project_id,
      Array.from({ length: 7 }, (_, index) => ({
        call_id: `c${index}`,
        call_op_name: index % 2 ? 'odd' : 'even',
        call: { inputs: { n: index } },
      })),
    );
    const count = async (body: object) => {
      const answer = await service.send('POST', '/calls/query_stats', basic, { project_id, ...body });
      expect(answer.status).toBe(200);
      return answer.body;
    };
    expect(await count({})).toEqual({ count: 7 });
    expect(await count({ project_id: 'p/nobody' })).toEqual({ count: 0 });
    const $expr = { $gte: [{ $convert: { input: { $getField: 'inputs.n' }, to: 'double' } }, { $literal: 3 }] };
    expect(await count({ query: { $expr } })).toEqual({ count: 4 });
    expect(await count({ query: { $expr }, filter: { op_names: ['odd'] } })).toEqual({ count: 2 });
    const measure = (body: object) => count({ ...body, include_total_storage_size: true });
    expect(await measure({ filter: { op_names: ['odd'] } })).toEqual({ count: 3, total_storage_size_bytes: 27 });
    expect(await measure({ query: { $expr } })).toEqual({ count: 4, total_storage_size_bytes: 36 });
    expect(await measure({ limit: 5 })).toEqual({ count: 5, total_storage_size_bytes: 45 });
    expect(await measure({ project_id: 'p/nobody' })).toEqual({ count: 0, total_storage_size_bytes: 0 });
    expect(await count({ limit: 5 })).toEqual({ count: 5, has_more: true });
    expect(await count({ limit: 7 })).toEqual({ count: 7, has_more: false });
    expect(await count({ limit: 1, filter: { op_names: ['odd'] } })).toEqual({ count: 1, has_more: true });
    expect(await count({ limit: 0 })).toEqual({ count: 0, has_more: true });
  });

  it('refuses a query without an account, and GET', async () => {
    const asked = { project_id: 'demo/support' };
    expect(await service.send('POST', '/calls/stream_query', undefined, asked)).toMatchObject({ status: 401 });
    expect(await service.send('GET', '/calls/stream_query', basic)).toMatchObject({ status: 405 });
  });
});
