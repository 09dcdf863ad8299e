import { describe, expect, it } from 'vitest';
import { sendResponse } from '../support/fake-service.ts';
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
        feedback: { name: 'helpful', value: { score: index } },
      })),
    };
    const first = await call('update_queue_items', changes);
    expect(first.counts).toEqual({ done: 50 });
    const second = await call('update_queue_items', changes);
    expect(second.counts).toEqual({ done: 50 });
    const ids = (result: { items: { feedback_id: string }[] }) => result.items.map(({ feedback_id }) => feedback_id);
    expect(new Set(ids(first)).size).toBe(50);
    expect(ids(second)).toEqual(ids(first));
    const expecting = changes.items.map((change: object) => ({ ...change, expected_state: 'unstarted' }));
    expect((await call('update_queue_items', { ...changes, items: expecting })).counts).toEqual({ refused: 50 });
    const third = await call('update_queue_items', {
      ...changes,
      items: changes.items.map(({ feedback: _, ...rest }: { feedback: unknown }) => rest),
    });
    expect(third.counts).toEqual({ unchanged: 50 });

    const after = await call('query_queue_items', { queue_id: 'q' });
    expect(after.state_counts).toEqual({ skipped: 25, completed: 25 });
    const queues = await call('list_queues', { name: 'q' });
    expect(queues.queues).toMatchObject([{ id: 'q', total_items: 50, completed_items: 50 }]);
  });

  it('stores identical judgements of two users separately, and a repeated one once', async () => {
    const environment = await importNumberedQueue(1);
    const accounts = ['ada', 'bob'].map(async (name) => {
      const { stdout } = await run(['service', 'add-user', name], environment);
      const password = /^password: *(\S+)$/m.exec(stdout)![1]!;
      return { HEDDLE_USERNAME: name, HEDDLE_PASSWORD: password };
    });
    const { url } = await startServiceProcess(environment);
    const feedbackOf = async (account: Record<string, string>): Promise<string> => {
      const { call } = await connectStdioClient({
        ...environment,
        ...account,
        HEDDLE_BASE_URL: url,
        HEDDLE_PROJECT: 'demo/support',
      });
      const { items } = await call('query_queue_items', { queue_id: 'q' });
      const feedback = { name: 'helpful', value: true };
      const changes = [{ item_id: items[0].id, annotation_state: 'completed', feedback }];
      return (await call('update_queue_items', { queue_id: 'q', items: changes })).items[0].feedback_id;
    };
    const [ada, bob] = await Promise.all(accounts);
    const first = await feedbackOf(ada!);
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(await feedbackOf(bob!)).not.toBe(first);
    expect(await feedbackOf(ada!)).toBe(first);
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
    expect(dry).toMatchObject({ dry_run: true, counts: { done: 2, refused: 1 } });
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
        { item_id: b, annotation_state: 'in_progress', expected_state: 'completed' },
        { item_id: 'nowhere', annotation_state: 'skipped' },
      ],
    });
    expect(result.items).toMatchObject([
      { item_id: a, result: 'done', annotation_state: 'completed' },
      { item_id: b, result: 'refused', error: { code: 'conflict' } },
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
    expect(declined.questions).toEqual(['Change 25 items of queue q to completed?']);
    expect(declined.result.error.code).toBe('cancelled');
    expect(declined.state_counts).toEqual({ unstarted: 25 });

    const accepted = await change('accept');
    expect(accepted.questions).toEqual(['Change 25 items of queue q to completed?']);
    expect(accepted.result.counts).toEqual({ done: 25 });
  });
});

describe('update_queue_items at a service that answers as the public one', () => {
  const judge = (item_id: string, name: string, value: unknown, annotation_state = 'completed') => ({
    item_id,
    annotation_state,
    feedback: { name, value },
  });

  it('sends a judgement with the reference to its field, the queue and the author', async () => {
    const service = await startRecordedService();
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const result = await call('update_queue_items', { queue_id: 'q', items: [judge('i1', 'helpful', true)] });
    expect(result.items).toEqual([
      { item_id: 'i1', result: 'done', annotation_state: 'completed', feedback_id: expect.any(String) },
    ]);
    expect(service.bodiesOf('/feedback/create')).toEqual([
      {
        project_id: 'team/project',
        weave_ref: 'weave:///team/project/call/call-i1',
        feedback_type: 'wandb.annotation.helpful',
        annotation_ref: helpfulField,
        payload: { value: true },
        queue_id: 'q',
        creator: 'test via heddle',
        id: result.items[0].feedback_id,
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
      detail: [{ loc: ['arguments', 'items', 1, 'feedback'] }],
    });
    expect(service.requests.filter(({ path }) => /feedback|progress/.test(path))).toEqual([]);
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
    const stored = service.bodiesOf('/feedback/create').map(({ id }) => id);
    expect(stored.sort()).toEqual(result.items.map(({ feedback_id }: { feedback_id: string }) => feedback_id).sort());
  });

  it('finds the judgement that makes the service refuse a batch', async () => {
    const service = await startRecordedService();
    const { respond } = service;
    // The field was changed after heddle had read it.
    service.respond = (request) => {
      if (request.path === '/feedback/batch/create' || request.body.includes('call-i2')) {
        if (request.path.startsWith('/feedback/')) return sendResponse(request, 400, { reason: 'does not match' });
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

  it('says that a judgement is stored when the service refuses the state', async () => {
    const service = await startRecordedService();
    service.states.set('ada i1', 'skipped');
    const { call } = await connectStdioClient(heddleFor(service, 'ada'));
    const result = await call('update_queue_items', { queue_id: 'q', items: [judge('i1', 'helpful', true)] });
    expect(result.items).toMatchObject([
      {
        result: 'refused',
        feedback_id: expect.any(String),
        error: {
          code: 'invalid_request',
          message: expect.stringMatching(/^The judgement is stored, but the state is not set\. .*from 'skipped' to/),
        },
      },
    ]);
  });
});

function heddleFor(service: RecordedService, username: string): Record<string, string> {
  return emptyHome(temporaryFolder(), service.environmentOf(username));
}
