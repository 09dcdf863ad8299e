import * as z from 'zod';
import { toMcpTool } from '../../src/mcp/server-facts.ts';
import type { JsonSchema } from '../../src/tools/definition/arguments.ts';
import type { ListedTool } from '../../src/tools/definition/registry.ts';
import { allTools } from '../../src/tools/index.ts';

/** Every tool with JSON Schemas generated from its zod schemas, for the documentation. */
export const listedTools = allTools.map(({ name, title, description, groups, uses, hints, view, input, output }) => ({
  name,
  title,
  description,
  groups,
  uses,
  hints,
  ...(view !== undefined && { view }),
  inputJsonSchema: jsonSchema(input, 'input'),
  outputJsonSchema: jsonSchema(output, 'output'),
}));

/** Returns src/tools/definition/listed.json: the tools as clients see them, one per line. */
export function listedToolsFile(): string {
  // A description that an earlier tool has for an argument of the same name is not repeated.
  const describedBefore = new Set<string>();
  const lines = listedTools.map(({ inputJsonSchema, outputJsonSchema, ...tool }) =>
    JSON.stringify({
      ...tool,
      inputJsonSchema: listedArguments(tool.name, inputJsonSchema, describedBefore),
      outputJsonSchema: memberTypes(outputJsonSchema),
    }),
  );
  return `[\n${lines.join(',\n')}\n]\n`;
}

/** Returns test/pins/tools.json: the tools as clients see them, with their groups, in a form whose differences can be read. */
export function pinnedTools(): string {
  const tools = JSON.parse(listedToolsFile()) as ListedTool[];
  const pinned = tools.map((tool) => ({ ...toMcpTool(tool), groups: tool.groups }));
  return `${JSON.stringify(pinned, null, 2)}\n`;
}

/** Arguments that need no sentence: the instructions explain them, or every model knows them from other interfaces. */
const knownArguments = new Set([
  ...['project_id', 'queue_id', 'limit', 'offset', 'call_id', 'call_trace_id', 'id', 'added_by', 'field', 'direction'],
  ...['annotation_states', 'api_version', 'trials', 'evaluation_name', 'description', 'ref'],
  ...['dataset', 'scorers', 'eval_attributes', 'sort_by', 'path', 'extra_headers', 'template_vars'],
  ...['max_rows', 'note', 'guidelines', 'assignees', 'annotator', 'minutes', 'prolong', 'release'],
  ...['model', 'messages', 'temperature', 'top_p', 'n', 'stop', 'max_completion_tokens', 'max_tokens', 'modalities'],
  ...['presence_penalty', 'frequency_penalty', 'stream', 'logit_bias', 'user', 'response_format', 'seed', 'tools'],
  ...[
    'include_position',
    'max_value_chars',
    'judged_at_least',
    'disagreement',
    'value',
    'annotators',
    'evaluation',
    'sample',
    'reason',
  ],
  ...['tool_choice', 'logprobs', 'top_logprobs', 'parallel_tool_calls', 'functions', 'function_call'],
]);

/**
 * Arguments that agents hardly ever use, or members of them. They are not listed, but their tool takes them, and its schema allows more
 * than it lists.
 */
const unlistedArguments = new Map([
  ['query_queue_items', ['filter.id', 'filter.call_id', 'filter.call_trace_id', 'filter.added_by']],
  ['claim_queue_items', ['prolong', 'by_user']],
  ['update_queue_items', ['expected_state']],
  ['review_queue', ['limit', 'offset']],
  ['create_evaluation', ['evaluation_name', 'eval_attributes']],
  [
    'run_inference',
    [
      ...[
        'timeout',
        'top_p',
        'n',
        'stop',
        'max_completion_tokens',
        'modalities',
        'presence_penalty',
        'frequency_penalty',
      ],
      ...['stream', 'logit_bias', 'user', 'logprobs', 'top_logprobs', 'parallel_tool_calls', 'extra_headers', 'seed'],
      ...['functions', 'function_call', 'api_version', 'tools', 'tool_choice'],
    ],
  ],
]);

