import { describe, expect, it } from 'vitest';
import { createQueue, judge, startBothServices } from '../support/both-services.ts';

const services = await startBothServices();

describe.each(services)('gold on $name', (service) => {
  const { ada, bob } = service;
  const [nameOfAda, nameOfBob] = [service.nameOf('ada'), service.nameOf('bob')];

  /** Creates a queue in which ada and bob differ about the first of two items. */
  async function disputedQueue() {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    await judge(ada, queue_id, ids, [true, true]);
    await judge(bob, queue_id, ids, [false, true]);
    const settle = async (client: typeof ada, gold: object, reason?: string) =>
      (await client.call('update_queue_items', { queue_id, items: [{ item_id: ids[0], gold, reason }] })).counts;
    return { queue_id, ids, settle };
  }

  it('settles a dispute with a reason, and is no judgement of whoever gave it', async () => {
    const { queue_id, ids, settle } = await disputedQueue();
    const summary = { queue_id, by: ['annotator', 'field'], disagreements: 5 };
    const before = await ada.call('summarize_queue', summary);
    expect(before.disagreements).toEqual([
      {
        item_id: ids[0],
        call_id: 'call-0',
        field: 'helpful',
        values: { [nameOfAda]: true, [nameOfBob]: false },
        distance: 1,
        share: 1,
      },
    ]);
    expect(before.text).toContain(
      `disagreements, the worst first by share:\nitem_id\tcall_id\tfield\tvalues\tdistance\tshare\n${ids[0]}\tcall-0\thelpful\t`,
    );
    expect(await settle(ada, { helpful: false }, 'It misses the question.')).toEqual({ done: 1 });
    expect(await settle(ada, { helpful: false }, 'It misses the question.')).toEqual({ unchanged: 1 });
    expect(await settle(bob, { helpful: false })).toEqual({ unchanged: 1 });
    const after = await ada.call('summarize_queue', summary);
    expect(after.disagreements).toEqual([]);
    expect(after.left_out).toContain('1 disagreement that gold settles');
    expect([after.tables, after.agreement, after.total_judgements]).toEqual([
      before.tables,
      before.agreement,
      before.total_judgements,
    ]);
    const filter = { id: ids[0] };
    const page = await ada.call('query_queue_items', {
      queue_id,
      filter,
      include_judgements: true,
      fields: ['gold_reasons'],
    });
    expect(page.items).toEqual([
      {
        id: ids[0],
        annotation_state: 'unstarted',
        judgements: { [nameOfAda]: { helpful: true }, [nameOfBob]: { helpful: false } },
        gold: { helpful: false },
        gold_reasons: { helpful: 'It misses the question.' },
      },
    ]);
    expect(page.text).toContain('helpful=false');
  });

  it('is replaced by later gold of anyone, and removed with null', async () => {
    const { queue_id, ids, settle } = await disputedQueue();
    const goldOf = async () =>
      (await ada.call('query_queue_items', { queue_id, filter: { id: ids[0] }, include_judgements: true })).items[0]
        .gold;
    await settle(ada, { helpful: false }, 'First thought.');
    await settle(bob, { helpful: true });
    expect(await goldOf()).toEqual({ helpful: true });
    await settle(ada, { helpful: false });
    expect(await goldOf()).toEqual({ helpful: false });
    expect(await settle(ada, { helpful: null })).toEqual({ done: 1 });
    expect(await goldOf()).toBeUndefined();
    expect(await settle(ada, { helpful: null })).toEqual({ unchanged: 1 });
  });

  it('is refused with as_of where another one has settled the field otherwise since, also with by_user', async () => {
    const { queue_id, ids } = await disputedQueue();
    const { as_of } = await ada.call('query_queue_items', { queue_id });
    const settle = (client: typeof ada, helpful: boolean | null, asOf?: string) => {
      const items = [{ item_id: ids[0], gold: { helpful } }];
      return client.call('update_queue_items', { queue_id, items, by_user: true, as_of: asOf });
    };
    expect((await settle(bob, false)).counts).toEqual({ done: 1 });
    for (const helpful of [true, null]) {
      const { items } = await settle(ada, helpful, as_of);
      expect(items).toMatchObject([{ result: 'refused', error: { code: 'conflict' } }]);
      expect(items[0].error.message).toMatch(
        /^Not changed: (user-)?bob settled helpful as false at \S+Z, after as_of[.]$/,
      );
    }
    expect((await settle(ada, false, as_of)).counts).toEqual({ unchanged: 1 });
    expect((await settle(bob, true, as_of)).counts).toEqual({ done: 1 });
    expect((await settle(ada, false)).counts).toEqual({ done: 1 });
  });

  it.each([
    [{ gold: { helpful: 'maybe' } }, '"maybe" does not fit the field helpful'],
    [{ gold: { none: true } }, 'The queue has no field "none"'],
    [{ reason: 'Why not?' }, 'items.0.reason goes with gold'],
    [{ gold: {} }, 'items.0 changes nothing'],
  ])('refuses %j', async (change, reason) => {
    const { queue_id, ids } = await createQueue(service, ['call-0']);
    const { error } = await ada.call('update_queue_items', { queue_id, items: [{ item_id: ids[0], ...change }] });
    expect(error.message).toContain(reason);
    expect(await service.feedbackOf(queue_id)).toEqual([]);
  });

  it('fills the column of a dataset, or the majority or an annotator does', async () => {
    const { queue_id, settle } = await disputedQueue();
    const rowsFor = async (expected: string) => {
      const map = { expected: 'judgement.helpful' };
      const args = { name: 'Gold', from_queue: { queue_id, map, expected }, dry_run: true };
      const { rows, warnings = [], error } = await ada.call('create_dataset', args);
      return error ?? { values: rows.map((row: { expected?: boolean }) => row.expected), warnings };
    };
    expect((await rowsFor('gold')).message).toContain('judgement.helpful (gold) exists in no row');
    await settle(ada, { helpful: false });
    expect(await rowsFor('gold')).toEqual({
      values: [false, undefined],
      warnings: ['1 row without expected: judgement.helpful (gold) does not exist in call-1.'],
    });
    expect(await rowsFor('majority')).toEqual({
      values: [undefined, true],
      warnings: [
        '1 row without expected: no value has a majority in call-0. Gold settles that, and expected gold takes it.',
      ],
    });
    expect((await rowsFor(nameOfAda)).values).toEqual([true, true]);
    expect((await rowsFor(nameOfBob)).values).toEqual([false, true]);
    expect(await rowsFor('adda (test via heddle)')).toMatchObject({
      code: 'invalid_arguments',
      hint: expect.stringContaining(nameOfAda),
    });
  });

  it('review_queue shows disputes side by side until they are settled, the worst first', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2']);
    await judge(ada, queue_id, ids, [3, 1, 2], 'score');
    await judge(bob, queue_id, ids, [4, 5, 2], 'score');
    const filter = { disagreement: true };
    const shown = async (offset = 0) => {
      const page = await ada.call('review_queue', { queue_id, filter, limit: 1, offset });
      return [page.items.map(({ id, disputes }: { id: string; disputes: object }) => [id, disputes]), page.next_offset];
    };
    const worst = [ids[1], { score: { [nameOfAda]: 1, [nameOfBob]: 5 } }];
    const other = [ids[0], { score: { [nameOfAda]: 3, [nameOfBob]: 4 } }];
    expect(await shown()).toEqual([[worst], 1]);
    expect(await shown(1)).toEqual([[other], undefined]);
    await bob.call('update_queue_items', { queue_id, items: [{ item_id: ids[1], gold: { score: 2 } }], by_user: true });
    expect(await shown()).toEqual([[other], undefined]);
    // The filter of other tools finds settled items too, so the board says how many it leaves out.
    const { matching, hint } = await ada.call('review_queue', { queue_id, filter });
    expect(matching).toBe(1);
    expect(hint).toMatch(/^Annotators differ on 1 other item too, where gold settles it or in free text\. If the user/);
    expect((await ada.call('summarize_queue', { queue_id, filter })).total_items).toBe(2);
  });
});

