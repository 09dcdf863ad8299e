import { describe, expect, it } from 'vitest';
import { basic, execute, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService({ sample: true });
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const post = (path: string, body: object) => service.send('POST', path, basic, { project_id: 'p/q', ...body });
const get = (path: string) => service.send('GET', path, basic);

async function make(name: string, members: object = {}): Promise<string> {
  const { status, body } = await post('/annotation_queues', { name, description: '', scorer_refs: [], ...members });
  expect(status).toBe(200);
  return body.id;
}

/** Queries queues and returns one member of each. */
async function listed(body: object, member = 'name'): Promise<unknown[]> {
  const answer = await post('/annotation_queues/query', body);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  return linesOf(answer.body).map((line) => line[member]);
}

function linesOf(text: string): Record<string, unknown>[] {
  expect(text === '' || text.endsWith('\n')).toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** Changes rows directly, in ways that no operation of the service offers. */
const change = (sql: string) => execute(service.data, sql);

const call = (id: string, members: object = {}) =>
  JSON.stringify({
    call_id: id,
    call_op_name: `op-${id}`,
    call_trace_id: `trace-${id}`,
    call_started_at: '2026-01-01T00:00:00Z',
    call_ended_at: '2026-01-01T00:00:01Z',
    ...members,
  });
await withStore(service.data, (store) =>
  store.importItems(
    [
      call('a', { annotation_state: 'completed' }),
      call('b', { annotation_state: 'skipped' }),
      call('c', { annotation_state: 'in_progress' }),
      call('d'),
    ],
    { projectId: 'p/imported', queueId: 'imported', addedBy: 'loader' },
  ),
);

describe('queues', () => {
  it('creates a queue that can be read and queried', async () => {
    const id = await make('first', { description: 'What to look at', scorer_refs: ['weave:///p/q/object/s:v0'] });
    const queue = {
      id,
      project_id: 'p/q',
      name: 'first',
      description: 'What to look at',
      scorer_refs: ['weave:///p/q/object/s:v0'],
      created_at: time,
      created_by: 'tester',
      updated_at: time,
      deleted_at: null,
    };
    const read = await get(`/annotation_queues/${id}?project_id=p%2Fq`);
    expect(read).toMatchObject({ status: 200, body: { queue } });
    const { body } = await post('/annotation_queues/query', {});
    expect(linesOf(body)).toEqual([queue]);
  });

  it('responds with 404 for an unknown queue or a queue of another project', async () => {
    const id = await make('hidden', { project_id: 'p/other' });
    for (const queue of ['nothing', id]) {
      expect(await get(`/annotation_queues/${queue}?project_id=p/q`)).toMatchObject({
        status: 404,
        body: { reason: `Queue ${queue} not found` },
      });
    }
  });

  it.each([
    ['', { loc: ['query', 'project_id'], msg: 'Required member is missing', type: 'missing' }],
    ['?project_id=p', { loc: ['query', 'project_id'], msg: 'must have the shape entity/project' }],
    ['?project_id=p/q&colour=red', { loc: ['query', 'colour'], msg: 'Unknown member', type: 'extra_forbidden' }],
  ])('refuses the query parameters %j', async (search, detail) => {
    expect(await get(`/annotation_queues/q${search}`)).toMatchObject({ status: 422, body: { detail: [detail] } });
  });

  it('filters queues by a part of the name, sorts and pages them', async () => {
    const project_id = 'p/many';
    for (const name of ['Triage 1', 'triage 2', '100%', 'a_b', 'axb']) await make(name, { project_id });
    await change(`update queues set created_at = '2026-01-0' || case name when 'a_b' then 2 when 'axb' then 2 else 1 end
    where project_id = 'p/many'`);
    await change(`update queues set id = name where project_id = 'p/many'`);
    const names = (body: object) => listed({ project_id, ...body });
    expect(await names({})).toEqual(['a_b', 'axb', '100%', 'Triage 1', 'triage 2']);
    expect(await names({ name: 'riage' })).toEqual(['Triage 1', 'triage 2']);
    expect(await names({ name: 'triage' })).toEqual(['triage 2']);
    expect(await names({ name: '%' })).toEqual(['100%']);
    expect(await names({ name: 'a_' })).toEqual(['a_b']);
    expect(await names({ name: "' or 1=1 --" })).toEqual([]);
    for (const name of ['', null]) expect(await names({ name })).toHaveLength(5);
    expect(await names({ sort_by: [{ field: 'name', direction: 'asc' }] })).toEqual([
      '100%',
      'Triage 1',
      'a_b',
      'axb',
      'triage 2',
    ]);
    expect(await names({ limit: 2, offset: 1 })).toEqual(['axb', '100%']);
    expect(await names({ offset: 4 })).toEqual(['triage 2']);
    expect(await names({ limit: 0 })).toEqual([]);
    await change(`update queues set deleted_at = '2026-01-03' where id = 'a_b'`);
    expect(await names({ name: 'a' })).toEqual(['axb', 'Triage 1', 'triage 2']);
    expect(await get('/annotation_queues/a_b?project_id=p/many')).toMatchObject({ status: 404 });
  });

  it('counts skipped items as completed and finds none in unknown queues', async () => {
    const stats = async (queue_ids: string[], project_id = 'p/imported') =>
      (await post('/annotation_queues/stats', { project_id, queue_ids })).body;
    expect(await stats(['nothing', 'imported'])).toEqual({
      stats: [
        { queue_id: 'nothing', total_items: 0, completed_items: 0 },
        { queue_id: 'imported', total_items: 4, completed_items: 2 },
      ],
    });
    expect(await stats([])).toEqual({ stats: [] });
    expect((await stats(['imported'], 'p/q')).stats[0].total_items).toBe(0);
    const many = Array.from({ length: 40_000 }, (_, index) => `queue-${index}`);
    expect((await stats([...many, 'imported'])).stats[40_000]).toMatchObject({ total_items: 4 });
    await change(`update queue_items set deleted_at = '2026-01-01' where project_id = 'p/imported' and call_id = 'a'`);
    expect((await stats(['imported'])).stats[0]).toMatchObject({ total_items: 3, completed_items: 1 });
  });

  it('adds recorded calls as items, each once', async () => {
    const project_id = 'p/imported';
    const id = await make('by hand', { project_id });
    const add = (call_ids: string[]) =>
      post(`/annotation_queues/${id}/items`, { project_id, call_ids, display_fields: ['inputs.x'] });
    expect(await add(['c', 'b', 'c'])).toMatchObject({ status: 200, body: { added_count: 2, duplicates: 1 } });
    expect(await add(['b', 'a'])).toMatchObject({ status: 200, body: { added_count: 1, duplicates: 1 } });
    expect(await add([])).toMatchObject({ status: 200, body: { added_count: 0, duplicates: 0 } });
    const { body } = await service.query(id, { project_id });
    expect(body.items.map((item: { call_id: string }) => item.call_id)).toEqual(['c', 'b', 'a']);
    expect(body.items[0]).toMatchObject({
      call_id: 'c',
      call_op_name: 'op-c',
      call_trace_id: 'trace-c',
      call_started_at: '2026-01-01T00:00:00.000Z',
      call_ended_at: '2026-01-01T00:00:01.000Z',
      display_fields: ['inputs.x'],
      annotation_state: 'unstarted',
      annotator_user_id: null,
      added_by: 'tester',
      created_by: 'tester',
    });
  });

  it('names calls that were not recorded, and adds nothing', async () => {
    const project_id = 'p/imported';
    const id = await make('incomplete', { project_id });
    const add = (call_ids: string[], queue = id) =>
      post(`/annotation_queues/${queue}/items`, { project_id, call_ids, display_fields: [] });
    expect(await add(['a', 'x', 'y', 'x'])).toMatchObject({ status: 404, body: { reason: 'Call x, y not found' } });
    const many = Array.from({ length: 1000 }, (_, index) => `${index}`);
    expect((await add(many)).body.reason).toMatch(/^Call 0, 1, .*, 19 and 980 more not found$/);
    expect((await service.query(id, { project_id })).body.items).toEqual([]);
    expect(await add(['a'], 'nowhere')).toMatchObject({ status: 404, body: { reason: 'Queue nowhere not found' } });
  });

  it.each([
    ['/annotation_queues', { description: '', scorer_refs: [] }, 'name'],
    ['/annotation_queues/query', { sort_by: [{ field: 'id', direction: 'asc' }] }, 'sort_by'],
    ['/annotation_queues/query', { limit: -1 }, 'limit'],
    ['/annotation_queues/stats', {}, 'queue_ids'],
    ['/annotation_queues/q/items', { display_fields: [] }, 'call_ids'],
  ])('refuses an invalid body sent to %s', async (path, body, member) => {
    const refused = await post(path, body);
    expect([refused.status, refused.body.detail[0].loc.slice(0, 2)]).toEqual([422, ['body', member]]);
  });
});
