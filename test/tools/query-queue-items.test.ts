import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { call, emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { importItems } from '../support/import-items.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { helpfulField, rowReference, startRecordedService } from '../support/recorded-service.ts';
import { hasReviewItems, reviewItems } from '../support/review-items.ts';

describe('query_queue_items', () => {
  it('adds the values at the display fields of each call with include_call, cut to max_value_chars', async () => {
    const client = await connectClient(await importNumberedQueue(50));
    const page = await client.call('query_queue_items', { queue_id: 'q', include_call: true, max_value_chars: 30 });
    expect(page.items).toHaveLength(50);
    expect(page.items[7].call_values).toEqual({
      'inputs.question': 'Question 7?',
      'output.texts[1]': `${'x'.repeat(30)}…[+970 characters]`,
    });
    expect(page.text).toContain('Question 7?');
  });

  it('states with judgements the most frequent state once, and that of each item in another one', async () => {
    const states = ['completed', 'in_progress', 'completed'] as const;
    const environment = await importItems(
      states.map((annotation_state, number) => ({
        call_id: `call-${number}`,
        call_op_name: 'answer',
        call_trace_id: 'trace',
        call_started_at: '2026-01-01T00:00:00Z',
        annotation_state,
        judgements: [{ field: 'good', value: number, annotator: 'ana', judged_at: '2026-01-02T00:00:00Z' }],
      })),
    );
    const { call } = await connectClient(environment);
    const { items, common, state_counts, text } = await call('query_queue_items', {
      queue_id: 'q',
      include_judgements: true,
    });
    expect(items).toEqual([
      { id: expect.any(String), judgements: { ana: { good: 0 } } },
      { id: expect.any(String), annotation_state: 'in_progress', judgements: { ana: { good: 1 } } },
      { id: expect.any(String), judgements: { ana: { good: 2 } } },
    ]);
    expect(common).toEqual({ annotation_state: 'completed' });
    expect(state_counts).toEqual({ completed: 2, in_progress: 1 });
    expect(
      text
        .split('\n')
        .slice(1, 5)
        .map((line: string) => line.split('\t').slice(1)),
    ).toEqual([
      ['annotation_state', 'judgements'],
      ['completed', 'ana: good=0'],
      ['in_progress', 'ana: good=1'],
      ['completed', 'ana: good=2'],
    ]);
  });
});

describe('query_queue_items', () => {
  it('names the nearest projects first when there is no such project', async () => {
    const service = await startFakeService();
    const projects = ['zzz/other', 'team/projects', 'team/project-2', 'a/b'];
    service.respond = (request) => {
      if (request.path === '/projects') {
        return sendResponse(request, 200, { projects: projects.map((project_id) => ({ project_id, queues: 1 })) });
      }
      if (request.path.endsWith('/items/query')) return sendResponse(request, 200, { items: [] });
      if (request.path === '/annotation_queues/query') return sendResponse(request, 200, '');
      sendResponse(request, 404, { reason: 'Queue q not found' });
    };
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const { error } = await call('query_queue_items', { queue_id: 'q', project_id: 'team/projekt' });
    expect(error.hint).toMatch(/^The nearest projects are team\/projects, team\/project-2, /);
  });

  it('says that the account sees no project when the service lists none', async () => {
    const service = await startFakeService();
    service.respond = (request) => {
      if (request.path === '/projects') return sendResponse(request, 200, { projects: [] });
      if (request.path.endsWith('/items/query')) return sendResponse(request, 200, { items: [] });
      if (request.path === '/annotation_queues/query') return sendResponse(request, 200, '');
      sendResponse(request, 404, { reason: 'Queue q not found' });
    };
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    expect(await call('query_queue_items', { queue_id: 'q', project_id: 'team/app' })).toMatchObject({
      error: {
        code: 'not_found',
        message: 'There is no project team/app.',
        hint: 'This account sees no project. Ask the user to check the project and the credentials.',
      },
    });
  });
});

describe('query_queue_items at a service that answers as the public one', () => {
  it('names the nearest of all members of items, those of judgements included', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environmentOf('ada')));
    const { error } = await call('query_queue_items', { queue_id: 'q', fields: ['nots'] });
    expect(error.hint).toMatch(/^The nearest fields are notes, /);
  });

  it('names the nearest fields when the queue has no such field, and says where names are listed', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environmentOf('ada')));
    const filtered = (filter: object) => call('query_queue_items', { queue_id: 'q', filter });
    expect((await filtered({ field: 'Helpfull' })).error).toMatchObject({
      code: 'invalid_arguments',
      message: 'Queue q has no field "Helpfull".',
      hint: 'The nearest fields are helpful, score.',
    });
    expect((await filtered({ judged_by: 'eve' })).error).toMatchObject({
      message: 'No annotator "eve" has judged in queue q.',
      hint: 'Nobody has judged there.',
    });
    expect(await filtered({ judged_by: 'me' })).toMatchObject({
      items: [],
      text: 'No item matches all conditions. Call summarize_queue by annotator and field to see who judged what.',
    });
  });

  it('refuses a field that nobody used, and names the one of a queue that has one', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environmentOf('ada')));
    const filter = { field: 'tone' };
    service.fields = [helpfulField];
    expect((await call('query_queue_items', { queue_id: 'q', filter })).error).toMatchObject({
      message: 'Queue q has no field "tone".',
      hint: 'The nearest fields are helpful.',
    });
    service.fields = [];
    expect((await call('query_queue_items', { queue_id: 'q', filter })).error).toMatchObject({
      message: 'No judgement is in the field "tone".',
      hint: 'Nobody has judged there.',
    });
  });

  it('ends a list of items that fulfil a condition on judgements at the last of them', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environmentOf('ada')));
    const page = (offset: number) =>
      call('query_queue_items', { queue_id: 'q', filter: { unjudged_by_me: true }, limit: 1, offset });
    expect(await page(1)).toMatchObject({ items: [{ id: 'i2' }], next_offset: 2 });
    const last = await page(2);
    expect(last).toMatchObject({ items: [{ id: 'i3' }] });
    expect(last).not.toHaveProperty('next_offset');
  });

  it('says of items without judgements that there are none', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environmentOf('ada')));
    const { common, text } = await call('query_queue_items', { queue_id: 'q', include_judgements: true });
    expect(common.judgements).toEqual({});
    expect(text).toContain('judgements=none');
  });

  it('returns the further members that the description of fields names', async () => {
    const service = await startRecordedService();
    const { call, client } = await connectClient(emptyHome(temporaryFolder(), service.environmentOf('ada')));
    const fields = ['created_at', 'created_by', 'call_trace_id'];
    const { tools } = await client.listTools();
    const { properties } = tools.find(({ name }) => name === 'query_queue_items')!.inputSchema;
    expect(properties!.fields).toMatchObject({ description: expect.stringContaining(`also ${fields.join(', ')};`) });
    const { items, common } = await call('query_queue_items', { queue_id: 'q', fields });
    const { id, annotation_state, ...further } = { ...items[0], ...common };
    expect([id, annotation_state]).toEqual(['i1', 'unstarted']);
    expect(Object.keys(further)).toEqual(fields);
  });

  it('shows times that come without a zone in UTC, with their zone', async () => {
    const service = await startRecordedService();
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const { items } = await call('query_queue_items', { queue_id: 'q', fields: ['*'] });
    expect(items[0]).toMatchObject({
      call_started_at: '2026-01-01T00:00:00Z',
      call_ended_at: '2026-01-01T00:00:01.500000Z',
      created_at: '2026-01-02T00:00:00Z',
    });
  });

  it.each([true, false])('shows what references lead to, when the service expands them: %s', async (expands) => {
    const service = await startRecordedService();
    service.expands = expands;
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const { common } = await call('query_queue_items', { queue_id: 'q', include_call: true });
    expect(common.call_values).toEqual({ 'inputs.row.question': 'Is it safe?' });
    expect(service.bodiesOf('/refs/read_batch')).toEqual(expands ? [] : [{ refs: [rowReference] }]);
  });
});

