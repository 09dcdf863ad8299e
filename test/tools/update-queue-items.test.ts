import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { type ClientOptions, connectClient } from '../support/client.ts';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { helpfulField, type RecordedService, scoreField, startRecordedService } from '../support/recorded-service.ts';
import { startServiceWithCalls } from '../support/service-with-calls.ts';

interface Item {
  id: string;
  annotation_state: string;
  call_values: Record<string, string>;
}

describe('update_queue_items', () => {
  it('judges and moves 24 items in one call, and repeating that call changes nothing', async () => {
    const { call } = await connectClient(await importNumberedQueue(24));
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
    expect(first.counts).toEqual({ done: 24 });
    expect((await call('update_queue_items', changes)).counts).toEqual({ unchanged: 24 });
    expect((await call('update_queue_items', { ...changes, expected_state: 'unstarted' })).counts).toEqual({
      refused: 24,
    });

    const after = await call('query_queue_items', { queue_id: 'q' });
    expect(after.state_counts).toEqual({ skipped: 12, completed: 12 });
    const queues = await call('list_queues', { name: 'q' });
    expect(queues.queues).toMatchObject([{ id: 'q', remaining: 0, total: 24 }]);
  });

  it("records the operating system's user and the client's name as annotator in the embedded service", async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const waiting = { annotation_states: ['unstarted'] };
    const { items } = await call('query_queue_items', { queue_id: 'support-triage', filter: waiting, limit: 1 });
    const changes = [{ item_id: items[0].id, judgements: { helpful: true }, annotation_state: 'completed' }];
    await call('update_queue_items', { queue_id: 'support-triage', items: changes });
    const filter = { id: items[0].id };
    const page = await call('query_queue_items', {
      queue_id: 'support-triage',
      filter,
      include_judgements: true,
      fields: ['*'],
    });
    const { username } = userInfo();
    expect(page.items[0]).toMatchObject({
      annotator_user_id: username,
      judgements: { [`${username} (test via heddle)`]: { helpful: true } },
    });
  });

  it.each([
    [{ items: [{ item_id: 'i1' }], filter: { unjudged_by_me: true } }, 'items and filter exclude each other'],
    [{ filter: { unjudged_by_me: true } }, 'there is nothing to change'],
    [{}, 'there is nothing to change'],
    [{ items: [{ item_id: 'i1', annotation_state: 'skipped' }], change: {} }, 'change goes with filter'],
  ])('refuses %j without a request to the service', async (args, reason) => {
    const service = await startFakeService();
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const { error } = await call('update_queue_items', { queue_id: 'q', ...args });
    expect(error).toMatchObject({ code: 'invalid_arguments', message: `Nothing was changed: ${reason}.` });
    expect(service.requests).toEqual([]);
  });

  it('writes how many items matched, and the reason of each refusal, as text', async () => {
    const { call } = await connectClient(await importNumberedQueue(2));
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
    expect(text).toContain('not_found: Not changed: queue q has no item nowhere. Take ids from a page of the queue.');
    expect((await call('update_queue_items', { queue_id: 'q', filter, change: {} })).error.message).toBe(
      'Nothing was changed: change changes nothing.',
    );
  });

  it('changes nothing in a dry run, and reports what would happen', async () => {
    const { call } = await connectClient(await importNumberedQueue(4));
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

  it('states an equal refusal of several items once', async () => {
    const { call } = await connectClient(await importNumberedQueue(4));
    const { items } = await call('query_queue_items', { queue_id: 'q' });
    const ids: string[] = items.slice(0, 3).map(({ id }: Item) => id);
    const moved = (annotation_state: string) => ({
      queue_id: 'q',
      items: ids.map((item_id) => ({ item_id, annotation_state })),
    });
    await call('update_queue_items', moved('completed'));
    const { text, ...refused } = await call('update_queue_items', moved('in_progress'));
    expect(refused).toMatchObject({
      counts: { refused: 3 },
      items: [],
      refusals: [{ item_ids: ids, error: { code: 'invalid_request' } }],
    });
    expect(text.match(/Invalid state transition from completed to in_progress/g)).toHaveLength(1);
    expect(text).toContain(` Of 3 items: ${ids.join(', ')}.`);
    const unknown = ['call-11', 'call-12'].map((call_id) => ({ call_id, annotation_state: 'skipped' }));
    const { refusals } = await call('update_queue_items', { queue_id: 'q', items: unknown });
    expect(refusals).toMatchObject([
      {
        item_ids: ['call-11', 'call-12'],
        error: {
          message: 'Not changed: queue q has no item of this id.',
          hint: 'Take ids from a page of the queue. The nearest items are call-1, call-0, call-2.',
        },
      },
    ]);
  });

  it('states once why the same judgement of several items fits no field', async () => {
    const { client, call } = await connectClient(await importNumberedQueue(3));
    await call('update_queue', { queue_id: 'q', add_fields: [{ name: 'score', type: 'integer', min: 1, max: 5 }] });
    const { items } = await call('query_queue_items', { queue_id: 'q' });
    const judged = items.map(({ id }: Item) => ({ item_id: id, judgements: { score: 12 } }));
    const refused = { name: 'update_queue_items', arguments: { queue_id: 'q', items: judged } };
    const [block] = (await client.callTool(refused)).content;
    const { text } = block as { text: string };
    expect(text.match(/12 does not fit the field score/g)).toHaveLength(1);
    expect(text).toContain('"loc":["arguments","items",2,"judgements","score"]');
  });

  it('takes the id of a call for its item, refuses single items with a reason and changes the others', async () => {
    const { call } = await connectClient(await importNumberedQueue(4));
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
      { item_id: b, result: 'done', annotation_state: 'skipped' },
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

  it('says which fields nobody has judged on items that it completes, and which items it opens again', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const fields = [
      ...['helpful', 'polite'].map((name) => ({ name, type: 'boolean' })),
      { name: 'why', type: 'string' },
    ];
    const { queue_id } = await call('create_queue', { name: 'Two fields', fields });
    await call('add_queue_items', { queue_id, filter: { op_name: 'support.answer' }, sample: { n: 2 } });
    const change = (more: object) => call('update_queue_items', { queue_id, filter: {}, change: more });
    const judged = await change({ judgements: { helpful: true }, annotation_state: 'completed' });
    expect(judged.hint).toBe('Nobody has judged polite on 2 completed items.');
    expect(await change({ judgements: { polite: true }, annotation_state: 'completed' })).not.toHaveProperty('hint');
    expect((await change({ retract: ['polite'] })).hint).toBe(
      'States of the items: 2 are in_progress again; what was begun cannot become unstarted again.',
    );
  });

  it('refuses the whole call when an item appears twice', async () => {
    const { call } = await connectClient(await importNumberedQueue(1));
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

  it.each<[string, ClientOptions['mode']]>([
    ['a protocol version before 2026-07-28', 'legacy'],
    ['2026-07-28', { pin: '2026-07-28' }],
  ])('asks the user before it changes more than 20 items, with %s', async (_, mode) => {
    const environment = await importNumberedQueue(25);
    const change = async (answer?: 'accept' | 'decline' | 'cancel') => {
      const { call, questions } = await connectClient(environment, { mode, answer });
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
    expect(declined.questions).toEqual([
      'Change 25 items of queue "q": set to completed? Skipped items stay skipped, completed ones until their judgements are taken back.',
    ]);
    expect(declined.result.error.code).toBe('cancelled');
    expect(declined.state_counts).toEqual({ unstarted: 25 });

    const unanswered = await change('cancel');
    expect(unanswered.questions).toHaveLength(1);
    expect(unanswered.result).toEqual(unable.result);
    expect(unanswered.state_counts).toEqual({ unstarted: 25 });

    const accepted = await change('accept');
    expect(accepted.questions).toEqual([
      'Change 25 items of queue "q": set to completed? Skipped items stay skipped, completed ones until their judgements are taken back.',
    ]);
    expect(accepted.result.counts).toEqual({ done: 25 });
  });

  it.each<[string, ClientOptions['mode']]>([
    ['a protocol version before 2026-07-28', 'legacy'],
    ['2026-07-28', { pin: '2026-07-28' }],
  ])('asks again when more items match than the user has agreed to, with %s', async (_, mode) => {
    const service = await startServiceWithCalls();
    const add = (first: number, count: number) =>
      service.importCalls(
        'acme/many',
        Array.from({ length: count }, (_, index) => ({ call_id: `call-${first + index}` })),
      );
    await add(0, 24);
    const environment = emptyHome(temporaryFolder(), {
      HEDDLE_BASE_URL: service.service.running.url,
      HEDDLE_PROJECT: 'acme/many',
      HEDDLE_USERNAME: 'ada',
      HEDDLE_PASSWORD: service.passwords.ada,
    });
    // The same call is added once, however often it is imported.
    const beforeAnswer = () => add(24, 1);
    const { call, questions } = await connectClient(environment, { mode, answer: 'accept', beforeAnswer });
    const bulk = { queue_id: 'seed', filter: {}, change: { annotation_state: 'skipped' } };
    expect(await call('update_queue_items', bulk)).toMatchObject({ counts: { done: 25 } });
    expect(questions).toEqual([
      'Change 24 items of queue "seed": set to skipped? Skipped items stay skipped, completed ones until their judgements are taken back.',
      'Change 25 items of queue "seed": set to skipped? Skipped items stay skipped, completed ones until their judgements are taken back.',
    ]);
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
    const { call } = await connectClient(heddleFor(service, 'ada'));
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

  it('stores several judgements with one request', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(heddleFor(service, 'ada'));
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
    const { call } = await connectClient(heddleFor(service, 'ada'));
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
    const { call } = await connectClient(heddleFor(service, 'ada'));
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
    const { call } = await connectClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'helpful', true)];
    expect(await call('update_queue_items', { queue_id: 'q', items })).toMatchObject({ counts: { done: 1 } });
    expect(service.bodiesOf('/feedback/create')).toMatchObject([{ annotation_ref: helpfulField }]);
  });

  it('refers to the field that the review board has shown with as_of, even if the queue has another by now', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(heddleFor(service, 'ada'));
    const { as_of } = await call('review_queue', { queue_id: 'q', limit: 20 });
    service.fields = [scoreField];
    const items = [judge('i1', 'helpful', true)];
    expect((await call('update_queue_items', { queue_id: 'q', items })).error).toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining('The queue has no field "helpful"; its fields are score'),
    });
    expect((await call('update_queue_items', { queue_id: 'q', as_of, items })).counts).toEqual({ done: 1 });
    expect(service.bodiesOf('/feedback/create')).toMatchObject([{ annotation_ref: helpfulField }]);
  });

  it('reads fields one by one at a service that cannot read references', async () => {
    const service = await startRecordedService();
    service.missing.add('/refs/read_batch');
    const { call } = await connectClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'score', 5)];
    expect(await call('update_queue_items', { queue_id: 'q', items })).toMatchObject({ counts: { done: 1 } });
    expect(service.bodiesOf('/feedback/create')).toMatchObject([{ annotation_ref: scoreField }]);
  });

  it('accepts any field name in a queue without fields, and stores feedback that is not an annotation', async () => {
    const service = await startRecordedService();
    service.fields = [];
    const { call } = await connectClient(heddleFor(service, 'ada'));
    const items = [judge('i1', 'tone', 'kind')];
    expect(await call('update_queue_items', { queue_id: 'q', items })).toMatchObject({ counts: { done: 1 } });
    const [feedback] = service.bodiesOf('/feedback/create');
    expect(feedback).toMatchObject({ feedback_type: 'heddle.judgement.tone', payload: { value: 'kind' } });
    expect(feedback).not.toHaveProperty('annotation_ref');
  });

  it("records every annotator's progress, whatever state the item shows", async () => {
    const service = await startRecordedService();
    const ada = await connectClient(heddleFor(service, 'ada'));
    const bob = await connectClient(heddleFor(service, 'bob'));
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

  it('stores separate judgements for two accounts with the same user name and client', async () => {
    const service = await startRecordedService();
    const items = [{ item_id: 'i1', judgements: { helpful: true } }];
    const results: string[] = [];
    for (const HEDDLE_PASSWORD of ['key-of-ada', 'key-of-bob', 'key-of-ada']) {
      const { call } = await connectClient({ ...heddleFor(service, 'api'), HEDDLE_PASSWORD });
      const result = await call('update_queue_items', { queue_id: 'q', items });
      results.push(result.items[0].result);
    }
    expect(results).toEqual(['done', 'done', 'unchanged']);
    expect(service.feedback.map(({ wb_user_id }) => wb_user_id)).toEqual(['user-key-of-ada', 'user-key-of-bob']);
  });

  it('stores a note once, and several judgements of one item', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(heddleFor(service, 'ada'));
    const items = [{ item_id: 'i1', judgements: { helpful: false, score: 2 }, note: 'Too long.' }];
    expect((await call('update_queue_items', { queue_id: 'q', items })).counts).toEqual({ done: 1 });
    expect((await call('update_queue_items', { queue_id: 'q', items })).counts).toEqual({ unchanged: 1 });
    expect(service.feedback.map(({ feedback_type, payload }) => [feedback_type, payload])).toEqual([
      ['wandb.annotation.helpful', { value: false }],
      ['wandb.annotation.score', { value: 2 }],
      ['wandb.note.1', { note: 'Too long.' }],
    ]);
    const page = await call('query_queue_items', { queue_id: 'q', include_judgements: true, fields: ['notes'] });
    expect(page.items[0]).toMatchObject({
      judgements: { 'user-ada (test via heddle)': { helpful: false, score: 2 } },
      notes: { 'user-ada (test via heddle)': ['Too long.'] },
    });
    // Another note, and the same note by another annotator, are notes of their own.
    const bob = await connectClient(heddleFor(service, 'bob'));
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

  it('reports what others did to an item while it was being changed', async () => {
    const service = await startRecordedService();
    const ada = await connectClient(heddleFor(service, 'ada'));
    const bob = await connectClient(heddleFor(service, 'bob'));
    const respond = service.respond;
    service.respond = async (request) => {
      const isLookAfter = service.states.has('ada i1') && request.path === '/annotation_queues/q/items/query';
      if (isLookAfter && !service.states.has('bob i1')) {
        service.states.set('bob i1', 'unstarted');
        await bob.call('update_queue_items', {
          queue_id: 'q',
          items: [{ item_id: 'i1', judgements: { helpful: false }, annotation_state: 'skipped' }],
        });
      }
      respond(request);
    };
    const result = await ada.call('update_queue_items', {
      queue_id: 'q',
      expected_state: 'unstarted',
      items: [{ item_id: 'i1', judgements: { helpful: true }, annotation_state: 'completed' }],
    });
    expect(result.items).toEqual([
      {
        item_id: 'i1',
        result: 'done',
        annotation_state: 'completed',
        meanwhile: expect.stringMatching(
          /^bob moved it to skipped; user-bob \(test via heddle\) judged helpful as false at \S+Z$/,
        ),
      },
    ]);
    expect(result.text).toContain('bob moved it to skipped');
  });

  it('returns the changes with a hint when the items cannot be read again afterwards', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(heddleFor(service, 'ada'));
    const respond = service.respond;
    service.respond = (request) => {
      const isLookAfter = service.states.size > 0 && request.path === '/annotation_queues/q/items/query';
      if (isLookAfter) sendResponse(request, 403, { reason: 'no longer allowed' });
      else respond(request);
    };
    const items = [{ item_id: 'i1', annotation_state: 'completed' }];
    const result = await call('update_queue_items', { queue_id: 'q', expected_state: 'unstarted', items });
    expect(result).toMatchObject({ counts: { done: 1 }, items: [{ result: 'done', annotation_state: 'completed' }] });
    const hint = 'The changes are done, but what others did to the items meanwhile could not be read: ';
    expect(result.hint).toContain(hint);
    expect(result.text).toContain(hint);
  });

  it('refuses items that may have been moved since as_of when another process has shown them', async () => {
    const service = await startRecordedService();
    const bob = await connectClient(heddleFor(service, 'bob'));
    await bob.call('update_queue_items', { queue_id: 'q', items: [{ item_id: 'i2', annotation_state: 'skipped' }] });
    const before = await connectClient(heddleFor(service, 'ada'));
    const { as_of } = await before.call('query_queue_items', { queue_id: 'q' });
    const { call } = await connectClient(heddleFor(service, 'ada'));
    const items = ['i1', 'i2'].map((item_id) => ({ item_id, judgements: { helpful: true } }));
    // No one can have moved an unstarted item.
    expect((await call('update_queue_items', { queue_id: 'q', as_of, items })).items).toMatchObject([
      { result: 'done' },
      {
        result: 'refused',
        error: {
          code: 'conflict',
          message:
            'Not changed: bob moved it to skipped, perhaps after as_of: the service does not record when, and this server has not shown the item with this as_of.',
          hint: 'Read the item again, or pass expected_state skipped if that is what you saw.',
        },
      },
    ]);
    const expected = { as_of, expected_state: 'skipped', items: items.slice(1) };
    expect((await call('update_queue_items', { queue_id: 'q', ...expected })).counts).toEqual({ done: 1 });
  });

  it('changes all items that match a filter, and none when the call is repeated', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(heddleFor(service, 'ada'));
    await call('update_queue_items', { queue_id: 'q', items: [{ item_id: 'i2', judgements: { helpful: false } }] });
    const bulk = { queue_id: 'q', filter: { field: 'helpful', value: false }, change: { annotation_state: 'skipped' } };
    const dry = await call('update_queue_items', { ...bulk, dry_run: true });
    expect(dry).toMatchObject({
      as_of: expect.stringMatching(/Z$/),
      now: expect.stringMatching(/Z$/),
      first_changed: ['i2'],
      matched: 1,
      counts: { would_send: 1 },
      items: [],
      dry_run: true,
      state_counts: { unstarted: 1 },
    });
    const { dry_run: _, text, ...done } = { dry_run: true, ...(await call('update_queue_items', bulk)) };
    expect(done).toEqual({ matched: 1, counts: { done: 1 }, first_changed: ['i2'], items: [] });
    expect(text).toBe('1 item matched. 1 done. The first: i2.');
    expect(service.states).toEqual(new Map([['ada i2', 'skipped']]));
    const rest = { queue_id: 'q', filter: { unjudged_by_me: true }, change: { judgements: { helpful: true } } };
    expect((await call('update_queue_items', rest)).counts).toEqual({ done: 2 });
    expect((await call('update_queue_items', rest)).counts).toEqual({});
  });

  it('changes items as the dry run of a change by filter has shown them', async () => {
    const service = await startRecordedService();
    const bob = await connectClient(heddleFor(service, 'bob'));
    await bob.call('update_queue_items', { queue_id: 'q', items: [{ item_id: 'i2', annotation_state: 'skipped' }] });
    const { call } = await connectClient(heddleFor(service, 'ada'));
    const change = { judgements: { helpful: true } };
    const { as_of } = await call('update_queue_items', { queue_id: 'q', filter: {}, change, dry_run: true });
    const items = [{ item_id: 'i2', ...change }];
    expect((await call('update_queue_items', { queue_id: 'q', as_of, items })).counts).toEqual({ done: 1 });
  });

  it('says that a judgement is stored when the service refuses the state', async () => {
    const service = await startRecordedService();
    service.states.set('ada i1', 'skipped');
    const { call } = await connectClient(heddleFor(service, 'ada'));
    const result = await call('update_queue_items', { queue_id: 'q', items: [judge('i1', 'helpful', true)] });
    expect(result.items).toMatchObject([
      {
        result: 'refused',
        error: {
          code: 'invalid_request',
          message: expect.stringMatching(/^Part of the change is stored, the rest is not\. .*from 'skipped' to/),
        },
      },
    ]);
  });
});

function heddleFor(service: RecordedService, username: string): Record<string, string> {
  return emptyHome(temporaryFolder(), service.environmentOf(username));
}
