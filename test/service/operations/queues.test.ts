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
      reviewers_per_item: null,
      assignees: null,
    };
    const read = await get(`/annotation_queues/${id}?project_id=p%2Fq`);
    expect(read).toMatchObject({ status: 200, body: { queue } });
    const { body } = await post('/annotation_queues/query', {});
    expect(linesOf(body)).toEqual([queue]);
  });

  it('creates a queue without a description, and ignores unknown members', async () => {
    const project_id = 'p/plain';
    for (const members of [{}, { description: null, wb_user_id: 'eve', colour: 'red' }]) {
      const { body } = await post('/annotation_queues', { project_id, name: 'plain', scorer_refs: [], ...members });
      const read = await get(`/annotation_queues/${body.id}?project_id=${project_id}`);
      expect(read.body.queue).toMatchObject({ description: '', created_by: 'tester' });
    }
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
    expect(await names({ name: 'TRIAGE' })).toEqual(['Triage 1', 'triage 2']);
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
    expect(await names({ sort_by: [{ field: 'id', direction: 'desc' }], limit: 2 })).toEqual(['triage 2', 'axb']);
    expect(await names({ sort_by: [{ field: 'colour', direction: 'asc' }], limit: 1 })).toEqual(['a_b']);
    expect(await names({ limit: 2, offset: 1 })).toEqual(['axb', '100%']);
    expect(await names({ name: 'A', limit: 2, offset: 1 })).toEqual(['axb', 'Triage 1']);
    expect(await names({ offset: 4 })).toEqual(['triage 2']);
    expect(await names({ limit: 0 })).toEqual([]);
    await change(`update queues set deleted_at = '2026-01-03' where id = 'a_b'`);
    expect(await names({ name: 'a' })).toEqual(['axb', 'Triage 1', 'triage 2']);
    expect(await get('/annotation_queues/a_b?project_id=p/many')).toMatchObject({ status: 404 });
  });

  it('finds names in any case of any script', async () => {
    const project_id = 'p/scripts';
    for (const name of ['Prüfung', 'ΟΜΆΔΑ', 'очередь']) await make(name, { project_id });
    expect(await listed({ project_id, name: 'PRÜF' })).toEqual(['Prüfung']);
    expect(await listed({ project_id, name: 'ομά' })).toEqual(['ΟΜΆΔΑ']);
    expect(await listed({ project_id, name: 'ОЧЕРЕДЬ' })).toEqual(['очередь']);
  });

  it('changes the members that the request has', async () => {
    const id = await make('before', { description: 'old', scorer_refs: ['weave:///p/q/object/s:v0'] });
    await change(`update queues set updated_at = '2026-01-01', created_at = '2026-01-01' where id = '${id}'`);
    const put = (members: object) =>
      service.send('PUT', `/annotation_queues/${id}`, basic, { project_id: 'p/q', ...members });
    const { status, body } = await put({ name: 'after', wb_user_id: 'eve' });
    expect([status, body]).toEqual([
      200,
      {
        queue: {
          id,
          project_id: 'p/q',
          name: 'after',
          description: 'old',
          scorer_refs: ['weave:///p/q/object/s:v0'],
          created_at: '2026-01-01',
          created_by: 'tester',
          updated_at: time,
          deleted_at: null,
          reviewers_per_item: null,
          assignees: null,
        },
      },
    ]);
    expect((await get(`/annotation_queues/${id}?project_id=p/q`)).body).toEqual(body);
    expect((await put({ name: null, description: '', scorer_refs: [] })).body.queue).toMatchObject({
      name: 'after',
      description: '',
      scorer_refs: [],
    });
    expect((await put({})).body.queue).toMatchObject({ name: 'after', description: '' });
    const reviewers = { reviewers_per_item: { people: 2, agents: 1 }, assignees: ['ada'] };
    expect((await put(reviewers)).body.queue).toMatchObject(reviewers);
    const cleared = { reviewers_per_item: 3, assignees: [] };
    expect((await put(cleared)).body.queue).toMatchObject(cleared);
  });

  it('deletes a queue, whose items are then not found either', async () => {
    const project_id = 'p/imported';
    const id = await make('short-lived', { project_id });
    await post(`/annotation_queues/${id}/items`, { project_id, call_ids: ['a', 'b'], display_fields: [] });
    const { status, body } = await service.send('DELETE', `/annotation_queues/${id}?project_id=${project_id}`, basic);
    expect([status, body.queue]).toMatchObject([200, { id, name: 'short-lived', deleted_at: time }]);
    expect(await get(`/annotation_queues/${id}?project_id=${project_id}`)).toMatchObject({ status: 404 });
    expect(await listed({ project_id }, 'id')).not.toContain(id);
    expect((await service.query(id, { project_id })).body.items).toEqual([]);
    expect((await post('/annotation_queues/stats', { project_id, queue_ids: [id] })).body.stats).toEqual([
      { queue_id: id, total_items: 0, completed_items: 0 },
    ]);
    const items = { project_id, call_ids: ['a'], display_fields: [] };
    expect(await post(`/annotation_queues/${id}/items`, items)).toMatchObject({ status: 404 });
  });

  it('refuses to change or delete a queue that is unknown, deleted or of another project', async () => {
    const deleted = await make('gone');
    await service.send('DELETE', `/annotation_queues/${deleted}?project_id=p/q`, basic);
    const hidden = await make('hidden', { project_id: 'p/other' });
    for (const id of ['nothing', deleted, hidden]) {
      const refused = { status: 404, body: { reason: `Queue ${id} not found` } };
      const body = { project_id: 'p/q', name: 'changed' };
      expect(await service.send('PUT', `/annotation_queues/${id}`, basic, body)).toMatchObject(refused);
      expect(await service.send('DELETE', `/annotation_queues/${id}?project_id=p/q`, basic)).toMatchObject(refused);
    }
    expect((await get(`/annotation_queues/${hidden}?project_id=p/other`)).body.queue.name).toBe('hidden');
  });

  it('returns counts for each requested id, with skipped items as completed and none for an unknown queue', async () => {
    const stats = async (queue_ids: string[], project_id = 'p/imported') =>
      (await post('/annotation_queues/stats', { project_id, queue_ids })).body;
    const imported = { queue_id: 'imported', total_items: 4, completed_items: 2 };
    expect(await stats(['imported', 'nothing', 'imported'])).toEqual({
      stats: [imported, { queue_id: 'nothing', total_items: 0, completed_items: 0 }, imported],
    });
    expect(await stats([])).toEqual({ stats: [] });
    expect((await stats(['imported'], 'p/q')).stats[0].total_items).toBe(0);
    const many = Array.from({ length: 40_000 }, (_, index) => `queue-${index}`);
    expect((await stats([...many, 'imported'])).stats[40_000]).toMatchObject({ total_items: 4 });
    await change(`update queue_items set deleted_at = '2026-01-01' where project_id = 'p/imported' and call_id = 'a'`);
    expect((await stats(['imported'])).stats[0]).toMatchObject({ total_items: 3, completed_items: 1 });
  });

  it('counts an item as completed once any annotator has finished it, even while another works on it', async () => {
    const project_id = 'p/imported';
    const id = await make('shared', { project_id });
    await post(`/annotation_queues/${id}/items`, { project_id, call_ids: ['b', 'c'], display_fields: [] });
    const [first, second] = (await service.query(id, { project_id })).body.items;
    const { password } = await withStore(service.data, (store) => store.addUser('ada', 'all'));
    const move = (item: { id: string }, annotation_state: string, who: string) =>
      service.send('POST', `/annotation_queues/${id}/items/${item.id}/progress`, who, { project_id, annotation_state });
    const completed = async () =>
      (await post('/annotation_queues/stats', { project_id, queue_ids: [id] })).body.stats[0].completed_items;
    await move(first, 'in_progress', basic);
    expect(await completed()).toBe(0);
    await move(first, 'completed', basic);
    expect(await completed()).toBe(1);
    const { body } = await move(first, 'in_progress', `Basic ${btoa(`ada:${password}`)}`);
    expect(body.item).toMatchObject({ annotation_state: 'in_progress', annotator_user_id: 'ada' });
    expect(await completed()).toBe(1);
    await move(second, 'skipped', `Basic ${btoa(`ada:${password}`)}`);
    expect(await completed()).toBe(2);
  });

  it('adds recorded calls as items, each once', async () => {
    const project_id = 'p/imported';
    const id = await make('by hand', { project_id });
    const add = (call_ids: string[]) =>
      post(`/annotation_queues/${id}/items`, { project_id, call_ids, display_fields: ['inputs.x'] });
    expect(await add(['c', 'b', 'c'])).toMatchObject({ status: 200, body: { added_count: 2, duplicates: 0 } });
    expect(await add(['b', 'a'])).toMatchObject({ status: 200, body: { added_count: 1, duplicates: 1 } });
    expect(await add([])).toMatchObject({ status: 200, body: { added_count: 0, duplicates: 0 } });
    const { body } = await service.query(id, { project_id });
    expect(body.items.map((item: { call_id: string }) => item.call_id)).toEqual(['c', 'b', 'a']);
    expect(body.items[0]).toMatchObject({
      call_id: 'c',
      call_op_name: 'op-c',
      call_trace_id: 'trace-c',
      call_started_at: '2026-01-01T00:00:00.000',
      call_ended_at: '2026-01-01T00:00:01.000',
      display_fields: ['inputs.x'],
      annotation_state: 'unstarted',
      annotator_user_id: '',
      added_by: 'tester',
      created_by: 'tester',
    });
  });

  it('skips calls that were not recorded', async () => {
    const project_id = 'p/imported';
    const id = await make('incomplete', { project_id });
    const add = (call_ids: string[], queue = id) =>
      post(`/annotation_queues/${queue}/items`, { project_id, call_ids, display_fields: [] });
    expect(await add(['a', 'x', 'y', 'x'])).toMatchObject({ status: 200, body: { added_count: 1, duplicates: 0 } });
    const many = Array.from({ length: 1000 }, (_, index) => `${index}`);
    expect(await add([...many, 'b', 'a'])).toMatchObject({ status: 200, body: { added_count: 1, duplicates: 1 } });
    const { items } = (await service.query(id, { project_id })).body;
    expect(items.map((item: { call_id: string }) => item.call_id)).toEqual(['a', 'b']);
    expect(await add(['a'], 'nowhere')).toMatchObject({ status: 404, body: { reason: 'Queue nowhere not found' } });
  });

  it.each([
    ['/annotation_queues', { description: '', scorer_refs: [] }, 'name'],
    ['/annotation_queues', { name: 'x' }, 'scorer_refs'],
    ['/annotation_queues/query', { sort_by: [{ field: 'id', direction: 'up' }] }, 'sort_by'],
    ['/annotation_queues/query', { limit: -1 }, 'limit'],
    ['/annotation_queues/stats', {}, 'queue_ids'],
    ['/annotation_queues/q/items', { display_fields: [] }, 'call_ids'],
  ])('refuses an invalid body sent to %s', async (path, body, member) => {
    const refused = await post(path, body);
    expect([refused.status, refused.body.detail[0].loc.slice(0, 2)]).toEqual([422, ['body', member]]);
  });
});
