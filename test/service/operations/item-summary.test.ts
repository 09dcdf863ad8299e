import { describe, expect, it } from 'vitest';
import { summaryLimits } from '../../../src/service/operations/item-summary.ts';
import { openDatabase } from '../../../src/service/storage/open-database.ts';
import { execute, withStore } from '../../support/embedded-service.ts';
import { onEnd } from '../../support/on-end.ts';
import { bodyOf, callIds, projectId, startServiceWithCalls, unknownId } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();

const summary = async (queue: string, members: object = {}) =>
  bodyOf(await service.post(`/annotation_queues/${queue}/items/summary`, members));

const noItems = { ids: [], call_ids: [], groups: [] };

/** Returns who gave which values to the items of the group at a place. */
function valuesOf(judgements: { user: string; groups: number[]; values?: unknown[] }[], place: number) {
  return judgements.flatMap(({ user, groups, values }) =>
    groups.flatMap((group, index) => (group === place ? [[user, values?.[index]]] : [])),
  );
}

async function judge(queue_id: string, call: string, field: string, value: unknown, members: object = {}, who = 'ada') {
  const feedback = {
    weave_ref: `weave:///${projectId}/call/${call}`,
    feedback_type: `judged.${field}`,
    payload: { value },
    queue_id,
    ...members,
  };
  bodyOf(await service.post('/feedback/create', feedback, who));
}

