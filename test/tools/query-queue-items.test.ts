import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { call, emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { rowReference, startRecordedService } from '../support/recorded-service.ts';
import { hasReviewItems, reviewItems } from '../support/review-items.ts';
import { connectStdioClient } from '../support/stdio-client.ts';

describe('query_queue_items', () => {
  it('adds the values at the display fields of each call with include_call, cut to max_value_chars', async () => {
    const client = await connectStdioClient(await importNumberedQueue(50));
    const page = await client.call('query_queue_items', { queue_id: 'q', include_call: true, max_value_chars: 30 });
    expect(page.items).toHaveLength(50);
    expect(page.items[7].call_values).toEqual({
      'inputs.question': 'Question 7?',
      'output.texts[1]': `${'x'.repeat(30)}…[+970 characters]`,
    });
    expect(page.text).toContain('Question 7?');
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
    const { call } = await connectStdioClient(emptyHome(temporaryFolder(), service.environment));
    const { error } = await call('query_queue_items', { queue_id: 'q', project_id: 'team/projekt' });
    expect(error.hint).toMatch(/^The nearest projects are team\/projects, team\/project-2, /);
  });

  it('names the nearest queues when there is no such queue', async () => {
    const { call } = await connectStdioClient(emptyHome(temporaryFolder()));
    expect((await call('query_queue_items', { queue_id: 'suport-triage' })).error).toMatchObject({
      code: 'not_found',
      message: 'Project demo/support has no queue with the id "suport-triage".',
      hint: 'The nearest ids are support-triage. Call list_queues for all of them.',
    });
    const elsewhere = await call('query_queue_items', { queue_id: 'q', project_id: 'no/where' });
    expect(elsewhere.error).toMatchObject({
      message: 'There is no project no/where.',
      hint: 'The nearest projects are demo/support. Pass one of them as project_id.',
    });
  });

  it('says how many items match when the offset is past the end', async () => {
    const { call } = await connectStdioClient(emptyHome(temporaryFolder()));
    const page = await call('query_queue_items', {
      queue_id: 'support-triage',
      filter: { annotation_states: ['unstarted'] },
      offset: 100,
    });
    expect(page).toMatchObject({
      items: [],
      matching: 7,
      text: expect.stringContaining('No items at offset 100: 7 match.'),
    });
  });

  it('filters by who judged, by field and value, and by what is unjudged by the caller', async () => {
    const { call } = await connectStdioClient(emptyHome(temporaryFolder()));
    const queue_id = 'support-triage';
    const { items } = await call('query_queue_items', { queue_id, limit: 3 });
    const [a, b, c] = items.map(({ id }: Item) => id);
    const judge = (item_id: string, helpful: boolean) => ({ item_id, judgements: { helpful } });
    const changes = { queue_id, items: [judge(a, true), judge(b, false), judge(c, true)] };
    expect((await call('update_queue_items', changes)).counts).toEqual({ done: 3 });
    expect((await call('update_queue_items', { queue_id, items: [judge(c, false)] })).counts).toEqual({ done: 1 });
    const ids = async (filter: object) =>
      (await call('query_queue_items', { queue_id, filter })).items.map(({ id }: Item) => id).sort();
    expect(await ids({ field: 'helpful', value: true })).toEqual([a]);
    expect(await ids({ field: 'helpful', value: false })).toEqual([b, c].sort());
    expect(await ids({ judged_by: 'test via heddle' })).toEqual([a, b, c].sort());
    expect(await ids({ judged_by: 'somebody else' })).toEqual([]);
    const rest = await ids({ unjudged_by_me: true });
    expect(rest).toHaveLength(9);
    expect(rest).not.toContain(a);
    const { error } = await call('query_queue_items', { queue_id, filter: { value: true } });
    expect(error).toMatchObject({ code: 'invalid_arguments', message: 'filter.value needs filter.field.' });
  });
});

describe('query_queue_items at a service that answers as the public one', () => {
  it('shows times that come without a zone in UTC, with their zone', async () => {
    const service = await startRecordedService();
    const { call } = await connectStdioClient(emptyHome(temporaryFolder(), service.environment));
    const { items } = await call('query_queue_items', { queue_id: 'q' });
    expect(items[0]).toMatchObject({
      call_started_at: '2026-01-01T00:00:00Z',
      call_ended_at: '2026-01-01T00:00:01.500000Z',
      created_at: '2026-01-02T00:00:00Z',
    });
  });

  it.each([true, false])('shows what references lead to, when the service expands them: %s', async (expands) => {
    const service = await startRecordedService();
    service.expands = expands;
    const { call } = await connectStdioClient(emptyHome(temporaryFolder(), service.environment));
    const { items } = await call('query_queue_items', { queue_id: 'q', include_call: true });
    expect(items[0].call_values).toEqual({ 'inputs.row.question': 'Is it safe?' });
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

    const { client } = await connectStdioClient(environment);
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
    const { client } = await connectStdioClient(environment);
    const result = await client.callTool({
      name: 'query_queue_items',
      arguments: { project_id: 'demo/review', queue_id: 'commits', limit: 40 },
    });
    expect(JSON.stringify(result).length).toBeLessThanOrEqual(9000);
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
