import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { QueueItem } from '../../../src/contract/queue-items.ts';
import type { ItemLine } from '../../../src/service/admin/import-items.ts';
import { queryQueueItems } from '../../../src/service/operations/queue-items.ts';
import { MemoryPool, RequestBudget } from '../../../src/service/request-budget.ts';
import type { Database } from '../../../src/service/storage/database.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { caseCount } from '../../support/cases.ts';
import {
  account,
  basic,
  execute,
  onPostgres,
  startTestService,
  temporaryData,
  withStore,
} from '../../support/embedded-service.ts';
import { onEnd } from '../../support/on-end.ts';

const service = await startTestService({ sample: true });

async function load(queueId: string, items: ItemLine[]): Promise<void> {
  await withStore(service.data, (store) =>
    store.importItems(
      items.map((item) => JSON.stringify(item)),
      { projectId: 'p/q', queueId, addedBy: 'loader' },
    ),
  );
}

function line(call_id: string, members: Partial<ItemLine> = {}): ItemLine {
  return {
    call_id,
    call_op_name: 'op',
    call_trace_id: 'trace',
    call_started_at: '2026-01-01T00:00:00Z',
    ...members,
  };
}

await load('small', [
  line('c1', { call_started_at: '2026-01-03T00:00:00+02:00', call_op_name: 'b', annotation_state: 'completed' }),
  line('c2', { call_started_at: '2026-01-01T00:00:00', call_op_name: 'a', added_by: 'eve' }),
  line('c3', { call_started_at: '2026-01-02T00:00:00Z', call_op_name: 'a', annotation_state: 'in_progress' }),
  line('c4', { call_started_at: '2026-01-02T00:00:00Z', call_op_name: 'B', call_trace_id: 'other' }),
]);

async function calls(request: object): Promise<[string, number | null][]> {
  const { status, body } = await service.query('small', { project_id: 'p/q', ...request });
  expect(status).toBe(200);
  return body.items.map((item: { call_id: string; position_in_queue: number | null }) => [
    item.call_id,
    item.position_in_queue,
  ]);
}

