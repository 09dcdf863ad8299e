import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** A model provider that repeats its input, and counts it. */
export interface Model {
  /** URL for HEDDLE_MODEL_PROVIDER_URL. */
  url: string;
  /** Number of requests by their last message. */
  asked: Map<string, number>;
}

/** Delay of each reply, so that calls are waiting for it when a process is killed. */
const thinkMs = 40;

/** Starts an OpenAI-compatible API whose replies, whole or streamed, repeat all messages. It stops with the test. */
export async function startModel(): Promise<Model> {
  const asked: Model['asked'] = new Map();
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json').end('{"object":"list","data":[{"id":"repeat"}]}');
      return;
    }
    const { messages, stream } = JSON.parse(await text(request)) as { messages: Message[]; stream?: boolean };
    const last = messages.at(-1)!.content;
    asked.set(last, (asked.get(last) ?? 0) + 1);
    await setTimeout(thinkMs);
    const content = messages.map((message) => message.content).join('\n');
    if (!stream) {
      const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ object: 'chat.completion', choices }));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const event = (choice: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
    for (const piece of content.split(/(?<=\n)/)) response.write(event({ delta: { content: piece } }));
    response.end(`${event({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

interface Message {
  content: string;
}
