import { beforeAll, describe, expect, it } from 'vitest';
import { toolNames } from '../../pins/tools.ts';
import { connectClient } from '../../support/client.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { claudeCode, codex, converse, countTokens, type ModelClient } from './clients.ts';
import type { ModelTool } from './model-api.ts';

/** Both clients sort the tools by name. */
const sortedNames = [...toolNames].sort();

/** heddle's definitions, sorted by name as both clients send them, and its instructions. */
let listed: ModelTool[];
let instructions: string;

beforeAll(async () => {
  const { client } = await connectClient(emptyHome(temporaryFolder()));
  const { tools } = await client.listTools();
  listed = tools
    .map(({ name, description = '', inputSchema }) => ({ name, description, schema: inputSchema }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  instructions = client.getInstructions()!;
});

/** Claude Code writes an ellipsis as three dots, and changes nothing else. */
function inClaudeCode(tool: ModelTool): ModelTool {
  return { ...tool, description: tool.description.replaceAll('…', '...') };
}

interface Schema {
  type?: string;
  default?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
}

/** Codex removes defaults, and gives every object `properties`. */
function inCodex({ schema, ...tool }: ModelTool): ModelTool {
  return { ...tool, schema: schemaInCodex(schema) };
}

function schemaInCodex({ default: _, properties, items, ...rest }: Schema): Schema {
  const members = Object.entries(properties ?? {}).map(([name, member]) => [name, schemaInCodex(member)]);
  return {
    ...rest,
    ...((properties || rest.type === 'object') && { properties: Object.fromEntries(members) }),
    ...(items && { items: schemaInCodex(items) }),
  };
}

function definitions(...names: string[]): ModelTool[] {
  return listed.filter(({ name }) => names.includes(name));
}

const listQueues = {
  name: 'list_queues',
  description: `Lists a project's annotation queues, newest first: guidelines, the fields to judge, how many items remain.
Example: {"name":"support"}`,
};

describe.each<[ModelClient, (tool: ModelTool) => ModelTool, number]>([
  [claudeCode, inClaudeCode, 4400],
  // It adds empty `properties` to every object.
  [codex, inCodex, 4500],
])('$title', (client, asSent, maxTokens) => {
  it.skipIf(!client.program)(
    `gives its model every definition whole when it lists all tools, in at most ${maxTokens} tokens`,
    async () => {
      const { last } = await converse(client, temporaryFolder(), [], { listsTools: true });
      expect(last.tools.map(({ name }) => name)).toEqual(sortedNames);
      expect(last.tools).toEqual(listed.map(asSent));
      expect(last.tools.find(({ name }) => name === 'list_queues')).toMatchObject({
        ...listQueues,
        schema: { type: 'object', properties: { limit: { type: 'integer' } } },
      });
      expect(last.tools.find(({ name }) => name === 'query_queue_items')!.description).toContain(
        'the state that anybody set last.',
      );
      expect(await countTokens(last.tools)).toBeLessThanOrEqual(maxTokens);
      expect(last.prompt).toContain(instructions);
    },
  );
});

describe.skipIf(!claudeCode.program)('Claude Code', () => {
  it('gives its model the instructions and the names, and the definitions that it selects', async () => {
    const search = 'select:mcp__heddle__query_queue_items,mcp__heddle__update_queue_items';
    const { inputs } = await converse(claudeCode, temporaryFolder(), [() => ({ search })]);
    const [first, second] = inputs;
    expect(first!.prompt).toContain(instructions);
    expect(first!.prompt).toContain(sortedNames.map((name) => `mcp__heddle__${name}`).join('\n'));
    expect(first!.tools).toEqual([]);
    expect(second!.tools.map(({ name }) => name)).toEqual(['query_queue_items', 'update_queue_items']);
    expect(second!.tools).toEqual(definitions('query_queue_items', 'update_queue_items').map(inClaudeCode));
  });
});

describe.skipIf(!codex.program)('Codex', () => {
  it('gives its model the first 247 characters of the instructions, and all of them with the tools it finds', async () => {
    const { inputs } = await converse(codex, temporaryFolder(), [() => ({ search: 'queue' })]);
    const [first, second] = inputs;
    expect(first!.prompt).toContain(`- mcp__heddle: heddle works with annotation queues (recorded calls to \
judge), recorded calls, models and evaluations of the embedded service`);
    expect(first!.prompt).toContain(`\n- mcp__heddle: ${instructions.slice(0, 247)}...\n`);
    expect(first!.tools).toEqual([]);
    expect(second!.prompt).toContain(instructions);
  });

  // Its model does not even see the names before it has searched.
  it.each([
    ['judge the items of a queue', ['query_queue_items', 'update_queue_items']],
    ['how many items wait in each queue', ['list_queues']],
    ['compare annotators', ['summarize_queue']],
    ['find recorded calls with an error', ['query_calls', 'read_call']],
    ['ask a model with a stored prompt', ['run_inference']],
    ['evaluate a dataset', ['create_evaluation', 'list_objects']],
  ])('finds the tools for "%s"', async (search, names) => {
    const { last } = await converse(codex, temporaryFolder(), [() => ({ search })]);
    const found = last.tools.filter(({ name }) => names.includes(name));
    expect(found).toHaveLength(names.length);
    expect(found).toEqual(expect.arrayContaining(definitions(...names).map(inCodex)));
  });
});