describe('queryQueueItems', () => {
  it('returns every member of an item', async () => {
    const { body } = await service.query('small', { project_id: 'p/q', limit: 1 });
    expect(body).toEqual({
      items: [
        {
          id: expect.stringMatching(/^[0-9a-z]{17}$/),
          project_id: 'p/q',
          queue_id: 'small',
          call_id: 'c1',
          call_started_at: '2026-01-02T22:00:00.000',
          call_op_name: 'b',
          call_trace_id: 'trace',
          display_fields: [],
          annotation_state: 'completed',
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/),
          created_by: 'loader',
          updated_at: expect.any(String),
          call_ended_at: null,
          added_by: 'loader',
          annotator_user_id: '',
          deleted_at: null,
          position_in_queue: null,
        },
      ],
    });
  });

  it('sorts by the given keys and then the id, by default in order of creation', async () => {
    const ids = async (sort_by: unknown) => (await calls({ sort_by })).map(([id]) => id).join(' ');
    expect(await ids(null)).toBe('c1 c2 c3 c4');
    expect(await ids([])).toBe('c1 c2 c3 c4');
    expect(await ids([{ field: 'call_started_at', direction: 'desc' }])).toBe('c1 c3 c4 c2');
    expect(await ids([{ field: 'call_op_name', direction: 'asc' }])).toBe('c4 c2 c3 c1');
    expect(
      await ids([
        { field: 'call_op_name', direction: 'desc' },
        { field: 'call_started_at', direction: 'desc' },
      ]),
    ).toBe('c1 c3 c2 c4');
  });

  it('keeps the order however the database joins the page with the table', async () => {
    const data = await temporaryData();
    const lines = Array.from({ length: 60 }, (_, index) =>
      line(`c${index}`, { call_started_at: new Date(Date.UTC(2026, 0, 1, (index * 37) % 60)).toISOString() }),
    );
    await withStore(data, async (store) => {
      const source = lines.map((item) => JSON.stringify(item));
      await store.importItems(source, { projectId: 'p/q', queueId: 'planned' });
    });
    // SQLite always reads the page first; PostgreSQL may also read the whole table and look up the page.
    const avoidLoops = "execute format('alter database %I set enable_nestloop = off', current_database())";
    if (onPostgres) await execute(data, `do $$ begin ${avoidLoops}; end $$`);
    const planned = await startTestService({ data });
    for (const direction of ['asc', 'desc']) {
      const sort_by = [{ field: 'call_started_at', direction }];
      const { body } = await planned.query('planned', { project_id: 'p/q', sort_by });
      const times: string[] = body.items.map((item: { call_started_at: string }) => item.call_started_at);
      const sorted = [...times].sort();
      expect(times).toEqual(direction === 'asc' ? sorted : sorted.reverse());
      expect(times).toHaveLength(60);
    }
  });

  it('returns, counts and moves no item that was removed, until its call is added again', async () => {
    const data = await temporaryData();
    const items = ['kept', 'deleted'].map((call_id) => JSON.stringify(line(call_id)));
    const target = { projectId: 'p/q', queueId: 'half' };
    await withStore(data, (store) => store.importItems(items, target));
    const half = await startTestService({ data });
    const query = async () => (await half.query('half', { project_id: 'p/q', include_position: true })).body.items;
    const [, deleted] = await query();
    const skip = { project_id: 'p/q', annotation_state: 'skipped' };
    await half.send('POST', `/annotation_queues/half/items/${deleted.id}/progress`, basic, skip);
    const removal = { project_id: 'p/q', item_ids: [deleted.id, 'nowhere', deleted.id] };
    for (const removed_count of [1, 0]) {
      expect(await half.send('POST', '/annotation_queues/half/items/remove', basic, removal)).toMatchObject({
        status: 200,
        body: { removed_count },
      });
    }
    expect(await query()).toMatchObject([{ call_id: 'kept', position_in_queue: 1 }]);
    expect(await half.query('half', { project_id: 'p/q', filter: { id: deleted.id } })).toMatchObject({
      body: { items: [] },
    });
    const counts = { project_id: 'p/q', queue_ids: ['half'] };
    expect((await half.send('POST', '/annotation_queues/stats', basic, counts)).body.stats).toEqual([
      { queue_id: 'half', total_items: 1, completed_items: 0 },
    ]);
    const progress = { project_id: 'p/q', annotation_state: 'completed' };
    const path = `/annotation_queues/half/items/${deleted.id}/progress`;
    expect(await half.send('POST', path, basic, progress)).toMatchObject({
      status: 400,
      body: { reason: `Item ${deleted.id} not found in queue half` },
    });
    await withStore(data, async (store) => {
      expect((await store.list('p/q'))[0]?.queues).toMatchObject([{ id: 'half', items: 1 }]);
    });
    const addition = { project_id: 'p/q', call_ids: ['kept', 'deleted'], display_fields: ['output'] };
    expect((await half.send('POST', '/annotation_queues/half/items', basic, addition)).body).toEqual({
      added_count: 1,
      duplicates: 1,
    });
    expect(await query()).toMatchObject([
      { call_id: 'kept', display_fields: [] },
      { id: deleted.id, annotation_state: 'skipped', display_fields: ['output'], deleted_at: null },
    ]);
    await half.send('POST', '/annotation_queues/half/items/remove', basic, removal);
    await withStore(data, async (store) => {
      expect(await store.importItems(items, target)).toMatchObject({ added: 1, duplicates: 1 });
    });
    expect(await query()).toHaveLength(2);
  });

  it('removes items only from the queue of the path', async () => {
    const [first] = (await service.query('small', { project_id: 'p/q' })).body.items;
    const removal = { project_id: 'p/q', item_ids: [first.id] };
    expect(await service.send('POST', '/annotation_queues/nowhere/items/remove', basic, removal)).toMatchObject({
      status: 404,
      body: { reason: 'Queue nowhere not found' },
    });
    expect((await service.query('small', { project_id: 'p/q' })).body.items).toHaveLength(4);
  });

  it('ignores sort keys with other fields, and keeps the default order if there are no others', async () => {
    const ids = async (...fields: string[]) => {
      const sort_by = fields.map((field) => ({ field, direction: 'desc' }));
      return (await calls({ sort_by })).map(([id]) => id).join(' ');
    };
    expect(await ids('annotation_state')).toBe('c1 c2 c3 c4');
    expect(await ids('call_id', 'id', 'deleted_at')).toBe('c1 c2 c3 c4');
    expect(await ids('colour', 'call_started_at')).toBe('c1 c3 c4 c2');
  });

  it('accepts unknown members, and null where the public service does', async () => {
    const filter = { id: null, call_trace_id: null, call_op_name: null, added_by: null, annotator: 'x' };
    expect(await calls({ filter, sort_by: null, colour: 'red' })).toHaveLength(4);
    expect(await service.query('small', { project_id: 'p/q', include_position: null })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'include_position'] }] },
    });
  });

  it('returns only items that match every filter exactly', async () => {
    const ids = async (filter: unknown) => (await calls({ filter })).map(([id]) => id).join(' ');
    expect(await ids({ call_op_name: 'a' })).toBe('c2 c3');
    expect(await ids({ call_op_name: 'b' })).toBe('c1');
    expect(await ids({ call_op_name: '%' })).toBe('');
    expect(await ids({ call_op_name: 'a', added_by: 'eve' })).toBe('c2');
    expect(await ids({ call_trace_id: 'other' })).toBe('c4');
    expect(await ids({ call_id: 'c3' })).toBe('c3');
    expect(await ids({ annotation_states: ['completed', 'in_progress'] })).toBe('c1 c3');
    expect(await ids({ annotation_states: [] })).toBe('c1 c2 c3 c4');
    expect(await ids({ annotation_states: null, call_id: null })).toBe('c1 c2 c3 c4');
    expect(await ids({ call_id: "c1' or '1'='1" })).toBe('');
    expect(await ids({ call_ids: ['c4', 'c1', 'c4', 'nothing'] })).toBe('c1 c4');
    expect(await ids({ call_ids: ['c4', 'c1'], call_op_name: 'b' })).toBe('c1');
    expect(await ids({ ids: [], call_ids: null })).toBe('c1 c2 c3 c4');
    const { body } = await service.query('small', { project_id: 'p/q', offset: 2 });
    expect(await ids({ ids: body.items.map(({ id }: { id: string }) => id) })).toBe('c3 c4');
  });

  it('applies conditions on calls and judgements, says so, and counts what matches for a page past the end', async () => {
    const call = (id: string, seconds: number, rest: Record<string, unknown>) =>
      line(id, {
        call_started_at: '2026-01-01T00:00:00Z',
        call_ended_at: `2026-01-01T00:00:0${seconds}.250000Z`,
        call: rest,
      });
    await load('judged', [
      call('j1', 1, { inputs: { q: 'Straße "A"' }, output: 'no' }),
      call('j2', 3, { inputs: { q: 'x' }, output: { text: 'STRASSE' }, exception: 'Boom' }),
      call('j3', 2, { inputs: { q: 'y' }, output: null }),
    ]);
    const judge = async (id: string, creator: string | undefined, value: unknown) => {
      const body = { project_id: 'p/q', queue_id: 'judged', weave_ref: `weave:///p/q/call/${id}`, creator };
      const feedback = { ...body, feedback_type: 'heddle.judgement.good', payload: { value } };
      expect((await service.send('POST', '/feedback/create', basic, feedback)).status).toBe(200);
    };
    await judge('j1', undefined, { b: 1, a: 2 });
    await judge('j1', 'bot', { a: 2, b: 1.0 });
    await judge('j2', undefined, true);
    await judge('j2', 'bot', true);
    await judge('j2', 'bot', false);
    const query = async (request: object) => {
      const { status, body } = await service.query('judged', { project_id: 'p/q', ...request });
      expect([status, body.conditions_applied]).toEqual([200, true]);
      return body.items.map(({ call_id }: { call_id: string }) => call_id).join(' ');
    };
    const ids = async (filter: object) => {
      const found = await query({ filter });
      const { body } = await service.query('judged', { project_id: 'p/q', filter, offset: 3 });
      expect(body).toMatchObject({ items: [], matching: found.split(' ').filter(Boolean).length });
      return found;
    };
    expect(await ids({ ids: ['j3', 'j1', 'nothing'] })).toBe('j1 j3');
    await load('elsewhere', [call('j1', 1, {})]);
    const elsewhere = await service.query('elsewhere', { project_id: 'p/q' });
    expect(await ids({ ids: [elsewhere.body.items[0].id] })).toBe('');
    expect(await ids({ has_error: true })).toBe('j2');
    expect(await ids({ has_error: false })).toBe('j1 j3');
    expect(await ids({ latency_above: 1.25 })).toBe('j2 j3');
    expect(await ids({ latency_above: 1.249 })).toBe('j1 j2 j3');
    expect(await ids({ started_after: 1_767_225_600 })).toBe('j1 j2 j3');
    expect(await ids({ started_before: 1_767_225_600 })).toBe('');
    expect(await ids({ text: 'straße "a' })).toBe('j1');
    expect(await ids({ text: 'strasse' })).toBe('j2');
    expect(await ids({ text: '%' })).toBe('');
    expect(await ids({ disagreement: true })).toBe('j2');
    expect(await ids({ disagreement: false })).toBe('j1 j3');
    expect(await ids({ judged_at_least: 2 })).toBe('j1 j2');
    expect(await ids({ field: 'good', value: { a: 2, b: 1 }, judged_at_least: 2 })).toBe('j1');
    expect(await ids({ field: 'good', value: true })).toBe('j2');
    expect(await ids({ judged_by: 'ME', own_creator: 'bot', field: 'good', value: false })).toBe('j2');
    expect(await ids({ judged_by: 'me', field: 'good', value: false })).toBe('');
    expect(await ids({ judged_by: '*(bot)' })).toBe('');
    expect(await ids({ unjudged_by_me: true, own_creator: 'bot' })).toBe('j3');
    expect(await ids({ lacks_value_of: ['good'] })).toBe('j3');
    expect(await ids({ lacks_value_of: ['good', 'tone'], field: 'good', value: true })).toBe('j2');
    expect(await query({ sort_by: [{ field: 'latency', direction: 'desc' }] })).toBe('j2 j3 j1');
    expect(await query({ filter: { judged_at_least: 1 }, limit: 1, offset: 1 })).toBe('j2');
    const { body } = await service.query('judged', { project_id: 'p/q', filter: { call_id: 'j1', text: null } });
    expect(body).not.toHaveProperty('conditions_applied');
  });

  describe('with a text', () => {
    const queue = { project_id: 'p/q', queue_id: 'many' };
    beforeAll(async () => {
      const lines = Array.from({ length: 5001 }, (_, at) => {
        const call_started_at = new Date(at * 1000).toISOString();
        const call = { inputs: { at }, output: `number ${at}` };
        return line(`of-many-${at}`, { call_op_name: at < 10 ? 'few' : 'op', call_started_at, call });
      });
      await load('many', lines);
      await load('beside', [line('of-another', { call: { inputs: {}, output: 'number 4321' } })]);
    });
    const callsOf = (items: QueueItem[]) => items.map(({ call_id }) => call_id);
    const found = async (filter: object, page = {}) =>
      callsOf((await service.query('many', { project_id: 'p/q', filter, ...page })).body.items);
    const byStart = (direction: 'asc' | 'desc') => ({ sort_by: [{ field: 'call_started_at', direction }] });

    it('finds it in a queue of so many calls that they are not looked up one by one', async () => {
      expect(await found({ text: 'Number 4321' })).toEqual(['of-many-4321']);
      expect(await found({ text: 'number 4', call_op_name: 'few' })).toEqual(['of-many-4']);
      expect(await found({ text: 'number 4321', call_op_name: 'few' })).toEqual([]);
      expect(await found({ text: 'number 4', unjudged_by_me: true })).toHaveLength(1111);
      const past = { project_id: 'p/q', filter: { text: 'number 4' }, limit: 2, offset: 1111 };
      expect((await service.query('many', past)).body).toMatchObject({ items: [], matching: 1111 });
    });

    it('finds the same pages whether the first items fill them or not', async () => {
      const page = (offset: number, direction: 'asc' | 'desc') =>
        found({ text: 'NUMBER 4', unjudged_by_me: true }, { offset, limit: 2, ...byStart(direction) });
      expect(await page(0, 'asc')).toEqual(['of-many-4', 'of-many-40']);
      expect(await page(109, 'asc')).toEqual(['of-many-498', 'of-many-499']);
      expect(await page(110, 'asc')).toEqual(['of-many-499', 'of-many-4000']);
      expect(await page(0, 'desc')).toEqual(['of-many-4999', 'of-many-4998']);
      expect(await page(999, 'desc')).toEqual(['of-many-4000', 'of-many-499']);
      expect(await page(1110, 'desc')).toEqual(['of-many-4']);
      expect(await page(1111, 'desc')).toEqual([]);
    });

    it('fills a page that one of the first items has left meanwhile', async () => {
      const database = await openDatabase(service.data);
      onEnd(() => database.close());
      let hasChanged = false;
      const changing: Database = {
        ...database,
        async read(work) {
          const result = await database.read(work);
          if (!hasChanged && Array.isArray(result) && result.length === 1000) {
            hasChanged = true;
            await execute(service.data, "update queue_items set call_op_name = 'left' where call_id = 'of-many-10'");
          }
          return result;
        },
      };
      const body = {
        project_id: 'p/q',
        filter: { text: 'number', call_op_name: 'op' },
        limit: 1000,
        ...byStart('asc'),
      };
      const input = {
        path: queue,
        body,
        account: account.name,
        budget: new RequestBudget(new MemoryPool(), account.name),
      };
      const answer = await queryQueueItems(input as never, { database: changing } as never);
      const { items } = answer as unknown as { items: QueueItem[] };
      expect([hasChanged, items.length]).toEqual([true, 1000]);
      expect([items[0]!.call_id, items.at(-1)!.call_id]).toEqual(['of-many-11', 'of-many-1010']);
    });
  });

  it('finds and sorts items by the latency, and finds those by the failure, of calls that ended after they were added', async () => {
    const project_id = 'p/running';
    const started_at = '2026-01-01T00:00:00Z';
    const start = (id: string) => ({
      project_id,
      id,
      op_name: 'op',
      started_at,
      trace_id: 't',
      attributes: {},
      inputs: {},
    });
    const end = (id: string, ended_at: string) => ({ project_id, id, ended_at, summary: {} });
    const send = async (path: string, body: object) =>
      expect(await service.send('POST', path, basic, body)).toMatchObject({ status: 200 });
    const items = async (queue: string, request: object) =>
      (await service.query(queue, { project_id, ...request })).body.items.map(
        ({ call_id, call_ended_at }: { call_id: string; call_ended_at: string | null }) => [call_id, call_ended_at],
      );
    for (const id of ['slow', 'quick', 'running', 'backwards']) await send('/call/start', { start: start(id) });
    const { body: queue } = await service.send('POST', '/annotation_queues', basic, {
      project_id,
      name: 'running',
      scorer_refs: [],
    });
    const call_ids = ['running', 'quick', 'slow', 'backwards'];
    await send(`/annotation_queues/${queue.id}/items`, { project_id, call_ids, display_fields: [] });
    const sort_by = [{ field: 'latency', direction: 'desc' }];
    expect(await items(queue.id, { filter: { latency_above: 0 } })).toEqual([]);
    expect(await items(queue.id, { sort_by })).toEqual(call_ids.map((id) => [id, null]));
    await send('/call/upsert_batch', {
      batch: [
        { mode: 'end', req: { end: end('slow', '2026-02-01T00:00:00.0005Z') } },
        { mode: 'end', req: { end: end('slow', '2026-03-01T00:00:00Z') } },
        { mode: 'end', req: { end: end('backwards', '2025-12-31T23:59:59Z') } },
      ],
    });
    await send('/call/end', { end: end('quick', '2026-01-01T00:00:00.250Z') });
    const ended = [
      ['slow', '2026-02-01T00:00:00.000500'],
      ['quick', '2026-01-01T00:00:00.250'],
      ['running', null],
      ['backwards', '2025-12-31T23:59:59.000'],
    ];
    expect(await items(queue.id, { sort_by })).toEqual(ended);
    expect(await items(queue.id, { sort_by, filter: { latency_above: 0.2 } })).toEqual(ended.slice(0, 2));
    expect(await items(queue.id, { filter: { latency_above: 0.25 } })).toEqual(ended.slice(0, 1));
    expect(await items(queue.id, { filter: { has_error: true } })).toEqual([]);
    await send('/call/end', { end: { ...end('running', '2026-01-01T00:00:01Z'), exception: 'Boom' } });
    const failed = [['running', '2026-01-01T00:00:01.000']];
    expect(await items(queue.id, { filter: { has_error: true } })).toEqual(failed);
    expect(await items(queue.id, { sort_by, filter: { has_error: false } })).toEqual([ended[0], ended[1], ended[3]]);
    await send('/calls/delete', { project_id, call_ids: ['running', 'backwards'] });
    expect(await items(queue.id, { filter: { has_error: true } })).toEqual([]);
    expect(await items(queue.id, { sort_by, filter: { has_error: false } })).toEqual(ended.slice(0, 2));
    // A line that does not say when the call ended.
    const lines = ['slow', 'quick'].map((call_id) => JSON.stringify(line(call_id)));
    await withStore(service.data, (store) => store.importItems(lines, { projectId: project_id, queueId: 'imported' }));
    expect(await items('imported', { sort_by })).toEqual(ended.slice(0, 2));
  });

  it("returns the caller's own states, and only items that the caller has not finished", async () => {
    await load('own', [line('o1'), line('o2'), line('o3', { annotation_state: 'completed' })]);
    const { password } = await withStore(service.data, (store) => store.addUser('second', 'all'));
    const second = `Basic ${btoa(`second:${password}`)}`;
    const project_id = 'p/q';
    const path = '/annotation_queues/own/items';
    const statesOf = async (authorization: string, filter: object) => {
      const query = { project_id, filter, include_own_state: true };
      const { body } = await service.send('POST', `${path}/query`, authorization, query);
      return body.items.map((item: { own_state: string; annotation_state: string }) => [
        item.own_state,
        item.annotation_state,
      ]);
    };
    const [first] = (await service.query('own', { project_id })).body.items;
    const done = { project_id, annotation_state: 'skipped' };
    await service.send('POST', `${path}/${first.id}/progress`, basic, done);
    expect(await statesOf(basic, {})).toEqual([
      ['skipped', 'skipped'],
      ['unstarted', 'unstarted'],
      ['completed', 'completed'],
    ]);
    expect(await statesOf(basic, { unfinished_by_me: true })).toEqual([['unstarted', 'unstarted']]);
    expect(await statesOf(second, { unfinished_by_me: true })).toEqual([
      ['unstarted', 'skipped'],
      ['unstarted', 'unstarted'],
    ]);
    const unfinished = async (authorization: string) => {
      const request = { project_id, filter: { unfinished_by_me: true } };
      const { body } = await service.send('POST', `${path}/summary`, authorization, request);
      return Object.fromEntries(
        body.groups.map((group: { annotation_state: string; count: number }) => [group.annotation_state, group.count]),
      );
    };
    expect([await unfinished(basic), await unfinished(second)]).toEqual([
      { unstarted: 1 },
      { unstarted: 1, skipped: 1 },
    ]);
    const counts = { project_id, queue_ids: ['own'], include_own_state: true };
    const ownCounts = { queue_id: 'own', total_items: 3, completed_items: 2 };
    for (const [authorization, own_completed_items, annotator_user_id] of [
      [basic, 2, account.name],
      [second, 1, 'second'],
    ] as const) {
      const { body } = await service.send('POST', '/annotation_queues/stats', authorization, counts);
      expect(body.stats).toEqual([{ ...ownCounts, own_completed_items, annotator_user_id }]);
    }
  });

  it('returns the feedback that was given on the items in the queue, but not more than 5,000', async () => {
    const data = await temporaryData();
    await withStore(data, (store) =>
      store.importItems(
        ['c1', 'c2', 'c3'].map((id) => JSON.stringify(line(id))),
        { projectId: 'p/q', queueId: 'judged' },
      ),
    );
    const judged = await startTestService({ data });
    const give = (call: string, note: string, members: object = {}) => {
      const weave_ref = `weave:///p/q/call/${call}`;
      return { project_id: 'p/q', weave_ref, feedback_type: 'wandb.note.1', payload: { note }, ...members };
    };
    const inQueue = { queue_id: 'judged' };
    const store = async (batch: object[]) =>
      expect(await judged.send('POST', '/feedback/batch/create', basic, { batch })).toMatchObject({ status: 200 });
    await store([
      give('c1', 'first', inQueue),
      give('c2', 'second', inQueue),
      give('c1', 'elsewhere'),
      give('c3', 'not on the page', inQueue),
    ]);
    const request = { project_id: 'p/q', limit: 2, include_feedback: true };
    const notes = async () =>
      (await judged.query('judged', request)).body.feedback?.map(
        ({ payload }: { payload: { note: string } }) => payload.note,
      );
    expect((await notes()).sort()).toEqual(['first', 'second']);
    expect(await judged.query('nowhere', request)).toMatchObject({ body: { items: [] } });
    await execute(
      data,
      `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 5000)
       insert into feedback (project_id, id, wb_user_id, weave_ref, feedback_type, payload, queue_id, created_at, memory_bytes)
       select 'p/q', 'f' || n, 'ada', 'weave:///p/q/call/c1', 'mood', '{}', 'judged', '2026-01-01T00:00:00.000Z', 100 from numbers`,
    );
    expect((await judged.query('judged', request)).body).toEqual({ items: [expect.any(Object), expect.any(Object)] });
  });

  it('pages with limit and offset', async () => {
    const ids = async (page: object) => (await calls(page)).map(([id]) => id).join(' ');
    expect(await ids({ limit: 2, offset: 1 })).toBe('c2 c3');
    expect(await ids({ offset: 3 })).toBe('c4');
    expect(await ids({ limit: 0 })).toBe('');
    expect(await ids({ limit: null, offset: null })).toBe('c1 c2 c3 c4');
    expect(await ids({ limit: 2, offset: 9_007_199_254_740_991 })).toBe('');
    const bodyOf = async (page: object, queue = 'small') =>
      (await service.query(queue, { project_id: 'p/q', ...page })).body;
    expect(await bodyOf({ limit: 2, offset: 4 })).toEqual({ items: [], matching: 4 });
    expect(await bodyOf({ offset: 4 }, 'nowhere')).toEqual({ items: [], matching: 0 });
    expect(await bodyOf({ limit: 0, offset: 4 })).toEqual({ items: [] });
    expect(await bodyOf({ offset: 3 })).toEqual({ items: [expect.objectContaining({ call_id: 'c4' })] });
  });

  it('numbers positions over the whole queue in the requested order, before filters and paging', async () => {
    const sort_by = [{ field: 'call_started_at', direction: 'desc' }];
    expect(await calls({ sort_by, include_position: true, offset: 2 })).toEqual([
      ['c4', 3],
      ['c2', 4],
    ]);
    expect(await calls({ sort_by, include_position: true, filter: { annotation_states: ['unstarted'] } })).toEqual([
      ['c4', 3],
      ['c2', 4],
    ]);
  });

  it('returns no items for an unknown queue or a queue of another project', async () => {
    expect(await service.query('nowhere', { project_id: 'p/q' })).toMatchObject({ status: 200, body: { items: [] } });
    expect(await service.query('small', { project_id: 'p/other' })).toMatchObject({ status: 200, body: { items: [] } });
  });

  it('returns the queue of the sample project, which is created once, with items in every state', async () => {
    const again = await startTestService({ sample: true, data: service.data });
    const { body } = await again.query('support-triage', { project_id: 'demo/support' });
    expect(body.items).toHaveLength(12);
    expect(new Set(body.items.map((item: ItemLine) => item.annotation_state)).size).toBe(4);
    const [sample] = await withStore(service.data, (store) => store.list('demo/support'));
    const { body: read } = await again.send('GET', '/annotation_queues/support-triage?project_id=demo/support', basic);
    const helpful = sample!.objects.find(({ kind }) => kind === 'field');
    expect(read.queue.scorer_refs).toEqual([helpful!.versions[0]!.reference]);
    expect(sample?.objects.map(({ kind, object_id, versions }) => `${kind} ${object_id} ${versions.length}`)).toEqual([
      'scorer brief 1',
      'field helpful 1',
      'scorer names_label 1',
      'dataset tickets 1',
      'prompt triage 1',
    ]);
  });

  // Few different values, so that there are ties and groups of every size.
  const state = fc.constantFrom('unstarted', 'in_progress', 'completed', 'skipped' as const);
  const item = fc.record({
    call_op_name: fc.constantFrom('a', 'B', 'b', 'é', '😀'),
    second: fc.integer({ min: 0, max: 4 }),
    annotation_state: state,
    added_by: fc.constantFrom('x', 'y'),
  });
  const order = fc.array(
    fc.record({
      field: fc.constantFrom('call_started_at', 'call_op_name', 'created_at', 'updated_at' as const),
      direction: fc.constantFrom('asc', 'desc' as const),
    }),
    { maxLength: 4 },
  );
  const filter = fc.record(
    {
      annotation_states: fc.array(state, { maxLength: 2 }),
      added_by: fc.constantFrom('x', 'y'),
      call_op_name: fc.constantFrom('a', 'b'),
    },
    { requiredKeys: [] },
  );

  it('returns the pages and positions that sorting the whole queue gives', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(item, { maxLength: 40 }),
        fc.array(fc.tuple(order, filter, fc.nat(10), fc.nat(20)), { minLength: 1, maxLength: 8 }),
        async (items, requests) => {
          const queue = `random-${run++}`;
          await load(
            queue,
            items.map(({ second, ...members }, index) =>
              line(`c${index}`, { ...members, call_started_at: `2026-01-01T00:00:0${second}Z` }),
            ),
          );
          const whole = (await service.query(queue, { project_id: 'p/q' })).body.items as Record<string, string>[];
          for (const [sort_by, filter, offset, limit] of requests) {
            const keys = [...sort_by, ...(sort_by.length ? [] : [{ field: 'created_at', direction: 'asc' }])];
            const sorted = whole.toSorted((a, b) => {
              for (const { field, direction } of [...keys, { field: 'id', direction: 'asc' }]) {
                const compared = Buffer.compare(Buffer.from(a[field]!), Buffer.from(b[field]!));
                if (compared !== 0) return direction === 'asc' ? compared : -compared;
              }
              return 0;
            });
            const expected = sorted
              .map((row, index) => ({ ...row, position_in_queue: index + 1 }) as Record<string, unknown>)
              .filter(
                (row) =>
                  (!filter.annotation_states?.length ||
                    filter.annotation_states.includes(row.annotation_state as never)) &&
                  (filter.added_by === undefined || row.added_by === filter.added_by) &&
                  (filter.call_op_name === undefined || row.call_op_name === filter.call_op_name),
              )
              .slice(offset, offset + limit);
            const request = { project_id: 'p/q', sort_by, filter, offset, limit, include_position: true };
            expect((await service.query(queue, request)).body.items).toEqual(expected);
          }
        },
      ),
      { numRuns: caseCount(60) },
    );
  });

  it('numbers positions in a queue of 2000 items in which a thousand share the first sort key', async () => {
    const operations = ['a', 'b'];
    await load(
      'large',
      Array.from({ length: 2000 }, (_, index) =>
        line(`c${index}`, {
          call_op_name: operations[index % 2]!,
          call_started_at: new Date(Date.UTC(2026, 0, 1) + ((index * 7919) % 2000) * 500).toISOString(),
          annotation_state: index % 100 === 0 ? 'completed' : 'unstarted',
        }),
      ),
    );
    const sort_by = [
      { field: 'call_op_name', direction: 'desc' },
      { field: 'call_started_at', direction: 'asc' },
      { field: 'updated_at', direction: 'desc' },
    ];
    const ask = async (request: object) =>
      (await service.query('large', { project_id: 'p/q', sort_by, include_position: true, ...request })).body
        .items as Record<string, unknown>[];
    const whole = await ask({});
    expect(whole.map((row) => row.position_in_queue)).toEqual(Array.from({ length: 2000 }, (_, index) => index + 1));
    const filtered = await ask({ filter: { annotation_states: ['completed'] } });
    expect(filtered).toHaveLength(20);
    expect(filtered).toEqual(whole.filter((row) => row.annotation_state === 'completed'));
    const rest = await ask({ filter: { annotation_states: ['unstarted'] } });
    expect(rest).toEqual(whole.filter((row) => row.annotation_state === 'unstarted'));
  });
});
