import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** A model that says what it was told, and remembers how often. */
export interface Model {
  /** For HEDDLE_MODEL_PROVIDER_URL. */
  url: string;
  /** How often each last message was sent to it. */
  asked: Map<string, number>;
}

/** Milliseconds that it thinks, so that calls are with it when a process is killed. */
const thinkMs = 40;

/** Starts an OpenAI-compatible API; it ends with the test. Answers repeat all messages, in one piece or as a stream. */
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
