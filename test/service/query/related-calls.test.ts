import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { basic, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();
const project_id = 'team/related';
const trace_id = '0'.repeat(32);

async function send(path: string, body: object): Promise<unknown> {
  const response = await service.send('POST', path, basic, { project_id, ...body });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body;
}

async function idsOf(query: object): Promise<string> {
  const lines = (await send('/calls/stream_query', { columns: ['id'], ...query })) as string;
  const rows = lines.split('\n').slice(0, -1);
  return rows.map((line) => JSON.parse(line).id).join('');
}

async function matching($expr: object): Promise<string> {
  const ids = await idsOf({ query: { $expr }, sort_by: [{ field: 'started_at', direction: 'desc' }] });
  expect(await send('/calls/query_stats', { query: { $expr } })).toMatchObject({ count: ids.length });
  return ids;
}

const onCall = (id: string, feedback_type: string, payload: object, project = project_id) => ({
  project_id: project,
  weave_ref: `weave:///${project}/call/${id}`,
  feedback_type,
  payload,
});

await send('/call/upsert_batch', {
  batch: [...'abcde'].map((id, second) => ({
    mode: 'start',
    req: {
      start: {
        project_id,
        id,
        trace_id,
        op_name: id === 'b' ? 'ask' : 'answer',
        started_at: `2026-01-01T00:00:0${second}Z`,
        attributes: {},
        inputs: {},
      },
    },
  })),
});
await send('/feedback/batch/create', {
  batch: [
    onCall('a', 'quality', { value: 3, text: 'good' }),
    onCall('b', 'quality', { value: 5, text: 'better' }),
    onCall('c', 'quality', { text: 'x'.repeat(20_000) }),
    onCall('d', 'other', { value: 3 }),
    // On no call of the project.
    onCall('e', 'quality', { value: 3 }, 'team/elsewhere'),
    onCall('unknown', 'quality', { value: 3 }),
  ],
});

const get = (path: string) => ({ $getField: `feedback.[${path}` });
const is = (value: unknown) => ({ $literal: value });
const to = (type: string, path: string) => ({ $convert: { input: get(path), to: type } });
const value = to('double', 'quality].payload.value');

// An order in which 40,000 calls hardly ever match is given up, but not that of feedback. More than 200,000 are not read before the calls are.
describe.each([0, 45_001, 200_001])('feedback in queries of calls, with %i more on unknown calls', (count) => {
  beforeAll(async () => {
    const database = await openDatabase(service.data);
    const insert = sql`
      insert into feedback (project_id, id, weave_ref, feedback_type, payload, created_at, wb_user_id, memory_bytes)
      with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(count)})
      select ${project_id}, 'more-' || n, ${`weave:///${project_id}/call/x`} || n, 'quality', '{"value":9}',
        '2026-01-01T00:00:00.000Z', 'alice', 100 from numbers where ${sql.lit(count)} > 0
      on conflict do nothing`;
    await database.write((transaction) => insert.execute(transaction));
    await database.close();
  });

  it.each([
    ['a number', { $eq: [value, is(3)] }, 'a'],
    ['one of several numbers', { $in: [value, [is(3), is(5)]] }, 'ba'],
    ['a larger number', { $gt: [value, is(3)] }, 'b'],
    ['a number that is not larger', { $not: [{ $gt: [value, is(3)] }] }, 'edca'],
    ['another type', { $eq: [to('int', 'other].payload.value'), is(3)] }, 'd'],
    ['any type', { $eq: [to('double', '*].payload.value'), is(3)] }, 'da'],
    ['a type without feedback', { $eq: [get('none].payload.value'), is('x')] }, ''],
    ['text', { $contains: { input: get('quality].payload.text'), substr: is('o') } }, 'a'],
    ['text of a large value', { $contains: { input: get('quality].payload.text'), substr: is('xx') } }, 'c'],
    ['text that every value contains', { $contains: { input: get('quality].payload.text'), substr: is('') } }, 'edcba'],
    ['a value that exists', { $eq: [to('exists', 'quality].payload.value'), is(true)] }, 'ba'],
    ['a value that is missing', { $eq: [to('exists', 'quality].payload.value'), is(false)] }, 'edc'],
    ['a value that is not true', { $eq: [to('bool', 'quality].payload.value'), is(false)] }, 'edc'],
    ['either of two', { $or: [{ $eq: [value, is(3)] }, { $eq: [get('other].feedback_type'), is('other')] }] }, 'da'],
    ['both of two', { $and: [{ $gte: [value, is(3)] }, { $lt: [value, is(5)] }] }, 'a'],
    ['an operation too', { $and: [{ $gte: [value, is(3)] }, { $eq: [{ $getField: 'op_name' }, is('ask')] }] }, 'b'],
  ])('find %s', async (_, expression, ids) => {
    expect(await matching(expression)).toBe(ids);
  });

  it.each([
    ['the smallest value first', 'asc', {}, 'abcde'],
    ['the largest value first', 'desc', {}, 'bacde'],
    ['a page of them', 'desc', { offset: 1, limit: 3 }, 'acd'],
    ['those of an operation', 'asc', { filter: { op_names: ['answer'] } }, 'acde'],
    ['those that the same feedback matches', 'desc', { query: { $expr: { $gte: [value, is(3)] } } }, 'ba'],
    [
      'those that other feedback matches',
      'desc',
      { query: { $expr: { $eq: [get('other].feedback_type'), is('other')] } } },
      'd',
    ],
  ])('sort calls by a value, the ones without it last: %s', async (_, direction, query, ids) => {
    expect(await idsOf({ sort_by: [{ field: 'feedback.[quality].payload.value', direction }], ...query })).toBe(ids);
  });

  it('take the latest feedback that has the member', async () => {
    await send('/feedback/create', onCall('b', 'quality', { value: 2 }));
    await send('/feedback/create', onCall('b', 'quality', { text: 'no value' }));
    expect(await matching({ $lte: [value, is(2)] })).toBe('b');
    expect(await idsOf({ sort_by: [{ field: 'feedback.[quality].payload.value', direction: 'desc' }] })).toBe('abcde');
    await send('/feedback/create', onCall('b', 'quality', { value: 5, text: 'better' }));
  });
});

const queueOfCall = { $getField: 'annotation_queue_items.queue_id' };
const isIn = (queue: string) => ({ $eq: [queueOfCall, is(queue)] });

describe('conditions on the queues of calls', () => {
  it('find the calls of a queue, and of no queue that was deleted', async () => {
    const { id } = (await send('/annotation_queues', { name: 'Q', scorer_refs: [] })) as { id: string };
    await send(`/annotation_queues/${id}/items`, { call_ids: ['b', 'd'], display_fields: [] });
    expect(await matching(isIn(id))).toBe('db');
    expect(await matching({ $not: [isIn(id)] })).toBe('eca');
    expect(await matching({ $and: [isIn(id), { $eq: [{ $getField: 'op_name' }, is('ask')] }] })).toBe('b');
    expect(await matching(isIn('unknown'))).toBe('');
    const { status } = await service.send('DELETE', `/annotation_queues/${id}?project_id=${project_id}`, basic);
    expect(status).toBe(200);
    expect(await matching(isIn(id))).toBe('');
  });

  it('find the calls of any or all of several queues', async () => {
    const ids: string[] = [];
    for (const calls of ['ab', 'bc', 'cd']) {
      const { id } = (await send('/annotation_queues', { name: calls, scorer_refs: [] })) as { id: string };
      await send(`/annotation_queues/${id}/items`, { call_ids: [...calls], display_fields: [] });
      ids.push(id);
    }
    const [ab, bc, cd] = ids.map(isIn);
    expect(await matching({ $or: [ab, bc] })).toBe('cba');
    expect(await matching({ $or: [ab, bc, cd] })).toBe('dcba');
    expect(await matching({ $or: [] })).toBe('');
    expect(await matching({ $in: [queueOfCall, ids.map(is)] })).toBe('dcba');
    expect(await matching({ $in: [queueOfCall, []] })).toBe('');
    expect(await matching({ $and: [ab, bc] })).toBe('b');
    expect(await matching({ $and: [{ $or: [ab, bc] }, { $or: [bc, cd] }] })).toBe('cb');
    expect(await matching({ $not: [{ $or: [ab, bc] }] })).toBe('ed');
    // Only JavaScript can tell whether an object has a text.
    const isEmpty = { $contains: { input: { $getField: 'inputs' }, substr: is('{}') } };
    const hasText = { $contains: { input: { $getField: 'inputs' }, substr: is('text') } };
    expect(await matching({ $and: [isEmpty, { $or: [ab, hasText] }] })).toBe('ba');
    expect(await matching({ $and: [isEmpty, { $not: [{ $or: [ab, hasText] }] }] })).toBe('edc');
  });

  it.each([
    ['a part of it', { $contains: { input: { $getField: 'op_name' }, substr: is('sk') } }, 'db'],
    [
      'a part of it in any case',
      { $contains: { input: { $getField: 'op_name' }, substr: is('AS'), case_insensitive: true } },
      'db',
    ],
    ['a part that none has', { $contains: { input: { $getField: 'op_name' }, substr: is('none') } }, 'd'],
    ['its order', { $gt: [{ $getField: 'op_name' }, is('answer')] }, 'db'],
    ['an empty list of names', { $in: [{ $getField: 'op_name' }, []] }, 'd'],
  ])('find the calls of a queue or of an operation by %s', async (_, ofOperation, ids) => {
    const { id } = (await send('/annotation_queues', { name: 'Q', scorer_refs: [] })) as { id: string };
    await send(`/annotation_queues/${id}/items`, { call_ids: ['d'], display_fields: [] });
    const either = { $or: [isIn(id), ofOperation] };
    const others = [...'edcba'].filter((call) => !ids.includes(call)).join('');
    expect(await matching(either)).toBe(ids);
    expect(await matching({ $not: [either] })).toBe(others);
    const isEarly = { $lt: [{ $getField: 'started_at' }, is(Date.parse('2026-01-01T00:00:02Z') / 1000)] };
    expect(await matching({ $and: [either, isEarly] })).toBe(ids.replace('d', ''));
    expect(await matching({ $or: [isIn(id), { $and: [ofOperation, { $not: [isEarly] }] }] })).toBe('d');
    const hasText = { $contains: { input: { $getField: 'inputs' }, substr: is('text') } };
    expect(await matching({ $or: [hasText, isIn(id), ofOperation] })).toBe(ids);
  });

  it('compare start, latency and operation of the calls of a queue', async () => {
    const line = (call_id: string, call_ended_at: string | null, summary: unknown = {}) => ({
      ...{ call_id, call_op_name: 'timed', call_trace_id: trace_id, call_started_at: `2026-02-01T00:00:0${call_id}Z` },
      ...{ call_ended_at, call: { summary } },
    });
    const lines = [
      line('1', '2026-02-01T00:00:02Z'),
      line('2', '2026-02-01T00:00:01.999Z'),
      line('3', null),
      line('4', '2026-02-01T00:00:08Z', 'no object'),
    ].map((item) => JSON.stringify(item));
    const target = { projectId: project_id, queueId: 'timed' };
    await withStore(service.data, (store) => store.importItems(lines, target));
    const isTimed = isIn('timed');
    const latency = { $getField: 'summary.weave.latency_ms' };
    const found = (...$and: object[]) => matching({ $and: [isTimed, ...$and] });
    expect(await found()).toBe('4321');
    expect(await found({ $gt: [latency, is(0)] })).toBe('1');
    expect(await found({ $lt: [latency, is(0)] })).toBe('2');
    expect(await found({ $gte: [latency, is(-1)] })).toBe('21');
    expect(await found({ $not: [{ $gt: [latency, is(0)] }] })).toBe('432');
    expect(await found({ $gte: [{ $getField: 'started_at' }, is(Date.parse('2026-02-01T00:00:02Z') / 1000)] })).toBe(
      '432',
    );
    expect(await found({ $contains: { input: { $getField: 'op_name' }, substr: is('time') } })).toBe('4321');
    expect(await matching({ $not: [isTimed] })).toBe('edcba');
    expect(await matching({ $and: [{ $not: [isTimed] }, { $eq: [{ $getField: 'op_name' }, is('ask')] }] })).toBe('b');
    await send('/calls/delete', { call_ids: [...'1234'] });
  });

  it('find the few calls that are not in a queue among many that are, of which one was deleted', async () => {
    const project = { project_id: 'team/queued' };
    const ids = Array.from({ length: 80 }, (_, index) => `queued-${index}`);
    const batch = ids.map((id, index) => ({
      mode: 'start',
      // Two calls start at once.
      req: {
        start: {
          ...{ ...project, id, trace_id, op_name: 'answer', attributes: {}, inputs: {} },
          started_at: new Date(Date.UTC(2026, 0, 1, 0, 0, index >> 1)).toISOString(),
        },
      },
    }));
    await send('/call/upsert_batch', { batch });
    const { id } = (await send('/annotation_queues', { ...project, name: 'Q', scorer_refs: [] })) as { id: string };
    const others = ['queued-75', 'queued-30', 'queued-3'];
    const call_ids = ids.filter((queued) => !others.includes(queued));
    await send(`/annotation_queues/${id}/items`, { ...project, call_ids, display_fields: [] });
    // As many calls and items are left beside this one.
    await send('/calls/delete', { ...project, call_ids: ['queued-77'] });
    const isOther = { $not: [isIn(id)] };
    const found = (direction: string, $expr: object) =>
      idsOf({ ...project, query: { $expr }, sort_by: [{ field: 'started_at', direction }] });
    expect(await found('desc', isOther)).toBe('queued-75queued-30queued-3');
    expect(await found('asc', isOther)).toBe('queued-3queued-30queued-75');
    const since = { $gte: [{ $getField: 'started_at' }, is(Date.UTC(2026, 0, 1, 0, 0, 15) / 1000)] };
    expect(await found('asc', { $and: [isOther, since] })).toBe('queued-30queued-75');
    expect(await found('desc', { $and: [isOther, { $not: [since] }] })).toBe('queued-3');
  });

  it('find the calls of a queue with more than 50,000 items, most of whose calls were deleted', async () => {
    const { id } = (await send('/annotation_queues', { name: 'Huge', scorer_refs: [] })) as { id: string };
    await send(`/annotation_queues/${id}/items`, { call_ids: ['b', 'd'], display_fields: [] });
    const database = await openDatabase(service.data);
    // No statement may take long on a busy machine.
    for (let first = 1; first < 50_001; first += 10_000) {
      const numbers = sql`
        with recursive numbers(n) as (select ${sql.lit(first)} union all select n + 1 from numbers where n < ${sql.lit(first + 9_999)})`;
      await database.write(async (transaction) => {
        await sql`
          insert into queue_items (id, project_id, queue_id, call_id, call_started_at, latency, call_op_name, call_trace_id,
            display_fields, annotation_state, created_at, created_by, updated_at)
          ${numbers} select 'item-' || n, ${project_id}, ${id}, 'gone-' || n, '2026-01-01T00:00:02.000000Z', 1000, 'answer', 't',
            '[]', 'unstarted', 'now', 'me', 'now' from numbers where true`.execute(transaction);
        await sql`
          insert into deleted_calls (project_id, id) ${numbers} select ${project_id}, 'gone-' || n from numbers where true
        `.execute(transaction);
      });
    }
    await database.gatherStatistics();
    await database.close();
    const isInHuge = isIn(id);
    expect(await matching(isInHuge)).toBe('db');
    expect(await matching({ $not: [isInHuge] })).toBe('eca');
    expect(await matching({ $and: [isInHuge, { $eq: [{ $getField: 'op_name' }, is('ask')] }] })).toBe('b');
    expect(await matching({ $and: [isInHuge, { $gte: [value, is(3)] }] })).toBe('b');
    const newest = { query: { $expr: isInHuge }, sort_by: [{ field: 'started_at', direction: 'desc' }] };
    expect(await idsOf({ ...newest, limit: 1 })).toBe('d');
    expect(await idsOf({ ...newest, offset: 1 })).toBe('b');
    const sorted = (field: string) =>
      idsOf({ query: { $expr: isInHuge }, sort_by: [{ field, direction: 'asc' }], limit: 2 });
    expect(await sorted('started_at')).toBe('bd');
    expect(await sorted('op_name')).toBe('db');
  });

  it('count the calls of two queues with more than 50,000 items each, and search one for a text', async () => {
    const project = 'team/texts';
    const ask = (path: string, body: object) => send(path, { ...body, project_id: project });
    const addQueue = async (name: string) =>
      (await ask('/annotation_queues', { name, scorer_refs: [] })) as { id: string };
    const [{ id }, { id: late }] = [await addQueue('All but three'), await addQueue('Later ones')];
    const database = await openDatabase(service.data);
    for (let first = 1; first < 60_001; first += 10_000) {
      const numbers = sql`
        with recursive numbers(n) as (select ${sql.lit(first)} union all select n + 1 from numbers where n < ${sql.lit(first + 10_000)})`;
      const start = sql`'2026-01-01T00:00:00.' || (100000 + n) || 'Z'`;
      await database.write(async (transaction) => {
        await sql`
          insert into calls (project_id, id, op_name, trace_id, started_at, memory_bytes, inputs, data)
          ${numbers} select ${project}, 'call-' || n, 'answer', 't', ${start}, 500, '{"text":"Refund ' || n || '"}', '{}'
          from numbers where true on conflict do nothing`.execute(transaction);
        for (const [queue, condition] of [
          [id, sql`n not between 30001 and 30003`],
          [late, sql`n > 5000`],
        ] as const) {
          await sql`
            insert into queue_items (id, project_id, queue_id, call_id, call_started_at, latency, call_op_name, call_trace_id,
              display_fields, annotation_state, created_at, created_by, updated_at)
            ${numbers} select ${queue} || n, ${project}, ${queue}, 'call-' || n, ${start}, 1000, 'answer', 't', '[]',
              case n % 3 when 0 then 'completed' else 'unstarted' end, 'now', 'me', 'now'
            from numbers where ${condition} on conflict do nothing`.execute(transaction);
        }
      });
    }
    await database.gatherStatistics();
    await database.close();
    const hasText = (substr: string) => ({
      $contains: { input: { $getField: 'inputs' }, substr: is(substr), case_insensitive: true },
    });
    const count = (...$and: object[]) => ask('/calls/query_stats', { query: { $expr: { $and } } });
    expect(await count(isIn(id), hasText('refund'))).toEqual({ count: 59_998 });
    expect(await count(isIn(id), { $not: [hasText('REFUND 3000')] })).toEqual({ count: 59_990 });
    expect(await count({ $not: [isIn(id)] }, hasText('refund'))).toEqual({ count: 3 });
    const page = async (offset: number, ...$and: object[]) => {
      const sort_by = [{ field: 'started_at', direction: 'desc' }];
      const lines = (await ask('/calls/stream_query', {
        query: { $expr: { $and } },
        sort_by,
        offset,
        limit: 3,
      })) as string;
      return [...lines.matchAll(/"id":"call-(\d+)"/g)].map(([, number]) => number);
    };
    expect(await page(29_997, isIn(id), hasText('refund'))).toEqual(['30004', '30000', '29999']);
    expect(await page(0, { $not: [isIn(id)] }, hasText('refund'))).toEqual(['30003', '30002', '30001']);
    const { groups } = (await ask(`/annotation_queues/${id}/items/summary`, { filter: { text: 'refund' } })) as {
      groups: { annotation_state: string; count: number }[];
    };
    expect(groups.map(({ annotation_state, count }) => `${count} ${annotation_state}`).sort()).toEqual([
      '19999 completed',
      '39999 unstarted',
    ]);
    const newest = { $gte: [{ $getField: 'started_at' }, is(Date.UTC(2026, 0, 1) / 1000 + 0.150_002)] };
    expect(await count(isIn(id), isIn(late))).toEqual({ count: 54_998 });
    expect(await count(isIn(late), isIn(id), newest)).toEqual({ count: 10_000 });
    expect(await count({ $or: [isIn(id), isIn(late)] })).toEqual({ count: 60_001 });
    await ask('/calls/delete', { call_ids: ['call-5000', 'call-5001', 'call-30001', 'call-60001'] });
    expect(await count(isIn(id), isIn(late))).toEqual({ count: 54_996 });
  });

  it('count the calls of a queue with more than 5,000 items', async () => {
    const ids = Array.from({ length: 5003 }, (_, index) => `many-${index}`);
    const start = { project_id, trace_id, started_at: '2025-01-01T00:00:00Z', attributes: {}, inputs: {} };
    const batch = ids.map((id, index) => ({
      mode: 'start',
      req: { start: { ...start, id, op_name: index % 2 === 0 ? 'even' : 'odd' } },
    }));
    await send('/call/upsert_batch', { batch });
    const { id } = (await send('/annotation_queues', { name: 'Many', scorer_refs: [] })) as { id: string };
    await send(`/annotation_queues/${id}/items`, { call_ids: ids, display_fields: [] });
    const isInQueue = isIn(id);
    const isEven = { $eq: [{ $getField: 'op_name' }, is('even')] };
    const count = (...$and: object[]) => send('/calls/query_stats', { query: { $expr: { $and } } });
    expect(await count(isInQueue)).toEqual({ count: 5003 });
    expect(await count(isInQueue, isEven)).toEqual({ count: 2502 });
    expect(await count(isInQueue, { $not: [isEven] })).toEqual({ count: 2501 });
    const isOf = (trace: string) => ({ $eq: [{ $getField: 'trace_id' }, is(trace)] });
    const inEither = { $or: [isInQueue, isOf(trace_id)] };
    expect(await count(inEither)).toEqual({ count: 5008 });
    expect(await count(inEither, isEven)).toEqual({ count: 2502 });
    expect(await count({ $not: [inEither] })).toEqual({ count: 0 });
    expect(await count({ $or: [isInQueue, isOf('unknown')] })).toEqual({ count: 5003 });
    expect(await send('/calls/query_stats', { query: { $expr: isInQueue }, limit: 5001 })).toEqual({
      count: 5001,
      has_more: true,
    });
    await send('/calls/delete', { call_ids: ['many-0', 'many-1'] });
    expect(await count(isInQueue)).toEqual({ count: 5001 });
    expect(await count(isInQueue, isEven)).toEqual({ count: 2501 });
  });
});
