import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onEnd } from '../../support/on-end.ts';

/** A request as it reached the model provider; the body is its exact text. */
export interface ReceivedRequest {
  line: string;
  authorization: string | undefined;
  contentType: string | undefined;
  body: string;
}

type Reply = (response: ServerResponse) => unknown;

/** An OpenAI-compatible API that answers each request with the next reply that a test has prepared, and records it. */
export interface RecordingProvider {
  /** Base URL with the version, as HEDDLE_MODEL_PROVIDER_URL takes it. */
  url: string;
  /** Prepares the replies to the next requests, in their order. */
  replyWith(...replies: Reply[]): void;
  /** Returns the requests since the last time, and forgets them. */
  received(): ReceivedRequest[];
}

export async function startRecordingProvider(): Promise<RecordingProvider> {
  let replies: Reply[] = [];
  let requests: ReceivedRequest[] = [];
  const server = createServer(async (request, response) => {
    const { authorization, 'content-type': contentType } = request.headers;
    const body = await text(request);
    requests.push({ line: `${request.method} ${request.url}`, authorization, contentType, body });
    const reply = replies.shift();
    if (reply) await reply(response);
    else response.writeHead(500).end('The test has prepared no reply.');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    replyWith: (...next) => {
      replies = next;
    },
    received: () => {
      const all = requests;
      requests = [];
      return all;
    },
  };
}

/** Returns a reply of JSON. */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  return (response) =>
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(value));
}

/** Returns a reply of server-sent events, one for each chunk, that ends with `[DONE]`. */
export function events(...chunks: unknown[]): Reply {
  return (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end('data: [DONE]\n\n');
  };
}
