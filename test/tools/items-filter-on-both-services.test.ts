import { beforeAll, describe, expect, it } from 'vitest';
import { createQueue, judge, startBothServices } from '../support/both-services.ts';
import { connectClient } from '../support/client.ts';

const services = await startBothServices();
const calls = ['plain', 'failed', 'newer', 'other', 'call-0', 'call-1'];

describe.each(services)('the filter of items on $name', (service) => {
  const { ada, bob, nameOf } = service;
  const adas = nameOf('ada');
  let queue_id: string;
  let ids: string[];

  beforeAll(async () => {
    ({ queue_id, ids } = await createQueue(service, calls));
    await judge(ada, queue_id, ids, [true, true, false, undefined, undefined, undefined]);
    await judge(bob, queue_id, ids, [true, false, undefined, true, undefined, undefined]);
    const scored = (item_id: string | undefined, score: number) => ({ item_id, judgements: { score } });
    await ada.call('update_queue_items', { queue_id, items: [scored(ids[0], 1), scored(ids[4], 2)] });
    await bob.call('update_queue_items', { queue_id, items: [scored(ids[0], 5), scored(ids[4], 3)] });
  });

  const found = async (filter: object, client = ada) => {
    const { items, error } = await client.call('query_queue_items', { queue_id, filter, fields: ['call_id'] });
    if (error) throw new Error(`${error.message} ${error.hint}`);
    return items.map(({ id }: { id: string }) => calls[ids.indexOf(id)]).sort();
  };

  it.each([
    [{ has_error: true }, ['failed']],
    [{ has_error: false, call_trace_id: 'trace-1' }, ['plain']],
    [{ started_after: '2026-01-04' }, ['call-0', 'call-1', 'other']],
    [{ started_after: '2026-01-02', started_before: '2026-01-03T00:00:00Z' }, ['failed']],
    [{ text: 'over there' }, ['newer']],
    [{ text: '"Prüfung"' }, ['plain']],
    [{ text: 'prompt 1', has_error: false }, ['call-1']],
    [{ started_before: '9999w', call_op_name: 'plan' }, []],
    [{ judged_at_least: 2 }, ['call-0', 'failed', 'plain']],
    [{ judged_at_least: 2, field: 'helpful', value: true }, ['plain']],
    [{ disagreement: true }, ['call-0', 'failed', 'plain']],
    [{ disagreement: true, field: 'helpful' }, ['failed']],
    [{ disagreement: false, judged_at_least: 2, field: 'helpful' }, ['plain']],
    [{ disagreement: false }, ['call-1', 'newer', 'other']],
    // Each of two conditions on judgements counts by itself.
    [{ disagreement: true, judged_by: adas }, ['call-0', 'failed', 'plain']],
    [{ disagreement: false, judged_by: adas }, ['newer']],
    [{ judged_at_least: 2, judged_by: 'me' }, ['call-0', 'failed', 'plain']],
    [{ unjudged_by_me: false }, ['call-0', 'failed', 'newer', 'plain']],
    [{ judged_by: 'me' }, ['call-0', 'failed', 'newer', 'plain']],
    // The name of the account, which has one annotator.
    [{ judged_by: adas.replace(' (test via heddle)', '') }, ['call-0', 'failed', 'newer', 'plain']],
    [{ judged_by: adas }, ['call-0', 'failed', 'newer', 'plain']],
    [{ judged_by: adas.slice(0, -3).concat('*').toUpperCase(), field: 'helpful', value: false }, ['newer']],
    [{ unjudged_by_me: true }, ['call-1', 'other']],
    [{ unjudged_by_me: true, judged_by: nameOf('bob') }, ['other']],
  ])('finds the items with %j in pages and counts them in summaries', async (filter, expected) => {
    expect(await found(filter)).toEqual(expected);
    expect(await ada.call('summarize_queue', { queue_id, filter })).toMatchObject({ total_items: expected.length });
  });

  it('takes ids of items and of calls', async () => {
    expect(await found({ ids: [ids[0], 'failed'] })).toEqual(['failed', 'plain']);
    expect(await found({ ids: [ids[0], 'failed', 'plain'], has_error: true })).toEqual(['failed']);
  });

  it('tells the caller apart from other annotators', async () => {
    expect(await found({ judged_by: 'me' }, bob)).toEqual(['call-0', 'failed', 'other', 'plain']);
    expect(await found({ unjudged_by_me: true }, bob)).toEqual(['call-1', 'newer']);
  });

  it('pages through the items that match in the order of the query', async () => {
    const query = {
      queue_id,
      filter: { judged_at_least: 1 },
      sort_by: [{ field: 'call_started_at', direction: 'desc' }],
    };
    const first = await ada.call('query_queue_items', { ...query, limit: 2, fields: ['call_id'] });
    expect(first).toMatchObject({ items: [{ call_id: 'call-0' }, { call_id: 'other' }], next_offset: 2 });
    const last = await ada.call('query_queue_items', { ...query, limit: 3, offset: 2, fields: ['call_id'] });
    expect(last.items).toMatchObject([{ call_id: 'newer' }, { call_id: 'failed' }, { call_id: 'plain' }]);
    expect(last).not.toHaveProperty('next_offset');
    // A service that does not apply the filter has sent the whole queue for each page.
    const isRecorded = service.name === 'the recorded public service';
    expect([last.matching, last.items_read]).toEqual(isRecorded ? [5, 6] : [undefined, undefined]);
    expect(last.text.includes('5 match; the service does not apply this filter')).toBe(isRecorded);
  });

  it('compares annotators on the items that one of them has judged', async () => {
    const annotators = [adas, nameOf('bob')];
    const filter = { judged_by: adas, field: 'helpful' };
    const compared = await ada.call('summarize_queue', { queue_id, filter, annotators, disagreements: 5 });
    expect(compared).toMatchObject({
      total_items: 3,
      agreement: [{ items: 2 }],
      disagreements: [{ item_id: ids[1], call_id: 'failed', distance: 1 }],
    });
    const disputed = { queue_id, filter: { ...filter, disagreement: true }, by: ['annotator'] };
    const { total_items, total_judgements, unjudged_items } = await ada.call('summarize_queue', disputed);
    expect([total_items, total_judgements, unjudged_items]).toEqual([1, 2, 0]);
  });

  it('counts no item without a judgement among those that several have judged', async () => {
    const judged = { queue_id, filter: { judged_at_least: 2 }, by: ['annotator'] };
    const { total_items, unjudged_items } = await ada.call('summarize_queue', judged);
    expect([total_items, unjudged_items]).toEqual([3, 0]);
  });

  it('names the nearest queue where there is none, whatever the filter', async () => {
    for (const filter of [{ judged_by: 'ana' }, { ids: ['plain'] }, { field: 'helpful' }]) {
      expect((await ada.call('query_queue_items', { queue_id: 'zzzz', filter })).error.message).toContain(
        'has no queue',
      );
    }
  });

  it('returns judgements and values for fields that need them', async () => {
    const fields = ['judged_at', 'call_values'];
    const { items, common } = await ada.call('query_queue_items', { queue_id, filter: { ids: ['plain'] }, fields });
    expect({ ...common, ...items[0] }).toMatchObject({
      judgements: { [adas]: { helpful: true, score: 1 } },
      judged_at: expect.anything(),
      call_values: expect.anything(),
    });
  });

  it('warns of rows whose value is null', async () => {
    const from_queue = { queue_id, filter: { ids: ['other', 'newer'] }, map: { answer: 'output' } };
    const made = await ada.call('create_dataset', { name: 'Nulls', from_queue, dry_run: true });
    expect(made.warnings).toEqual(['answer is null in 1 row: other.']);
  });

  it('sorts by how far annotators differ, the widest first', async () => {
    const sort_by = [
      { field: 'disagreement', direction: 'desc' },
      { field: 'call_started_at', direction: 'asc' },
    ];
    const { items } = await ada.call('query_queue_items', { queue_id, sort_by, fields: ['call_id'] });
    const order = items.map(({ call_id }: { call_id: string }) => call_id);
    // plain: 4 of 4 in score; failed: helpful; call-0: 1 of 4 in score.
    expect(order).toEqual(['plain', 'failed', 'call-0', 'newer', 'other', 'call-1']);
    // In the field of the filter only that of failed differs.
    const inField = { queue_id, filter: { field: 'helpful' }, sort_by, fields: ['call_id'] };
    const { items: helpful } = await ada.call('query_queue_items', inField);
    expect(helpful.map((item: { call_id: string }) => item.call_id)).toEqual(['failed', 'plain', 'newer', 'other']);
  });

  it('shows why calls failed with has_error and with include_call', async () => {
    for (const args of [{ filter: { has_error: true } }, { filter: { ids: ['failed'] }, include_call: true }]) {
      const page = await ada.call('query_queue_items', { queue_id, ...args });
      expect(page.items).toMatchObject([{ exception: 'ValueError: no answer' }]);
      expect(page.text).toContain('ValueError: no answer');
    }
  });

  it('changes the items that match, makes a dataset of them, and shows them on the board', async () => {
    const filter = { disagreement: true, field: 'helpful' };
    const change = { annotation_state: 'in_progress' };
    const changed = await ada.call('update_queue_items', { queue_id, filter, change, dry_run: true });
    expect(changed).toMatchObject({ matched: 1, counts: { would_send: 1 } });
    const from_queue = { queue_id, filter, map: { question: 'inputs.question' } };
    const made = await ada.call('create_dataset', { name: 'Disputed', from_queue, dry_run: true });
    expect(made.rows).toEqual([{ question: 'Why?' }]);
    const board = await ada.call('review_queue', { queue_id, filter, limit: 20 });
    expect(board.items).toMatchObject([{ call_id: 'failed' }]);
    expect((await ada.call('review_queue', { queue_id, filter })).matching).toBe(1);
    const agreed = { queue_id, filter: { disagreement: false } };
    expect((await ada.call('review_queue', agreed)).matching).toBe(3);
    expect((await ada.call('review_queue', { ...agreed, limit: 20 })).items).toHaveLength(3);
    const adasDisputes = { queue_id, filter: { disagreement: true, judged_by: adas } };
    expect((await ada.call('review_queue', adasDisputes)).matching).toBe(3);
  });

  it.each([
    [
      { field: 'score', value: 7 },
      'The value 7 does not fit the field score.',
      'The field is score (integer, 1 to 5).',
    ],
    [
      { field: 'helpful', value: 'yes' },
      'The value "yes" does not fit the field helpful.',
      'The field is helpful (boolean).',
    ],
    [{ call_op_name: 'plann' }, / has no call of the operation "plann"\.$/, /^The nearest operations are plan, /],
    [{ field: 'helpfull' }, / has no field "helpfull"\.$/, 'The nearest fields are helpful, score.'],
    [
      { call_trace_id: 'trace-11' },
      / has no item with the call_trace_id "trace-11"\.$/,
      'The nearest ones are trace-1, trace-2, trace-3.',
    ],
    [{ ids: ['plain', 'fialed'] }, / has no item or call "fialed"\.$/, /^The nearest items are failed, /],
    [
      { ids: ['plain', 'fialed'], has_error: true },
      / has no item or call "fialed"\.$/,
      /^The nearest items are failed, /,
    ],
    [
      { ids: ['fialed', 'plain', 'gone'] },
      / has no item or call "fialed", "gone"\.$/,
      /^The nearest items are failed, /,
    ],
    [
      { ids: Array.from({ length: 12 }, (_, number) => `no-${number}`) },
      / has no item or call "no-0", "no-1", .*, "no-9" and 2 more\.$/,
      /^The nearest items are /,
    ],
    [
      { started_after: '2026-01-02', started_before: '2026-01-01' },
      'No call can match: started_after is not earlier than started_before.',
      'Exchange their values, or leave one out.',
    ],
    [{ judged_by: 'eve' }, /^No annotator "eve" has judged in queue /, /^The nearest annotators are /],
    [
      { judged_by: 'eve*', disagreement: false },
      /^No annotator "eve\*" has judged in queue /,
      /^The nearest annotators are /,
    ],
  ])('refuses %j in every tool and names what there is', async (filter, message, hint) => {
    const expected = {
      code: 'invalid_arguments',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
      hint: typeof hint === 'string' ? hint : expect.stringMatching(hint),
    };
    const calls: [string, Record<string, unknown>][] = [
      ['query_queue_items', { queue_id, filter }],
      ['summarize_queue', { queue_id, filter }],
      ['review_queue', { queue_id, filter }],
      ['review_queue', { queue_id, filter, limit: 20 }],
      ['update_queue_items', { queue_id, filter, change: { annotation_state: 'skipped' } }],
      ['create_dataset', { name: 'None', from_queue: { queue_id, filter } }],
      ['claim_queue_items', { queue_id, filter }],
      ['claim_queue_items', { queue_id, filter, release: ['plain'] }],
    ];
    for (const [tool, args] of calls)
      expect([tool, (await ada.call(tool, args)).error]).toMatchObject([tool, expected]);
  });

  it('names who added items where the service tells', async () => {
    const { error } = await ada.call('query_queue_items', { queue_id, filter: { added_by: 'adda' } });
    if (service.name === 'the recorded public service') expect(error).toBeUndefined();
    else expect(error.hint).toBe('The nearest ones are ada.');
  });

  it('shows the judgements of the caller to a process that has judged nothing yet', async () => {
    const { call } = await connectClient(service.environmentOf('ada'));
    const filter = { judged_by: 'me', ids: [ids[0]] };
    const { items } = await call('query_queue_items', { queue_id, filter, include_judgements: true });
    expect(items[0].judgements).toEqual({ [adas]: { helpful: true, score: 1 } });
  });

  it('refuses a field that nobody used in a queue without fields', async () => {
    const { queue_id: free } = await ada.call('create_queue', { name: `Free ${service.name}` });
    await ada.call('add_queue_items', { queue_id: free, call_ids: ['plain', 'newer'] });
    const filter = { field: 'severity', value: 9 };
    const errorOf = async () => (await ada.call('query_queue_items', { queue_id: free, filter })).error;
    const error = { code: 'invalid_arguments', message: 'No judgement is in the field "severity".' };
    expect(await errorOf()).toMatchObject({ ...error, hint: 'Nobody has judged there.' });
    const items = [{ call_id: 'plain', judgements: { tone: 2 } }];
    await ada.call('update_queue_items', { queue_id: free, items });
    expect(await errorOf()).toMatchObject({ ...error, hint: 'The nearest fields are tone.' });
  });

  it('refuses an operation in an empty queue, too', async () => {
    const { queue_id: empty } = await ada.call('create_queue', { name: `Empty ${service.name}` });
    const filter = { call_op_name: 'plan' };
    expect((await ada.call('query_queue_items', { queue_id: empty, filter })).error).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringMatching(/ has no call of the operation "plan"\.$/),
      hint: 'The queue is empty.',
    });
  });

  it('takes names of queues and annotators with spaces around them', async () => {
    const page = await ada.call('query_queue_items', { queue_id: ` ${queue_id} `, filter: { judged_by: ` ${adas} ` } });
    expect(page.items.length).toBeGreaterThan(0);
    const annotators = [` ${adas}`, ' me '];
    expect((await bob.call('summarize_queue', { queue_id, annotators })).agreement[0].annotators).toContain(adas);
  });

  it('returns an empty page where every name exists', async () => {
    expect(await found({ field: 'score', value: 4 })).toEqual([]);
    expect(await found({ call_op_name: 'plan', has_error: true })).toEqual([]);
  });

  it('takes the name of a queue for its id, with spaces too', async () => {
    const { queues } = await ada.call('list_queues', {});
    const { name } = queues.find(({ id }: { id: string }) => id === queue_id);
    const page = await ada.call('query_queue_items', { queue_id: name, filter: { has_error: true } });
    expect(page.items).toHaveLength(1);
    const { queue_id: plain } = await ada.call('create_queue', { name: `Nurses-${service.name.length}` });
    await ada.call('add_queue_items', { queue_id: `nurses-${service.name.length}`, call_ids: ['plain'] });
    expect(await ada.call('summarize_queue', { queue_id: plain })).toMatchObject({ total_items: 1 });
  });

  it('takes a name like a path for a name, which no path of a request has', async () => {
    const { error } = await ada.call('query_queue_items', { queue_id: '../q' });
    expect(error).toMatchObject({ code: 'not_found', message: 'Project team/project has no queue "../q".' });
  });

  it('lists the queues of a name that several have', async () => {
    const name = `Twice ${service.name.length}`;
    await ada.call('create_queue', { name });
    // The tool refuses a name that is taken; other programs do not.
    const { HEDDLE_PASSWORD: password = '', HEDDLE_PROJECT: project_id } = service.environmentOf('ada');
    const created = await fetch(`${service.url}/annotation_queues`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`ada:${password}`)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ project_id, name, scorer_refs: [] }),
    });
    expect(created.status).toBe(200);
    const { error } = await ada.call('query_queue_items', { queue_id: name });
    expect(error).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining(`has 2 queues named "${name}"`),
    });
  });

  it('takes the queue with exactly the name rather than one in other case', async () => {
    const name = `Refund checks ${service.name.length}`;
    const { queue_id: exact } = await ada.call('create_queue', { name });
    await ada.call('add_queue_items', { queue_id: exact, call_ids: ['plain'] });
    const { HEDDLE_PASSWORD: password = '', HEDDLE_PROJECT: project_id } = service.environmentOf('ada');
    await fetch(`${service.url}/annotation_queues`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`ada:${password}`)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ project_id, name: name.toLowerCase(), scorer_refs: [] }),
    });
    expect(await ada.call('summarize_queue', { queue_id: name })).toMatchObject({ total_items: 1 });
    expect((await ada.call('summarize_queue', { queue_id: name.toUpperCase() })).error.message).toContain(
      `has 2 queues named "${name.toUpperCase()}"`,
    );
  });
});

