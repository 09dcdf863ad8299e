import { beforeAll, describe, expect, it } from 'vitest';
import { toolNames } from '../../pins/tools.ts';
import { connectClient } from '../../support/client.ts';
import { call, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import * as clients from './clients.ts';
import type { ModelTool } from './model-api.ts';

interface Schema {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  additionalProperties?: boolean;
}

/** Returns the tools that a client gives to its model. */
async function toolsForModel(client: clients.ModelClient): Promise<ModelTool[]> {
  const { last } = await clients.converse(client, temporaryFolder(), []);
  return last.tools;
}

/** Returns a line per argument, like `run_inference.n: integer`. A member that may be null counts as optional. */
function argumentsOf({ name, schema }: Pick<ModelTool, 'name' | 'schema'>): string[] {
  return membersOf(schema, name);
}

function membersOf(schema: Schema, path: string): string[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, member]) => {
    const { schema: own, isNullable } = withoutNull(member);
    const { description, default: initial } = own;
    const isOptional = !required.includes(name) || isNullable;
    const line = `${path}.${name}${isOptional ? '?' : ''}: ${typeOf(own)}`;
    return [
      line + (initial === undefined ? '' : ` = ${JSON.stringify(initial)}`) + (description ? ` (${description})` : ''),
      ...membersOf(own, `${path}.${name}`),
      ...membersOf(own.items ?? {}, `${path}.${name}[]`),
    ];
  });
}

/** Reduces OpenAI's strict form of an optional member, which is a choice with null. */
function withoutNull({ anyOf, ...schema }: Schema): { schema: Schema; isNullable: boolean } {
  if (!anyOf) return { schema, isNullable: false };
  const choices = anyOf.filter(({ type }) => type !== 'null');
  const isNullable = choices.length < anyOf.length;
  return { schema: choices.length === 1 ? { ...schema, ...choices[0] } : { ...schema, anyOf: choices }, isNullable };
}

function typeOf({ type, anyOf, enum: values, items, properties, additionalProperties }: Schema): string {
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  if (values) return `${type} ${values.join('|')}`;
  if (type === 'array') return `array of ${items ? typeOf(items) : 'unknown'}`;
  if (type !== 'object') return type ?? 'any';
  if (Object.keys(properties ?? {}).length > 0) return 'object';
  return additionalProperties === false ? 'empty object' : 'any object';
}

const judgedValues = [true, 'good', 4];

/** Creates a queue of three items, with the judged values in the field `verdict`, and returns its id. */
async function judgedQueue(home: string): Promise<string> {
  const done = async (tool: string, args: object) => {
    const { code, result } = await call(tool, args, emptyHome(home));
    expect(code, JSON.stringify(result)).toBe(0);
    return result;
  };
  const { queue_id: queueId } = await done('create_queue', { name: 'mixed' });
  await done('add_queue_items', { queue_id: queueId, call_ids: ['support-0001', 'support-0002', 'support-0003'] });
  const { items } = await done('query_queue_items', { queue_id: queueId });
  await done('update_queue_items', {
    queue_id: queueId,
    items: judgedValues.map((verdict, index) => ({ item_id: items[index].id, judgements: { verdict } })),
  });
  return queueId;
}

/** Arguments that converters have lost or changed before, and some of each type. */
const samples = [
  'list_queues.limit?: integer',
  'list_queues.name?: string (Part of the name.)',
  'query_queue_items.queue_id: string',
  'query_queue_items.filter?: object',
  'query_queue_items.filter.annotation_states?: array of string unstarted|in_progress|completed|skipped',
  'query_queue_items.sort_by[].direction: string asc|desc',
  'summarize_queue.by?: array of string state|operation|annotator|field|day',
  'summarize_queue.filter?: any object (As in query_queue_items; field, value and judged_by also select judgements.)',
  'create_queue.fields?: array of object (Without fields, judgements may have any name.)',
  'create_queue.fields[].name: string (Letters, digits, _ . or -)',
  'create_queue.fields[].min?: number',
  'update_queue.confirm?: boolean (The user has agreed.)',
  'update_queue_items.items[].item_id?: string',
  'update_queue_items.items[].judgements?: any object (Values by field.)',
  'list_objects.kind: string evaluation|dataset|scorer|op|model|prompt|field|stored_model',
  'read_object.limit?: integer',
  'run_inference.model: string',
  'run_inference.messages?: array of any object',
  'run_inference.template_vars?: any object',
  'create_dataset.rows?: array of any object',
  'create_dataset.from_queue?: object',
  'create_dataset.from_queue.map?: any object (Column to path in the call, judgement.FIELD or note.)',
  'create_scorer.kind: string equals|contains|matches|number_within|text_within|json_valid|json_schema|tool_calls|latency_within|cost_within|all_of|any_of|llm_judge|pairwise|endpoint',
  'create_scorer.tolerance?: number',
  'create_evaluation.dataset: string',
  'run_evaluation.budget?: any object (As in {requests, tokens, usd}.)',
];

