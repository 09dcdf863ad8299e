import { describe, expect, it } from 'vitest';
import { advanceClock, bodyOf, refusal, startServiceWithCalls, unknownId } from '../../support/service-with-calls.ts';

const service = await startServiceWithCalls();

const createQueue = () => service.createQueue({ calls: ['call-0'] });

describe('POST /annotation_queues/{queue_id}/items/{item_id}/progress', () => {
  // The states that the annotator set before, and the one that follows.
  it.each([
    ['starts an unstarted item', [], 'in_progress'],
    ['completes an item that the annotator has started', ['in_progress'], 'completed'],
    ['accepts completed a second time', ['in_progress', 'completed'], 'completed'],
  ])('%s', async (_, before, state) => {
    const queue = await createQueue();
    for (const earlier of before) bodyOf(await service.move(queue, 'call-0', earlier));
    expect(bodyOf(await service.move(queue, 'call-0', state)).item).toMatchObject({
      call_id: 'call-0',
      annotation_state: state,
      annotator_user_id: 'ada',
    });
  });

  it.each([
    ['unstarted as the new state', [], 'unstarted', 'unstarted'],
    ['a word that is not a state', [], 'done', 'unstarted'],
    ['skipped after completed', ['in_progress', 'completed'], 'skipped', 'completed'],
    ['in_progress after completed', ['in_progress', 'completed'], 'in_progress', 'completed'],
  ])('refuses %s: status 400, and the item keeps its state', async (_, before, state, shown) => {
    const queue = await createQueue();
    for (const earlier of before) bodyOf(await service.move(queue, 'call-0', earlier));
    expect(await service.move(queue, 'call-0', state)).toEqual(refusal(400));
    expect(await service.item(queue, 'call-0')).toMatchObject({ annotation_state: shown });
  });

  it('refuses an unknown item with status 400', async () => {
    const path = `/annotation_queues/${await createQueue()}/items/${unknownId}/progress`;
    expect(await service.post(path, { annotation_state: 'completed' })).toEqual(refusal(400));
  });

  it('lets a second annotator start an item that the first has completed, and shows the latest state', async () => {
    const queue = await createQueue();
    bodyOf(await service.move(queue, 'call-0', 'completed'));
    advanceClock();
    const { item } = bodyOf(await service.move(queue, 'call-0', 'in_progress', 'bob'));
    const shown = { annotation_state: 'in_progress', annotator_user_id: 'bob' };
    expect(item).toMatchObject(shown);
    expect(await service.item(queue, 'call-0')).toMatchObject(shown);
  });

  it('does not change updated_at of the item', async () => {
    const queue = await createQueue();
    const { updated_at } = await service.item(queue, 'call-0');
    advanceClock();
    const { item } = bodyOf(await service.move(queue, 'call-0', 'skipped'));
    expect(item).toMatchObject({ annotation_state: 'skipped', updated_at });
  });
});