describe.each(services)('corrections on $name', (service) => {
  const { ada, bob } = service;

  it('changes an item that is named by its call, and refuses it twice', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2', 'call-3']);
    const items = [
      { call_id: 'call-2', judgements: { helpful: true } },
      { call_id: 'nowhere', note: 'x' },
    ];
    const { items: results } = await ada.call('update_queue_items', { queue_id, items });
    expect(results).toMatchObject([
      { item_id: ids[0], result: 'done' },
      {
        item_id: 'nowhere',
        result: 'refused',
        error: { message: expect.stringContaining('no item of the call nowhere') },
      },
    ]);
    const both = [
      { call_id: 'call-2', note: 'x' },
      { item_id: ids[0], note: 'y' },
    ];
    const twice = await ada.call('update_queue_items', { queue_id, items: both });
    expect(twice.error.message).toBe(`Nothing was changed: item ${ids[0]} appears twice, by its id and by its call.`);
    for (const named of [{}, { item_id: ids[0], call_id: 'call-2' }]) {
      const { error } = await ada.call('update_queue_items', { queue_id, items: [{ ...named, note: 'x' }] });
      expect(error.message).toBe('Nothing was changed: items.0 needs either item_id or call_id.');
    }
  });

  it('takes back notes, and all that one gave', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2', 'call-3']);
    const change = (item: object) =>
      ada.call('update_queue_items', { queue_id, items: [{ item_id: ids[0], ...item }] });
    await change({ judgements: { helpful: true }, note: 'Too long.', annotation_state: 'completed' });
    await change({ note: 'Too short.' });
    expect(await service.feedbackOf(queue_id)).toHaveLength(3);
    expect((await change({ retract: ['note'] })).counts).toEqual({ done: 1 });
    expect(await service.feedbackOf(queue_id)).toMatchObject([{ feedback_type: 'wandb.annotation.helpful' }]);
    await change({ note: 'Again.' });
    const undone = await change({ retract: ['*'] });
    expect(undone).toMatchObject({
      counts: { done: 1 },
      hint: service.name.includes('embedded')
        ? 'States of the items: 1 is in_progress again; what was begun cannot become unstarted again.'
        : 'States of the items: 1 stays completed; what was begun cannot become unstarted again. A finished state is final for its annotator; others can still set their own.',
    });
    expect(await service.feedbackOf(queue_id)).toEqual([]);
    expect((await change({ retract: ['*'] })).counts).toEqual({ unchanged: 1 });
    expect((await change({ retract: ['*'], note: 'x' })).error.message).toBe(
      'Nothing was changed. A note is also written.',
    );
  });

  it('takes back notes on items that one has not judged, too', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2', 'call-3', 'call-4']);
    await judge(ada, queue_id, ids, [true, undefined, undefined]);
    await judge(bob, queue_id, ids, [true, undefined, undefined]);
    const noted = (id: string | undefined) => ({ item_id: id, note: 'Look.' });
    await ada.call('update_queue_items', { queue_id, items: [noted(ids[1])] });
    await bob.call('update_queue_items', { queue_id, items: [noted(ids[1]), noted(ids[2])] });
    const mine = { judged_by: 'me' };
    const change = { retract: ['*'] };
    const narrow = { queue_id, filter: { ...mine, ids: [ids[0]] }, change, dry_run: true };
    expect((await ada.call('update_queue_items', narrow)).matched).toBe(1);
    const undone = await ada.call('update_queue_items', { queue_id, filter: mine, change });
    expect(undone).toMatchObject({ matched: 2, counts: { done: 2 } });
    const left = await service.feedbackOf(queue_id);
    expect(left.map(({ feedback_type }) => feedback_type).sort()).toEqual([
      'wandb.annotation.helpful',
      'wandb.note.1',
      'wandb.note.1',
    ]);
  });

  it('counts the states that items have after one has taken back all that one gave', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2', 'call-3', 'call-4']);
    const judged = (index: number, annotation_state?: string) => ({
      item_id: ids[index],
      judgements: { helpful: true },
      annotation_state,
    });
    await ada.call('update_queue_items', {
      queue_id,
      items: [judged(0, 'completed'), judged(1, 'in_progress'), judged(2)],
    });
    const undo = { queue_id, filter: { judged_by: 'me' }, change: { retract: ['*'] } };
    const isEmbedded = service.name.includes('embedded');
    const final = isEmbedded ? '' : ' A finished state is final for its annotator; others can still set their own.';
    const rest = `${final} Items that you moved without judging them are not among these, and keep their state.`;
    expect((await ada.call('update_queue_items', { ...undo, dry_run: true })).hint).toBe(
      `States of the items: 1 would ${isEmbedded ? 'be in_progress again' : 'stay completed'}, 1 would stay in_progress, 1 would stay unstarted; what was begun cannot become unstarted again.${rest}`,
    );
    expect((await ada.call('update_queue_items', undo)).hint).toBe(
      `States of the items: 1 ${isEmbedded ? 'is in_progress again' : 'stays completed'}, 1 stays in_progress, 1 stays unstarted; what was begun cannot become unstarted again.${rest}`,
    );
  });

  it('tells the state that an item shows from the own progress that taking back opens again', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2']);
    const items = [{ item_id: ids[0], judgements: { helpful: true }, annotation_state: 'completed' }];
    await ada.call('update_queue_items', { queue_id, items });
    await bob.call('update_queue_items', { queue_id, items });
    const undo = { queue_id, filter: { judged_by: 'me' }, change: { retract: ['helpful'] } };
    const isEmbedded = service.name.includes('embedded');
    const states = (verb: string) =>
      `States of the items: 1 ${verb} completed; what was begun cannot become unstarted again.`;
    expect((await ada.call('update_queue_items', { ...undo, dry_run: true })).hint).toBe(
      isEmbedded
        ? `${states('would stay')} Your own progress with 1 item would be in_progress again; it would show the state that another annotator set.`
        : undefined,
    );
    const listed = { queue_id, items: [{ item_id: ids[0], retract: ['helpful'] }] };
    expect(await ada.call('update_queue_items', listed)).toMatchObject({
      items: [{ result: 'done', annotation_state: 'completed' }],
      ...(isEmbedded && {
        hint: `${states('stays')} Your own progress with 1 item is in_progress again; it shows the state that another annotator set.`,
      }),
    });
    const { items: shown } = await ada.call('query_queue_items', { queue_id, fields: ['annotation_state'] });
    expect(shown).toMatchObject([{ annotation_state: 'completed' }]);
  });

  it('says that judgements of the user stay when one takes back only what is its own', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2']);
    const judged = { queue_id, by_user: true, items: [{ item_id: ids[0], judgements: { helpful: true } }] };
    await ada.call('update_queue_items', judged);
    const own = { queue_id, items: [{ item_id: ids[0], retract: ['helpful'] }] };
    expect(await ada.call('update_queue_items', own)).toMatchObject({
      counts: { unchanged: 1 },
      stays: 'What the user gave stays: 1 judgement of helpful. To take it back, pass by_user.',
    });
    expect((await ada.call('update_queue_items', { ...own, by_user: true })).counts).toEqual({ done: 1 });
    await judge(ada, queue_id, ids, [true]);
    expect((await ada.call('update_queue_items', { ...own, by_user: true })).stays).toBe(
      'What you gave yourself stays: 1 judgement of helpful. To take it back, retract without by_user.',
    );
    await ada.call('update_queue_items', { ...judged, items: [{ item_id: ids[0], judgements: { helpful: false } }] });
    expect(await ada.call('update_queue_items', { ...own, by_user: true })).toMatchObject({
      counts: { done: 1 },
      stays: 'What you gave yourself stays: 1 judgement of helpful. To take it back, retract without by_user.',
    });
  });

  it.each([false, true])(
    'keeps an item completed on which the other side has judged, with by_user %s',
    async (by_user) => {
      const { queue_id, ids } = await createQueue(service, ['call-2']);
      const item_id = ids[0];
      const judged = { item_id, judgements: { helpful: true }, annotation_state: 'completed' };
      await ada.call('update_queue_items', { queue_id, items: [judged] });
      await ada.call('update_queue_items', { queue_id, items: [judged], by_user: true });
      const isEmbedded = service.name.includes('embedded');
      const stays = (verb: string) =>
        `States of the items: 1 ${verb} completed; what was begun cannot become unstarted again. An item stays completed while the account has other judgements of it.`;
      const own = { queue_id, items: [{ item_id, retract: ['helpful'] }], by_user };
      expect((await ada.call('update_queue_items', { ...own, dry_run: true })).hint).toBe(
        isEmbedded ? stays('would stay') : undefined,
      );
      expect(await ada.call('update_queue_items', own)).toMatchObject({
        items: [{ result: 'done', annotation_state: 'completed' }],
        ...(isEmbedded && { hint: stays('stays') }),
      });
      const { items: shown } = await ada.call('query_queue_items', { queue_id, fields: ['annotation_state'] });
      expect(shown).toMatchObject([{ annotation_state: 'completed' }]);
      const other = await ada.call('update_queue_items', { ...own, by_user: !by_user });
      expect(other.items).toMatchObject([
        { result: 'done', annotation_state: isEmbedded ? 'in_progress' : 'completed' },
      ]);
    },
  );

  it('says under which name the judgements of the user are found where this client has none', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2', 'call-3']);
    const empty = async (filter: object) => {
      const { items, hint } = await ada.call('query_queue_items', { queue_id, filter: { judged_by: 'me', ...filter } });
      expect(items).toEqual([]);
      return hint;
    };
    const usual = 'Call summarize_queue by annotator and field to see who judged what.';
    expect(await empty({})).toBe(usual);
    const items = [{ item_id: ids[0], judgements: { helpful: true } }];
    await ada.call('update_queue_items', { queue_id, by_user: true, items });
    const user = service.nameOf('ada').replace(' (test via heddle)', '');
    expect(await empty({})).toBe(`Here, me is this client; the user's own judgements are under judged_by "${user}".`);
    expect(await empty({ ids: [ids[1]] })).toBe(usual);
  });

  it('says that notes of the user stay, and a state that was set without a judgement', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2']);
    const change = (item: object, by_user = false) =>
      ada.call('update_queue_items', { queue_id, items: [{ item_id: ids[0], ...item }], by_user });
    await change({ note: 'Look.' }, true);
    await change({ note: 'Look again.' }, true);
    expect(await change({ retract: ['note'] })).toMatchObject({
      counts: { unchanged: 1 },
      stays: 'What the user gave stays: 2 notes. To take it back, pass by_user.',
    });
    expect((await change({ retract: ['note'] }, true)).counts).toEqual({ done: 1 });
    await change({ annotation_state: 'skipped' });
    const stays = (verb: string) =>
      `States of the items: 1 ${verb} skipped; what was begun cannot become unstarted again. A finished state is final for its annotator; others can still set their own.`;
    expect(await change({ retract: ['*'] })).toMatchObject({ counts: { unchanged: 1 }, hint: stays('stays') });
    await change({ judgements: { helpful: true } });
    const dryRun = { queue_id, filter: {}, change: { retract: ['helpful'] }, dry_run: true };
    expect((await ada.call('update_queue_items', dryRun)).hint).toBe(stays('would stay'));
    expect(await change({ retract: ['helpful'] })).toMatchObject({ counts: { done: 1 }, hint: stays('stays') });
  });

  it('says which judgements of its own stay beside one of the user', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2', 'call-3']);
    await judge(ada, queue_id, ids, [true, false]);
    const judgements = { helpful: false };
    const items = ids.map((item_id) => ({ item_id, judgements }));
    const { items: results, stays, text } = await ada.call('update_queue_items', { queue_id, items, by_user: true });
    expect(results[0]).toMatchObject({
      result: 'done',
      stays: expect.stringContaining(`${service.nameOf('ada')} judged helpful as true at `),
    });
    expect(results[1]).not.toHaveProperty('stays');
    expect(stays).toBe(
      'What you gave yourself stays: 1 judgement of helpful. To take it back, retract without by_user.',
    );
    expect(text).toContain(stays);
    expect(text).toContain('judged helpful as true');
    const takenBack = await ada.call('update_queue_items', {
      queue_id,
      items: [{ item_id: ids[0], retract: ['helpful'] }],
    });
    expect(takenBack.counts).toEqual({ done: 1 });
    const { items: left } = await ada.call('query_queue_items', {
      queue_id,
      filter: { field: 'helpful', value: true, judged_at_least: 1 },
    });
    expect(left).toEqual([]);
  });

  it('says which judgements of other fields and notes of its own stay, whatever the user gives', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-2', 'call-3']);
    const own = { judgements: { helpful: true, score: 4 }, note: 'Kind.' };
    await ada.call('update_queue_items', { queue_id, items: ids.map((item_id) => ({ item_id, ...own })) });
    const byUser = (change: object) =>
      ada.call('update_queue_items', { queue_id, items: [{ item_id: ids[0], ...change }], by_user: true });
    const judged = await byUser({ judgements: { helpful: true } });
    const stays =
      'What you gave yourself stays: 1 judgement of score, 1 note. To take it back, retract without by_user.';
    expect(judged).toMatchObject({ stays, items: [{ item_id: ids[0], result: 'done' }] });
    // The items describe only what contradicts the user.
    expect(judged.items[0]).not.toHaveProperty('stays');
    expect(judged.text).toContain(stays);
    expect((await byUser({ note: 'Short.' })).stays).toBe(
      'What you gave yourself stays: 1 judgement of helpful, 1 judgement of score, 1 note. To take it back, retract without by_user.',
    );
    const ofAll = { queue_id, filter: {}, change: { judgements: { helpful: false } }, by_user: true };
    const offer =
      'What you gave yourself stays: 2 judgements of helpful, 2 judgements of score, 2 notes. To take it back, retract without by_user.';
    expect((await ada.call('update_queue_items', { ...ofAll, dry_run: true })).stays).toBe(offer);
    expect((await ada.call('update_queue_items', ofAll)).stays).toBe(offer);
    expect(await byUser({ annotation_state: 'in_progress' })).not.toHaveProperty('stays');
  });
});
