import type { ModelProtocol, ModelTool, ToolResult } from './model-api.ts';

interface Namespace {
  type: string;
  name?: string;
  description: string;
  tools: { name: string; description: string; parameters: object }[];
}

interface Item {
  type: string;
  content?: { text?: string }[];
  output?: string | { text: string }[];
  tools?: Namespace[];
}

interface Body {
  input: Item[];
  tools: Namespace[];
}

/** Namespace of heddle's tools in Codex. */
const namespace = 'mcp__heddle';

/** OpenAI's responses, as Codex uses them. */
export const openaiResponses: ModelProtocol = {
  path: '/v1/responses',

  events(number, action) {
    const item = itemOf(number, action);
    const response = { id: `resp_${number}`, object: 'response', output: [] };
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
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } },
    ].map((event, sequence_number) => ({ ...event, sequence_number }));
  },

  read({ input, tools }: Body) {
    const found = input.filter(({ type }) => type === 'tool_search_output').flatMap((item) => item.tools ?? []);
    const namespaces = [...tools, ...found].filter(({ name }) => name === namespace);
    const messages = input.filter(({ type }) => type === 'message').flatMap(({ content = [] }) => content);
    const results = input.filter(({ type }) => type === 'function_call_output');
    return {
      prompt: [...messages.map(({ text = '' }) => text), ...namespaces.map(({ description }) => description)].join(
        '\n',
      ),
      tools: namespaces.flatMap((space) => space.tools).map(toModelTool),
      results: results.map(toToolResult),
    };
  },
};

function itemOf(number: number, action: Parameters<ModelProtocol['events']>[1]): object {
  const call_id = `call_${number}`;
  if (action === undefined) {
    const content = [{ type: 'output_text', text: 'Done.', annotations: [] }];
    return { type: 'message', id: `msg_${number}`, role: 'assistant', status: 'completed', content };
  }
  if ('search' in action) {
    const call = { type: 'tool_search_call', id: `tsc_${number}`, call_id, status: 'completed', execution: 'client' };
    return { ...call, arguments: { query: action.search } };
  }
  const call = { type: 'function_call', id: `fc_${number}`, call_id, status: 'completed', namespace };
  return { ...call, name: action.tool, arguments: JSON.stringify(action.args) };
}

function toModelTool({ name, description, parameters }: Namespace['tools'][number]): ModelTool {
  return { name, description, schema: parameters };
}

function toToolResult({ output = '' }: Item): ToolResult {
  return { content: output, text: textOf(output), isError: undefined };
}

/** Returns the text of an output without the heading that Codex gives it. */
function textOf(output: string | { text: string }[]): string {
  const text = typeof output === 'string' ? output : output.map((block) => block.text).join('\n');
  return text.replace(/^Wall time: [\d.]+ seconds\nOutput:\n/, '');
}
