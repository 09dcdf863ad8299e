import { describe, expect, it } from 'vitest';
import { run } from '../support/heddle.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
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
    expect((await call('update_queue_items', { ...changes, items: expecting })).counts).toEqual({ unchanged: 50 });
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
      error: { message: 'Not changed: an item that is completed cannot become in_progress.' },
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
