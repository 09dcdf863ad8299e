import { type ModelProtocol, type ModelTool, namedCall, type ToolResult } from './model-api.ts';

interface Message {
  role: string;
  content?: string | { text?: string }[] | null;
}

interface Body {
  messages: Message[];
  tools?: { function: { name: string; description: string; parameters: object } }[];
}

/** Returns OpenAI's chat completions for a client that puts `prefix` before the names of heddle's tools. */
export function openaiChat(prefix = ''): ModelProtocol {
  return {
    path: /^\/v1\/chat\/completions$/,

    events(number, action) {
      const chunk = { id: `chat_${number}`, object: 'chat.completion.chunk', created: 1, model: 'recording' };
      const choice = (delta: object, finish_reason: string | null) => ({
        ...chunk,
        choices: [{ index: 0, delta, finish_reason }],
      });
      if (!action) return [choice({ role: 'assistant', content: 'Done.' }, null), choice({}, 'stop')];
      const { name, args } = namedCall(action, prefix);
      const call = { id: `call_${number}`, type: 'function', function: { name, arguments: JSON.stringify(args) } };
      const tool_calls = [{ index: 0, ...call }];
      return [choice({ role: 'assistant', tool_calls }, null), choice({}, 'tool_calls')];
    },

    read({ messages, tools = [] }: Body) {
      const others = messages.filter(({ role }) => role !== 'tool');
      return {
        prompt: others.map(textOf).join('\n'),
        tools: tools.filter((tool) => tool.function.name.startsWith(prefix)).map((tool) => toModelTool(tool, prefix)),
        results: messages.filter(({ role }) => role === 'tool').map(toToolResult),
      };
    },
  };
}

function toModelTool(tool: NonNullable<Body['tools']>[number], prefix: string): ModelTool {
  const { name, description, parameters } = tool.function;
  return { name: name.slice(prefix.length), description, schema: parameters };
}

function toToolResult(message: Message): ToolResult {
  return { content: message.content, text: textOf(message), isError: undefined };
}

function textOf({ content }: Message): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n');
}
