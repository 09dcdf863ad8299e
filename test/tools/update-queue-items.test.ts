import { describe, expect, it } from 'vitest';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { helpfulField, type RecordedService, scoreField, startRecordedService } from '../support/recorded-service.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { connectStdioClient, type StdioClientOptions } from '../support/stdio-client.ts';

interface Item {
  id: string;
  annotation_state: string;
  call_values: Record<string, string>;
}

describe('update_queue_items', () => {
  it('judges and moves 50 items in one call, and repeating that call changes nothing', async () => {
    const { call } = await connectStdioClient(await importNumberedQueue(50));
    const page = await call('query_queue_items', { queue_id: 'q' });
    const changes = {
      queue_id: 'q',
      confirm: true,
      items: page.items.map(({ id }: Item, index: number) => ({
        item_id: id,
        annotation_state: index % 2 ? 'completed' : 'skipped',
        judgements: { helpful: { score: index } },
      })),
    };
    const first = await call('update_queue_items', changes);
    expect(first.counts).toEqual({ done: 50 });
    expect((await call('update_queue_items', changes)).counts).toEqual({ unchanged: 50 });
    expect((await call('update_queue_items', { ...changes, expected_state: 'unstarted' })).counts).toEqual({
      refused: 50,
    });

    const after = await call('query_queue_items', { queue_id: 'q' });
    expect(after.state_counts).toEqual({ skipped: 25, completed: 25 });
    const queues = await call('list_queues', { name: 'q' });
    expect(queues.queues).toMatchObject([{ id: 'q', remaining: 0, total: 50 }]);
  });

  it('stores identical judgements of two users separately, and a repeated one once', async () => {
    const environment = await importNumberedQueue(1);
    const accounts = ['ada', 'bob'].map(async (name) => {
      const { stdout } = await run(['service', 'add-user', name], environment);
      const password = /^password: *(\S+)$/m.exec(stdout)![1]!;
      return { HEDDLE_USERNAME: name, HEDDLE_PASSWORD: password };
    });
    const { url } = await startServiceProcess(environment);
    const judge = async (account: Record<string, string>): Promise<string> => {
      const { call } = await connectStdioClient({
        ...environment,
        ...account,
        HEDDLE_BASE_URL: url,
        HEDDLE_PROJECT: 'demo/support',
      });
      const { items } = await call('query_queue_items', { queue_id: 'q' });
      const changes = [{ item_id: items[0].id, judgements: { helpful: true } }];
      const { counts } = await call('update_queue_items', { queue_id: 'q', items: changes });
      const page = await call('query_queue_items', { queue_id: 'q', include_judgements: true });
      return JSON.stringify([counts, page.items[0].judgements.map((entry: { annotator: string }) => entry.annotator)]);
    };
    const [ada, bob] = await Promise.all(accounts);
    expect(await judge(ada!)).toBe('[{"done":1},["ada (test via heddle)"]]');
    expect(await judge(bob!)).toBe('[{"done":1},["ada (test via heddle)","bob (test via heddle)"]]');
    expect(await judge(ada!)).toBe('[{"unchanged":1},["ada (test via heddle)","bob (test via heddle)"]]');
  });

  it.each([
    [{ items: [{ item_id: 'i1' }], filter: { unjudged_by_me: true } }, 'items and filter exclude each other'],
    [{ filter: { unjudged_by_me: true } }, 'there is nothing to change'],
    [{}, 'there is nothing to change'],
    [{ items: [{ item_id: 'i1', annotation_state: 'skipped' }], change: {} }, 'change goes with filter'],
  ])('refuses %j without a request to the service', async (args, reason) => {
    const service = await startFakeService();
    const { call } = await connectStdioClient(emptyHome(temporaryFolder(), service.environment));
    const { error } = await call('update_queue_items', { queue_id: 'q', ...args });
    expect(error).toMatchObject({ code: 'invalid_arguments', message: `Nothing was changed: ${reason}.` });
    expect(service.requests).toEqual([]);
  });

  it('writes how many items matched, and the reason of each refusal, as text', async () => {
    const { call } = await connectStdioClient(await importNumberedQueue(2));
    const filter = { unjudged_by_me: true };
    const bulk = await call('update_queue_items', {
      queue_id: 'q',
      filter,
      change: { annotation_state: 'in_progress' },
    });
    expect(bulk.text).toMatch(/^2 items matched\. 2 done\./);
    const items = [{ item_id: 'nowhere', annotation_state: 'skipped' }];
    const { text } = await call('update_queue_items', { queue_id: 'q', items });
    expect(text).toMatch(/^1 refused\./);
    expect(text).toContain(
      'not_found: Not changed: queue q has no item nowhere. Take item ids from a page of the queue.',
    );
    expect((await call('update_queue_items', { queue_id: 'q', filter, change: {} })).error.message).toBe(
      'Nothing was changed: change changes nothing.',
    );
  });

  it('changes nothing in a dry run, and reports what would happen', async () => {
    const { call } = await connectStdioClient(await importNumberedQueue(4));
    const { items } = await call('query_queue_items', { queue_id: 'q' });
    const [a, b] = items.map(({ id }: Item) => id);
    const changes = [
      { item_id: a, annotation_state: 'completed' },
      { item_id: b, annotation_state: 'in_progress' },
      { item_id: 'nowhere', annotation_state: 'skipped' },
    ];
    const dry = await call('update_queue_items', { queue_id: 'q', dry_run: true, items: changes });
    expect(dry).toMatchObject({ dry_run: true, counts: { would_send: 2, refused: 1 } });
    expect((await call('query_queue_items', { queue_id: 'q' })).state_counts).toEqual({ unstarted: 4 });
  });

  it('refuses single items with a reason and changes the others', async () => {
    const { call } = await connectStdioClient(await importNumberedQueue(4));
    const { items } = await call('query_queue_items', { queue_id: 'q' });
    const [a, b] = items.map(({ id }: Item) => id);
    const result = await call('update_queue_items', {
      queue_id: 'q',
      items: [
        { item_id: a, annotation_state: 'completed' },
        { item_id: items[1].call_id, annotation_state: 'skipped' },
        { item_id: 'nowhere', annotation_state: 'skipped' },
      ],
    });
    expect(result.items).toMatchObject([
      { item_id: a, result: 'done', annotation_state: 'completed' },
      { result: 'refused', error: { code: 'not_found', hint: `That is a call id; its item is ${b}.` } },
      { item_id: 'nowhere', result: 'refused', error: { code: 'not_found' } },
    ]);
    const back = await call('update_queue_items', {
      queue_id: 'q',
      items: [{ item_id: a, annotation_state: 'in_progress' }],
    });
    expect(back.items[0]).toMatchObject({
      result: 'refused',
      error: {
        code: 'invalid_request',
        message: expect.stringContaining('"Invalid state transition from completed to in_progress"'),
      },
    });
  });

  it('refuses the whole call when an item appears twice', async () => {
    const { call } = await connectStdioClient(await importNumberedQueue(1));
    const { items } = await call('query_queue_items', { queue_id: 'q' });
    const twice = [
      { item_id: items[0].id, annotation_state: 'skipped' },
      { item_id: items[0].id, annotation_state: 'completed' },
    ];
    expect(await call('update_queue_items', { queue_id: 'q', items: twice })).toMatchObject({
      error: { code: 'invalid_arguments' },
    });
    expect((await call('query_queue_items', { queue_id: 'q' })).state_counts).toEqual({ unstarted: 1 });
  });

  it.each<[string, StdioClientOptions['mode']]>([
    ['a protocol version before 2026-07-28', 'legacy'],
    ['2026-07-28', { pin: '2026-07-28' }],
  ])('asks the user before it changes more than 20 items, with %s', async (_, mode) => {
    const environment = await importNumberedQueue(25);
    const change = async (answer?: 'accept' | 'decline') => {
      const { call, questions } = await connectStdioClient(environment, { mode, answer });
      const { items } = await call('query_queue_items', { queue_id: 'q' });
      const changes = items.map(({ id }: Item) => ({ item_id: id, annotation_state: 'completed' }));
      const result = await call('update_queue_items', { queue_id: 'q', items: changes });
      return { result, questions, state_counts: (await call('query_queue_items', { queue_id: 'q' })).state_counts };
    };
    const unable = await change();
    expect(unable.result.error).toMatchObject({
      code: 'invalid_arguments',
      hint: expect.stringContaining('confirm: true'),
    });
    expect(unable.state_counts).toEqual({ unstarted: 25 });

    const declined = await change('decline');
    expect(declined.questions).toEqual(['Change 25 items of queue q: set to completed? A finished state is final.']);
    expect(declined.result.error.code).toBe('cancelled');
    expect(declined.state_counts).toEqual({ unstarted: 25 });

    const accepted = await change('accept');
    expect(accepted.questions).toEqual(['Change 25 items of queue q: set to completed? A finished state is final.']);
    expect(accepted.result.counts).toEqual({ done: 25 });
  });
});