describe.each(services)('summarize_queue with annotators on $name', (service) => {
  const { ada, bob, nameOf } = service;

  it('compares only these, and refuses an unknown one with the nearest', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2', 'call-3']);
    await judge(ada, queue_id, ids, [true, true, false, false]);
    await judge(bob, queue_id, ids, [true, true, false, true]);
    await service.judgeByHand(queue_id, 'call-0', false);
    const annotators = [service.nameOf('ada'), service.nameOf('bob').toUpperCase()];
    const { total_judgements, agreement } = await ada.call('summarize_queue', { queue_id, annotators });
    expect(total_judgements).toBe(8);
    expect(agreement).toMatchObject([{ items: 4, percent: 75, kappa: 0.5, disagreement_ids: [ids[3]] }]);
    const { alpha } = await ada.call('summarize_queue', { queue_id, by: ['field'] });
    expect(alpha).toMatchObject([{ field: 'helpful', annotators: 3, items: 4, distance: 'nominal' }]);
    const unknown = await ada.call('summarize_queue', { queue_id, annotators: ['adda', 'bob'] });
    expect(unknown.error).toMatchObject({ code: 'invalid_arguments', message: 'No judgement is by "adda".' });
    expect(unknown.error.hint).toContain(service.nameOf('ada'));
    const unjudged = await createQueue(service, ['call-0']);
    const early = await ada.call('summarize_queue', { queue_id: unjudged.queue_id, annotators: ['ada', 'bob'] });
    expect(early.error).toMatchObject({ message: 'No judgement is by "ada".', hint: 'Nobody has judged there.' });
  });

  it('takes the name of an account for its only annotator, in every tool, and says whom it took', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    await judge(ada, queue_id, ids, [true, true]);
    await judge(bob, queue_id, ids, [true, false]);
    const accountOf = (name: string) => name.replace(' (test via heddle)', '');
    const [accountOfAda, accountOfBob] = [accountOf(nameOf('ada')), accountOf(nameOf('bob'))];
    const taken = { [accountOfAda]: nameOf('ada') };
    const filter = { judged_by: accountOfAda };
    const annotators = [accountOfAda, accountOfBob];
    const map = { question: 'inputs.prompt', helpful: 'judgement.helpful' };
    const from_queue = { queue_id, map, expected: accountOfAda };
    const compared = await ada.call('summarize_queue', { queue_id, annotators });
    expect(compared.agreement).toMatchObject([{ items: 2, percent: 50 }]);
    expect(compared.meant).toEqual({ ...taken, [accountOfBob]: nameOf('bob') });
    expect(compared.text).toContain(`\n"${accountOfAda}" means ${nameOf('ada')}.`);
    const dataset = await ada.call('create_dataset', { name: 'ByAda', from_queue, dry_run: true });
    expect(dataset).toMatchObject({ rows: [{ helpful: true }, { helpful: true }], meant: taken });
    expect(await ada.call('query_queue_items', { queue_id, filter })).toMatchObject({ meant: taken });
    // Once the account judges by itself, that is the whole name.
    await service.judgeByHand(queue_id, 'call-0', false);
    const byHand = await ada.call('query_queue_items', { queue_id, filter, include_judgements: true });
    expect([byHand.items.length, byHand.items[0].judgements]).toEqual([1, { [accountOfAda]: { helpful: false } }]);
    expect(byHand.meant).toBeUndefined();
  });

  it('counts by the day of the judgement, alone and for each annotator', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    await judge(ada, queue_id, ids, [true, true]);
    await judge(bob, queue_id, ids, [false, undefined]);
    const days = new Set((await service.feedbackOf(queue_id)).map(({ created_at }) => created_at.slice(0, 10)));
    const { tables } = await ada.call('summarize_queue', { queue_id, by: ['day'] });
    expect(new Set(tables[0].rows.map(([day]: [string]) => day))).toEqual(days);
    const byBoth = await ada.call('summarize_queue', { queue_id, by: ['day', 'annotator'] });
    expect(byBoth.tables[0].columns).toEqual(['day', 'items', service.nameOf('ada'), service.nameOf('bob')]);
  });
});

