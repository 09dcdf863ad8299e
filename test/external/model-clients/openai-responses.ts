import { type Action, type ModelProtocol, type ModelTool, namedCall, type ToolResult } from './model-api.ts';

interface FunctionTool {
  type: 'function';
  name: string;
  description: string;
  parameters: object;
  strict?: boolean;
}

interface Namespace {
  type: 'namespace';
  name: string;
  description: string;
  tools: FunctionTool[];
}

interface Item {
  type: string;
  role?: string;
  content?: string | { text?: string }[];
  output?: string | { text: string }[];
  tools?: Namespace[];
}

interface Body {
  instructions?: string;
  input: Item[];
  tools?: (Namespace | FunctionTool)[];
}

/** Returns OpenAI's responses for a client that puts heddle's tools into a namespace, or `prefix` before their names. */
export function openaiResponses({
  namespace,
  prefix = '',
}: {
  namespace?: string;
  prefix?: string;
} = {}): ModelProtocol {
  return {
    path: /^\/v1\/responses$/,

    events(number, action) {
      const item = {
        ...itemOf(number, action, prefix),
        ...(namespace && action && 'tool' in action && !action.isOwn && { namespace }),
      };
      const response = { id: `resp_${number}`, object: 'response', created_at: 1, model: 'recording', output: [] };
      const usage = {
        input_tokens: 1,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 1,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 2,
      };
      return [
        { type: 'response.created', response: { ...response, status: 'in_progress' } },
        { type: 'response.output_item.added', output_index: 0, item },
        ...deltas(item).map((event) => ({ ...event, item_id: item.id, output_index: 0 })),
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
      ].map((event, sequence_number) => ({ ...event, sequence_number }));
    },

    read({ instructions = '', input, tools = [] }: Body) {
      const found = input.filter(({ type }) => type === 'tool_search_output').flatMap((item) => item.tools ?? []);
      const spaces = [...tools, ...found].filter(
        (tool): tool is Namespace => 'tools' in tool && tool.name === namespace,
      );
      const texts = input.flatMap(({ content = [] }) => (typeof content === 'string' ? { text: content } : content));
      const results = input.filter(({ type }) => type === 'function_call_output');
      const own = namespace === undefined ? tools : spaces.flatMap((space) => space.tools);
      return {
        prompt: [instructions, ...texts.map(({ text = '' }) => text), ...spaces.map((space) => space.description)].join(
          '\n',
        ),
        tools: own.filter(isFunctionTool).map((tool) => toModelTool(tool, prefix)),
        results: results.map(toToolResult),
      };
    },
  };
}

/** Returns the events that carry the parts of an item, which some clients read instead of the whole. */
function deltas(item: ReturnType<typeof itemOf>): { type: string; [member: string]: unknown }[] {
  if ('content' in item) return [{ type: 'response.output_text.delta', content_index: 0, delta: 'Done.' }];
  if (typeof item.arguments !== 'string') return [];
  const { arguments: delta } = item;
  return [
    { type: 'response.function_call_arguments.delta', delta },
    { type: 'response.function_call_arguments.done', arguments: delta },
  ];
}

function itemOf(number: number, action: Action | undefined, prefix: string) {
  const call_id = `call_${number}`;
  if (action === undefined) {
    const content = [{ type: 'output_text', text: 'Done.', annotations: [] }];
    return { type: 'message', id: `msg_${number}`, role: 'assistant', status: 'completed', content };
  }
  if ('search' in action) {
    const call = { type: 'tool_search_call', id: `tsc_${number}`, call_id, status: 'completed', execution: 'client' };
    return { ...call, arguments: { query: action.search } };
  }
  const call = { type: 'function_call', id: `fc_${number}`, call_id, status: 'completed' };
  const { name, args } = namedCall(action, prefix);
  return { ...call, name, arguments: JSON.stringify(args) };
}

function isFunctionTool(tool: Namespace | FunctionTool): tool is FunctionTool {
  return tool.type === 'function';
}

function toModelTool({ name, description, parameters, strict }: FunctionTool, prefix: string): ModelTool {
  return { name: name.slice(prefix.length), description, schema: parameters, ...(strict && { isStrict: true }) };
}

function toToolResult({ output = '' }: Item): ToolResult {
  return { content: output, text: textOf(output), isError: undefined };
}

/** Returns the text of an output without the heading that Codex gives it. */
function textOf(output: string | { text: string }[]): string {
  const text = typeof output === 'string' ? output : output.map((block) => block.text).join('\n');
  return text.replace(/^Wall time: [\d.]+ seconds\nOutput:\n/, '');
}