function listedArguments(tool: string, schema: JsonSchema, describedBefore: Set<string>): JsonSchema {
  const unlisted = unlistedArguments.get(tool) ?? [];
  const withoutUnlisted = (node: JsonSchema, path: string): JsonSchema =>
    node.properties === undefined
      ? node
      : {
          ...node,
          properties: Object.fromEntries(
            Object.entries(node.properties).flatMap(([name, member]) =>
              unlisted.includes(path + name) ? [] : [[name, withoutUnlisted(member, `${path}${name}.`)]],
            ),
          ),
        };
  const listed = forModel(withoutUnlisted(schema, ''), describedBefore);
  return { ...listed, additionalProperties: unlisted.some((name) => !name.includes('.')) };
}

/** Keywords that a model does without: heddle refuses what does not fit with a sentence of its own, and knows its defaults. */
const restrictions = [
  ...['pattern', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'default'],
];

/** Reduces the schema of arguments to what a model needs, since it pays for every word on each turn. */
function forModel(schema: JsonSchema, describedBefore: Set<string>): JsonSchema {
  const kept = Object.entries(schema).filter(([keyword]) => !restrictions.includes(keyword));
  const { properties, items, additionalProperties, anyOf, ...rest } = Object.fromEntries(kept) as JsonSchema;
  const hasProperties = properties !== undefined && Object.keys(properties).length > 0;
  const isMap = additionalProperties !== undefined && additionalProperties !== false && !hasProperties;
  const choices = Array.isArray(anyOf) ? choicesForModel(anyOf.map((option) => forModel(option, describedBefore))) : [];
  return {
    ...rest,
    ...(hasProperties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => {
          // If the description refers to another argument, the members are listed only there.
          const refers = member.description?.toString().startsWith('As in ');
          const { description, ...reduced } = refers
            ? {
                type: member.type,
                ...(member.type === 'array' && { items: { type: 'object' } }),
                description: member.description,
              }
            : forModel(member, describedBefore);
          const text = `${name} ${description}`;
          const isKnown = description === undefined || knownArguments.has(name) || describedBefore.has(text);
          describedBefore.add(text);
          return [name, isKnown ? reduced : { ...reduced, description }];
        }),
      ),
    }),
    ...(items && Object.keys(items).length > 0 && { items: forModel(items, describedBefore) }),
    ...(choices.length === 1 ? choices[0] : choices.length > 1 && { anyOf: choices }),
    ...(isMap && { additionalProperties: true }),
  };
}

/**
 * Returns the choices that converters keep. LangChain turns a choice with an object into that object and refuses the others,
 * so objects are accepted but not listed. A list can also hold a single value, but not one of several types.
 */
function choicesForModel(choices: JsonSchema[]): JsonSchema[] {
  const single = choices.filter(({ type }) => type !== 'object' && type !== 'array');
  const list = choices.find(({ type }) => type === 'array');
  return list && single.length === 1 ? [list] : single;
}

/** Reduces the schema of a result to the types of the members that every result has, or that need a description. */
function memberTypes({ type, properties = {}, ...rest }: JsonSchema): JsonSchema {
  const required = (rest.required ?? []) as string[];
  const members = Object.entries(properties)
    .filter(([name, { description }]) => description !== undefined || required.includes(name))
    .map(([name, member]) => [name, typesOf(member)]);
  return { type, properties: Object.fromEntries(members), ...(required.length > 0 && { required }) };
}

/** Writes several types as a choice, since some converters refuse a list of types. */
function typesOf({ type }: JsonSchema): JsonSchema {
  if (Array.isArray(type)) return { anyOf: type.map((one) => ({ type: one })) };
  return type === undefined ? {} : { type };
}

/** Converts a zod schema, without the keywords that a model cannot use but would pay for. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    // Errors of single entries have a type of their own, and its name says enough.
    unrepresentable: 'any',
    override: ({ jsonSchema: node }) => {
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      delete node.propertyNames;
    },
  });
  return rest as JsonSchema;
}
