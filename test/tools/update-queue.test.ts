import { describe, expect, it } from 'vitest';
import { createQueue, judge, startBothServices } from '../support/both-services.ts';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';

const tone = { name: 'tone', type: 'choice', choices: ['kind', 'rude'] };
const queue_id = 'support-triage';
const connect = () => connectClient(emptyHome(temporaryFolder()));

describe('update_queue', () => {
  it('adds fields after those of the queue, once', async () => {
    const { call } = await connect();
    const helpful = expect.objectContaining({ name: 'helpful', type: 'boolean' });
    const fields = [helpful, { name: 'tone', choices: ['kind', 'rude'] }];
    for (let repeated = 0; repeated < 2; repeated += 1) {
      expect(await call('update_queue', { queue_id, add_fields: [tone] })).toMatchObject({
        queue_id,
        fields,
      });
    }
    expect((await call('list_queues', {})).queues[0].fields).toEqual(fields);
  });

  it('refuses a field that has the name of another one, and an unknown queue', async () => {
    const { call } = await connect();
    const other = [{ name: 'helpful', type: 'string' }];
    expect((await call('update_queue', { queue_id, add_fields: other })).error).toMatchObject({
      code: 'conflict',
      message: 'Nothing was changed. Queue support-triage has another field helpful already.',
    });
    const spelled = [{ name: 'Helpful', type: 'boolean' }];
    expect((await call('update_queue', { queue_id, add_fields: spelled })).error).toMatchObject({
      code: 'conflict',
      message: 'Nothing was changed. Queue support-triage has another field helpful already.',
    });
    expect((await call('update_queue', { queue_id: 'triage', add_fields: [tone] })).error).toMatchObject({
      code: 'not_found',
      hint: expect.stringContaining('support-triage'),
    });
    expect((await call('list_queues', {})).queues[0].fields).toHaveLength(1);
  });

  it('refuses the name of another queue', async () => {
    const { call } = await connect();
    const { queue_id: other } = await call('create_queue', { name: 'Refunds' });
    expect((await call('update_queue', { queue_id, name: ' refunds' })).error).toMatchObject({
      code: 'conflict',
      message: `Nothing was changed. The queue ${other} has the name "Refunds" already.`,
    });
    expect(await call('update_queue', { queue_id: other, name: 'REFUNDS' })).toMatchObject({ name: 'REFUNDS' });
  });

  it.each([
    [{}, 'there is nothing to change'],
    [{ delete: false }, 'there is nothing to change'],
    [{ delete: true, name: 'Other' }, 'delete goes without other changes'],
  ])('refuses %j', async (change, fault) => {
    const { call } = await connect();
    expect((await call('update_queue', { queue_id, ...change })).error).toMatchObject({
      code: 'invalid_arguments',
      message: `Nothing was changed: ${fault}.`,
    });
  });

  it('removes items by their ids and those of their calls, and add_queue_items brings them back', async () => {
    const { call } = await connectClient(await importNumberedQueue(4));
    const queue = { queue_id: 'q' };
    const { items } = await call('query_queue_items', queue);
    const [first, second] = items;
    await call('update_queue_items', { ...queue, items: [{ item_id: first.id, annotation_state: 'skipped' }] });
    const remove_items = [first.id, second.call_id, 'nowhere'];
    const planned = await call('update_queue', { ...queue, remove_items, dry_run: true });
    expect(planned).toMatchObject({ removed: 2, total_items: 2, unknown: ['nowhere'], dry_run: true });
    expect(planned.text).toContain('No item: nowhere. The nearest items are call-0, call-1, call-2.');
    expect(planned.text).toContain('Nothing was changed (dry_run); this would be the result.');
    expect((await call('query_queue_items', queue)).items).toHaveLength(4);
    expect((await call('update_queue', { ...queue, remove_items: ['nowhere'] })).error).toMatchObject({
      code: 'invalid_arguments',
      message: `Queue ${queue.queue_id} has no item or call "nowhere".`,
    });
    const removed = await call('update_queue', { ...queue, remove_items });
    expect(removed).toMatchObject({
      removed: 2,
      total_items: 2,
      unknown: ['nowhere'],
      hint: expect.stringMatching(
        /^The nearest items are call-2, call-3, \w+\. Recorded calls and their judgements stay\.$/,
      ),
    });
    expect(removed.text).toContain('2 items, 2 removed.');
    expect(removed.text).toContain(removed.hint);
    expect((await call('query_queue_items', queue)).items.map(({ call_id }: { call_id: string }) => call_id)).toEqual([
      'call-2',
      'call-3',
    ]);
    expect(await call('add_queue_items', { ...queue, call_ids: [first.call_id] })).toMatchObject({ added: 1 });
    const { items: back } = await call('query_queue_items', { ...queue, filter: { call_id: first.call_id } });
    expect(back).toMatchObject([{ id: first.id, annotation_state: 'skipped' }]);
  });

  it('asks before it removes more than 20 items, with their number', async () => {
    const { call, questions } = await connectClient(await importNumberedQueue(25), { answer: 'decline' });
    await call('update_queue_items', { queue_id: 'q', items: [{ call_id: 'call-2', judgements: { tone: 'kind' } }] });
    const remove_items = Array.from({ length: 21 }, (_, index) => `call-${index}`);
    expect((await call('update_queue', { queue_id: 'q', remove_items })).error).toMatchObject({ code: 'cancelled' });
    expect(questions).toEqual([
      'Remove 21 items from queue "q" (q), of which 1 is judged? Adding their calls again brings them back.',
    ]);
    expect(await call('update_queue', { queue_id: 'q', remove_items, confirm: true })).toMatchObject({ removed: 21 });
    expect(questions).toHaveLength(1);
  });

  it('deletes a queue only if the user agrees, and asks with the number of items', async () => {
    const home = await importNumberedQueue(3);
    const asked = await connectClient(home, { answer: 'accept' });
    const { call } = await connectClient(home);
    expect((await call('update_queue', { queue_id: 'q', delete: true })).error).toMatchObject({
      code: 'invalid_arguments',
      message:
        "Nothing was changed: deleting a queue with 3 items, of which 0 finished, needs the user's agreement, since it cannot be undone.",
      hint: 'Ask the user, then call again with confirm: true, or leave the queue as it is.',
    });
    expect(await call('update_queue', { queue_id: 'q', delete: true, dry_run: true })).toMatchObject({
      deleted: true,
      total_items: 3,
      dry_run: true,
    });
    expect(await asked.call('update_queue', { queue_id: 'q', delete: true })).toMatchObject({
      name: 'q',
      deleted: true,
      text: expect.stringContaining('Deleted queue q (q), 3 items. Recorded calls and their judgements stay.'),
    });
    expect(asked.questions).toEqual(['Delete queue "q" (q) with 3 items, of which 0 finished? This cannot be undone.']);
    expect((await call('query_queue_items', { queue_id: 'q' })).error).toMatchObject({ code: 'not_found' });
    expect(await call('read_call', { call_id: 'call-1' })).not.toHaveProperty('error');
  });
});