const importReviewItems = ['service', 'import', reviewItems, '--project', 'demo/review', '--queue', 'commits'];

describe.skipIf(!hasReviewItems)('query_queue_items on 2142 real review items', () => {
  it('pages through every unstarted item once, with its position in the whole queue', async () => {
    const environment = emptyHome(temporaryFolder());
    expect(await run(importReviewItems, environment)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('2142 added, 0 duplicates'),
    });
    expect(await run(importReviewItems, environment)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('0 added, 2142 duplicates'),
    });

    const sort_by = [{ field: 'call_started_at', direction: 'desc' }];
    const first = await call(
      'query_queue_items',
      {
        project_id: 'demo/review',
        queue_id: 'commits',
        filter: { annotation_states: ['unstarted'] },
        sort_by,
        limit: 10,
        include_position: true,
      },
      environment,
    );
    expect(first.result.items).toHaveLength(10);
    expect(first.result).toMatchObject({ offset: 0, next_offset: 10, state_counts: { unstarted: 10 } });

    const { client } = await connectClient(environment);
    const everything = await allPages(client, { sort_by, limit: 500 });
    expect(everything).toHaveLength(2142);
    const positions = new Map(everything.map(({ id }, index) => [id, index + 1]));
    for (const item of first.result.items) expect(item.position_in_queue).toBe(positions.get(item.id));

    const unstarted = await allPages(client, { sort_by, limit: 100, filter: { annotation_states: ['unstarted'] } });
    const expected = everything.filter(({ annotation_state }) => annotation_state === 'unstarted').map(({ id }) => id);
    expect(unstarted.map(({ id }) => id)).toEqual(expected);
    expect(expected.length).toBeGreaterThan(1000);
  });

  it('cuts a page that exceeds the result limit and continues exactly there', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_MAX_RESULT_CHARS: '9000' });
    await run(importReviewItems, environment);
    const { client } = await connectClient(environment);
    const result = await client.callTool({
      name: 'query_queue_items',
      arguments: { project_id: 'demo/review', queue_id: 'commits', limit: 40 },
    });
    const [block] = result.content as unknown as [{ text: string }];
    expect(JSON.stringify(result.structuredContent).length).toBeLessThanOrEqual(9000);
    expect(block.text.length).toBeLessThanOrEqual(9000);
    const { items, next_offset } = result.structuredContent as { items: { id: string }[]; next_offset: number };
    expect(items.length).toBeGreaterThan(3);
    expect(next_offset).toBe(items.length);
    const whole = await allPages(client, { limit: 40 });
    expect(whole).toHaveLength(2142);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(2142);
  });
});

interface Item {
  id: string;
  annotation_state: string;
}

/** Reads every page of a query. */
async function allPages(client: Client, query: Record<string, unknown>): Promise<Item[]> {
  const items: Item[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const { structuredContent } = await client.callTool({
      name: 'query_queue_items',
      arguments: { project_id: 'demo/review', queue_id: 'commits', ...query, offset },
    });
    const page = structuredContent as { items: Item[]; next_offset?: number };
    items.push(...page.items);
    offset = page.next_offset;
  }
  return items;
}