describe('update_queue_items at a service that answers as the public one', () => {
  const judge = (item_id: string, name: string, value: unknown, annotation_state = 'completed') => ({
    item_id,
    annotation_state,
    judgements: { [name]: value },
  });

  it('sends a judgement with the reference to its field, the queue and the author', async () => {
    const service = await startRecordedService();
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const result = await call('update_queue_items', { queue_id: 'q', items: [judge('i1', 'helpful', true)] });
    expect(result.items).toEqual([{ item_id: 'i1', result: 'done', annotation_state: 'completed' }]);
    expect(service.bodiesOf('/feedback/create')).toEqual([
      {
        project_id: 'team/project',
        weave_ref: 'weave:///team/project/call/call-i1',
        feedback_type: 'wandb.annotation.helpful',
        annotation_ref: helpfulField,
        payload: { value: true },
        queue_id: 'q',
        creator: 'test via heddle',
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/),
      },
    ]);
    expect(service.states).toEqual(new Map([['ada i1', 'completed']]));
  });

  it.each([
    ['tone', true, 'The queue has no field "tone"; its fields are helpful {"type":"boolean"}'],
    ['helpful', 'yes', '"yes" does not fit the field helpful, whose schema is {"type":"boolean"}'],
    ['score', 6, '6 does not fit the field score'],
  ])('refuses the judgement %s: %j before anything is sent', async (name, value, message) => {
    const service = await startRecordedService();
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'helpful', true), judge('i2', name, value)];
    const { error } = await call('update_queue_items', { queue_id: 'q', items });
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining(message),
      detail: [{ loc: ['arguments', 'items', 1, 'judgements', name] }],
    });
    expect(service.requests.filter(({ path }) => /feedback.*create|progress/.test(path))).toEqual([]);
  });

  it('stores several judgements with one request', async () => {
    const service = await startRecordedService();
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'helpful', true), judge('i2', 'score', 3), judge('i3', 'helpful', false)];
    expect(await call('update_queue_items', { queue_id: 'q', items })).toMatchObject({ counts: { done: 3 } });
    const [{ batch }, ...others] = service.bodiesOf('/feedback/batch/create');
    expect(batch.map(({ annotation_ref }: { annotation_ref: string }) => annotation_ref)).toEqual([
      helpfulField,
      scoreField,
      helpfulField,
    ]);
    expect(others).toEqual([]);
    expect(service.bodiesOf('/feedback/create')).toEqual([]);
  });

  it('stores judgements one by one at a service without a batch', async () => {
    const service = await startRecordedService();
    service.missing.add('/feedback/batch/create');
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'helpful', true), judge('i2', 'score', 3)];
    const result = await call('update_queue_items', { queue_id: 'q', items });
    expect(result.counts).toEqual({ done: 2 });
    expect(service.feedback.map(({ feedback_type }) => feedback_type).sort()).toEqual([
      'wandb.annotation.helpful',
      'wandb.annotation.score',
    ]);
  });

  it('finds the judgement that makes the service refuse a batch', async () => {
    const service = await startRecordedService();
    const { respond } = service;
    // The field was changed after heddle had read it.
    service.respond = (request) => {
      if (request.path === '/feedback/batch/create' || request.body.includes('call-i2')) {
        if (request.path.endsWith('/create')) return sendResponse(request, 400, { reason: 'does not match' });
      }
      respond(request);
    };
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'helpful', true), judge('i2', 'helpful', true)];
    const result = await call('update_queue_items', { queue_id: 'q', items });
    expect(result.items).toMatchObject([
      { item_id: 'i1', result: 'done' },
      { item_id: 'i2', result: 'refused', error: { code: 'invalid_request' } },
    ]);
    expect([...service.states.keys()]).toEqual(['ada i1']);
  });

  it('reads a field that is named by its latest version, and sends its digest', async () => {
    const service = await startRecordedService();
    service.fields = ['weave:///team/project/object/helpful:latest', 'weave:///team/project/op/some_scorer:v0'];
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'helpful', true)];
    expect(await call('update_queue_items', { queue_id: 'q', items })).toMatchObject({ counts: { done: 1 } });
    expect(service.bodiesOf('/feedback/create')).toMatchObject([{ annotation_ref: helpfulField }]);
  });

  it('reads fields one by one at a service that cannot read references', async () => {
    const service = await startRecordedService();
    service.missing.add('/refs/read_batch');
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'score', 5)];
    expect(await call('update_queue_items', { queue_id: 'q', items })).toMatchObject({ counts: { done: 1 } });
    expect(service.bodiesOf('/feedback/create')).toMatchObject([{ annotation_ref: scoreField }]);
  });

  it('takes any name in a queue without fields, as feedback that is no annotation', async () => {
    const service = await startRecordedService();
    service.fields = [];
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'tone', 'kind')];
    expect(await call('update_queue_items', { queue_id: 'q', items })).toMatchObject({ counts: { done: 1 } });
    const [feedback] = service.bodiesOf('/feedback/create');
    expect(feedback).toMatchObject({ feedback_type: 'heddle.judgement.tone', payload: { value: 'kind' } });
    expect(feedback).not.toHaveProperty('annotation_ref');
  });

  it("records every annotator's progress, whatever state the item shows", async () => {
    const service = await startRecordedService();
    const ada = await connectStdioClient(heddleFor(service, 'ada'));
    const bob = await connectStdioClient(heddleFor(service, 'bob'));
    const move = async ({ call }: typeof ada, annotation_state: string) => {
      const { items } = await call('update_queue_items', {
        queue_id: 'q',
        items: [{ item_id: 'i1', annotation_state }],
      });
      return items[0].result;
    };
    expect(await move(ada, 'in_progress')).toBe('done');
    expect(await move(bob, 'completed')).toBe('done');
    expect(await move(ada, 'completed')).toBe('done');
    expect(service.states).toEqual(
      new Map([
        ['ada i1', 'completed'],
        ['bob i1', 'completed'],
      ]),
    );
    expect(await move(ada, 'completed')).toBe('unchanged');
    expect(await move(ada, 'skipped')).toBe('refused');
  });

  it('ends at the last of several judgements, and repeats none', async () => {
    const service = await startRecordedService();
    const change = async (value: boolean): Promise<string> => {
      // A new server has to learn the account again.
      const { call } = await connectStdioClient(heddleFor(service, 'api'));
      const items = [{ item_id: 'i1', judgements: { helpful: value } }];
      const first = await call('update_queue_items', { queue_id: 'q', items });
      const again = await call('update_queue_items', { queue_id: 'q', items });
      return [first, again].map(({ items }) => items[0].result).join(' ');
    };
    expect(await change(true)).toBe('done unchanged');
    expect(await change(false)).toBe('done unchanged');
    expect(await change(true)).toBe('done unchanged');
    expect(await change(true)).toBe('unchanged unchanged');
    expect(service.feedback.map(({ payload }) => payload.value)).toEqual([true, false, true]);
  });

  it('does not take the judgement of another account with the same user name and client for its own', async () => {
    const service = await startRecordedService();
    const items = [{ item_id: 'i1', judgements: { helpful: true } }];
    const results: string[] = [];
    for (const HEDDLE_PASSWORD of ['key-of-ada', 'key-of-bob', 'key-of-ada']) {
      const { call } = await connectStdioClient({ ...heddleFor(service, 'api'), HEDDLE_PASSWORD });
      const result = await call('update_queue_items', { queue_id: 'q', items });
      results.push(result.items[0].result);
    }
    expect(results).toEqual(['done', 'done', 'unchanged']);
    expect(service.feedback.map(({ wb_user_id }) => wb_user_id)).toEqual(['user-key-of-ada', 'user-key-of-bob']);
  });

  it('stores a note once, and several judgements of one item', async () => {
    const service = await startRecordedService();
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const items = [{ item_id: 'i1', judgements: { helpful: false, score: 2 }, note: 'Too long.' }];
    expect((await call('update_queue_items', { queue_id: 'q', items })).counts).toEqual({ done: 1 });
    expect((await call('update_queue_items', { queue_id: 'q', items })).counts).toEqual({ unchanged: 1 });
    expect(service.feedback.map(({ feedback_type, payload }) => [feedback_type, payload])).toEqual([
      ['wandb.annotation.helpful', { value: false }],
      ['wandb.annotation.score', { value: 2 }],
      ['wandb.note.1', { note: 'Too long.' }],
    ]);
    const page = await call('query_queue_items', { queue_id: 'q', include_judgements: true });
    expect(page.items[0].judgements).toMatchObject([
      { annotator: 'user-ada (test via heddle)', field: 'helpful', value: false },
      { annotator: 'user-ada (test via heddle)', field: 'score', value: 2 },
      { annotator: 'user-ada (test via heddle)', note: 'Too long.' },
    ]);
    // Another note, and the same note of somebody else, are notes of their own.
    const bob = await connectStdioClient(heddleFor(service, 'bob'));
    const note = async (client: typeof bob.call, text: string) =>
      (await client('update_queue_items', { queue_id: 'q', items: [{ item_id: 'i1', note: text }] })).counts;
    expect(await note(call, 'Too short.')).toEqual({ done: 1 });
    expect(await note(bob.call, 'Too long.')).toEqual({ done: 1 });
    expect(await note(bob.call, 'Too long.')).toEqual({ unchanged: 1 });
    expect(service.feedback.slice(3).map(({ payload }) => payload)).toEqual([
      { note: 'Too short.' },
      { note: 'Too long.' },
    ]);
  });

  it("takes back one's own judgements of a field, and no others", async () => {
    const service = await startRecordedService();
    const [ada, bob] = await Promise.all(['ada', 'bob'].map((name) => connectStdioClient(heddleFor(service, name))));
    const update = (client: typeof ada, change: object) =>
      client!.call('update_queue_items', { queue_id: 'q', items: [{ item_id: 'i1', ...change }] });
    await update(bob, { judgements: { helpful: true } });
    expect((await update(ada, { retract: ['helpful'] })).counts).toEqual({ unchanged: 1 });
    await update(ada, { judgements: { helpful: true, score: 1 } });
    await update(ada, { judgements: { helpful: false } });
    expect((await update(ada, { retract: ['helpful'] })).counts).toEqual({ done: 1 });
    expect((await update(ada, { retract: ['helpful'] })).counts).toEqual({ unchanged: 1 });
    expect(service.feedback.map(({ wb_user_id, feedback_type }) => `${wb_user_id} ${feedback_type}`)).toEqual([
      'user-bob wandb.annotation.helpful',
      'user-ada wandb.annotation.score',
    ]);
    const { error } = await update(ada, { retract: ['tone'] });
    expect(error.message).toContain('The queue has no field tone; its fields are helpful, score');
  });

  it('refuses what anybody judged or moved after as_of, and says who and when', async () => {
    const service = await startRecordedService();
    const ada = await connectStdioClient(heddleFor(service, 'ada'));
    const bob = await connectStdioClient(heddleFor(service, 'bob'));
    const { as_of } = await ada.call('query_queue_items', { queue_id: 'q' });
    await bob.call('update_queue_items', { queue_id: 'q', items: [{ item_id: 'i1', judgements: { score: 4 } }] });
    await bob.call('update_queue_items', { queue_id: 'q', items: [{ item_id: 'i2', annotation_state: 'skipped' }] });
    // One's own changes since are no reason to refuse.
    await ada.call('update_queue_items', { queue_id: 'q', items: [{ item_id: 'i3', judgements: { score: 1 } }] });
    const items = ['i1', 'i2', 'i3'].map((item_id) => ({ item_id, judgements: { helpful: true } }));
    const invalid = await ada.call('update_queue_items', { queue_id: 'q', as_of: 'yesterday', items });
    expect(invalid.error.message).toContain('as_of: must be the as_of of a page, a date and time');
    const result = await ada.call('update_queue_items', { queue_id: 'q', as_of, items });
    expect(result.items.map(({ error }: { error?: { message: string } }) => error?.message)).toEqual([
      expect.stringMatching(/^Not changed: user-bob \(test via heddle\) judged score as 4 at \S+Z, after as_of\.$/),
      'Not changed: the item was moved to skipped by bob after as_of.',
      undefined,
    ]);
  });

  it('changes all items that match a filter, and goes on when it is called again', async () => {
    const service = await startRecordedService();
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    await call('update_queue_items', { queue_id: 'q', items: [{ item_id: 'i2', judgements: { helpful: false } }] });
    const bulk = { queue_id: 'q', filter: { field: 'helpful', value: false }, change: { annotation_state: 'skipped' } };
    const dry = await call('update_queue_items', { ...bulk, dry_run: true });
    expect(dry).toMatchObject({
      matched: 1,
      counts: { would_send: 1 },
      items: [],
      dry_run: true,
      state_counts: { unstarted: 1 },
    });
    const { dry_run: _, text, ...done } = { dry_run: true, ...(await call('update_queue_items', bulk)) };
    expect(done).toEqual({ matched: 1, counts: { done: 1 }, items: [] });
    expect(text).toBe('1 item matched. 1 done.');
    expect(service.states).toEqual(new Map([['ada i2', 'skipped']]));
    const rest = { queue_id: 'q', filter: { unjudged_by_me: true }, change: { judgements: { helpful: true } } };
    expect((await call('update_queue_items', rest)).counts).toEqual({ done: 2 });
    expect((await call('update_queue_items', rest)).counts).toEqual({});
  });

  it('says that a judgement is stored when the service refuses the state', async () => {
    const service = await startRecordedService();
    service.states.set('ada i1', 'skipped');
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const result = await call('update_queue_items', { queue_id: 'q', items: [judge('i1', 'helpful', true)] });
    expect(result.items).toMatchObject([
      {
        result: 'refused',
        error: {
          code: 'invalid_request',
          message: expect.stringMatching(/^The judgement is stored, but not all of the change\. .*from 'skipped' to/),
        },
      },
    ]);
  });
});

function heddleFor(service: RecordedService, username: string): Record<string, string> {
  return emptyHome(temporaryFolder(), service.environmentOf(username));
}
