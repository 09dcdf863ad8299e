import { beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { basic, startTestService } from '../../support/embedded-service.ts';

const service = await startTestService();
const project_id = 'team/related';
const trace_id = '0'.repeat(32);

async function send(path: string, body: object): Promise<unknown> {
  const response = await service.send('POST', path, basic, { project_id, ...body });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return response.body;
}

async function matching($expr: object): Promise<string> {
  const sort_by = [{ field: 'started_at', direction: 'desc' }];
  const lines = (await send('/calls/stream_query', { query: { $expr }, sort_by, columns: ['id'] })) as string;
  const ids = lines
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).id);
  expect(await send('/calls/query_stats', { query: { $expr } })).toMatchObject({ count: ids.length });
  return ids.join('');
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
    onCall('c', 'quality', { text: null }),
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

// More than 5,000 are not listed before the calls are read.
describe.each([0, 5001])('conditions on feedback, with %i more', (count) => {
  beforeAll(async () => {
    const database = await openDatabase(service.data);
    const columns = { project_id, feedback_type: 'quality', payload: '{"value":9}', wb_user_id: 'alice' };
    for (let first = 0; first < count; first += 1000) {
      const rows = Array.from({ length: Math.min(1000, count - first) }, (_, index) => ({
        ...columns,
        id: `more-${first + index}`,
        weave_ref: `weave:///${project_id}/call/x${first + index}`,
        created_at: '2026-01-01T00:00:00.000Z',
        memory_bytes: 100,
      }));
      await database.write((transaction) => transaction.insertInto('feedback').values(rows).execute());
    }
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
});

describe('conditions on the queues of calls', () => {
  it('find the calls of a queue, and of no queue that was deleted', async () => {
    const { id } = (await send('/annotation_queues', { name: 'Q', scorer_refs: [] })) as { id: string };
    await send(`/annotation_queues/${id}/items`, { call_ids: ['b', 'd'], display_fields: [] });
    const isIn = (queue: string) => ({ $eq: [{ $getField: 'annotation_queue_items.queue_id' }, is(queue)] });
    expect(await matching(isIn(id))).toBe('db');
    expect(await matching({ $not: [isIn(id)] })).toBe('eca');
    expect(await matching({ $and: [isIn(id), { $eq: [{ $getField: 'op_name' }, is('ask')] }] })).toBe('b');
    expect(await matching(isIn('unknown'))).toBe('');
    const { status } = await service.send('DELETE', `/annotation_queues/${id}?project_id=${project_id}`, basic);
    expect(status).toBe(200);
    expect(await matching(isIn(id))).toBe('');
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
    const isInQueue = { $eq: [{ $getField: 'annotation_queue_items.queue_id' }, is(id)] };
    const isEven = { $eq: [{ $getField: 'op_name' }, is('even')] };
    const count = (...$and: object[]) => send('/calls/query_stats', { query: { $expr: { $and } } });
    expect(await count(isInQueue)).toEqual({ count: 5003 });
    expect(await count(isInQueue, isEven)).toEqual({ count: 2502 });
    expect(await count(isInQueue, { $not: [isEven] })).toEqual({ count: 2501 });
    expect(await send('/calls/query_stats', { query: { $expr: isInQueue }, limit: 5001 })).toEqual({
      count: 5001,
      has_more: true,
    });
  });
});
