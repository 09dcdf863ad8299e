import { describe, expect, it } from 'vitest';
import { basic, execute, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();
const project_id = 'p/q';
const ada = await withStore(service.data, async (store) => {
  const { password } = await store.addUser('ada', 'all');
  return `Basic ${btoa(`ada:${password}`)}`;
});

/** Imports a queue with one item in the given state and returns the id of the item. */
async function imported(queue: string, annotation_state: string): Promise<string> {
  const line = {
    call_id: 'c',
    call_op_name: 'op',
    call_trace_id: 't',
    call_started_at: '2026-01-01T00:00:00Z',
    annotation_state,
  };
  await withStore(service.data, (store) =>
    store.importItems([JSON.stringify(line)], { projectId: project_id, queueId: queue }),
  );
  return (await read(queue)).id;
}

const read = async (queue: string) => (await service.query(queue, { project_id })).body.items[0];

const move = (queue: string, item: string, annotation_state: string, who = basic) =>
  service.send('POST', `/annotation_queues/${queue}/items/${item}/progress`, who, { project_id, annotation_state });

describe('updateProgress', () => {
  it.each([
    ['unstarted', ['in_progress'], 'stored'],
    ['unstarted', ['completed'], 'stored'],
    ['unstarted', ['skipped'], 'stored'],
    ['unstarted', ['in_progress', 'in_progress'], 'without effect'],
    ['unstarted', ['in_progress', 'completed'], 'stored'],
    ['unstarted', ['in_progress', 'skipped'], 'stored'],
    ['unstarted', ['completed', 'in_progress'], 'refused'],
    ['unstarted', ['completed', 'completed'], 'without effect'],
    ['unstarted', ['completed', 'skipped'], 'refused'],
    ['unstarted', ['skipped', 'in_progress'], 'refused'],
    ['unstarted', ['skipped', 'completed'], 'refused'],
    ['unstarted', ['skipped', 'skipped'], 'without effect'],
    ['in_progress', ['in_progress'], 'without effect'],
    ['in_progress', ['completed'], 'stored'],
    ['in_progress', ['skipped'], 'stored'],
    ['completed', ['in_progress'], 'refused'],
    ['completed', ['completed'], 'without effect'],
    ['completed', ['skipped'], 'refused'],
    ['skipped', ['in_progress'], 'refused'],
    ['skipped', ['completed'], 'refused'],
    ['skipped', ['skipped'], 'without effect'],
  ] as const)('after an import as %s, the last of the requested states %j is %s', async (start, steps, outcome) => {
    const queue = `${start}-${steps.join('-')}`;
    const item = await imported(queue, start);
    for (const step of steps.slice(0, -1)) expect((await move(queue, item, step)).status).toBe(200);
    const before = await read(queue);
    const last = steps.at(-1)!;
    const { status, body } = await move(queue, item, last);
    if (outcome === 'refused') {
      const reason = `Invalid state transition from ${before.annotation_state} to ${last}`;
      expect([status, body]).toEqual([400, { reason }]);
    } else {
      expect([status, body]).toEqual([200, { item: await read(queue) }]);
    }
    if (outcome === 'stored') {
      // updated_at stays: it tells when the item itself changed.
      expect(await read(queue)).toEqual({ ...before, annotation_state: last, annotator_user_id: 'tester' });
    } else {
      expect(await read(queue)).toEqual(before);
    }
  });

  it('keeps progress per annotator and shows the last change on the item', async () => {
    const item = await imported('two', 'unstarted');
    expect((await move('two', item, 'in_progress')).body.item).toMatchObject({ annotator_user_id: 'tester' });
    expect((await move('two', item, 'skipped', ada)).body.item).toMatchObject({
      annotation_state: 'skipped',
      annotator_user_id: 'ada',
    });
    expect((await move('two', item, 'completed')).body.item).toMatchObject({
      annotation_state: 'completed',
      annotator_user_id: 'tester',
    });
    expect(await move('two', item, 'completed', ada)).toMatchObject({
      status: 400,
      body: { reason: 'Invalid state transition from skipped to completed' },
    });
  });

  it('does not reopen an item imported as completed, for any annotator', async () => {
    const item = await imported('finished', 'completed');
    for (const who of [basic, ada]) {
      expect(await move('finished', item, 'in_progress', who)).toMatchObject({ status: 400 });
      expect(await move('finished', item, 'completed', who)).toMatchObject({
        status: 200,
        body: { item: { annotation_state: 'completed', annotator_user_id: '' } },
      });
    }
  });

  it('lets exactly one of two concurrent final states per annotator win', async () => {
    const other = await startTestService({ data: service.data });
    const path = '/annotation_queues/race/items';
    for (let round = 0; round < 10; round += 1) {
      const item = await imported(`race-${round}`, 'unstarted');
      const at = `${path.replace('race', `race-${round}`)}/${item}/progress`;
      // Each annotator sends completed and skipped, of which only one can win.
      const answers = await Promise.all(
        [basic, ada].flatMap((who) =>
          ['completed', 'skipped'].map((annotation_state, i) =>
            (i ? other : service).send('POST', at, who, { project_id, annotation_state }),
          ),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400]);
      const final = await read(`race-${round}`);
      expect(answers.filter(({ status }) => status === 200).map(({ body }) => body.item)).toContainEqual(final);
    }
  });

  it('does not change updated_at of the item', async () => {
    const item = await imported('times', 'unstarted');
    await execute(service.data, `update queue_items set updated_at = '2026-01-01' where id = '${item}'`);
    for (const [state, who] of [
      ['in_progress', basic],
      ['completed', basic],
      ['skipped', ada],
    ] as const) {
      expect((await move('times', item, state, who)).body.item).toMatchObject({
        annotation_state: state,
        updated_at: '2026-01-01',
      });
    }
    expect((await read('times')).updated_at).toBe('2026-01-01');
  });

  it('ignores unknown members of the request', async () => {
    const item = await imported('extras', 'unstarted');
    const body = { project_id, annotation_state: 'skipped', wb_user_id: 'eve' };
    const path = `/annotation_queues/extras/items/${item}/progress`;
    expect((await service.send('POST', path, basic, body)).body.item).toMatchObject({ annotator_user_id: 'tester' });
  });

  it.each(['unstarted', 'done', 'Completed', '', 'constructor'])('refuses the state %j', async (state) => {
    const item = await imported(`to-${state || 'nothing'}`, 'in_progress');
    expect(await move(`to-${state || 'nothing'}`, item, state)).toMatchObject({
      status: 400,
      body: { reason: `Invalid annotation_state: ${state}` },
    });
    expect((await read(`to-${state || 'nothing'}`)).annotation_state).toBe('in_progress');
  });

  it('refuses a state that is not a string', async () => {
    const path = '/annotation_queues/q/items/i/progress';
    expect(await service.send('POST', path, basic, { project_id, annotation_state: null })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'annotation_state'], type: 'string_type' }] },
    });
  });

  it('refuses unknown items and queues with status 400', async () => {
    const item = await imported('here', 'unstarted');
    await imported('elsewhere', 'unstarted');
    for (const [queue, id] of [
      ['here', 'nothing'],
      ['elsewhere', item],
      ['nowhere', item],
    ] as const) {
      expect(await move(queue, id, 'completed')).toMatchObject({
        status: 400,
        body: { reason: `Item ${id} not found in queue ${queue}` },
      });
    }
    const path = `/annotation_queues/here/items/${item}/progress`;
    const elsewhere = { project_id: 'p/other', annotation_state: 'completed' };
    expect(await service.send('POST', path, basic, elsewhere)).toMatchObject({ status: 400 });
    await service.send('DELETE', `/annotation_queues/here?project_id=${project_id}`, basic);
    expect(await move('here', item, 'completed')).toMatchObject({ status: 400 });
  });
});