describe.each(services)('guidelines on $name', (service) => {
  it('have a version, which a judgement knows', async () => {
    const { queue_id, judged } = await guidedQueue(service, 'Guided');
    expect(await judged()).toEqual([{ done: 1 }, { tone: '8c294dd9' }]);
    expect(await judged()).toEqual([{ unchanged: 1 }, { tone: '8c294dd9' }]);
    const { queues } = await service.ada.call('list_queues', { name: 'Guided' });
    expect(queues).toMatchObject([{ id: queue_id, guidelines_version: '8c294dd9' }]);
  });
});

describe('guidelines that have changed', () => {
  it('make the same value a new judgement', async () => {
    const [embedded] = services;
    const { queue_id, judged } = await guidedQueue(embedded!, 'Guided anew');
    expect(await judged()).toEqual([{ done: 1 }, { tone: '8c294dd9' }]);
    await embedded!.describeQueue(queue_id, 'Be kind and short.');
    expect(await judged()).toEqual([{ done: 1 }, { tone: '694707a4' }]);
  });
});

/** Creates a queue with guidelines and one item. `judged` judges it as kind, and returns the counts and the versions that the judge followed. */
async function guidedQueue({ ada, nameOf }: (typeof services)[number], name: string) {
  const { queue_id } = await ada.call('create_queue', { name, guidelines: 'Be kind.' });
  await ada.call('add_queue_items', { queue_id, call_ids: ['call-0'], confirm: true });
  const [{ id: item_id }] = (await ada.call('query_queue_items', { queue_id })).items;
  const judged = async () => {
    const items = [{ item_id, judgements: { tone: 'kind' } }];
    const { counts } = await ada.call('update_queue_items', { queue_id, items });
    const page = await ada.call('query_queue_items', { queue_id, include_judgements: true, fields: ['guidelines'] });
    return [counts, page.items[0].guidelines[nameOf('ada')]];
  };
  return { queue_id, judged };
}
