import { describe, expect, it, vi } from 'vitest';
import { basic, execute, startTestService, withStore } from '../../support/embedded-service.ts';

const service = await startTestService();
const project_id = 'p/q';
/** Authorization headers. `tester` is the account of the process. */
const who: Record<string, string> = { tester: basic };
await withStore(service.data, async (store) => {
  for (const name of ['ada', 'ben', 'cy']) {
    const { password } = await store.addUser(name, [project_id]);
    who[name] = `Basic ${btoa(`${name}:${password}`)}`;
  }
});

let queues = 0;

/** Imports a queue with items of the calls c0, c1 and so on, sets members of it, and returns its id. */
async function makeQueue(count: number, members: object = {}, project = project_id): Promise<string> {
  queues += 1;
  const queueId = `queue-${queues}`;
  const item = { call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
  const lines = Array.from({ length: count }, (_, n) =>
    JSON.stringify({ ...item, call_id: `c${n}`, call: { inputs: { number: n } } }),
  );
  await withStore(service.data, (store) => store.importItems(lines, { projectId: project, queueId }));
  await service.send('PUT', `/annotation_queues/${queueId}`, basic, { project_id: project, ...members });
  return queueId;
}

const claim = (queue: string, name: string, body: object = {}, project = project_id) =>
  service.send('POST', `/annotation_queues/${queue}/claims`, who[name], {
    project_id: project,
    n: 10,
    minutes: 10,
    as: 'person',
    ...body,
  });

/** Claims items and returns their calls. */
async function callsFor(queue: string, name: string, body: object = {}): Promise<string[]> {
  const { status, body: claimed } = await claim(queue, name, body);
  expect([status, claimed.reason]).toEqual([200, undefined]);
  return claimed.items.map(({ call_id }: { call_id: string }) => call_id);
}

async function idsOf(queue: string): Promise<Record<string, string>> {
  const { body } = await service.query(queue, { project_id });
  return Object.fromEntries(body.items.map(({ id, call_id }: { id: string; call_id: string }) => [call_id, id]));
}

async function finish(queue: string, name: string, call: string, annotation_state = 'completed'): Promise<void> {
  const path = `/annotation_queues/${queue}/items/${(await idsOf(queue))[call]}/progress`;
  expect(await service.send('POST', path, who[name], { project_id, annotation_state })).toMatchObject({ status: 200 });
}

/** Ends all claims, as if their time had passed. */
const endClaims = () => execute(service.data, "update item_claims set held_until = '2026-01-01T00:00:00.000Z'");

describe('claimQueueItems', () => {
  it('gives different items to different accounts, and never the same item twice to one', async () => {
    const queue = await makeQueue(6);
    expect(await callsFor(queue, 'ada', { n: 2 })).toEqual(['c0', 'c1']);
    expect(await callsFor(queue, 'ben', { n: 2 })).toEqual(['c2', 'c3']);
    expect(await callsFor(queue, 'ada', { n: 1 })).toEqual(['c4']);
    expect(await callsFor(queue, 'ada', { n: 9, as: 'agent' })).toEqual(['c5']);
    expect(await callsFor(queue, 'cy')).toEqual([]);
  });

  it('gives as many items with a text as are wanted, whoever claims others meanwhile', async () => {
    const queue = await makeQueue(1300);
    const filter = { text: 'Number' };
    expect(await callsFor(queue, 'ada', { n: 2, filter })).toEqual(['c0', 'c1']);
    const [ben, cy] = await Promise.all(['ben', 'cy'].map((name) => callsFor(queue, name, { n: 600, filter })));
    expect([ben!.length, cy!.length, new Set([...ben!, ...cy!]).size]).toEqual([600, 600, 1200]);
    expect(await callsFor(queue, 'ada', { filter })).toHaveLength(10);
  });

  it('gives items with a text again that the same claim gives back', async () => {
    const queue = await makeQueue(3);
    const filter = { text: 'Number' };
    const { c0 } = await idsOf(queue);
    expect(await callsFor(queue, 'ada', { n: 1, filter })).toEqual(['c0']);
    expect(await callsFor(queue, 'ada', { n: 1, filter, release: [c0] })).toEqual(['c0']);
  });

  it('gives an item to as many accounts as the queue wants opinions, counting those given', async () => {
    const queue = await makeQueue(1, { reviewers_per_item: 2 });
    expect(await callsFor(queue, 'ada')).toEqual(['c0']);
    await finish(queue, 'ada', 'c0');
    expect(await callsFor(queue, 'ada')).toEqual([]);
    expect(await callsFor(queue, 'ben')).toEqual(['c0']);
    expect(await callsFor(queue, 'cy')).toEqual([]);
    await finish(queue, 'ben', 'c0');
    expect(await callsFor(queue, 'cy')).toEqual([]);
  });

  it('counts people and agents by themselves where the queue says so', async () => {
    const queue = await makeQueue(1, { reviewers_per_item: { people: 1, agents: 1 } });
    expect(await callsFor(queue, 'ada', { as: 'agent' })).toEqual(['c0']);
    await finish(queue, 'ada', 'c0');
    expect(await callsFor(queue, 'ben', { as: 'agent' })).toEqual([]);
    expect(await callsFor(queue, 'ben')).toEqual(['c0']);
    await finish(queue, 'ben', 'c0');
    expect(await callsFor(queue, 'cy')).toEqual([]);
    const forPeople = await makeQueue(1, { reviewers_per_item: { people: 2 } });
    expect(await callsFor(forPeople, 'ada', { as: 'agent' })).toEqual([]);
  });

  it('offers an item that someone skipped to others only', async () => {
    const queue = await makeQueue(1);
    await callsFor(queue, 'ada');
    await finish(queue, 'ada', 'c0', 'skipped');
    expect(await callsFor(queue, 'ada')).toEqual([]);
    expect(await callsFor(queue, 'ben')).toEqual(['c0']);
  });

  it('keeps a claim while its annotator has only begun, and counts an opinion without a claim', async () => {
    const queue = await makeQueue(2);
    await callsFor(queue, 'ada', { n: 1 });
    await finish(queue, 'ada', 'c0', 'in_progress');
    await finish(queue, 'ben', 'c1');
    expect(await callsFor(queue, 'cy')).toEqual([]);
  });

  it('leaves out items that were imported as finished', async () => {
    const queue = await makeQueue(2);
    const { c0 } = await idsOf(queue);
    await execute(service.data, `update queue_items set annotation_state = 'completed' where id = '${c0}'`);
    expect(await callsFor(queue, 'ada', { reviewers_per_item: 3 })).toEqual(['c1']);
  });

  it('gives released items to others', async () => {
    const queue = await makeQueue(2);
    await callsFor(queue, 'ada');
    const { c1 } = await idsOf(queue);
    expect(await callsFor(queue, 'ben', { release: [c1] })).toEqual([]);
    expect(await callsFor(queue, 'ada', { n: 0, release: [c1] })).toEqual([]);
    expect(await callsFor(queue, 'ben')).toEqual(['c1']);
  });

  it('with prolong, keeps what the caller holds and adds items up to n', async () => {
    const queue = await makeQueue(5);
    const { body: first } = await claim(queue, 'ada', { n: 2, minutes: 1 });
    const { body: again } = await claim(queue, 'ada', { n: 3, minutes: 60, prolong: true });
    expect(again.items.map(({ call_id }: { call_id: string }) => call_id)).toEqual(['c0', 'c1', 'c2']);
    expect(Date.parse(again.held_until) - Date.parse(first.held_until)).toBeGreaterThan(50 * 60_000);
    expect(await callsFor(queue, 'ada', { n: 0, prolong: true })).toEqual(['c0', 'c1', 'c2']);
    expect(await callsFor(queue, 'ada', { n: 9, prolong: true, as: 'agent' })).toEqual(['c3', 'c4']);
  });

  it('gives an item to others when its claim has ended, and back to its annotator with prolong if no one has it', async () => {
    const queue = await makeQueue(2);
    await callsFor(queue, 'ada');
    await endClaims();
    expect(await callsFor(queue, 'ben', { n: 1 })).toEqual(['c0']);
    expect(await callsFor(queue, 'ada', { n: 0, prolong: true })).toEqual(['c1']);
    expect(await callsFor(queue, 'cy')).toEqual([]);
  });

  it('ends claims by the clock of the database, not by that of the process', async () => {
    const queue = await makeQueue(1);
    await callsFor(queue, 'ada');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 24 * 3_600_000 });
    try {
      expect(await callsFor(queue, 'ben')).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('says when the next claim of someone else ends if too few items are free', async () => {
    const queue = await makeQueue(1);
    const { body: held } = await claim(queue, 'ada');
    expect((await claim(queue, 'ben')).body).toMatchObject({ items: [], free_at: held.held_until });
    expect((await claim(queue, 'ada')).body).not.toHaveProperty('free_at');
  });

  it('applies the filter and the order', async () => {
    const queue = await makeQueue(3);
    await execute(
      service.data,
      `update queue_items set created_at = '2026-01-01T00:00:0' || substr(call_id, 2) || '.000Z' where queue_id = '${queue}'`,
    );
    expect(await callsFor(queue, 'ada', { filter: { call_id: 'c1' } })).toEqual(['c1']);
    expect(await callsFor(queue, 'ada', { n: 1, order: 'newest' })).toEqual(['c2']);
  });

  it('gives items only to the assignees of the item or else of the queue', async () => {
    const queue = await makeQueue(3, { assignees: ['ada', 'ben'] });
    const { c0, c2 } = await idsOf(queue);
    const assign = (item_ids: (string | undefined)[], assignees: string[]) =>
      service.send('POST', `/annotation_queues/${queue}/items/assignees`, basic, { project_id, item_ids, assignees });
    expect(await assign([c0, c2], ['cy', 'cy'])).toMatchObject({ status: 200 });
    expect(await assign([c2, 'unknown'], ['ben'])).toMatchObject({ status: 200 });
    expect(await callsFor(queue, 'cy')).toEqual(['c0']);
    expect(await callsFor(queue, 'ada')).toEqual(['c1']);
    expect(await callsFor(queue, 'ben')).toEqual(['c2']);
    await assign([c2], []);
    await endClaims();
    expect(await callsFor(queue, 'ada', { filter: { call_id: 'c2' } })).toEqual(['c2']);
  });

  it('assigns only to accounts of the project, or to anybody where it has none', async () => {
    const queue = await makeQueue(1, { assignees: ['ada'] });
    const { c0 } = await idsOf(queue);
    const reason = 'The project has no account "bne" that could claim items; its accounts are ada, ben, cy';
    const items = { project_id, item_ids: [c0], assignees: ['ada', 'bne'] };
    const path = `/annotation_queues/${queue}`;
    expect(await service.send('POST', `${path}/items/assignees`, basic, items)).toMatchObject({
      status: 400,
      body: { reason },
    });
    const changed = { project_id, assignees: ['bne'] };
    expect(await service.send('PUT', path, basic, changed)).toMatchObject({ status: 400, body: { reason } });
    const created = { ...changed, name: 'Assigned', scorer_refs: [] };
    expect(await service.send('POST', '/annotation_queues', basic, created)).toMatchObject({ status: 400 });
    expect(await callsFor(queue, 'ada')).toEqual(['c0']);
    expect(await callsFor(queue, 'ben')).toEqual([]);

    const local = await makeQueue(1, { assignees: ['anybody'] }, 'local/open');
    const claimed = await claim(local, 'tester', { n: 1, annotator: 'anybody' }, 'local/open');
    expect(claimed.body.items).toHaveLength(1);
  });

  it('claims for another annotator only where the project has no accounts', async () => {
    const queue = await makeQueue(1);
    expect(await claim(queue, 'ada', { annotator: 'ben' })).toMatchObject({
      status: 400,
      body: { reason: 'The project has accounts, so ada claims for itself only: leave annotator out' },
    });
    const local = await makeQueue(3, {}, 'local/files');
    const callsIn = async (annotator: string, more: object = {}) =>
      (await claim(local, 'tester', { n: 1, annotator, ...more }, 'local/files')).body.items.map(
        ({ call_id }: { call_id: string }) => call_id,
      );
    expect(await callsIn('first')).toEqual(['c0']);
    expect(await callsIn('second')).toEqual(['c1']);
    expect(await callsIn('first', { prolong: true })).toEqual(['c0']);
  });

  it('refuses another number of opinions than the queue wants, and takes any where the queue says nothing', async () => {
    const stated = await makeQueue(1, { reviewers_per_item: 1 });
    expect(await claim(stated, 'ada', { reviewers_per_item: 2 })).toMatchObject({
      status: 400,
      body: { reason: 'The queue wants reviewers_per_item 1: leave it out, or change the queue' },
    });
    const unstated = await makeQueue(1);
    expect(await callsFor(unstated, 'ada', { reviewers_per_item: 2 })).toEqual(['c0']);
    expect(await callsFor(unstated, 'ben', { reviewers_per_item: 2 })).toEqual(['c0']);
  });

  it('gives each item once to accounts that claim at the same time through two processes', async () => {
    const other = await startTestService({ data: service.data });
    const queue = await makeQueue(20);
    const body = { project_id, n: 4, minutes: 10, as: 'agent' };
    const claims = ['ada', 'ben', 'cy', 'tester', 'ada', 'ben'].map((name, index) =>
      (index % 2 ? other : service).send('POST', `/annotation_queues/${queue}/claims`, who[name], body),
    );
    const items = (await Promise.all(claims)).flatMap((answer) => answer.body.items);
    expect([items.length, new Set(items.map(({ id }) => id)).size]).toEqual([20, 20]);
  });

  it('refuses an unknown queue with status 404', async () => {
    expect(await claim('nowhere', 'ada')).toMatchObject({ status: 404 });
    const body = { project_id, item_ids: ['i'], assignees: ['ada'] };
    const path = '/annotation_queues/nowhere/items/assignees';
    expect(await service.send('POST', path, basic, body)).toMatchObject({ status: 404 });
  });
});
