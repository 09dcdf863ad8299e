import { setTimeout } from 'node:timers/promises';
import { Agent, fetch } from 'undici';
import * as z from 'zod';

/** A tool as the interface of models describes it. */
export interface FunctionTool {
  type: 'function';
  function: { name: string; description?: string; parameters: unknown };
}

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function').default('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
export type ToolCall = z.infer<typeof toolCall>;

const assistantMessage = z.looseObject({
  role: z.literal('assistant').default('assistant'),
  content: z.string().nullish(),
  tool_calls: z.array(toolCall).nullish(),
});
export type AssistantMessage = z.infer<typeof assistantMessage>;

const completion = z.looseObject({ choices: z.array(z.looseObject({ message: assistantMessage })).min(1) });

export type Message =
  | { role: 'system' | 'user'; content: string }
  | { role: 'tool'; tool_call_id: string; content: string }
  | AssistantMessage;

export interface ChatModelOptions {
  model: string;
  /** Address of an OpenAI-compatible interface, usually ending in `/v1`. */
  baseUrl: string;
  /** Bearer token, where the interface needs one. */
  key?: string;
}

/** The model's server could not be used; the model is not to blame. */
export class ModelServerError extends Error {}

const attempts = 4;
// Local models and people who play one are slow.
const dispatcher = new Agent({ headersTimeout: 30 * 60_000, bodyTimeout: 30 * 60_000 });

/** A model behind `/chat/completions`. */
export class ChatModel {
  readonly #options: ChatModelOptions;

  constructor(options: ChatModelOptions) {
    this.#options = options;
  }

  /**
   * Returns the model's next message.
   * @throws ModelServerError when the server refuses the request, or is overloaded several times in a row.
   */
  async complete(messages: readonly Message[], tools: readonly FunctionTool[]): Promise<AssistantMessage> {
    const { model, baseUrl, key } = this.#options;
    const url = `${baseUrl.replace(/\/+$/, '')}/chat/completions`;
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
        body: JSON.stringify({ model, messages, tools }),
        dispatcher,
      }).catch((error: Error) => {
        const { cause } = error;
        throw new ModelServerError(
          `${url} cannot be reached: ${cause instanceof Error ? cause.message : error.message}`,
        );
      });
      const text = await response.text();
      if (response.ok) return messageIn(text, url);
      const isBusy = response.status === 429 || response.status >= 500;
      if (!isBusy || attempt === attempts) {
        throw new ModelServerError(`${url} answered with status ${response.status}: ${text.slice(0, 500)}`);
      }
      await setTimeout(Number(response.headers.get('retry-after') ?? 2 ** attempt) * 1000);
    }
  }
}

function messageIn(text: string, url: string): AssistantMessage {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ModelServerError(`${url} answered with something that is not JSON: ${text.slice(0, 500)}`);
  }
  const { data, error } = completion.safeParse(value);
  if (!data) throw new ModelServerError(`${url} answered without a message: ${z.prettifyError(error)}`);
  return data.choices[0]!.message;
}