describe('POST /annotation_queues/{queue_id}/items/summary', () => {
  it('counts items by operation and state, and only those that match the filter', async () => {
    const queue = await service.createQueue({ calls: callIds });
    await service.move(queue, 'call-1', 'completed');
    const { groups } = await summary(queue);
    expect(groups).toHaveLength(3);
    expect(groups).toEqual(
      expect.arrayContaining([
        { call_op_name: 'chat', annotation_state: 'completed', count: 1 },
        { call_op_name: 'chat', annotation_state: 'unstarted', count: 2 },
        { call_op_name: 'plan', annotation_state: 'unstarted', count: 3 },
      ]),
    );
    expect(await summary(queue, { filter: { annotation_states: ['completed'] } })).toEqual({
      groups: [{ call_op_name: 'chat', annotation_state: 'completed', count: 1 }],
    });
    expect(await summary(unknownId)).toEqual({ groups: [], judgements: [] });
  });

  it('counts the items that are left when those of failed, deleted or judged calls are excluded', async () => {
    const line = (id: string, call: object) => {
      const times = { call_started_at: '2026-01-01T00:00:00Z', call_ended_at: '2026-01-01T00:00:01Z' };
      return JSON.stringify({ call_id: id, call_op_name: 'ask', call_trace_id: 't', ...times, call });
    };
    const lines = [
      line('fine', {}),
      line('judged', {}),
      line('failed', { exception: 'Boom' }),
      line('gone', {}),
      line('back', {}),
    ];
    const load = (queueId: string, ids: string[]) =>
      withStore(service.data, (store) => store.importItems(ids, { projectId, queueId }));
    await load('excluded', lines);
    bodyOf(await service.post('/calls/delete', { call_ids: ['gone', 'back'] }));
    await load('other', [lines[4]!]);
    await judge('excluded', 'judged', 'tone', 'kind', { feedback_type: 'heddle.judgement.tone' });
    const counted = async (filter: object) =>
      (await summary('excluded', { filter })).groups.map(({ count }: { count: number }) => count);
    expect(await counted({ has_error: false })).toEqual([3]);
    expect(await counted({ unjudged_by_me: true })).toEqual([4]);
    expect(await counted({ unjudged_by_me: true, has_error: false })).toEqual([2]);
    expect(await counted({ unjudged_by_me: true, call_ids: ['judged'] })).toEqual([]);
  });

  it("groups items by each annotator's latest judgement of each field, and names those on which annotators differ", async () => {
    const queue = await service.createQueue({ calls: callIds });
    await judge(queue, 'call-0', 'tone', 'rude');
    await judge(queue, 'call-0', 'tone', 'kind', { creator: 'ada' });
    await judge(queue, 'call-2', 'tone', 'kind');
    await judge(queue, 'call-4', 'tone', 'kind', { creator: 'claude' });
    await judge(queue, 'call-4', 'tone', 'rude', {}, 'bob');
    await judge(queue, 'call-4', 'tone', 'rude', { feedback_type: 'other.tone' });
    await judge(queue, 'call-1', 'tone', 'rude', { queue_id: null });
    const { id } = await service.item(queue, 'call-4');
    const disputed_items = { ids: [id], call_ids: ['call-4'], groups: [1] };
    expect(await summary(queue, { judgement_types: ['judged.'] })).toEqual({
      groups: [
        { call_op_name: 'plan', annotation_state: 'unstarted', count: 2 },
        { call_op_name: 'plan', annotation_state: 'unstarted', count: 1 },
        { call_op_name: 'chat', annotation_state: 'unstarted', count: 3 },
      ],
      judgements: [
        { field: 'tone', user: 'ada', creator: null, groups: [0], values: ['kind'] },
        { field: 'tone', user: 'ada', creator: 'claude', groups: [1], values: ['kind'] },
        { field: 'tone', user: 'bob', creator: null, groups: [1], values: ['rude'] },
      ],
      disputed_items,
    });
    const ofChat = { filter: { call_op_name: 'chat' }, judgement_types: ['judged.'] };
    expect(await summary(queue, ofChat)).toEqual({
      groups: [{ call_op_name: 'chat', annotation_state: 'unstarted', count: 3 }],
      judgements: [],
      disputed_items: noItems,
    });
    await service.move(queue, 'call-0', 'completed');
    const named = { call_ids: ['call-0', 'call-1', 'call-4'] };
    expect(await summary(queue, { filter: named, judgement_types: ['judged.'] })).toMatchObject({
      groups: [
        { call_op_name: 'plan', annotation_state: 'completed', count: 1 },
        { call_op_name: 'plan', annotation_state: 'unstarted', count: 1 },
        { call_op_name: 'chat', annotation_state: 'unstarted', count: 1 },
      ],
      disputed_items,
    });
    const exact = await summary(queue, { filter: { has_error: false }, judgement_types: ['judged.'] });
    expect(exact.groups.map(({ count }: { count: number }) => count)).toEqual([1, 1, 1, 3]);
  });

  it('counts equal judgements together that are stored differently, and lists each item on which annotators differ in the order of the queue', async () => {
    const queue = await service.createQueue({ calls: callIds });
    await judge(queue, 'call-0', 'tone', 'rude');
    await judge(queue, 'call-0', 'tone', 'kind');
    await judge(queue, 'call-2', 'tone', 'kind', { payload: { why: 'polite', value: 'kind' } });
    await judge(queue, 'call-4', 'tone', 'kind', { payload: { why: 'x'.repeat(5000), value: 'kind' } });
    for (const call of ['call-1', 'call-3']) {
      await judge(queue, call, 'tone', 'kind');
      await judge(queue, call, 'tone', 'rude', {}, 'bob');
    }
    await execute(
      service.data,
      `update queue_items set created_at = '2000-01-01T00:00:00.000000Z' where queue_id = '${queue}' and call_id = 'call-3'`,
    );
    const ids = (await Promise.all(['call-3', 'call-1'].map((call) => service.item(queue, call)))).map(({ id }) => id);
    expect(await summary(queue, { judgement_types: ['judged.'] })).toEqual({
      groups: [
        { call_op_name: 'plan', annotation_state: 'unstarted', count: 3 },
        { call_op_name: 'chat', annotation_state: 'unstarted', count: 2 },
        { call_op_name: 'chat', annotation_state: 'unstarted', count: 1 },
      ],
      judgements: [
        { field: 'tone', user: 'ada', creator: null, groups: [0, 1], values: ['kind', 'kind'] },
        { field: 'tone', user: 'bob', creator: null, groups: [1], values: ['rude'] },
      ],
      disputed_items: { ids, call_ids: ['call-3', 'call-1'], groups: [1, 1] },
    });
  });

  it('counts by judgements only the items whose judgements fulfil the conditions, and gold is none of these', async () => {
    const queue = await service.createQueue({ calls: callIds });
    const judgeTone = (call: string, value: string, members: object = {}, who = 'ada') =>
      judge(queue, call, 'tone', value, { feedback_type: 'heddle.judgement.tone', ...members }, who);
    for (const call of ['call-1', 'call-3']) {
      await judgeTone(call, 'kind');
      await judgeTone(call, 'rude', {}, 'bob');
    }
    await judgeTone('call-0', 'rude');
    await judgeTone('call-0', 'kind');
    await judgeTone('call-2', 'rude', {}, 'bob');
    await judgeTone('call-4', 'rude', { feedback_type: 'heddle.gold.tone' });
    const counted = async (filter: object) => {
      const judgement_types = ['wandb.annotation.', 'heddle.judgement.'];
      const { groups, judgements } = await summary(queue, { filter, judgement_types, gold_types: ['heddle.gold.'] });
      return groups.map(({ call_op_name, count }: Record<string, unknown>, place: number) => {
        const values = valuesOf(judgements, place).map(([user, value]) => ` ${user}: ${value}`);
        return `${count} ${call_op_name}${values.join()}`;
      });
    };
    const disputed = '2 chat ada: kind, bob: rude';
    const [unjudged, gold] = ['1 chat', '1 plan ada: rude'];
    expect(await counted({ disagreement: true })).toEqual([disputed]);
    expect(await counted({ judged_by: 'ada', field: 'tone', value: 'rude' })).toEqual([]);
    expect(await counted({ judged_by: 'bob' })).toEqual([disputed, '1 plan bob: rude']);
    expect(await counted({ judged_by: 'me' })).toEqual(['1 plan ada: kind', disputed]);
    expect(await counted({ judged_at_least: 1, call_op_name: 'plan' })).toEqual([
      '1 plan ada: kind',
      '1 plan bob: rude',
    ]);
    expect(await counted({ disagreement: false })).toEqual(['1 plan ada: kind', '1 plan bob: rude', gold, unjudged]);
    expect(await counted({ unjudged_by_me: true, has_error: false })).toEqual(['1 plan bob: rude', gold, unjudged]);
  });

  it('compares the judgements that were given last, in whatever order they are stored', async () => {
    const queue = await service.createQueue({ calls: ['call-0', 'call-2'] });
    for (const call of ['call-0', 'call-2']) {
      await judge(queue, call, 'tone', 'rude');
      await judge(queue, call, 'tone', 'kind');
    }
    await execute(
      service.data,
      `update feedback set created_at = '2000-01-01T00:00:00.000Z'
      where queue_id = '${queue}' and weave_ref like '%/call-2' and payload like '%kind%'`,
    );
    // With statistics, PostgreSQL reads so small a table without an index.
    await execute(service.data, 'analyze feedback');
    const { groups, judgements } = await summary(queue, { judgement_types: ['judged.'] });
    expect(groups.map(({ count }: { count: number }) => count)).toEqual([1, 1]);
    expect(judgements).toMatchObject([{ groups: [1, 0], values: ['rude', 'kind'] }]);
  });

  it('counts judged calls whose imported ids have slashes and spaces', async () => {
    const line = (call_id: string) =>
      JSON.stringify({
        call_id,
        call_op_name: 'ask',
        call_trace_id: 't',
        call_started_at: '2026-01-01T00:00:00Z',
        judgements: ['ben', 'cid'].map((annotator) => ({ field: 'tone', value: annotator, annotator })),
      });
    const lines = [line('run 1/call 1'), line('unstarted 0 0,1')];
    await withStore(service.data, (store) => store.importItems(lines, { projectId, queueId: 'slashes' }));
    const { groups, disputed_items } = await summary('slashes', { judgement_types: ['wandb.annotation.'] });
    expect(groups).toMatchObject([{ call_op_name: 'ask', count: 2 }]);
    expect(disputed_items.call_ids.sort()).toEqual(['run 1/call 1', 'unstarted 0 0,1']);
    const judged = await summary('slashes', { filter: { disagreement: true } });
    expect(judged.groups).toMatchObject([{ call_op_name: 'ask', count: 2 }]);
  });

  it('tells how long each annotator takes for an item, whatever the filter, and leaves gold out', async () => {
    const queue = await service.createQueue({ calls: callIds });
    await judge(queue, 'call-0', 'tone', 'kind');
    await judge(queue, 'call-2', 'tone', 'rude', { creator: 'ada' });
    await judge(queue, 'call-4', 'tone', 'kind');
    await judge(queue, 'call-4', 'clear', true);
    await judge(queue, 'call-5', 'tone', 'kind', { feedback_type: 'gold.tone' });
    await judge(queue, 'call-5', 'tone', 'kind', { creator: 'claude' });
    for (const [call, second] of ['00', '10', '30', '50'].entries())
      await execute(
        service.data,
        `update feedback set created_at = '2026-01-02T12:00:${second}.000Z'
        where queue_id = '${queue}' and weave_ref like '%/call-${[0, 2, 4, 5][call]}'`,
      );
    const request = { judgement_types: ['judged.'], gold_types: ['gold.'], include_days: true, include_paces: true };
    const { judgements, paces } = await summary(queue, { ...request, filter: { call_ids: ['call-2'] } });
    expect(paces).toEqual([{ user: 'ada', creator: null, seconds: 15 }]);
    expect(judgements).toEqual([
      { field: 'tone', user: 'ada', creator: null, day: '2026-01-02', groups: [0], values: ['rude'] },
    ]);
  });

  it('compares judgements that are too large to be in memory together, but none that is too large alone', async () => {
    const queue = await service.createQueue({ calls: ['call-0', 'call-2', 'call-4'] });
    for (const call of ['call-0', 'call-2', 'call-4']) await judge(queue, call, 'tone', 'kind');
    const setMemory = (bytes: number) =>
      execute(service.data, `update feedback set memory_bytes = ${bytes} where queue_id = '${queue}'`);
    await setMemory(250_000_000);
    expect(await summary(queue, { judgement_types: ['judged.'] })).toEqual({
      groups: [{ call_op_name: 'plan', annotation_state: 'unstarted', count: 3 }],
      judgements: [{ field: 'tone', user: 'ada', creator: null, groups: [0], values: ['kind'] }],
      disputed_items: noItems,
    });
    await setMemory(600_000_000);
    const { status } = await service.post(`/annotation_queues/${queue}/items/summary`, {
      judgement_types: ['judged.'],
    });
    expect(status).toBe(413);
    expect(await summary(queue, { judgement_types: ['other.'] })).toEqual({
      groups: [{ call_op_name: 'plan', annotation_state: 'unstarted', count: 3 }],
      judgements: [],
      disputed_items: noItems,
    });
  });

  it('counts nothing if there would be more groups, judgements or text than a limit', async () => {
    const queue = await service.createQueue({ calls: callIds });
    for (const call of ['call-0', 'call-2', 'call-4']) await judge(queue, call, 'note', `Note on ${call}`);
    for (const call of ['call-1', 'call-3']) {
      await judge(queue, call, 'tone', 'kind');
      await judge(queue, call, 'tone', 'rude', {}, 'bob');
    }
    const isCounted = async (limit: Partial<typeof summaryLimits>) => {
      const before = { ...summaryLimits };
      Object.assign(summaryLimits, limit);
      const counted = await summary(queue, { judgement_types: ['judged.'] });
      Object.assign(summaryLimits, before);
      return 'groups' in counted && 'judgements' in counted;
    };
    // Three notes, two disputed items with the same judgements, one without.
    expect([await isCounted({ groups: 5 }), await isCounted({ groups: 4 })]).toEqual([true, false]);
    expect([await isCounted({ judgements: 5 }), await isCounted({ judgements: 4 })]).toEqual([true, false]);
    // The values as JSON, and the names of the operations of the groups but for that without judgements.
    expect([await isCounted({ bytes: 76 }), await isCounted({ bytes: 75 })]).toEqual([true, false]);
    expect([await isCounted({ kinds: 2 }), await isCounted({ kinds: 1 })]).toEqual([true, false]);
    await judge(queue, 'call-0', 'note', 'Note on call-2');
    expect([await isCounted({ groups: 4 }), await isCounted({ groups: 3 })]).toEqual([true, false]);
  });

  it('counts nothing if there would be more than 20,000 operations and states', async () => {
    const line = (n: number) =>
      JSON.stringify({
        call_id: `many-${n}`,
        call_op_name: `op-${n}`,
        call_trace_id: 't',
        call_started_at: '2026-01-01T00:00:00Z',
      });
    const lines = Array.from({ length: 20_001 }, (_, n) => line(n));
    await withStore(service.data, (store) => store.importItems(lines, { projectId, queueId: 'many' }));
    expect(await summary('many')).toEqual({});
    expect(await summary('many', { filter: { has_error: false } })).toEqual({});
    expect(await summary('many', { judgement_types: ['judged.'] })).toEqual({});
    const { groups } = await summary('many', { filter: { call_op_name: 'op-7' } });
    expect(groups).toEqual([{ call_op_name: 'op-7', annotation_state: 'unstarted', count: 1 }]);
  });

  it('finds judged items in every part of the feedback, which is read in parts of 10,000', async () => {
    await execute(
      service.data,
      `insert into feedback
        (project_id, id, weave_ref, feedback_type, payload, queue_id, created_at, wb_user_id, memory_bytes)
      select project_id, 'of-' || call_id, 'weave:///' || project_id || '/call/' || call_id, 'judged.tone',
        '{"value":"' || call_op_name || '"}', queue_id, '2026-01-01T00:00:00.000000Z', 'ada', 100
      from queue_items where queue_id = 'many'`,
    );
    for (const n of [0, 15_000, 9999]) {
      const filter = { call_op_name: `op-${n}` };
      expect(await summary('many', { filter, judgement_types: ['judged.'] })).toEqual({
        groups: [{ call_op_name: `op-${n}`, annotation_state: 'unstarted', count: 1 }],
        judgements: [{ field: 'tone', user: 'ada', creator: null, groups: [0], values: [`op-${n}`] }],
        disputed_items: noItems,
      });
    }
  });

  it('needs no index of calls for latency, which a query of more than 20,000 calls creates', async () => {
    const slow = JSON.stringify({
      call_id: 'slow',
      call_op_name: 'op-7',
      call_trace_id: 't',
      call_started_at: '2026-01-01T00:00:00Z',
      call_ended_at: '2026-01-01T00:00:09Z',
    });
    await withStore(service.data, (store) => store.importItems([slow], { projectId, queueId: 'many' }));
    const database = await openDatabase(service.data);
    onEnd(() => database.close());
    expect(await database.memberIndexes.list()).toEqual([]);
    const { groups } = await summary('many', { filter: { latency_above: 8 } });
    expect(groups).toEqual([{ call_op_name: 'op-7', annotation_state: 'unstarted', count: 1 }]);
    expect(await database.memberIndexes.list()).toEqual([]);
    const isSlow = { $gt: [{ $getField: 'summary.weave.latency_ms' }, { $literal: 8000 }] };
    expect(bodyOf(await service.post('/calls/query_stats', { query: { $expr: isSlow } }))).toMatchObject({ count: 1 });
    expect(await database.memberIndexes.list()).toHaveLength(1);
  });
});
