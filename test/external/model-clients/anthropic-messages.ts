import { type Action, type ModelProtocol, type ModelTool, namedCall, type ToolResult } from './model-api.ts';

interface Block {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  content?: string | Block[];
  tool_use_id?: string;
  is_error?: boolean;
}

interface Body {
  system?: Block[];
  messages: { role: string; content: string | Block[] }[];
  tools?: { name: string; description: string; input_schema: object }[];
}

/** Prefix of heddle's tools in Claude Code. */
const prefix = 'mcp__heddle__';

/** Anthropic's messages, as Claude Code uses them. */
export const anthropicMessages: ModelProtocol = {
  path: /^\/v1\/messages$/,

  events(number, action) {
    const id = `toolu_${number}`;
    const called = action && toCall(action);
    const [block, delta] =
      called === undefined
        ? [
            { type: 'text', text: '' },
            { type: 'text_delta', text: 'Done.' },
          ]
        : [
            { type: 'tool_use', id, name: called.name, input: {} },
            { type: 'input_json_delta', partial_json: JSON.stringify(called.args) },
          ];
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `msg_${number}`, type: 'message', role: 'assistant', model: 'recording', content: [], usage };
    const stop_reason = action === undefined ? 'end_turn' : 'tool_use';
    return [
      { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ];
  },

  read({ system = [], messages, tools = [] }: Body) {
    const blocks = messages.flatMap(({ content }) => blocksOf(content));
    const searches = new Set(blocks.filter(({ name }) => name === 'ToolSearch').map(({ id }) => id));
    const results = blocks.filter(({ type, tool_use_id }) => type === 'tool_result' && !searches.has(tool_use_id));
    return {
      prompt: textOf([...system, ...blocks.filter(({ type }) => type === 'text')]),
      tools: tools.filter(({ name }) => name.startsWith(prefix)).map(toModelTool),
      results: results.map(toToolResult),
    };
  },
};

function toCall(action: Action): { name: string; args: object } {
  return 'search' in action ? { name: 'ToolSearch', args: { query: action.search } } : namedCall(action, prefix);
}

function toModelTool({ name, description, input_schema }: NonNullable<Body['tools']>[number]): ModelTool {
  return { name: name.slice(prefix.length), description, schema: input_schema };
}

function toToolResult({ content = '', is_error = false }: Block): ToolResult {
  return { content, text: textOf(blocksOf(content)), isError: is_error };
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function textOf(blocks: Block[]): string {
  return blocks.map(({ text = '' }) => text).join('\n');
}