const services = await startBothServices();

describe.each(services)('update_queue on $name', ({ ada, name: service }) => {
  it('renames a queue and replaces its guidelines, and says what they were', async () => {
    const created = await ada.call('create_queue', { name: 'Old', guidelines: 'Be kind.', fields: [tone] });
    const change = { queue_id: created.queue_id, name: 'New', guidelines: 'Be strict.' };
    const before = { name: 'Old', guidelines: 'Be kind.' };
    const planned = await ada.call('update_queue', { ...change, dry_run: true });
    expect(planned).toMatchObject({ name: 'New', guidelines: 'Be strict.', before, dry_run: true });
    expect((await ada.call('list_queues', { name: 'New' })).queues).toEqual([]);
    const changed = await ada.call('update_queue', change);
    expect(changed).toMatchObject({ name: 'New', guidelines: 'Be strict.', before });
    expect(changed.text).toContain('Before: name "Old", guidelines "Be kind."');
    const fields = [{ name: 'tone', choices: ['kind', 'rude'] }];
    expect((await ada.call('list_queues', { name: 'new' })).queues).toMatchObject([
      { name: 'New', guidelines: 'Be strict.', fields },
    ]);
    const again = await ada.call('update_queue', change);
    expect(again).toMatchObject({ name: 'New', fields });
    expect(again).not.toHaveProperty('before');
  });

  it('sets who judges how often, or says that the service does not keep it', async () => {
    const { queue_id } = await ada.call('create_queue', { name: 'Twice judged' });
    const result = await ada.call('update_queue', { queue_id, reviewers_per_item: 2, assignees: ['ada'] });
    if (service === 'the embedded service') {
      expect(result).toMatchObject({ reviewers_per_item: 2, assignees: ['ada'] });
      expect(result.text).toContain('Reviewers per item: 2');
      expect(await ada.call('update_queue', { queue_id, assignees: [] })).not.toHaveProperty('assignees');
    } else {
      expect(result.error).toMatchObject({
        code: 'unsupported',
        message: 'Nothing was changed: this service keeps neither reviewers_per_item nor assignees.',
      });
    }
  });

  it('changes and removes nothing where an assignee cannot claim items, and says so in a dry run', async () => {
    const { queue_id, ids } = await createQueue({ ada }, ['plain', 'failed']);
    const change = { queue_id, remove_items: [ids[0]], assignees: ['bbo'] };
    for (const dry_run of [true, false]) {
      const { error } = await ada.call('update_queue', { ...change, dry_run });
      expect(error.message).toContain(
        service === 'the embedded service'
          ? 'that could claim items; its accounts are ada, bob'
          : 'Nothing was changed: this service keeps neither',
      );
    }
    expect((await ada.call('query_queue_items', { queue_id })).items).toHaveLength(2);
  });

  it('asks before it adds a field to a queue that is judged already, with the number of its items', async () => {
    const { queue_id, ids } = await createQueue({ ada }, ['plain', 'failed', 'newer']);
    await judge(ada, queue_id, ids, [true, false, undefined]);
    const change = { queue_id, add_fields: [tone] };
    expect(await ada.call('update_queue', { ...change, dry_run: true })).not.toHaveProperty('error');
    expect((await ada.call('update_queue', change)).error).toMatchObject({
      code: 'invalid_arguments',
      message:
        "Nothing was changed: adding the field tone, which no tool removes, to a queue in which 2 items are judged without it, needs the user's agreement.",
      hint: 'Ask the user, then call again with confirm: true, or leave the queue as it is.',
    });
    const fields = expect.arrayContaining([expect.objectContaining({ name: 'tone' })]);
    expect(await ada.call('update_queue', { ...change, confirm: true })).toMatchObject({ fields });
    expect(await ada.call('update_queue', change)).toMatchObject({ fields });
  });

  it('deletes a queue with confirm', async () => {
    const { queue_id } = await ada.call('create_queue', { name: 'Mistake' });
    expect(await ada.call('update_queue', { queue_id, delete: true, confirm: true })).toMatchObject({ deleted: true });
    expect((await ada.call('list_queues', { name: 'Mistake' })).queues).toEqual([]);
    expect((await ada.call('update_queue', { queue_id, name: 'Again' })).error).toMatchObject({ code: 'not_found' });
  });

  it('removes an item, or says what to do where the service cannot, and has changed nothing', async () => {
    const { queue_id, ids } = await createQueue({ ada }, ['plain', 'failed']);
    const result = await ada.call('update_queue', { queue_id, name: 'Fewer', remove_items: [ids[0]] });
    const queueNow = (await ada.call('list_queues', {})).queues.find(({ id }: { id: string }) => id === queue_id);
    if (service === 'the embedded service') {
      expect(result).toMatchObject({ removed: 1, total_items: 1, name: 'Fewer' });
      expect(queueNow).toMatchObject({ name: 'Fewer', total: 1 });
    } else {
      expect(result.error).toMatchObject({
        code: 'unsupported',
        message: 'Nothing was changed: this service cannot remove items from a queue.',
        hint: 'Set them to skipped with update_queue_items, or fill another queue with the calls to keep and delete this one.',
      });
      expect(queueNow).toMatchObject({ total: 2 });
      expect(queueNow.name).not.toBe('Fewer');
    }
  });
});
