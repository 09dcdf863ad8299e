import { createServer, type ServerResponse } from 'node:http';
import { listen } from '../../src/core/http/listen.ts';
import { onEnd } from './on-end.ts';

/** A chat completion that a model was asked for. */
export interface AskedCompletion {
  model: string;
  messages: { role: string; content: string }[];
  [member: string]: unknown;
}

/** Replies as a scripted model, or fails: it writes to the response itself and returns nothing. */
export type Script = (
  request: AskedCompletion,
  response: ServerResponse,
  /** Number of times that the same messages were asked before. */
  repeats: number,
) => string | object | undefined | Promise<string | object | undefined>;

/** A model provider on a free port, whose models follow a script. */
export interface ScriptedModel {
  url: string;
  /** The requests that arrived, in their order. */
  asked: AskedCompletion[];
  /** Number of requests in progress, and the maximum so far. */
  openRequests: number;
  maxOpenRequests: number;
}

/**
 * Starts a model provider that replies with the texts of a script. It ends with the test.
 * @param models names that it lists.
 */
export async function startScriptedModel(
  script: Script,
  models: readonly string[] = ['judge', 'small'],
): Promise<ScriptedModel> {
  const model: ScriptedModel = { url: '', asked: [], openRequests: 0, maxOpenRequests: 0 };
  const repeats = new Map<string, number>();
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data: models.map((id) => ({ id, object: 'model' })) }));
      return;
    }
    model.openRequests += 1;
    model.maxOpenRequests = Math.max(model.maxOpenRequests, model.openRequests);
    response.once('close', () => {
      model.openRequests -= 1;
    });
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text) as AskedCompletion;
    const key = JSON.stringify(body.messages);
    const before = repeats.get(key) ?? 0;
    repeats.set(key, before + 1);
    model.asked.push(body);
    const content = await script(body, response, before);
    if (content === undefined) return;
    const isText = typeof content === 'string';
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isText ? completion(content) : content));
  });
  server.keepAliveTimeout = 60_000;
  model.url = `${await listen(server, 0, '127.0.0.1')}/v1`;
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return model;
}

/** Returns a chat completion with a text, which took 10 tokens. */
export function completion(content: string): object {
  return {
    id: 'c1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
  };
}
