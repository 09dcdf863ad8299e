import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { suggestionsOf } from '../../src/queues/own-feedback.ts';
import { type ConnectedClient, connectClient } from '../support/client.ts';
import { execute, startTestService, withStore } from '../support/embedded-service.ts';
import { call, emptyHome, run, temporaryFolder } from '../support/heddle.ts';

const queue_id = 'support-triage';
/** A home for the tests that change nothing. */
const environment = emptyHome(temporaryFolder());

describe('review_queue', () => {
  it('returns the unfinished items with the values, the fields and the counts', async () => {
    const { code, result } = await call('review_queue', { queue_id, limit: 20 }, environment);
    expect(code).toBe(0);
    expect(result).toMatchObject({
      queue: { id: queue_id, project_id: 'demo/support', name: queue_id, remaining: 9, total: 12 },
      fields: [{ name: 'helpful', type: 'boolean', description: "Does the answer solve the customer's problem?" }],
      can_write: true,
      filter: { unfinished_by_me: true },
      offset: 0,
      as_of: expect.stringMatching(/Z$/),
    });
    expect(result.items).toHaveLength(9);
    expect(result.items[0]).toMatchObject({
      call_id: 'support-0004',
      annotation_state: 'in_progress',
      call_values: {
        'inputs.question': 'The export button does nothing in Firefox.',
        'output.answer': 'Please clear your cookies and try again.',
      },
    });
  });

  it('returns the queue, its counts and a sentence to a model, and no items', async () => {
    const { call: callTool } = await connectClient(environment);
    const { text, ...result } = await callTool('review_queue', { queue_id });
    expect(result).toMatchObject({ queue: { id: queue_id, remaining: 9, total: 12 }, items: [] });
    expect(result).not.toHaveProperty('fields');
    expect(text).toBe(
      'The board of queue support-triage (support-triage). 9 of 12 items remaining.\nIf the user sees no board here, they can tell you their judgements (pass by_user: true), or run `heddle board support-triage` in a terminal.\n(Sample data.)',
    );
    expect(JSON.stringify(result).length).toBeLessThan(900);
  });

  it('leaves out a long filter for a model, and returns it with the items of the board', async () => {
    const { call: callTool } = await connectClient(environment);
    const filter = {
      text: 'browser',
      ids: Array.from({ length: 12 }, (_, index) => `support-${String(index + 1).padStart(4, '0')}`),
    };
    const { text, ...result } = await callTool('review_queue', { queue_id, filter });
    expect(JSON.stringify(result).length).toBeLessThan(900);
    expect(text.length).toBeLessThan(900);
    expect(result).not.toHaveProperty('filter');
    expect(await callTool('review_queue', { queue_id, filter, limit: 1 })).toMatchObject({ filter });
  });

  it('says how many items match, that nobody sees an empty board, and who is meant by me', async () => {
    const { call: callTool } = await connectClient(environment);
    const board = (filter: object) => callTool('review_queue', { queue_id, filter });
    expect((await board({ text: 'zzzz' })).text).toContain(
      'The board of queue support-triage (support-triage) is empty: no item matches the filter. 9 of 12 items remaining.',
    );
    const some = await board({ call_op_name: 'support.answer', unfinished_by_me: true });
    expect(some.text).toContain(
      `The board of queue support-triage (support-triage), with ${some.matching} items of the filter.`,
    );
    const mine = await board({ unjudged_by_me: true });
    expect(mine.hint).toMatch(/^In the filter, me is the user, because the board is theirs\. If the user sees/);
    expect((await board({ value: 5 })).error.message).toBe('filter.value needs filter.field.');
    expect((await board({ ids: ['support-004'] })).error.hint).toContain('support-0004');
  });

  it('applies a filter, and pages', async () => {
    const { result } = await call('review_queue', { queue_id, filter: {}, limit: 5, offset: 10 }, environment);
    expect(result.items.map((item: { call_id: string }) => item.call_id)).toEqual(['support-0011', 'support-0012']);
    const first = (await call('review_queue', { queue_id, filter: {}, limit: 5 }, environment)).result;
    expect(first).toMatchObject({ next_offset: 5 });
    expect(first.items).toHaveLength(5);
  });

  it("shows the user's own judgements and note, and nothing of what an agent judged", async () => {
    const server = await connectClient(emptyHome(temporaryFolder()));
    const itemsOf = async (filter: object) =>
      (await server.call('review_queue', { queue_id, filter, limit: 100 })).items;
    const [item] = await itemsOf({});
    const change = { item_id: item.id, judgements: { helpful: false }, note: 'By the agent' };
    await server.call('update_queue_items', { queue_id, items: [change] });
    const [before] = await itemsOf({});
    expect(before).not.toHaveProperty('judgements');
    expect(before).not.toHaveProperty('note');
    const own = { item_id: item.id, judgements: { helpful: true }, note: 'By me' };
    await server.call('update_queue_items', { queue_id, items: [own], by_user: true });
    const [after] = await itemsOf({});
    expect(after).toMatchObject({ judgements: { helpful: true }, note: 'By me' });
    const unjudged = await itemsOf({ unjudged_by_me: true });
    expect(unjudged.map(({ id }: { id: string }) => id)).not.toContain(item.id);
    expect(unjudged).toHaveLength(11);
  });

  it('leaves out the time of rows that were imported without one, and names the queue in the command that exports them, by its id where another one has the name', async () => {
    const folder = temporaryFolder();
    const environment = emptyHome(folder);
    const rows = [
      { question: 'Why?', answer: 'So.' },
      { question: 'When?', answer: 'Now.', created_at: '2026-01-12' },
    ];
    writeFileSync(join(folder, 'rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
    const imported = await run(
      ['import', join(folder, 'rows.jsonl'), '--queue', 'Rows', '--project', 'demo/support'],
      environment,
    );
    expect(imported.code).toBe(0);
    const { result } = await call('review_queue', { queue_id: 'Rows', limit: 10 }, environment);
    expect(result.items.map(({ call_started_at }: { call_started_at?: string }) => call_started_at)).toEqual([
      undefined,
      '2026-01-12T00:00:00Z',
    ]);
    expect(result.export_command).toMatch(
      /^node dist\/heddle\.js queue export Rows --format csv --wide --values --out Rows-judgements\.csv( --project \S+)?$/,
    );
    await call('create_queue', { name: 'rows' }, environment);
    const { export_command } = (await call('review_queue', { queue_id: result.queue.id, limit: 1 }, environment))
      .result;
    expect(export_command).toContain(` queue export ${result.queue.id} `);
  });

  it('lists the completed items that lack a value of anyone, and counts them by field', async () => {
    const server = await connectClient(emptyHome(temporaryFolder()));
    const fields = [
      { name: 'helpful', type: 'boolean' },
      { name: 'tone', type: 'boolean' },
      { name: 'remark', type: 'string' },
    ];
    const { queue_id } = await server.call('create_queue', { name: 'Two', fields });
    const call_ids = ['support-0001', 'support-0002', 'support-0003', 'support-0004'];
    await server.call('add_queue_items', { queue_id, call_ids });
    const annotation_state = 'completed';
    const items = [
      { call_id: 'support-0001', judgements: { helpful: true }, annotation_state },
      { call_id: 'support-0002', annotation_state },
      { call_id: 'support-0003', judgements: { helpful: true, tone: true }, annotation_state },
      { call_id: 'support-0004', annotation_state: 'skipped' },
    ];
    expect((await server.call('update_queue_items', { queue_id, items })).counts).toEqual({ done: 4 });
    const filter = { lacks_value: true };
    const board = await server.call('review_queue', { queue_id, filter, limit: 1 });
    expect(board).toMatchObject({ lacking: { helpful: 1, tone: 2 }, skipped: 1, next_offset: 1 });
    expect(board.items.map(({ call_id }: { call_id: string }) => call_id)).toEqual(['support-0001']);
    expect((await server.call('review_queue', { queue_id, filter })).matching).toBe(2);
    const [item] = board.items;
    const change = { item_id: item.id, judgements: { tone: false } };
    await server.call('update_queue_items', { queue_id, items: [change], by_user: true });
    const after = await server.call('review_queue', { queue_id, filter, limit: 10 });
    expect(after).toMatchObject({ lacking: { helpful: 1, tone: 1 }, items: [{ call_id: 'support-0002' }] });
  });

  it.each([
    [null, [['ana'], ['ana', 'cody (test via heddle)'], ['ana', 'cody', 'cody (test via heddle)']]],
    [2, [[], ['cody (test via heddle)'], ['ana', 'cody', 'cody (test via heddle)']]],
    [{ people: 1, agents: 1 }, [[], ['cody (test via heddle)'], ['ana', 'cody', 'cody (test via heddle)']]],
  ])(
    'shows what others judged only where that cannot sway the user, with reviewers_per_item %j',
    async (wanted, expected) => {
      const project = 'team/shop';
      const line = { call_id: 'c0', call_op_name: 'weave:///team/shop/op/reply:YIHR', call_trace_id: 't' };
      const call = { call_started_at: '2026-01-01T00:00:00Z', display_fields: ['output'], call: { output: 'Yes.' } };
      const fields = [{ name: 'helpful', field_schema: { type: 'boolean' } }];
      const service = await startTestService();
      const settings = await withStore(service.data, async (store) => {
        await store.importItems([JSON.stringify({ ...line, ...call })], {
          projectId: project,
          queueId: 'replies',
          fields,
        });
        const passwords = [await store.addUser('ana', 'all'), await store.addUser('cody', 'all')];
        return passwords.map(({ name, password }) => ({
          HEDDLE_BASE_URL: service.running.url,
          HEDDLE_PROJECT: project,
          HEDDLE_USERNAME: name,
          HEDDLE_PASSWORD: password,
        }));
      });
      await execute(service.data, `update queues set reviewers_per_item = '${JSON.stringify(wanted)}' returning id`);
      const [ana, cody] = await Promise.all(
        settings.map((account) => connectClient(emptyHome(temporaryFolder(), account))),
      );
      const read = () => cody!.call('review_queue', { queue_id: 'replies', filter: {}, limit: 10 });
      const judge = async (server: ConnectedClient, by_user: boolean) => {
        const [{ id: item_id }] = (await read()).items;
        const change = { item_id, judgements: { helpful: by_user }, annotation_state: 'completed' };
        await server.call('update_queue_items', { queue_id: 'replies', items: [change], by_user });
        const { account, items } = await read();
        expect([account, items[0].call_op_name]).toEqual(['cody', 'reply']);
        return Object.keys(items[0].given?.judgements ?? {});
      };
      expect([await judge(ana!, true), await judge(cody!, false), await judge(cody!, true)]).toEqual(expected);
    },
  );

  it('has an item to do again once a judgement of it is taken back', async () => {
    const { call: callTool } = await connectClient(emptyHome(temporaryFolder()));
    const toDo = async () => {
      const { queue, items } = await callTool('review_queue', { queue_id, limit: 100 });
      return { count: queue.to_do ?? queue.remaining, ids: items.map(({ id }: { id: string }) => id) };
    };
    const before = await toDo();
    const change = async (members: object) => {
      const items = [{ item_id: before.ids[0], ...members }];
      return (await callTool('update_queue_items', { queue_id, items, by_user: true })).items[0].annotation_state;
    };
    expect(await change({ judgements: { helpful: true }, annotation_state: 'completed' })).toBe('completed');
    expect((await toDo()).count).toBe(before.count - 1);
    expect(await change({ retract: ['helpful'] })).toBe('in_progress');
    expect(await toDo()).toEqual(before);
  });

  it('says in its text how a user without a board can judge', async () => {
    const { stdout } = await run(
      ['call', 'review_queue', JSON.stringify({ queue_id, limit: 9 }), '--text'],
      environment,
    );
    expect(stdout).toContain('9 of 12 items remaining.');
    expect(stdout).toContain("Fields: helpful (boolean): Does the answer solve the customer's problem?");
    expect(stdout).toContain('run `node dist/heddle.js board support-triage` in a terminal');
    expect(stdout.length).toBeLessThan(900);
  });

  it('names the project in its command where the call names another one', async () => {
    const { call } = await connectClient({ ...environment, HEDDLE_PROJECT: 'team/other' });
    const { hint, text } = await call('review_queue', { queue_id, project_id: 'demo/support' });
    expect(hint).toContain('run `heddle board support-triage --project demo/support` in a terminal');
    expect(text).toContain('--project demo/support`');
  });

  it('says that nothing can be judged in read-only mode', async () => {
    const readOnly = { ...environment, HEDDLE_READ_ONLY: 'true' };
    expect((await call('review_queue', { queue_id }, readOnly)).result.can_write).toBe(false);
  });

  it('names the nearest queues for an unknown one', async () => {
    const { code, result } = await call('review_queue', { queue_id: 'triage' }, environment);
    expect(code).toBe(1);
    expect(result).toMatchObject({ code: 'not_found', hint: expect.stringContaining('support-triage') });
  });

  it('cuts a page that is too large, and says where the next one begins', async () => {
    const limited = { ...environment, HEDDLE_MAX_RESULT_CHARS: '2000' };
    const { result } = await call('review_queue', { queue_id, limit: 20 }, limited);
    expect(result.items.length).toBeGreaterThan(0);
    expect(result.next_offset).toBe(result.items.length);
  });
});

describe('suggestionsOf', () => {
  const fields = [
    { name: 'helpful', reference: '', schema: { type: 'boolean' } },
    { name: 'score', reference: '', schema: { type: 'integer', minimum: 1, maximum: 5 } },
  ];
  const score = (scorer: string, output: unknown) => ({
    id: '1',
    weave_ref: 'weave:///a/b/call/c1',
    feedback_type: `wandb.runnable.${scorer}`,
    payload: { output },
    created_at: '2026-01-01T00:00:00Z',
  });

  it('takes the score of a scorer named like a field, and members of a score named like a field', () => {
    expect(suggestionsOf([score('helpful', true), score('judge', { score: 4, reason: 'x' })], fields)).toEqual(
      new Map([
        [
          'c1',
          [
            { field: 'helpful', value: true, by: 'helpful' },
            { field: 'score', value: 4, by: 'judge' },
          ],
        ],
      ]),
    );
  });

  it('leaves out values that do not fit the field, other feedback, and all but the latest score of a scorer', () => {
    const note = { ...score('helpful', true), feedback_type: 'wandb.note.1' };
    expect(suggestionsOf([score('score', 9), score('judge', ['helpful']), note], fields)).toEqual(new Map());
    expect(suggestionsOf([score('score', 1), score('score', 2)], fields).get('c1')).toEqual([
      { field: 'score', value: 2, by: 'score' },
    ]);
  });
});
