import { createServer } from 'node:http';
import { listen } from '../../src/core/http/listen.ts';

/** A request that one of the models got. */
export interface AskedModel {
  model: string;
  messages: { role: string; content: string }[];
}

/** Returns what a model answers to a request, or undefined if it fails. `repeats` counts the same request before. */
export type ReplyOfModel = (request: AskedModel, repeats: number) => string | undefined;

/** Models that a job brings along. */
export interface ModelProvider {
  url: string;
  /** The requests that arrived, in their order. */
  asked: AskedModel[];
  close: () => Promise<void>;
}

/** Starts a server with the interface of OpenAI on a free port of this machine. */
export async function startModelProvider(models: readonly string[], reply: ReplyOfModel): Promise<ModelProvider> {
  const asked: AskedModel[] = [];
  const repeats = new Map<string, number>();
  const server = createServer(async (request, response) => {
    const answer = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (request.method === 'GET') {
      answer(200, { object: 'list', data: models.map((id) => ({ id, object: 'model' })) });
      return;
    }
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const { model, messages } = JSON.parse(text) as AskedModel;
    asked.push({ model, messages });
    const key = JSON.stringify([model, messages]);
    const content = reply({ model, messages }, repeats.get(key) ?? 0);
    repeats.set(key, (repeats.get(key) ?? 0) + 1);
    if (content === undefined) {
      answer(400, { error: { message: 'The model broke off.', type: 'invalid_request_error' } });
      return;
    }
    const message = { role: 'assistant', content };
    answer(200, {
      id: `reply-${asked.length}`,
      object: 'chat.completion',
      model,
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 },
    });
  });
  const url = `${await listen(server, 0, '127.0.0.1')}/v1`;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url, asked, close };
}
