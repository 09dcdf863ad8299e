import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connectClient } from '../../support/client.ts';
import { sendGoodResponse, sendResponse, startFakeService } from '../../support/fake-service.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { importItems } from '../../support/import-items.ts';
import { plainItem } from '../../support/plain-item.ts';
import { claudeCode, codex, converse, type ModelClient } from './clients.ts';
import type { ToolResult, Turn } from './model-api.ts';

/** Returns a turn that calls a tool with fixed arguments. */
function calling(tool: string, args: object): Turn {
  return () => ({ tool, args });
}

// biome-ignore lint/suspicious/noExplicitAny: results of every shape
function json({ text }: ToolResult): any {
  return JSON.parse(text);
}

/** Imports 60 items into the queue `q`, and returns the home. */
async function homeWithQueue(): Promise<string> {
  const environment = await importItems(
    Array.from({ length: 60 }, (_, number) => ({
      call_id: `call-${number}`,
      call_op_name: 'answer',
      call_trace_id: `trace-${number}`,
      call_started_at: new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString(),
      display_fields: ['inputs.question'],
      call: { inputs: { question: `Question ${number}?` }, output: null },
    })),
  );
  return environment.HOME!;
}

const headingInCodex = /^Wall time: [\d.]+ seconds\nOutput:$/;

