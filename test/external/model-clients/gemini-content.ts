import { type ModelProtocol, type ModelTool, namedCall, type ToolResult } from './model-api.ts';

interface Part {
  text?: string;
  functionCall?: { name: string };
  functionResponse?: { name: string; response: Record<string, unknown> };
}

interface Content {
  role?: string;
  parts: Part[];
}

interface Declaration {
  name: string;
  description: string;
  parameters?: object;
  parametersJsonSchema?: object;
}

interface Body {
  systemInstruction?: Content;
  contents: Content[];
  tools?: { functionDeclarations?: Declaration[] }[];
}

/** Returns Gemini's interface for a client that puts `prefix` before the names of heddle's tools. */
export function geminiContent(prefix = ''): ModelProtocol {
  return {
    path: /^\/v1(beta)?\/models\/[^/]+:streamGenerateContent$/,

    events(number, action) {
      const part = action
        ? { functionCall: { id: `call_${number}`, ...namedCall(action, prefix) } }
        : { text: 'Done.' };
      const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
      const content = { role: 'model', parts: [part] };
      return [{ candidates: [{ index: 0, content, finishReason: 'STOP' }], usageMetadata, modelVersion: 'recording' }];
    },

    read({ systemInstruction, contents, tools = [] }: Body) {
      const parts = [systemInstruction, ...contents].flatMap((content) => content?.parts ?? []);
      const declarations = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
      return {
        prompt: parts.map(({ text = '' }) => text).join('\n'),
        tools: declarations.filter(({ name }) => name.startsWith(prefix)).map((tool) => toModelTool(tool, prefix)),
        results: parts.filter(({ functionResponse }) => functionResponse).map(toToolResult),
      };
    },
  };
}

function toModelTool({ name, description, parameters, parametersJsonSchema }: Declaration, prefix: string): ModelTool {
  return { name: name.slice(prefix.length), description, schema: parameters ?? parametersJsonSchema ?? {} };
}

function toToolResult({ functionResponse }: Part): ToolResult {
  const { response } = functionResponse!;
  return { content: response, text: JSON.stringify(response), isError: 'error' in response };
}
