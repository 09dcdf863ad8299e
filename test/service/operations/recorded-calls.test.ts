import { describe, expect, it } from 'vitest';
import { basic, execute, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();
const digest = 'a'.repeat(43);
const digest2 = 'b'.repeat(43);

async function post(path: string, body: object, status = 200) {
  const answer = await service.send('POST', path, basic, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  return answer.body;
}

const startOf = (id: string, members: object = {}) => ({
  project_id: 'p/q',
  id,
  op_name: `weave:///p/q/op/answer:${digest}`,
  trace_id: `trace-${id}`,
  started_at: '2026-01-01T00:00:00.000Z',
  attributes: { weave: { source: 'js-sdk' } },
  inputs: { question: 'Why?' },
  ...members,
});
const endOf = (id: string, members: object = {}) => ({
  project_id: 'p/q',
  id,
  ended_at: '2026-01-01T00:00:02.250Z',
  output: { answer: 'Because.' },
  summary: { usage: { gpt: { requests: 1 } } },
  ...members,
});
const started = (id: string, members?: object) => ({ mode: 'start', req: { start: startOf(id, members) } });
const ended = (id: string, members?: object) => ({ mode: 'end', req: { end: endOf(id, members) } });
const record = (...batch: object[]) => post('/call/upsert_batch', { batch });
const read = async (id: string, project_id = 'p/q') => (await post('/call/read', { project_id, id })).call;

async function find(body: object) {
  const text: string = await post('/calls/stream_query', { project_id: 'p/q', ...body });
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}
const idsOf = async (body: object): Promise<string[]> => (await find(body)).map(({ id }) => id);

/** The call that `startOf` and `endOf` describe, with all its members. */
const whole = (id: string) => ({
  id,
  project_id: 'p/q',
  op_name: `weave:///p/q/op/answer:${digest}`,
  display_name: null,
  trace_id: `trace-${id}`,
  parent_id: null,
  started_at: '2026-01-01T00:00:00.000Z',
  ended_at: '2026-01-01T00:00:02.250Z',
  attributes: { weave: { source: 'js-sdk' } },
  inputs: { question: 'Why?' },
  output: { answer: 'Because.' },
  summary: {
    usage: { gpt: { requests: 1 } },
    weave: { status: 'success', latency_ms: 2250, trace_name: 'answer' },
  },
  exception: null,
  wb_user_id: 'tester',
  wb_run_id: null,
  thread_id: null,
  turn_id: null,
  wb_run_step: null,
  wb_run_step_end: null,
  deleted_at: null,
  storage_size_bytes: null,
  total_storage_size_bytes: null,
});

describe('POST /call/upsert_batch', () => {
  it('records a start and its end, and answers each entry', async () => {
    expect(await record(started('both'), ended('both'))).toEqual({
      res: [{ id: 'both', trace_id: 'trace-both' }, {}],
    });
    expect(await read('both')).toEqual(whole('both'));
  });

  it('shows a call as running until its end arrives', async () => {
    await record(started('slow'));
    expect(await read('slow')).toMatchObject({
      ended_at: null,
      output: null,
      summary: { weave: { status: 'running', trace_name: 'answer' } },
    });
    await record(ended('slow'));
    expect(await read('slow')).toEqual(whole('slow'));
  });

  it('keeps an end that arrives before its start, and shows the call once it has both', async () => {
    await record(ended('early'));
    expect(await read('early')).toBe(null);
    expect(await idsOf({ filter: { call_ids: ['early'] } })).toEqual([]);
    await record(started('early'));
    expect(await read('early')).toEqual(whole('early'));
    await record(ended('reversed'), started('reversed'));
    expect(await read('reversed')).toEqual(whole('reversed'));
  });

  it('changes nothing when a request is sent again, or when other events of the same call follow', async () => {
    const batch = [started('again'), ended('again'), started('again'), ended('again', { output: 'another' })];
    const first = await record(...batch);
    expect(await record(...batch)).toEqual(first);
    expect(await record(started('again', { trace_id: 'other', inputs: {} }), ended('again', { output: 2 }))).toEqual({
      res: [{ id: 'again', trace_id: 'trace-again' }, {}],
    });
    expect(await read('again')).toEqual(whole('again'));
    await record(ended('twice-early'));
    await record(ended('twice-early', { output: 'another' }));
    await record(started('twice-early'));
    expect(await read('twice-early')).toEqual(whole('twice-early'));
    expect(await execute(service.data, 'select * from early_call_ends')).toEqual([]);
  });

  it('records exceptions, names, parents, threads and runs, and treats empty text as absent', async () => {
    const members = {
      parent_id: 'both',
      display_name: 'Shown',
      thread_id: 'thread',
      turn_id: 'turn',
      wb_run_id: 'run',
      wb_user_id: 'someone else',
      otel_dump: null,
    };
    await record(started('rich', members), ended('rich', { exception: 'ValueError: no', output: null }));
    expect(await read('rich')).toMatchObject({
      ...{ parent_id: 'both', display_name: 'Shown', thread_id: 'thread', turn_id: 'turn', wb_run_id: 'run' },
      exception: 'ValueError: no',
      wb_user_id: 'tester',
      output: null,
      summary: { weave: { status: 'error', display_name: 'Shown' } },
    });
    const empty = { parent_id: '', display_name: '', thread_id: null, turn_id: '' };
    await record(started('empty', empty), ended('empty', { exception: '' }));
    expect(await read('empty')).toEqual(whole('empty'));
  });

  it('gives a call whose children failed the status descendant_error', async () => {
    await record(started('outer'), ended('outer', { summary: { status_counts: { success: 1, error: 2 } } }));
    expect((await read('outer')).summary.weave.status).toBe('descendant_error');
  });

  it('keeps times to the microsecond, in UTC', async () => {
    const times = { started_at: '2026-01-01T02:00:00.123456+02:00' };
    await record(started('python', times), ended('python', { ended_at: '2026-01-01T00:00:01.123999' }));
    expect(await read('python')).toMatchObject({
      started_at: '2026-01-01T00:00:00.123456Z',
      ended_at: '2026-01-01T00:00:01.123999Z',
      summary: { weave: { latency_ms: 1000 } },
    });
  });

  it('records calls of several projects in one request', async () => {
    const elsewhere = { project_id: 'p/other', trace_id: 'elsewhere' };
    expect(await record(started('same'), started('same', elsewhere), ended('same', elsewhere))).toEqual({
      res: [{ id: 'same', trace_id: 'trace-same' }, { id: 'same', trace_id: 'elsewhere' }, {}],
    });
    expect((await read('same')).ended_at).toBe(null);
    expect((await read('same', 'p/other')).ended_at).toBe('2026-01-01T00:00:02.250Z');
  });

  it('records an imported call that had not ended as ended', async () => {
    const line = {
      call_id: 'imported',
      call_op_name: 'op',
      call_trace_id: 't',
      call_started_at: '2026-01-01T00:00:00Z',
    };
    const lines = [JSON.stringify({ ...line, call: { inputs: { x: 1 }, tag: 'kept' } })];
    await withStore(service.data, (store) => store.importItems(lines, { projectId: 'p/q', queueId: 'q' }));
    await record(ended('imported'));
    expect(await read('imported')).toMatchObject({ inputs: { x: 1 }, output: { answer: 'Because.' }, tag: 'kept' });
  });

  it.each([
    [[{ mode: 'middle', req: {} }], ['body', 'batch', 0, 'mode'], 'invalid_union'],
    [[started('x'), { mode: 'end', req: {} }], ['body', 'batch', 1, 'req', 'end'], 'missing'],
    [[started('x', { inputs: [] })], ['body', 'batch', 0, 'req', 'start', 'inputs'], 'record_type'],
    [[started('x', { started_at: 'today' })], ['body', 'batch', 0, 'req', 'start', 'started_at'], 'value_error'],
    [[started('x', { project_id: 'p' })], ['body', 'batch', 0, 'req', 'start', 'project_id'], expect.any(String)],
    [[ended('x', { summary: undefined })], ['body', 'batch', 0, 'req', 'end', 'summary'], 'missing'],
  ])('records nothing of a batch with an invalid entry: %j', async (batch, loc, type) => {
    const { detail } = await post('/call/upsert_batch', { batch: [started('invalid'), ...batch] }, 422);
    const [fault] = detail;
    loc[2] = (loc[2] as number) + 1;
    expect(fault).toMatchObject({ loc, ...(type !== 'invalid_union' && { type }) });
    expect(await read('invalid')).toBe(null);
  });

  it('lists at most 100 faults of a batch', async () => {
    const faulty = Array.from({ length: 101 }, () => ({ mode: 'start', req: {} }));
    expect((await post('/call/upsert_batch', { batch: faulty }, 422)).detail).toHaveLength(100);
  });

  it('answers another request before a large batch that was sent earlier is recorded', async () => {
    const inputs = { text: 'order refund invoice '.repeat(40) };
    const batch = Array.from({ length: 3000 }, (_, index) => started(`slow${index}`, { project_id: 'p/slow', inputs }));
    const order: string[] = [];
    const recorded = post('/call/upsert_batch', { batch }).then(() => order.push('batch'));
    const others = async () => {
      await post('/annotation_queues/query', { project_id: 'p/slow' });
      order.push('queues');
      await post('/obj/create', { obj: { project_id: 'p/slow', object_id: 'note', val: 1 } });
      order.push('object');
    };
    await Promise.all([recorded, others()]);
    expect(order).toEqual(['queues', 'object', 'batch']);
    expect(await post('/calls/query_stats', { project_id: 'p/slow' })).toEqual({ count: 3000 });
  });

  it.each([[started('\ud800')], [started('x', { op_name: 'a\0b' })], [ended('x', { exception: '\udc00' })]])(
    'records nothing of a long batch with text that cannot be stored: %j',
    async (entry) => {
      const batch = [...Array.from({ length: 1500 }, (_, index) => started(`unstored${index}`)), entry];
      expect((await post('/call/upsert_batch', { batch }, 400)).reason).toBe(
        'Text contains a NUL character or an unpaired surrogate, which cannot be stored',
      );
      expect(await read('unstored0')).toBe(null);
    },
  );

  it('completes a partly recorded batch when it is sent again', async () => {
    const batch = Array.from({ length: 1200 }, (_, index) => [started(`again${index}`), ended(`again${index}`)]).flat();
    const part = await record(...batch.slice(0, 1001));
    const whole = await record(...batch);
    expect(whole.res).toHaveLength(2400);
    expect(whole.res.slice(0, 1001)).toEqual(part.res);
    const filter = { trace_ids: ['trace-again0', 'trace-again500', 'trace-again1199'] };
    expect((await find({ filter, columns: ['ended_at'] })).map(({ id, ended_at }) => [id, ended_at])).toEqual([
      ['again0', '2026-01-01T00:00:02.250Z'],
      ['again1199', '2026-01-01T00:00:02.250Z'],
      ['again500', '2026-01-01T00:00:02.250Z'],
    ]);
  });

  it('refuses a batch of more than 32 MiB', async () => {
    const inputs = { text: 'x'.repeat(33 * 1024 * 1024) };
    expect(
      await service.send('POST', '/call/upsert_batch', basic, { batch: [started('huge', { inputs })] }),
    ).toMatchObject({
      status: 413,
    });
  });
});

describe('POST /call/start and /call/end', () => {
  it('record one call', async () => {
    expect(await post('/call/start', { start: startOf('single') })).toEqual({ id: 'single', trace_id: 'trace-single' });
    expect(await post('/call/end', { end: endOf('single') })).toEqual({});
    expect(await read('single')).toEqual(whole('single'));
  });

  it('choose an id and a trace for a call that has none', async () => {
    const { id, trace_id } = await post('/call/start', { start: startOf('', { id: null, trace_id: undefined }) });
    expect([id, trace_id]).toEqual([expect.stringMatching(/^\w{17}$/), expect.stringMatching(/^\w{17}$/)]);
    expect(id).not.toBe(trace_id);
    expect(await read(id)).toMatchObject({ trace_id });
  });

  it('record a call of the project that the path names, and no other', async () => {
    expect(await post('/v2/p/q/call/start', { start: startOf('v2') })).toEqual({ id: 'v2', trace_id: 'trace-v2' });
    expect(await post('/v2/p/q/call/end', { end: endOf('v2') })).toEqual({});
    expect(await read('v2')).toEqual(whole('v2'));
    await post('/v2/p/other/call/start', { start: startOf('wrong') }, 400);
    await post('/v2/p/other/call/end', { end: endOf('wrong') }, 400);
    expect(await read('wrong')).toBe(null);
  });
});

describe('POST /v2/{entity}/{project}/calls/complete', () => {
  it('records calls that have ended', async () => {
    const complete = (id: string, members?: object) => ({ ...startOf(id), ...endOf(id), ...members });
    expect(
      await post('/v2/p/q/calls/complete', { batch: [complete('c1'), complete('c2', { summary: null })] }),
    ).toEqual({});
    expect(await read('c1')).toEqual(whole('c1'));
    expect((await read('c2')).summary).toEqual({
      weave: { status: 'success', latency_ms: 2250, trace_name: 'answer' },
    });
    await post('/v2/p/other/calls/complete', { batch: [complete('c3')] }, 400);
    await post('/v2/p/q/calls/complete', { batch: [complete('c4'), startOf('c5')] }, 422);
    expect([await read('c3'), await read('c4')]).toEqual([null, null]);
  });
});

describe('POST /call/update', () => {
  const rename = (call_id: string, display_name: unknown, status?: number) =>
    post('/call/update', { project_id: 'p/q', call_id, display_name }, status);

  it('names a call, also before it arrives, and removes the name', async () => {
    await record(started('named'), ended('named'));
    expect(await rename('named', 'First')).toEqual({});
    expect(await read('named')).toMatchObject({ display_name: 'First', summary: { weave: { display_name: 'First' } } });
    await rename('named', '');
    expect(await read('named')).toEqual(whole('named'));
    await rename('later', 'Early');
    await record(ended('later'));
    await record(started('later', { display_name: 'Own' }));
    expect(await read('later')).toMatchObject({ display_name: 'Early', output: { answer: 'Because.' } });
    await rename('named', null, 400);
  });
});

describe('POST /calls/delete', () => {
  it('deletes calls with the calls that they made, and ignores later events of them', async () => {
    const child = { parent_id: 'root', trace_id: 'trace-root' };
    await record(started('root'), started('child', child), ended('root'));
    await record(started('grandchild', { ...child, parent_id: 'child' }), started('bystander'));
    const deletion = { project_id: 'p/q', call_ids: ['root', 'nothing'] };
    expect(await post('/calls/delete', deletion)).toEqual({ num_deleted: 3 });
    await record(started('root'), ended('root'), ended('child'));
    expect(await idsOf({ filter: { call_ids: ['root', 'child', 'grandchild', 'bystander'] } })).toEqual(['bystander']);
    expect(await post('/calls/delete', deletion)).toEqual({ num_deleted: 0 });
    expect(await execute(service.data, "select inputs from calls where id = 'child'")).toEqual([]);
  });
});

describe('POST /calls/stream_query of recorded calls', () => {
  const project_id = 'p/found';
  const at = (minute: number) => `2026-02-01T00:${String(minute).padStart(2, '0')}:00.000Z`;
  const ticket = `weave:///p/found/object/ticket:${digest}`;

  it('finds them by every member of the filter, and counts the same', async () => {
    const of = (id: string, minute: number, members: object) =>
      started(id, { project_id, started_at: at(minute), trace_id: 't1', ...members });
    await record(
      of('a', 1, { op_name: `weave:///p/found/op/plan:${digest}`, inputs: { ticket }, wb_run_id: 'run' }),
      of('b', 2, { op_name: `weave:///p/found/op/plan:${digest2}`, parent_id: 'a', thread_id: 'th', turn_id: 'tu' }),
      of('c', 3, { op_name: 'plan', trace_id: 't2', inputs: { n: 5, text: `see ${ticket}` } }),
      of('d', 4, {
        op_name: `weave:///p/found/op/planner:${digest}`,
        trace_id: 't2',
        parent_id: 'c',
        inputs: { n: 12 },
      }),
      { mode: 'end', req: { end: endOf('b', { project_id, output: [{ ref: ticket }], ended_at: at(5) }) } },
      { mode: 'end', req: { end: endOf('c', { project_id, exception: 'Failed', ended_at: at(4) }) } },
    );
    const plan = 'weave:///p/found/op/plan:*';
    for (const [filter, expected] of [
      [{ op_names: [plan] }, 'a b'],
      [{ op_names: [plan, 'plan'] }, 'a b c'],
      [{ op_names: [`weave:///p/found/op/plan:${digest2}`] }, 'b'],
      [{ input_refs: [ticket] }, 'a'],
      [{ output_refs: [ticket] }, 'b'],
      [{ parent_ids: ['a', 'c'] }, 'b d'],
      [{ trace_ids: ['t2'] }, 'c d'],
      [{ call_ids: ['d', 'a', 'x'] }, 'a d'],
      [{ call_ids: Array.from({ length: 1500 }, (_, n) => (n === 700 ? 'c' : `x${n}`)) }, 'c'],
      [{ thread_ids: ['th'] }, 'b'],
      [{ turn_ids: ['tu'] }, 'b'],
      [{ trace_roots_only: true }, 'a c'],
      [{ wb_user_ids: ['tester'] }, 'a b c d'],
      [{ wb_user_ids: ['ada'] }, ''],
      [{ wb_run_ids: ['run'] }, 'a'],
      [{ trace_ids: ['t1'], trace_roots_only: true, op_names: [plan] }, 'a'],
      [{ call_ids: ['a\0'] }, ''],
    ] as [object, string][]) {
      expect((await idsOf({ project_id, filter })).join(' '), JSON.stringify(filter)).toBe(expected);
      const { count } = await post('/calls/query_stats', { project_id, filter });
      expect(count, JSON.stringify(filter)).toBe(expected.split(' ').filter(Boolean).length);
    }
  });

  const field = (name: string) => ({ $getField: name });
  const literal = (value: unknown) => ({ $literal: value });
  const seconds = (minute: number) => Date.parse(at(minute)) / 1000;
  it.each([
    ['equal column', { $eq: [field('op_name'), literal('plan')] }, 'c'],
    ['no exception', { $eq: [field('exception'), literal(null)] }, 'a b d'],
    ['an exception', { $not: [{ $eq: [field('exception'), literal(null)] }] }, 'c'],
    ['another exception, or none', { $not: [{ $eq: [field('exception'), literal('Failed')] }] }, 'a b d'],
    ['started from', { $gte: [field('started_at'), literal(seconds(2))] }, 'b c d'],
    ['started after', { $gt: [field('started_at'), literal(seconds(2))] }, 'c d'],
    ['started after, as text', { $gt: [field('started_at'), literal(at(2))] }, 'c d'],
    ['started before', { $not: [{ $gte: [field('started_at'), literal(seconds(3))] }] }, 'a b'],
    ['far future', { $gte: [field('started_at'), literal(1e300)] }, ''],
    ['ended by', { $not: [{ $gt: [field('ended_at'), literal(seconds(4))] }] }, 'a c d'],
    ['ended from', { $gte: [field('ended_at'), literal(seconds(4) + 0.001)] }, 'b'],
    ['in a list', { $in: [field('id'), [literal('d'), literal('a')]] }, 'a d'],
    ['contained', { $contains: { input: field('op_name'), substr: literal('/op/plan:') } }, 'a b'],
    ['contained with case', { $contains: { input: field('op_name'), substr: literal('PLAN') } }, ''],
    [
      'contained without case',
      { $contains: { input: field('op_name'), substr: literal('PLAN'), case_insensitive: true } },
      'a b c d',
    ],
    ['status', { $eq: [field('summary.weave.status'), literal('running')] }, 'a d'],
    ['latency', { $gt: [field('summary.weave.latency_ms'), literal(100_000)] }, 'b'],
    ['latency above its own', { $gt: [field('summary.weave.latency_ms'), literal(180_000)] }, ''],
    ['latency from', { $gte: [field('summary.weave.latency_ms'), literal(180_000)] }, 'b'],
    ['latency above a fraction', { $gt: [field('summary.weave.latency_ms'), literal(59_999.5)] }, 'b c'],
    ['latency below', { $lt: [field('summary.weave.latency_ms'), literal(180_000)] }, 'c'],
    ['latency up to', { $lte: [field('summary.weave.latency_ms'), literal(180_000)] }, 'b c'],
    ['no latency above', { $not: [{ $gt: [field('summary.weave.latency_ms'), literal(60_000)] }] }, 'a c d'],
    [
      'latency and name',
      {
        $and: [{ $gt: [field('summary.weave.latency_ms'), literal(0)] }, { $eq: [field('op_name'), literal('plan')] }],
      },
      'c',
    ],
    ['trace name', { $eq: [field('summary.weave.trace_name'), literal('plan')] }, 'a b c'],
    [
      'input and column',
      {
        $and: [
          { $gt: [{ $convert: { input: field('inputs.n'), to: 'double' } }, literal(4)] },
          { $eq: [field('trace_id'), literal('t2')] },
        ],
      },
      'c d',
    ],
    [
      'input or column',
      {
        $or: [
          { $gt: [{ $convert: { input: field('inputs.n'), to: 'double' } }, literal(6)] },
          { $eq: [field('id'), literal('a')] },
        ],
      },
      'a d',
    ],
    [
      'either column',
      { $or: [{ $eq: [field('id'), literal('a')] }, { $eq: [field('parent_id'), literal('c')] }] },
      'a d',
    ],
    ['no input', { $not: [{ $convert: { input: field('inputs.n'), to: 'exists' } }] }, 'a b'],
  ])('finds them by an expression: %s', async (_, $expr, expected) => {
    expect((await idsOf({ project_id, query: { $expr } })).join(' ')).toBe(expected);
    expect((await post('/calls/query_stats', { project_id, query: { $expr } })).count).toBe(
      expected.split(' ').filter(Boolean).length,
    );
    const page = await idsOf({ project_id, query: { $expr }, offset: 1, limit: 2 });
    expect(page.join(' ')).toBe(expected.split(' ').slice(1, 3).join(' '));
  });

  it('sorts them by derived members, and pages them', async () => {
    const sorted = async (field: string, direction: string, page = {}) =>
      (await idsOf({ project_id, sort_by: [{ field, direction }], ...page })).join(' ');
    expect(await sorted('summary.weave.latency_ms', 'desc')).toBe('b c a d');
    expect(await sorted('inputs.n', 'asc', { limit: 3 })).toBe('c d a');
    expect(await sorted('started_at', 'desc', { limit: 2, offset: 1 })).toBe('c b');
    expect(await sorted('op_name', 'asc', { limit: 0 })).toBe('');
  });

  it('adds the feedback on each call', async () => {
    const { id } = await post('/feedback/create', {
      project_id,
      weave_ref: `weave:///${project_id}/call/a`,
      feedback_type: 'wandb.note.1',
      payload: { note: 'Look here.' },
    });
    const calls = await find({
      project_id,
      filter: { call_ids: ['a', 'b'] },
      include_feedback: true,
      include_costs: true,
    });
    expect(calls.map(({ summary }) => summary.weave.feedback)).toEqual([
      [expect.objectContaining({ id, feedback_type: 'wandb.note.1', payload: { note: 'Look here.' } })],
      [],
    ]);
    expect(calls[0].summary.weave.status).toBe('running');
  });

  it('streams thousands of calls in the order of their start, each once', async () => {
    const large = { project_id: 'p/stream', trace_id: 't' };
    const ids = Array.from({ length: 1700 }, (_, n) => `s${String(n).padStart(4, '0')}`);
    const text = 'x'.repeat(2000);
    await record(
      ...ids.map((id, n) => started(id, { ...large, started_at: at(Math.floor(n / 700)), inputs: { n, text } })),
    );
    const all = await find({ project_id: 'p/stream' });
    expect(all.map(({ id }) => id)).toEqual(ids);
    expect(all[1699].inputs.n).toBe(1699);
    expect(await idsOf({ project_id: 'p/stream', offset: 650, limit: 700 })).toEqual(ids.slice(650, 1350));
    const last = await idsOf({ project_id: 'p/stream', sort_by: [{ field: 'started_at', direction: 'desc' }] });
    expect(last).toEqual([...ids.slice(1400), ...ids.slice(700, 1400), ...ids.slice(0, 700)]);
    const byNumber = { sort_by: [{ field: 'inputs.n', direction: 'desc' }], limit: 600, offset: 100 };
    expect(await idsOf({ project_id: 'p/stream', ...byNumber })).toEqual([...ids].reverse().slice(100, 700));
  });
});
