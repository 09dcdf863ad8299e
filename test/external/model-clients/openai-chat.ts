import type { ModelProtocol, ModelTool, ToolResult } from './model-api.ts';

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
      const call =
        action && ('search' in action ? ['search', { query: action.search }] : [prefix + action.tool, action.args]);
      const delta = call
        ? {
            tool_calls: [
              {
                index: 0,
                id: `call_${number}`,
                type: 'function',
                function: { name: call[0], arguments: JSON.stringify(call[1]) },
              },
            ],
          }
        : { content: 'Done.' };
      return [choice({ role: 'assistant', ...delta }, null), choice({}, call ? 'tool_calls' : 'stop')];
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
