import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { importItems } from '../support/import-items.ts';

// Some clients show a model only the text of a result, others only its structured content.

interface Case {
  question: string;
  tool: string;
  args: Record<string, unknown> | ((ids: string[]) => Record<string, unknown>);
  /** Each fact as it stands in the text and in the compact JSON. */
  facts: [text: RegExp, json: RegExp][];
}

const queue_id = 'support-triage';
const unstarted = { annotation_states: ['unstarted'] };

const cases: Case[] = [
  {
    question: 'how many queues there are, and that the data is sample data',
    tool: 'list_queues',
    args: {},
    facts: [
      [/^1 queue from offset 0\. This is the last page\./, /^(?!.*next_offset)/],
      [/support-triage\tsupport-triage\t9\t12/, /"remaining":9,"total":12/],
      [/\(Sample data\.\)$/, /"sample_data":true/],
    ],
  },
  {
    question: 'that more items follow and where, and when they were read',
    tool: 'query_queue_items',
    args: { queue_id, filter: unstarted, limit: 3 },
    facts: [
      [/More follow: next_offset 3\./, /"next_offset":3/],
      [/as_of \d{4}-\S+Z\./, /"as_of":"\d{4}-\S+?Z"/],
      [/same in every row: annotation_state=unstarted/, /"common":\{"annotation_state":"unstarted"/],
      [/\(3 unstarted\)/, /"state_counts":\{"unstarted":3\}/],
    ],
  },
  {
    question: 'how many items match when the offset is past the end',
    tool: 'query_queue_items',
    args: { queue_id, offset: 50 },
    facts: [[/No items at offset 50: 12 match\./, /"matching":12/]],
  },
  {
    question: 'why a filter may match nothing',
    tool: 'query_queue_items',
    args: { queue_id, filter: { call_op_name: 'support.answer', started_before: '2001-01-01' } },
    facts: [[/Call summarize_queue by operation and state/, /"hint":"Call summarize_queue by operation and state/]],
  },
  {
    question: 'which judgements there are',
    tool: 'query_queue_items',
    args: { queue_id, filter: { annotation_states: ['completed'] }, limit: 1, include_judgements: true },
    facts: [[/judgements\n.*\tnone/, /"judgements":\{\}/]],
  },
  {
    question: 'how many rows are left out, what they sum up to, and where they begin',
    tool: 'summarize_queue',
    args: { queue_id, by: ['operation'], limit: 1 },
    facts: [
      [/^12 items/, /"total_items":12/],
      [/\(1 other, next: offset 1\)\t\d+/, /"others":\{"rows":1,"cells":\[\d+\],"next_offset":1\}/],
    ],
  },
  {
    question: 'which paths do not exist, and which members are there instead',
    tool: 'read_call',
    args: { call_id: 'support-0012', paths: ['inputs.question', 'inputs.none'] },
    facts: [
      [
        /These paths do not exist: inputs\.none; inputs has [^;]*question/,
        /"missing":\["inputs\.none"\],"members":\{"inputs":\[.*"question"/,
      ],
      [/Nearest to inputs\.none: inputs/, /"nearest":\{"inputs\.none":\["inputs/],
    ],
  },
  {
    question: 'how many calls match in all, and where the next ones are',
    tool: 'query_calls',
    args: { limit: 2, fields: ['inputs.none', 'op_name'] },
    facts: [
      [
        /^2 calls of 12 from offset 0\. No call of this page has inputs\.none\./,
        /"total":12.*"missing":\["inputs\.none"\]/,
      ],
      [/next_offset 2/, /"next_offset":2/],
    ],
  },
  {
    question: 'which fields the new queue has, and that it is new',
    tool: 'create_queue',
    args: { name: 'Both', fields: [{ name: 'tone', type: 'choice', choices: ['kind', 'rude'] }] },
    facts: [
      [/^Created the queue: \w+\./, /"existed":false/],
      [/tone \(one of \["kind","rude"\]\)/, /"fields":\[\{"name":"tone","choices":\["kind","rude"\]\}\]/],
    ],
  },
  {
    question: 'which calls are unknown and how many are there already',
    tool: 'add_queue_items',
    args: { queue_id, call_ids: ['support-0001', 'none'], dry_run: true },
    facts: [
      [
        /^Nothing was added \(dry_run\)\. Would add 0 calls .* 1 of these calls are in it already\./,
        /"dry_run":true,"selected":0,"duplicates":1/,
      ],
      [/Unknown calls: none\./, /"unknown":\["none"\]/],
    ],
  },
  {
    question: 'what would happen to how many items, in which states, and when they were read',
    tool: 'update_queue_items',
    args: { queue_id, filter: unstarted, change: { annotation_state: 'skipped' }, dry_run: true },
    facts: [
      [
        /^7 items matched\. Nothing was changed \(dry_run\)\. They show 7 unstarted\. .* 7 would be sent\./,
        /"matched":7,"counts":\{"would_send":7\}.*"dry_run":true,"state_counts":\{"unstarted":7\}/,
      ],
      [/as_of \d{4}-\S+Z\./, /"as_of":"\d{4}-\S+?Z"/],
    ],
  },
  {
    question: 'that all items were changed alike, and what they show now',
    tool: 'update_queue_items',
    args: (ids) => ({
      queue_id,
      items: ids.slice(0, 2).map((item_id) => ({ item_id, annotation_state: 'in_progress' })),
    }),
    facts: [[/^2 done\. All show in_progress\./, /"counts":\{"done":2\}.*"annotation_state":"in_progress"/]],
  },
  {
    question: 'which item was refused, why, and what to do',
    tool: 'update_queue_items',
    args: (ids) => ({
      queue_id,
      expected_state: 'completed',
      items: [{ item_id: ids[0], judgements: { helpful: true } }],
    }),
    facts: [
      [/^1 refused\./, /"counts":\{"refused":1\}/],
      [
        /Not changed: the item is unstarted, not completed\. Read the item again\./,
        /Not changed: the item is unstarted, not completed\.","hint":"Read the item again\."/,
      ],
    ],
  },
  {
    question: 'which references there are',
    tool: 'list_objects',
    args: { kind: 'scorer', limit: 1 },
    facts: [
      [/weave:\/\/\/demo\/support\/object\/\w+:\w{43}/, /"reference":"weave:\/\/\/demo\/support\/object\/\w+:\w{43}"/],
    ],
  },
  {
    question: 'which version it is, how many rows there are, and where the next ones begin',
    tool: 'read_object',
    args: { ref: 'weave:///demo/support/object/tickets:latest', limit: 1 },
    facts: [
      [
        /^dataset, version 0, the latest: weave:\S+/,
        /"ref":"weave:\S+?","kind":"dataset","version_index":0,"is_latest":true/,
      ],
      [/1 row of \d+ from offset 0\. More follow: next_offset 1\./, /"row_count":\d+,"rows":.*"next_offset":1/],
      [/\(Sample data\.\)$/, /"sample_data":true/],
    ],
  },
  {
    question: 'what was stored under which reference, and what to know of it',
    tool: 'create_dataset',
    args: { name: 'Both', rows: [{ output: 1 }, { output: 1 }] },
    facts: [
      [
        /^Stored: weave:\S+, 2 rows with the columns output\./,
        /"dataset_ref":"weave:\S+?","row_count":2,"columns":\["output"\].*"existed":false/,
      ],
      [/1 row with the content of another row\./, /"warnings":\["1 row with the content of another row\."/],
    ],
  },
  {
    question: 'what would be stored',
    tool: 'create_dataset',
    args: { name: 'Both', from_queue: { queue_id }, dry_run: true },
    facts: [
      [
        /^Dry run: nothing was stored\. There are 12 rows with the columns question, answer\. The newest version of this name is 0; it stays\. The first 3:\nquestion\tanswer\n/,
        /"row_count":12,"columns":\["question","answer"\],"previous_version":0,"dry_run":true,"rows":\[\{"question":/,
      ],
    ],
  },
  {
    question: 'what was stored under which reference',
    tool: 'create_scorer',
    args: { name: 'Both judge', kind: 'llm_judge', model: 'heddle/echo', prompt: '{output}' },
    facts: [[/^Stored: weave:\S+:\w{43}\./, /"scorer_ref":"weave:\S+:\w{43}","existed":false/]],
  },
  {
    question: 'what the model replied, and why it ended',
    tool: 'run_inference',
    args: { model: 'heddle/echo', messages: [{ role: 'user', content: 'Hello' }] },
    facts: [
      [/finish_reason "stop"/, /"finish_reason":"stop"/],
      [/Hello/, /Hello/],
    ],
  },
  {
    question: 'which version was stored under which reference',
    tool: 'create_evaluation',
    args: { name: 'Both evaluation', dataset: 'weave:///demo/support/object/tickets:latest' },
    facts: [
      [
        /^Stored as version 0 of both_evaluation: weave:\S+/,
        /"version_index":0,"evaluation_ref":"weave:\S+?".*"existed":false/,
      ],
    ],
  },
  {
    question: 'what a run would take, and how that was estimated',
    tool: 'run_evaluation',
    args: { evaluation: 'Both evaluation', model: 'heddle/echo', prompt: '{question}', dry_run: true },
    facts: [
      [
        /^Nothing was started \(dry_run\)\. 4 rows: 4 requests to the model, about \d+ tokens\. The estimate is a quarter of/,
        /"status":"dry_run".*"rows":4,"model_requests":4,"judge_requests":0,"estimated_tokens":\d+,"detectable":0\.9905,"estimate":"The estimate is a quarter of/,
      ],
    ],
  },
  {
    question: 'which run has ended, that it had only some of the rows, and where its rows are',
    tool: 'run_evaluation',
    args: { evaluation: 'Both evaluation', model: 'heddle/echo', prompt: '{question}', sample: { n: 2 } },
    facts: [
      [/^run \w+ complete, evaluation both_evaluation-sample-2-seed-0/, /"run_id":"\w+","status":"complete"/],
      [/Only 2 of 4 rows were run\./, /"rows":2,"dataset_rows":4/],
      [/2 predictions/, /"predictions":2/],
      [/read_evaluation shows the rows/, /"next":"read_evaluation shows the rows/],
    ],
  },
  {
    question: 'which runs there are and what they ran',
    tool: 'read_evaluation',
    args: { evaluation: 'Both evaluation-sample-2-seed-0' },
    facts: [
      [/^1 run of 1 from offset 0, the newest first\./, /"offset":0,"total":1/],
      [/model heddle\/echo, prompt "\{question\}"/, /"model":"heddle\/echo","prompt":"\{question\}"/],
    ],
  },
];

describe('both forms of a result', async () => {
  const home = emptyHome(temporaryFolder());
  const { client, call } = await connectClient(home);
  const ask = async ({ tool, args }: Case): Promise<{ text: string; json: string }> => {
    const { items } = await call('query_queue_items', { queue_id, filter: unstarted, limit: 5, fields: ['*'] });
    const ids = items.map(({ id }: { id: string }) => id);
    const result = await client.callTool({
      name: tool,
      arguments: typeof args === 'function' ? args(ids) : args,
    });
    const [block] = result.content as unknown as [{ text: string }];
    expect(result.isError ?? false, block.text).toBe(false);
    return { text: block.text, json: JSON.stringify(result.structuredContent) };
  };

  it.each(cases)('$tool says $question', async (given) => {
    const { text, json } = await ask(given);
    for (const [inText, inJson] of given.facts) {
      expect(text).toMatch(inText);
      expect(json).toMatch(inJson);
    }
  });

  it('are printed by `heddle call`, the text with --text', async () => {
    const json = await run(['call', 'list_objects', '{"kind":"model"}'], home);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'model', objects: [{ id: 'heddle/echo' }] });
    const text = await run(['call', '--text', 'list_objects', '{"kind":"model"}'], home);
    expect(text.stdout).toMatch(/^1 model from offset 0\. This is the last page\.\n/);
    const failed = await run(['call', '--text', 'list_objects', '{}'], home);
    expect(failed).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^Invalid arguments for list_objects: kind: /),
    });
  });

  it('say that a page was cut by its size, and where the rest begins', async () => {
    const limited = await connectClient({ ...home, HEDDLE_MAX_RESULT_CHARS: '2000' });
    const { text, items, next_offset } = await limited.call('query_queue_items', {
      queue_id,
      limit: 12,
      include_call: true,
    });
    expect(next_offset).toBe(items.length);
    expect(items.length).toBeLessThan(12);
    expect(text).toContain(`More follow: next_offset ${next_offset}.`);
  });

  it.each([
    ['ASCII', 'Why was I charged?'],
    ['Japanese', '二回請求されました。'],
  ])('are at most 40,000 bytes each by default, with values in %s', async (_, sentence) => {
    const environment = await importItems(
      Array.from({ length: 60 }, (_, number) => ({
        call_id: `call-${number}`,
        call_op_name: 'answer',
        call_trace_id: 'trace',
        call_started_at: '2026-01-01T00:00:00Z',
        display_fields: ['inputs.question', 'output'],
        call: { inputs: { question: number + sentence.repeat(30) }, output: number + sentence.repeat(20) },
      })),
    );
    const imported = await connectClient(environment);
    const args = { queue_id: 'q', include_call: true };
    const { content, structuredContent } = await imported.client.callTool({
      name: 'query_queue_items',
      arguments: args,
    });
    const forms = [(content as unknown as [{ text: string }])[0].text, JSON.stringify(structuredContent)];
    const largest = Math.max(...forms.map((form) => Buffer.byteLength(form)));
    expect(largest).toBeLessThanOrEqual(40_000);
    expect(largest).toBeGreaterThan(35_000);
    expect(structuredContent).toMatchObject({ next_offset: (structuredContent as { items: object[] }).items.length });
  });
});
