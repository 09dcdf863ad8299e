import { describe, expect, it } from 'vitest';
import { basic, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();
const project_id = 'p/q';
const ada = await withStore(service.data, async (store) => {
  const { password } = await store.addUser('ada');
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
  // The imported state of an item, the steps of one annotator, and the outcome of the last step.
  it.each([
    ['unstarted', ['unstarted'], 'same'],
    ['unstarted', ['in_progress'], 'done'],
    ['unstarted', ['completed'], 'done'],
    ['unstarted', ['skipped'], 'done'],
    ['unstarted', ['in_progress', 'unstarted'], 400],
    ['unstarted', ['in_progress', 'in_progress'], 'same'],
    ['unstarted', ['in_progress', 'completed'], 'done'],
    ['unstarted', ['in_progress', 'skipped'], 'done'],
    ['unstarted', ['completed', 'unstarted'], 400],
    ['unstarted', ['completed', 'in_progress'], 400],
    ['unstarted', ['completed', 'completed'], 'same'],
    ['unstarted', ['completed', 'skipped'], 400],
    ['unstarted', ['skipped', 'unstarted'], 400],
    ['unstarted', ['skipped', 'in_progress'], 400],
    ['unstarted', ['skipped', 'completed'], 400],
    ['unstarted', ['skipped', 'skipped'], 'same'],
    ['in_progress', ['unstarted'], 400],
    ['in_progress', ['in_progress'], 'same'],
    ['in_progress', ['completed'], 'done'],
    ['in_progress', ['skipped'], 'done'],
    ['completed', ['unstarted'], 400],
    ['completed', ['in_progress'], 400],
    ['completed', ['completed'], 'same'],
    ['completed', ['skipped'], 400],
    ['skipped', ['unstarted'], 400],
    ['skipped', ['in_progress'], 400],
    ['skipped', ['completed'], 400],
    ['skipped', ['skipped'], 'same'],
  ] as const)('of an item imported as %s, after %j: %s', async (start, steps, outcome) => {
    const queue = `${start}-${steps.join('-')}`;
    const item = await imported(queue, start);
    for (const step of steps.slice(0, -1)) expect((await move(queue, item, step)).status).toBe(200);
    const before = await read(queue);
    const last = steps.at(-1)!;
    const { status, body } = await move(queue, item, last);
    if (outcome === 400) {
      const reason = `Invalid state transition from ${before.annotation_state} to ${last}`;
      expect([status, body]).toEqual([400, { reason }]);
    } else {
      expect([status, body]).toEqual([200, { item: await read(queue) }]);
    }
    if (outcome === 'done') {
      expect(await read(queue)).toEqual({
        ...before,
        annotation_state: last,
        annotator_user_id: 'tester',
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      });
      expect(body.item.updated_at >= before.updated_at).toBe(true);
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
        body: { item: { annotation_state: 'completed', annotator_user_id: null } },
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

  it('refuses unknown items, queues and states', async () => {
    const item = await imported('here', 'unstarted');
    await imported('elsewhere', 'unstarted');
    expect(await move('here', 'nothing', 'completed')).toMatchObject({
      status: 404,
      body: { reason: 'Item nothing not found' },
    });
    expect(await move('elsewhere', item, 'completed')).toMatchObject({ status: 404 });
    expect(await move('nowhere', item, 'completed')).toMatchObject({
      status: 404,
      body: { reason: 'Queue nowhere not found' },
    });
    expect(await move('here', item, 'done')).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'annotation_state'], type: 'enum' }] },
    });
  });
});
