import { describe, expect, it } from 'vitest';
import { bulkCalls, createQueue, judge, promptOf, startBothServices } from '../support/both-services.ts';
import { connectClient } from '../support/client.ts';

const services = await startBothServices();

describe.each(services)('on $name', (service) => {
  const { ada, bob } = service;

  it('summarize_queue returns a kappa of 0.4 for two annotators who agree on seven of ten items', async () => {
    const { queue_id, ids } = await createQueue(service, bulkCalls(10));
    // The proportions of 50 grant proposals whose kappa is published.
    const proposals = [
      [true, true, 4],
      [true, false, 1],
      [false, true, 2],
      [false, false, 3],
    ] as const;
    const valuesOf = (reader: 0 | 1) => proposals.flatMap((row) => Array.from({ length: row[2] }, () => row[reader]));
    await judge(ada, queue_id, ids, valuesOf(0));
    await judge(bob, queue_id, ids, valuesOf(1));
    const { agreement } = await ada.call('summarize_queue', { queue_id, by: ['field'] });
    expect(agreement).toMatchObject([
      {
        items: 10,
        percent: 70,
        kappa: 0.4,
        classes: [true, false],
        confusion: [
          [4, 1],
          [2, 3],
        ],
        disagreements: 3,
      },
    ]);
    expect(new Set(agreement[0].disagreement_ids)).toEqual(new Set(ids.slice(4, 7)));
  });

  const oneItem = 'one item is too few';
  const oneValue = 'both used one and the same value only';
  it.each([
    ['one item with the same value', [true], [true], { items: 1, percent: 100, no_kappa: oneItem, confusion: [[1]] }],
    [
      'one item with two values',
      [true],
      [false],
      {
        items: 1,
        percent: 0,
        no_kappa: oneItem,
        confusion: [
          [0, 0],
          [1, 0],
        ],
      },
    ],
    ['one value only', [false, false], [false, false], { items: 2, percent: 100, no_kappa: oneValue }],
    [
      'as many agreements as disagreements',
      [true, true, false, false],
      [true, false, true, false],
      {
        items: 4,
        percent: 50,
        kappa: 0,
        confusion: [
          [1, 1],
          [1, 1],
        ],
        disagreements: 2,
      },
    ],
  ])('summarize_queue compares annotators with %s', async (_, valuesOfAda, valuesOfBob, expected) => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2', 'call-3']);
    await judge(ada, queue_id, ids, valuesOfAda);
    await judge(bob, queue_id, ids, valuesOfBob);
    const { agreement, text } = await ada.call('summarize_queue', { queue_id, by: ['field'] });
    expect(agreement).toHaveLength(1);
    expect(agreement[0]).toMatchObject(expected);
    expect('kappa' in agreement[0]).toBe('kappa' in expected);
    expect(text).toContain('kappa' in expected ? `kappa ${expected.kappa}` : `kappa undefined: ${expected.no_kappa}`);
  });

  it('summarize_queue says that annotators without a common field were not compared', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    await judge(ada, queue_id, ids, [true, false]);
    await bob.call('update_queue_items', { queue_id, items: [{ item_id: ids[0], judgements: { score: 4 } }] });
    const annotators = [service.nameOf('ada'), service.nameOf('bob')];
    const compared = await ada.call('summarize_queue', { queue_id, annotators, disagreements: 3 });
    expect(compared).not.toHaveProperty('disagreements');
    expect(compared.left_out).toBe(
      'Nothing was compared: no two of these annotators have judged the same field of an item. by ["annotator","field"] shows who judged what.',
    );
    expect(compared.text).not.toContain('No disagreements');
  });

  it('summarize_queue pages disagreements by offset, and says how many there are and where the next begin', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2']);
    await judge(ada, queue_id, ids, [3, 1, 2], 'score');
    await judge(bob, queue_id, ids, [4, 5, 4], 'score');
    const page = (offset: number) => ada.call('summarize_queue', { queue_id, disagreements: 2, offset });
    const callsOf = ({ disagreements }: { disagreements: { call_id: string }[] }) =>
      disagreements.map(({ call_id }) => call_id);
    const first = await page(0);
    expect(callsOf(first)).toEqual(['call-1', 'call-2']);
    expect(first.left_out).toBe('Left out: 1 of 3 disagreements (next: offset 2).');
    expect(first.text).toContain(first.left_out);
    const second = await page(2);
    expect(callsOf(second)).toEqual(['call-0']);
    expect(second.left_out).toContain('2 of 3 disagreements (before offset 2)');
    const past = await page(3);
    expect(past).not.toHaveProperty('disagreements');
    expect(past.left_out).toContain('3 of 3 disagreements (before offset 3)');
    expect(past.text).not.toContain('No disagreements');
  });

  it('summarize_queue says that a filter on values leaves out items of an agreement', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2', 'call-3']);
    await judge(ada, queue_id, ids, [true, true, false, false]);
    await judge(bob, queue_id, ids, [true, false, false, true]);
    const filtered = (filter: object) => ada.call('summarize_queue', { queue_id, by: ['field'], filter });
    const left = await filtered({ field: 'helpful', value: true });
    expect(left.agreement).toMatchObject([{ items: 3, percent: 33.3 }]);
    expect(left.left_out).toBe(
      'Left out: items that filter.value excludes, so agreement is measured on the others only.',
    );
    expect(left.text).toContain(left.left_out);
    expect((await filtered({ disagreement: true })).left_out).toContain('items that filter.disagreement excludes');
    expect(await filtered({ field: 'helpful' })).not.toHaveProperty('left_out');
  });

  it('judgements of a person and of an agent with the same account are compared', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    await service.judgeByHand(queue_id, 'call-0', true);
    await service.judgeByHand(queue_id, 'call-1', true);
    await judge(ada, queue_id, ids, [true, false]);
    const annotators = [service.nameOf('ada').replace(' (test via heddle)', ''), service.nameOf('ada')];
    const { agreement } = await ada.call('summarize_queue', { queue_id, by: ['field'] });
    expect(agreement).toMatchObject([{ annotators, items: 2, percent: 50, disagreement_ids: [ids[1]] }]);
  });

  it('summarize_queue and create_dataset know the caller as me, also in a new process', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    await judge(ada, queue_id, ids, [true, false]);
    await judge(bob, queue_id, ids, [true, true]);
    const { call } = await connectClient(service.environmentOf('ada'));
    const [nameOfAda, nameOfBob] = [service.nameOf('ada'), service.nameOf('bob')];
    const compared = await call('summarize_queue', { queue_id, annotators: ['me', nameOfBob], disagreements: 5 });
    expect(compared.disagreements).toEqual([
      {
        item_id: ids[1],
        call_id: 'call-1',
        field: 'helpful',
        values: { [nameOfAda]: false, [nameOfBob]: true },
        distance: 1,
        share: 1,
      },
    ]);
    const other = await createQueue(service, ['call-0', 'call-1']);
    await judge(bob, other.queue_id, other.ids, [true, true]);
    const unjudged = await call('summarize_queue', { queue_id: other.queue_id, annotators: ['me', nameOfBob] });
    expect(unjudged.error).toMatchObject({
      message: `No judgement is yours, ${nameOfAda}.`,
      hint: `The nearest annotators are ${nameOfBob}.`,
    });
    const { error } = await call('summarize_queue', { queue_id, annotators: ['me', nameOfAda] });
    expect(error.message).toBe('annotators names someone twice.');
    const map = { helpful: 'judgement.helpful' };
    const unused = { name: 'Mine', from_queue: { queue_id, expected: 'me' }, dry_run: true };
    expect((await call('create_dataset', unused)).error).toMatchObject({
      message: 'expected chooses among judgements, and no column has any.',
      hint: 'Pass map with a column from judgement.FIELD, or leave expected out.',
    });
    const dataset = { name: 'Mine', from_queue: { queue_id, map, expected: 'me' }, dry_run: true };
    const { call: callAgain } = await connectClient(service.environmentOf('ada'));
    expect((await callAgain('create_dataset', dataset)).rows).toEqual([{ helpful: true }, { helpful: false }]);
  });

  it('calibrate_judge leads to the items that others judged, and to the comparison with them', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2']);
    await judge(bob, queue_id, ids, [true, false]);
    const text = await promptOf(ada, 'calibrate_judge', {
      queue_id,
      field: 'helpful',
      annotator: service.nameOf('bob'),
      count: '5',
    });
    const [, filter = ''] = /query_queue_items with queue_id .*, filter ({.*}), include_call true and limit "5"/.exec(
      text,
    )!;
    const page = await ada.call('query_queue_items', {
      queue_id,
      filter: JSON.parse(filter),
      include_call: true,
      limit: 5,
    });
    expect(new Set(page.items.map(({ id }: { id: string }) => id))).toEqual(new Set([ids[0], ids[1]]));
    await judge(ada, queue_id, ids, [false, false]);
    const [, by = ''] = /Call summarize_queue with by (\[.*\])[.]/.exec(text)!;
    const { agreement } = await ada.call('summarize_queue', { queue_id, by: JSON.parse(by) });
    expect(agreement).toMatchObject([{ items: 2, percent: 50, disagreement_ids: [ids[0]] }]);
  });
});