const value = 'query_queue_items.filter.value?: string or number or boolean';
// LangChain removes every choice of types.
const valueInLangChain = 'query_queue_items.filter.value?: any';

describe.each([
  [clients.aiSdk, value],
  [clients.aiSdkForGemini, value],
  [clients.langChain, valueInLangChain],
  [clients.langChainForGemini, valueInLangChain],
  [clients.llamaIndex, value],
  [clients.mastraForGemini, value],
  [clients.openaiAgents, value],
  [clients.openaiAgentsStrict, value],
  [clients.googleGenai, value],
])('$title', (library, expectedValue) => {
  it.skipIf(!library.program)('gives its model every tool with all arguments, each with a type', async () => {
    const { client } = await connectClient(emptyHome(temporaryFolder()));
    const listed = (await client.listTools()).tools;
    const tools = await toolsForModel(library);

    expect(tools.map(({ name }) => name)).toEqual(toolNames);
    expect(tools.map(({ description }) => description)).toEqual(listed.map(({ description }) => description));
    const converted = tools.flatMap(argumentsOf);
    expect(converted).toEqual(expect.arrayContaining([...samples, expectedValue]));
    const original = listed.flatMap(({ name, inputSchema }) => argumentsOf({ name, schema: inputSchema }));
    expect(original.filter((line) => line.startsWith('run_inference.'))).toHaveLength(8);
    expect(original.filter((line) => /: (any|array of (any|unknown))( \(| =|$)/.test(line))).toEqual([]);
    expect(converted).toEqual(original.map((line) => (line === value ? expectedValue : line)));
  });
});

const { langChain, mastra, openaiAgentsStrict } = clients;

describe.skipIf(!mastra.program)('Mastra', () => {
  it('keeps every map empty for models of OpenAI, so that they cannot judge', async () => {
    const tools = await toolsForModel(mastra);
    expect(tools.flatMap(argumentsOf)).toEqual(
      expect.arrayContaining([
        'update_queue_items.items[].judgements?: empty object (Values by field.)',
        'run_inference.template_vars?: empty object',
        'query_queue_items.filter.value: string or number or boolean',
      ]),
    );
  });
});

describe.skipIf(!openaiAgentsStrict.program)('OpenAI Agents in strict mode', () => {
  it('makes all tools strict except those whose maps have arbitrary members', async () => {
    const tools = await toolsForModel(openaiAgentsStrict);
    const strict = tools.filter(({ isStrict }) => isStrict);
    expect(strict.map(({ name }) => name)).toEqual([
      ...['list_queues', 'query_queue_items', 'read_call', 'query_calls', 'create_queue'],
      ...['list_objects', 'read_object', 'create_prompt', 'read_evaluation'],
    ]);
    for (const { name, schema } of strict) expect(schema, name).toMatchObject({ additionalProperties: false });
  });
});

describe.skipIf(!langChain.program)('a call of query_queue_items', () => {
  const home = temporaryFolder();
  let queueId: string;
  beforeAll(async () => {
    queueId = await judgedQueue(home);
  });

  it('finds judgements of each type through LangChain, which checks the arguments itself', async () => {
    const turns = judgedValues.map((value) => () => {
      const args = { queue_id: queueId, filter: { field: 'verdict', value }, fields: ['call_id'] };
      return { tool: 'query_queue_items', args };
    });
    const { last } = await clients.converse(langChain, home, turns);
    const found = last.results.map(({ text }) => JSON.parse(text).structuredContent.items);
    expect(found).toMatchObject([
      [{ call_id: 'support-0001' }],
      [{ call_id: 'support-0002' }],
      [{ call_id: 'support-0003' }],
    ]);
  });

  it('may have null for everything optional, as in the strict mode of OpenAI Agents', async () => {
    const conditions = ['id', 'call_id', 'call_op_name', 'call_trace_id', 'added_by', 'annotation_states', 'judged_by'];
    const options = [
      'project_id',
      'sort_by',
      'offset',
      'include_position',
      'include_call',
      'fields',
      'max_value_chars',
    ];
    const nulls = (names: string[]): object => Object.fromEntries(names.map((name) => [name, null]));
    const args = {
      ...nulls(options),
      queue_id: queueId,
      filter: { ...nulls(conditions), unjudged_by_me: null, field: 'verdict', value: 4 },
      limit: 1,
      include_judgements: true,
    };
    const turns = [() => ({ tool: 'query_queue_items', args })];
    const { last } = await clients.converse(openaiAgentsStrict, home, turns);
    const { text } = last.results[0]!;
    expect(text).toMatch(/verdict.*\b4\b/s);
    expect(text).not.toMatch(/\bgood\b/);
  });
});
