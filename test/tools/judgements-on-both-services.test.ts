import { describe, expect, it } from 'vitest';
import { bulkCalls, createQueue, promptOf, startBothServices, startProxy } from '../support/both-services.ts';
import { type ConnectedClient, connectClient } from '../support/client.ts';

const services = await startBothServices();

describe.each(services)('update_queue_items on $name', (service) => {
  const { ada, bob } = service;
  const valuesOf = async (queue_id: string): Promise<string[]> =>
    (await service.feedbackOf(queue_id)).map(({ wb_user_id, feedback_type, payload }) => {
      const account = wb_user_id.replace('user-', '');
      return `${account} ${feedback_type.replace('wandb.annotation.', '')} ${payload.value ?? payload.note}`;
    });
  const resultsOf = ({ items }: { items: { result: string }[] }): string[] => items.map(({ result }) => result);
  const shownBy = async (client: ConnectedClient, queue_id: string): Promise<object> =>
    (await client.call('query_queue_items', { queue_id, include_judgements: true })).items[0].judgements;

  it('stores several judgements and a note without a state, and shows them', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    const items = [
      { item_id: ids[0], judgements: { helpful: false, score: 2 }, note: 'Too long.' },
      { item_id: ids[1], judgements: { score: 5 }, annotation_state: 'completed' },
    ];
    const first = await ada.call('update_queue_items', { queue_id, items });
    expect(first.items).toEqual([
      { item_id: ids[0], result: 'done', annotation_state: 'unstarted' },
      { item_id: ids[1], result: 'done', annotation_state: 'completed' },
    ]);
    const annotator = service.nameOf('ada');
    const filter = { id: ids[0] };
    const fields = ['notes', 'judged_at'];
    const page = await ada.call('query_queue_items', { queue_id, filter, include_judgements: true, fields });
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*Z$/);
    expect(page.items).toEqual([
      {
        id: ids[0],
        annotation_state: 'unstarted',
        judgements: { [annotator]: { helpful: false, score: 2 } },
        notes: { [annotator]: ['Too long.'] },
        judged_at: { [annotator]: { helpful: at, score: at } },
      },
    ]);
    expect(resultsOf(await ada.call('update_queue_items', { queue_id, items }))).toEqual(['unchanged', 'unchanged']);
  });

  it('stores true, false and true in order, and reports the same value as unchanged in a new server', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0']);
    const judge = async ({ call }: ConnectedClient, helpful: boolean): Promise<string[]> =>
      resultsOf(await call('update_queue_items', { queue_id, items: [{ item_id: ids[0], judgements: { helpful } }] }));
    expect(await judge(ada, true)).toEqual(['done']);
    expect(await judge(bob, true)).toEqual(['done']);
    expect(await judge(ada, false)).toEqual(['done']);
    expect(await judge(ada, true)).toEqual(['done']);
    const other = await connectClient(service.environmentOf('ada'));
    expect(await judge(other, true)).toEqual(['unchanged']);
    expect(await valuesOf(queue_id)).toEqual([
      'ada helpful true',
      'bob helpful true',
      'ada helpful false',
      'ada helpful true',
    ]);
    expect(await shownBy(other, queue_id)).toEqual({
      [service.nameOf('ada')]: { helpful: true },
      [service.nameOf('bob')]: { helpful: true },
    });
  });

  it('stores nothing twice when a call is repeated after its responses were lost', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    let isLosing = true;
    const url = await startProxy(service.url, (path) => (isLosing && /feedback.*create$/.test(path) ? 'lose' : 'pass'));
    const { call } = await connectClient({ ...service.environmentOf('ada'), HEDDLE_BASE_URL: url });
    const items = ids.map((item_id) => ({
      item_id,
      judgements: { helpful: true },
      note: 'Why?',
      annotation_state: 'skipped',
    }));
    const lost = await call('update_queue_items', { queue_id, items });
    expect(lost.error).toMatchObject({ code: 'network' });
    isLosing = false;
    const again = await call('update_queue_items', { queue_id, items });
    expect(again).toMatchObject({ counts: { done: 2 }, annotation_state: 'skipped', items: [] });
    expect((await valuesOf(queue_id)).sort()).toEqual([
      'ada helpful true',
      'ada helpful true',
      'ada wandb.note.1 Why?',
      'ada wandb.note.1 Why?',
    ]);
  });

  it('retracts all judgements of the caller in a field, so that no earlier one counts again', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0']);
    const update = async ({ call }: ConnectedClient, change: object): Promise<string[]> =>
      resultsOf(await call('update_queue_items', { queue_id, items: [{ item_id: ids[0], ...change }] }));
    await update(bob, { judgements: { helpful: true } });
    await update(ada, { judgements: { helpful: true, score: 1 } });
    await update(ada, { judgements: { helpful: false } });
    expect(await update(ada, { retract: ['helpful'] })).toEqual(['done']);
    expect(await update(ada, { retract: ['helpful'] })).toEqual(['unchanged']);
    expect(await valuesOf(queue_id)).toEqual(['bob helpful true', 'ada score 1']);
    expect(await update(ada, { judgements: { helpful: false } })).toEqual(['done']);
    expect(await valuesOf(queue_id)).toEqual(['bob helpful true', 'ada score 1', 'ada helpful false']);
    const unknown = { queue_id, items: [{ item_id: ids[0], retract: ['tone'] }] };
    expect((await ada.call('update_queue_items', unknown)).error.message).toContain(
      'The queue has no field tone; its fields are helpful, score',
    );
  });

  it('refuses an item in another state than expected_state before it looks at judgements', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    const change = { judgements: { helpful: true }, annotation_state: 'completed' };
    await ada.call('update_queue_items', { queue_id, items: [{ item_id: ids[0], ...change }] });
    const items = ids.map((item_id) => ({ item_id, ...change }));
    // What is unchanged is refused, too.
    const result = await ada.call('update_queue_items', { queue_id, items, expected_state: 'unstarted' });
    expect(result.items).toMatchObject([
      {
        result: 'refused',
        error: { code: 'conflict', message: 'Not changed: the item is completed, set by ada, not unstarted.' },
      },
      { result: 'done', annotation_state: 'completed' },
    ]);
  });

  it('refuses items that another annotator judged or moved after as_of, and says who and when', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2', 'call-3']);
    const { as_of } = await ada.call('query_queue_items', { queue_id });
    const [judged, moved, own] = ids;
    await bob.call('update_queue_items', { queue_id, items: [{ item_id: judged, judgements: { score: 4 } }] });
    const beforeMove = Date.now();
    await bob.call('update_queue_items', { queue_id, items: [{ item_id: moved, annotation_state: 'skipped' }] });
    const afterMove = Date.now();
    await ada.call('update_queue_items', {
      queue_id,
      items: [{ item_id: own, judgements: { score: 1 }, annotation_state: 'in_progress' }],
    });
    const refused = [
      expect.stringMatching(/^Not changed: .*bob [(]test via heddle[)] judged score as 4 at \S+Z, after as_of[.]$/),
      // A service does not record when a state changed, but it was between these two.
      expect.stringMatching(new RegExp(`^Not changed: bob moved it to skipped between ${as_of} and \\S+Z[.]$`)),
    ];
    const messagesOf = ({ items }: { items: { error?: { message: string } }[] }) =>
      items.map(({ error }) => error?.message);
    const items = ids.map((item_id) => ({ item_id, judgements: { helpful: true } }));
    const invalid = await ada.call('update_queue_items', { queue_id, as_of: 'yesterday', items });
    expect(invalid.error.message).toContain('as_of: must be the as_of of a page, a date and time');
    const listed = await ada.call('update_queue_items', { queue_id, as_of, items });
    expect(messagesOf(listed)).toEqual([...refused, undefined, undefined]);
    expect(resultsOf(listed)).toEqual(['refused', 'refused', 'done', 'done']);
    const [from, to] = messagesOf(listed)[1]!
      .match(/\S+Z/g)!
      .map((time) => Date.parse(time));
    expect(from).toBeLessThanOrEqual(beforeMove);
    expect(to).toBeGreaterThanOrEqual(afterMove);

    const change = { judgements: { helpful: false } };
    const matching = await ada.call('update_queue_items', { queue_id, as_of, filter: {}, change });
    expect(matching).toMatchObject({ matched: 4, counts: { refused: 2, done: 2 } });
    expect(messagesOf(matching)).toEqual(expect.arrayContaining(refused));
    expect((await valuesOf(queue_id)).filter((value) => value.startsWith('ada helpful'))).toEqual([
      'ada helpful true',
      'ada helpful true',
      'ada helpful false',
      'ada helpful false',
    ]);
    // No page had this time, so only items that no other annotator has moved can be changed.
    const future = new Date(Date.now() + 60_000).toISOString();
    const later = await ada.call('update_queue_items', { queue_id, as_of: future, items });
    expect(resultsOf(later)).toEqual(['done', 'refused', 'done', 'done']);
  });

  it('recognizes moves of another annotator after the caller has set the same state again', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    const move = async ({ call }: ConnectedClient, item_id: string | undefined, annotation_state: string) =>
      resultsOf(await call('update_queue_items', { queue_id, items: [{ item_id, annotation_state }] }));
    expect(await move(ada, ids[0], 'completed')).toEqual(['done']);
    expect(await move(bob, ids[0], 'in_progress')).toEqual(['done']);
    // The item still shows bob.
    expect(await move(ada, ids[0], 'completed')).toEqual(['unchanged']);
    const { as_of } = await ada.call('query_queue_items', { queue_id });
    expect(await move(bob, ids[1], 'skipped')).toEqual(['done']);
    const items = [{ item_id: ids[1], judgements: { helpful: true } }];
    expect((await ada.call('update_queue_items', { queue_id, as_of, items })).items).toMatchObject([
      {
        result: 'refused',
        error: { message: expect.stringContaining(`Not changed: bob moved it to skipped between ${as_of} and `) },
      },
    ]);
  });

  it.each([
    [
      { tone: true },
      'tone',
      'The queue has no field "tone"; its fields are helpful (boolean); score (integer, 1 to 5).',
    ],
    [{ helpful: 'yes' }, 'helpful', '"yes" does not fit the field helpful (boolean).'],
    [{ score: 6 }, 'score', '6 does not fit the field score (integer, 1 to 5).'],
  ])('refuses the judgement %j before writing anything, and says what is valid', async (judgements, field, message) => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    const items = [
      { item_id: ids[0], judgements: { helpful: true }, annotation_state: 'completed' },
      { item_id: ids[1], judgements },
    ];
    const { error } = await ada.call('update_queue_items', { queue_id, items });
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining(message),
      detail: [{ loc: ['arguments', 'items', 1, 'judgements', field] }],
    });
    const matching = await ada.call('update_queue_items', { queue_id, filter: {}, change: { judgements } });
    expect(matching.error.message).toContain(message);
    expect(await valuesOf(queue_id)).toEqual([]);
    expect((await ada.call('query_queue_items', { queue_id })).state_counts).toEqual({ unstarted: 2 });
  });

  it('counts what a filter matches in a dry run, and changes it in one call', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2', 'call-3']);
    await ada.call('update_queue_items', { queue_id, items: [{ item_id: ids[2], annotation_state: 'skipped' }] });
    const change = { judgements: { helpful: true }, annotation_state: 'completed' };
    const bulk = { queue_id, filter: { call_op_name: 'plan' }, change };
    const dry = await ada.call('update_queue_items', { ...bulk, dry_run: true });
    expect(dry).toMatchObject({
      dry_run: true,
      matched: 2,
      counts: { would_send: 2 },
      items: [],
      state_counts: { unstarted: 1, skipped: 1 },
    });
    const expecting = { ...bulk, expected_state: 'unstarted', dry_run: true };
    expect(await ada.call('update_queue_items', expecting)).toMatchObject({
      counts: { would_send: 1, refused: 1 },
      items: [
        {
          item_id: ids[2],
          error: { message: expect.stringMatching(/^Not changed: the item is skipped, set by \w+, not unstarted[.]$/) },
        },
      ],
    });
    expect(await valuesOf(queue_id)).toEqual([]);
    const none = { ...bulk, filter: { ...bulk.filter, started_before: '2001-01-01' } };
    expect(await ada.call('update_queue_items', none)).toMatchObject({
      matched: 0,
      hint: 'Call summarize_queue by operation and state to see what there is.',
    });
    const done = await ada.call('update_queue_items', bulk);
    expect(done).toMatchObject({ matched: 2, counts: { done: 1, refused: 1 } });
    // A state that is final is refused by the service, after the judgement is stored.
    expect(done.items).toMatchObject([
      { item_id: ids[2], error: { message: expect.stringMatching(/^Part of the change is stored, the rest/) } },
    ]);
    expect((await ada.call('query_queue_items', { queue_id })).state_counts).toEqual({
      completed: 1,
      skipped: 1,
      unstarted: 2,
    });
  });

  it('asks before it changes more than 20 items, stating the number and that finished states are final', async () => {
    const { queue_id } = await createQueue(service, bulkCalls(21));
    const bulk = { queue_id, filter: { annotation_states: ['unstarted'] }, change: { annotation_state: 'completed' } };
    expect((await ada.call('update_queue_items', bulk)).error).toMatchObject({
      code: 'invalid_arguments',
      message:
        "Nothing was changed: changing 21 items needs the user's agreement. Skipped items stay skipped, completed ones until their judgements are taken back.",
      hint: expect.stringContaining('call again with confirm: true'),
      detail: [{ loc: ['arguments', 'confirm'] }],
    });
    const question =
      /^Change 21 items of queue "Queue \d+": set to completed\? Skipped items stay skipped, completed ones until their judgements are taken back\.$/;
    const unwilling = await connectClient(service.environmentOf('ada'), { answer: 'decline' });
    expect((await unwilling.call('update_queue_items', bulk)).error.code).toBe('cancelled');
    expect(unwilling.questions).toEqual([expect.stringMatching(question)]);
    expect((await ada.call('query_queue_items', { queue_id })).state_counts).toEqual({ unstarted: 21 });
    const willing = await connectClient(service.environmentOf('ada'), { answer: 'accept' });
    expect((await willing.call('update_queue_items', bulk)).counts).toEqual({ done: 21 });
    expect(willing.questions).toEqual([expect.stringMatching(question)]);
  });

  it('continues where a failure stopped it, reports progress, and summarizes 30 items in one line', async () => {
    const { queue_id } = await createQueue(service, bulkCalls(30));
    let left = 10;
    const url = await startProxy(service.url, (path) => {
      // Both services are to set one state after the other.
      if (path === `/annotation_queues/${queue_id}/progress`) return 'miss';
      if (path.endsWith('/progress')) left -= 1;
      return left < 0 ? 'refuse' : 'pass';
    });
    const { client, call } = await connectClient({ ...service.environmentOf('ada'), HEDDLE_BASE_URL: url });
    const args = { queue_id, filter: { call_op_name: 'bulk' }, change: { annotation_state: 'skipped' }, confirm: true };
    const stopped = await call('update_queue_items', args);
    expect(stopped).toMatchObject({ matched: 30, counts: { done: 10 }, remaining: 20, items: [] });
    expect(stopped.text).toMatch(
      /^30 items matched[.] 10 done[.] The first: [^\n]*[.]\n20 not reached: .* Call again to continue[.]$/,
    );
    left = Number.POSITIVE_INFINITY;
    const progress: object[] = [];
    const result = await client.callTool(
      { name: 'update_queue_items', arguments: args },
      { onprogress: (report) => progress.push(report) },
    );
    expect(result).toMatchObject({
      structuredContent: { matched: 30, counts: { unchanged: 10, done: 20 }, items: [] },
      content: [
        {
          text: expect.stringMatching(
            /^30 items matched[.] (10 unchanged, 20 done|20 done, 10 unchanged)[.] The first: [^\n]*[.]$/,
          ),
        },
      ],
    });
    expect(progress[0]).toMatchObject({ progress: 1, message: '1 of 30 items' });
  });

  it('the prompt triage_queue leads to one change of all unstarted items', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    await ada.call('update_queue_items', { queue_id, items: [{ item_id: ids[0], annotation_state: 'skipped' }] });
    const text = await promptOf(ada, 'triage_queue', { queue_id });
    const [, filter = ''] = /query_queue_items with queue_id .*, filter ({.*}), include_call true/.exec(text)!;
    const { items, as_of } = await ada.call('query_queue_items', { queue_id, filter: JSON.parse(filter) });
    const [, expected_state = ''] = /update_queue_items once .* expected_state "(\w+)", as_of of the page/.exec(text)!;
    const changes = items.map(({ id }: { id: string }) => ({
      item_id: id,
      judgements: { helpful: true },
      annotation_state: 'completed',
    }));
    const result = await ada.call('update_queue_items', { queue_id, as_of, expected_state, items: changes });
    expect(result.items).toEqual([{ item_id: ids[1], result: 'done', annotation_state: 'completed' }]);
  });
});