describe.each<ModelClient>([claudeCode, codex])('$title', (client) => {
  const isCodex = client === codex;
  let home: string;
  beforeAll(async () => {
    home = await homeWithQueue();
  });

  describe.skipIf(!client.program)('shows its model', () => {
    it('the structured form of a page, whole, and where the next one begins', async () => {
      const { last } = await converse(client, home, [
        calling('query_queue_items', { queue_id: 'q' }),
        ([page]) => ({ tool: 'query_queue_items', args: { queue_id: 'q', offset: json(page!).next_offset } }),
      ]);
      const [first, second] = last.results.map(json);
      expect(first.items).toHaveLength(50);
      expect(first.items[0]).toEqual({
        id: expect.any(String),
        call_started_at: '2026-01-01T00:00:00Z',
        call_id: 'call-0',
      });
      expect(first).toMatchObject({
        common: { annotation_state: 'unstarted', call_op_name: 'answer' },
        offset: 0,
        next_offset: 50,
        state_counts: { unstarted: 50 },
        sample_data: true,
      });
      expect(second.items.map(({ call_id }: { call_id: string }) => call_id)).toEqual(
        Array.from({ length: 10 }, (_, index) => `call-${50 + index}`),
      );
      expect(second).not.toHaveProperty('next_offset');

      const { client: own } = await connectClient(emptyHome(home));
      const { structuredContent } = await own.callTool({ name: 'query_queue_items', arguments: { queue_id: 'q' } });
      expect(first).toEqual({ ...(structuredContent as object), as_of: expect.any(String) });
      expect(last.results[0]!.content).toEqual(
        isCodex
          ? expect.stringMatching(/^Wall time: [\d.]+ seconds\nOutput:\n\{"items":\[\{"id":"/)
          : expect.stringMatching(/^\{"items":\[\{"id":"/),
      );
      // The text of the result, a table, is not shown.
      expect(last.results[0]!.text).not.toContain('More follow');
    });

    it('a page of which one call could not be read, and why', async () => {
      const service = await startFakeService();
      onTestFinished(() => service.stop());
      service.respond = (request) => {
        if (request.path === '/calls/stream_query') {
          const call = { id: 'c1', inputs: { question: 'Why?' }, output: 'Because.' };
          return sendResponse(request, 200, JSON.stringify(call));
        }
        if (!request.path.endsWith('/items/query')) return sendGoodResponse(request);
        const items = ['c1', 'c2'].map((id) => ({
          ...plainItem,
          id,
          call_id: id,
          display_fields: ['inputs.question'],
        }));
        return sendResponse(request, 200, JSON.stringify({ items }));
      };
      const settings = {
        HEDDLE_BASE_URL: service.url,
        HEDDLE_PROJECT: 'a/b',
        HEDDLE_USERNAME: 'user',
        HEDDLE_PASSWORD: 'password-of-user',
      };
      const turns = [calling('query_queue_items', { queue_id: 'q', include_call: true })];
      const { last } = await converse(client, temporaryFolder(), turns, { settings });
      expect(json(last.results[0]!).items).toMatchObject([
        { call_id: 'c1', call_values: { 'inputs.question': 'Why?' } },
        { call_id: 'c2', call_error: { code: 'not_found', message: expect.any(String), hint: expect.any(String) } },
      ]);
    });

    it('a reply that was shortened, and how to get all of it', async () => {
      const args = { model: 'heddle/echo', messages: [{ role: 'user', content: 'word '.repeat(15_000) }] };
      const { last } = await converse(client, home, [calling('run_inference', args)]);
      const { truncated, response } = json(last.results[0]!);
      expect(response.choices[0].finish_reason).toBe('stop');
      expect(truncated).toMatch(
        /^The reply was shortened: .* To get all of it, request a shorter reply, or ask the user to raise HEDDLE_MAX_RESULT_CHARS\.$/,
      );
    });

    it('an error with its next step', async () => {
      // Claude Code adds the schema of a tool that it has not shown to its model.
      const options = { listsTools: !isCodex };
      const turns = [calling('query_queue_items', { queue_id: 'support-triag' })];
      const { last } = await converse(client, home, turns, options);
      const text = `Project demo/support has no queue with the id "support-triag".
The nearest ids are support-triage, q. Call list_queues for all of them.
{"code":"not_found","retryable":false}`;
      expect(last.results).toEqual([
        isCodex
          ? {
              content: [
                { type: 'input_text', text: expect.stringMatching(headingInCodex) },
                { type: 'input_text', text },
              ],
              text,
              isError: undefined,
            }
          : { content: text, text, isError: true },
      ]);
    });

    it('which item of a change was refused, and what to do', async () => {
      const { last } = await converse(client, home, [
        calling('query_queue_items', { queue_id: 'q', limit: 1 }),
        ([page]) => ({
          tool: 'update_queue_items',
          args: {
            queue_id: 'q',
            items: [
              { item_id: json(page!).items[0].id, annotation_state: 'in_progress' },
              { item_id: 'nowhere', annotation_state: 'completed' },
            ],
          },
        }),
      ]);
      const [page, change] = last.results.map(json);
      expect(change).toEqual({
        counts: { done: 1, refused: 1 },
        items: [
          { item_id: page.items[0].id, result: 'done', annotation_state: 'in_progress' },
          {
            item_id: 'nowhere',
            result: 'refused',
            error: {
              code: 'not_found',
              message: 'Not changed: queue q has no item nowhere.',
              hint: 'Take ids from a page of the queue. The nearest items are call-0, call-1, call-2.',
              retryable: false,
            },
          },
        ],
        sample_data: true,
      });
    });

    it('that nothing was changed because the client cannot ask the user', async () => {
      const args = { queue_id: 'q', filter: {}, change: { annotation_state: 'skipped' } };
      const { last } = await converse(client, home, [calling('update_queue_items', args)]);
      // Codex says that its user declined, Claude Code that no one answered.
      const expected = isCodex
        ? ['The user declined the change.', 'Nothing was changed. Ask the user what they want.', 'cancelled']
        : [
            "Nothing was changed: changing 60 items needs the user's agreement. Skipped items stay skipped, completed ones until their judgements are taken back.",
            'Ask the user, then call again with confirm: true, or change at most 20 at once.',
            'invalid_arguments',
          ];
      const [message, hint, members] = last.results[0]!.text.split('\n');
      expect([message, hint, JSON.parse(members!).code]).toEqual(expected);
    });
  });

  it.skipIf(!client.program)('judges an item of a queue that its model has found', async () => {
    const folder = temporaryFolder();
    const { last } = await converse(client, folder, [
      calling('list_queues', {}),
      ([queues]) => ({
        tool: 'query_queue_items',
        args: {
          queue_id: json(queues!).queues[0].id,
          filter: { annotation_states: ['unstarted'] },
          sort_by: [{ field: 'call_started_at', direction: 'desc' }],
          limit: 1,
          include_call: true,
        },
      }),
      ([queues, page]) => {
        const [{ id, fields }] = json(queues!).queues;
        const { items, as_of } = json(page!);
        const change = { judgements: { [fields[0].name]: true }, annotation_state: 'completed' };
        return {
          tool: 'update_queue_items',
          args: { queue_id: id, items: [{ item_id: items[0].id, ...change }], as_of },
        };
      },
    ]);
    const [queues, page, change] = last.results.map(json);
    expect(queues.queues).toEqual([
      {
        id: 'support-triage',
        name: 'support-triage',
        fields: [{ name: 'helpful', type: 'boolean', description: "Does the answer solve the customer's problem?" }],
        remaining: 9,
        total: 12,
      },
    ]);
    expect(page.items[0].call_values).toEqual({
      'inputs.question': 'What is the limit on uploads?',
      'output.answer': 'The limit is 2 GB a file. Larger files can be split or shared as a link.',
    });
    expect(change.counts).toEqual({ done: 1 });

    const { call } = await connectClient(emptyHome(folder));
    const filter = { call_id: 'support-0012' };
    const stored = await call('query_queue_items', { queue_id: 'support-triage', filter, include_judgements: true });
    expect(stored.items[0].annotation_state).toBe('completed');
    expect(Object.values(stored.items[0].judgements)).toEqual([{ helpful: true }]);
  });
});
