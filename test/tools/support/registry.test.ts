import { describe, expect, it } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { connectStdioClient } from '../../support/stdio-client.ts';

const everyTool = [
  'list_queues',
  'query_queue_items',
  'summarize_queue',
  'read_call',
  'query_calls',
  'create_queue',
  'add_queue_items',
  'update_queue_items',
  'review_queue',
  'list_objects',
  'read_object',
  'run_inference',
  'create_dataset',
  'create_scorer',
  'create_evaluation',
  'run_evaluation',
  'read_evaluation',
];

describe('the tools on offer', () => {
  it.each([
    [
      'HEDDLE_READ_ONLY keeps the tools that change nothing',
      { HEDDLE_READ_ONLY: 'true' },
      [
        'list_queues',
        'query_queue_items',
        'summarize_queue',
        'read_call',
        'query_calls',
        'review_queue',
        'list_objects',
        'read_object',
        'read_evaluation',
      ],
      [],
    ],
    [
      'HEDDLE_TOOLS selects tools by name and by group',
      { HEDDLE_TOOLS: 'evaluation,list_queues' },
      [
        'list_queues',
        'list_objects',
        'read_object',
        'create_dataset',
        'create_scorer',
        'create_evaluation',
        'run_evaluation',
        'read_evaluation',
      ],
      ['set_up_evaluation'],
    ],
  ])('%s, and prompts that use only those', async (_, selection, offeredTools, offeredPrompts) => {
    const { client } = await connectStdioClient(emptyHome(temporaryFolder(), selection));
    const { prompts } = await client.listPrompts();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(offeredTools);
    expect(prompts.map(({ name }) => name)).toEqual(offeredPrompts);
    const mentioned = everyTool.filter((name) => JSON.stringify(tools).includes(name));
    expect(mentioned.filter((name) => !offeredTools.includes(name))).toEqual([]);
  });

  it('does not start with a name that is neither a tool nor a group', async () => {
    const { code, stderr } = await run(['serve', '--tools', 'queues'], emptyHome(temporaryFolder()));
    expect(code).toBe(2);
    expect(stderr).toContain('HEDDLE_TOOLS or --tools names "queues", which is neither a tool nor a group.');
    expect(stderr).toContain('Valid names are queue, inference, evaluation, list_queues');
  });

  it('carry hints that tell which of them change something', async () => {
    const { client } = await connectStdioClient(emptyHome(temporaryFolder()));
    const { tools } = await client.listTools();
    const hints = tools.map(({ name, annotations }) => [
      name,
      annotations?.readOnlyHint,
      annotations?.destructiveHint,
      annotations?.idempotentHint,
      annotations?.openWorldHint,
    ]);
    expect(hints).toEqual([
      ['list_queues', true, false, true, false],
      ['query_queue_items', true, false, true, false],
      ['summarize_queue', true, false, true, false],
      ['read_call', true, false, true, false],
      ['query_calls', true, false, true, false],
      ['create_queue', false, false, true, false],
      ['add_queue_items', false, false, true, false],
      ['update_queue_items', false, true, true, false],
      ['review_queue', true, false, true, false],
      ['list_objects', true, false, true, false],
      ['read_object', true, false, true, false],
      ['run_inference', false, false, false, true],
      ['create_dataset', false, false, true, false],
      ['create_scorer', false, false, true, false],
      ['create_evaluation', false, false, true, false],
      ['run_evaluation', false, false, false, true],
      ['read_evaluation', true, false, true, false],
    ]);
  });
});