describe('updateProgressBatch', () => {
  const moveAll = (queue: string, updates: unknown, who = basic) =>
    service.send('POST', `/annotation_queues/${queue}/progress`, who, { project_id, updates });

  it('sets each state as updateProgress does, in the order of the updates, and returns the reason of each refusal', async () => {
    const [open, finished] = [await imported('batch', 'unstarted'), await imported('other-batch', 'completed')];
    const update = (item_id: string, annotation_state: string) => ({ item_id, annotation_state });
    const updates = [
      update('nothing', 'completed'),
      update(open, 'in_progress'),
      update(open, 'in_progress'),
      update(finished, 'skipped'),
      update(open, 'unstarted'),
      update(open, 'completed'),
      update(open, 'skipped'),
    ];
    expect(await moveAll('batch', updates, ada)).toMatchObject({
      status: 200,
      body: {
        results: [
          { reason: 'Item nothing not found in queue batch' },
          { item: { id: open, annotation_state: 'in_progress', annotator_user_id: 'ada' } },
          { item: { id: open, annotation_state: 'in_progress', annotator_user_id: 'ada' } },
          { reason: `Item ${finished} not found in queue batch` },
          { reason: 'Invalid annotation_state: unstarted' },
          { item: { id: open, annotation_state: 'completed', annotator_user_id: 'ada' } },
          { reason: 'Invalid state transition from completed to skipped' },
        ],
      },
    });
    expect(await read('batch')).toMatchObject({ annotation_state: 'completed', annotator_user_id: 'ada' });
    expect(await read('other-batch')).toMatchObject({ annotation_state: 'completed', annotator_user_id: '' });
  });

  it('refuses more than 1,000 updates, and updates without a state', async () => {
    const updates = Array.from({ length: 1001 }, () => ({ item_id: 'i', annotation_state: 'completed' }));
    expect(await moveAll('q', updates)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'updates'] }] },
    });
    expect(await moveAll('q', [{ item_id: 'i' }])).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'updates', 0, 'annotation_state'] }] },
    });
    expect(await moveAll('q', [])).toMatchObject({ status: 200, body: { results: [] } });
  });
});
