import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test } from 'vitest';
import { call, command, emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { hasReviewItems, reviewItems } from '../support/review-items.ts';

const load = ['service', 'import', reviewItems, '--project', 'demo/review', '--queue', 'commits'];

describe.skipIf(!hasReviewItems)('2142 real review items', () => {
  test('are loaded once, and paging finds every unstarted one once', async () => {
    const environment = emptyHome(temporaryFolder());
    expect(await run(load, environment)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('2142 added, 0 duplicates'),
    });
    expect(await run(load, environment)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('0 added, 2142 duplicates'),
    });

    const first = await call(
      'query_queue_items',
      {
        project_id: 'demo/review',
        queue_id: 'commits',
        filter: { annotation_states: ['unstarted'] },
        sort_by: [{ field: 'call_started_at', direction: 'desc' }],
        limit: 10,
        include_position: true,
      },
      environment,
    );
    expect(first.result.items).toHaveLength(10);
    expect(first.result).toMatchObject({ offset: 0, next_offset: 10, state_counts: { unstarted: 10 } });

    // The place of each item among all, told by the whole queue in the same order.
    const client = await connect(environment);
    const sort_by = [{ field: 'call_started_at', direction: 'desc' }];
    const everything = await pages(client, { sort_by, limit: 500 });
    expect(everything).toHaveLength(2142);
    const places = new Map(everything.map(({ id }, index) => [id, index + 1]));
    for (const item of first.result.items) expect(item.position_in_queue).toBe(places.get(item.id));

    const unstarted = await pages(client, { sort_by, limit: 100, filter: { annotation_states: ['unstarted'] } });
    const expected = everything.filter(({ annotation_state }) => annotation_state === 'unstarted').map(({ id }) => id);
    expect(unstarted.map(({ id }) => id)).toEqual(expected);
    expect(expected.length).toBeGreaterThan(1000);
  });

  test('a page that is too large for the result goes on exactly where it was cut', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_MAX_RESULT_CHARS: '9000' });
    await run(load, environment);
    const client = await connect(environment);
    const result = await client.callTool({
      name: 'query_queue_items',
      arguments: { project_id: 'demo/review', queue_id: 'commits', limit: 40 },
    });
    expect(JSON.stringify(result).length).toBeLessThanOrEqual(9000);
    const { items, next_offset } = result.structuredContent as { items: { id: string }[]; next_offset: number };
    expect(items.length).toBeGreaterThan(3);
    expect(next_offset).toBe(items.length);
    const whole = await pages(client, { limit: 40 });
    expect(whole).toHaveLength(2142);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(2142);
  });
});

interface Item {
  id: string;
  annotation_state: string;
}

async function connect(env: Record<string, string>): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [command], env }));
  onTestFinished(() => client.close());
  return client;
}

/** All items of a query, page by page. */
async function pages(client: Client, query: Record<string, unknown>): Promise<Item[]> {
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
