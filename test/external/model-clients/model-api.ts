import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onEnd } from '../../support/on-end.ts';

/**
 * The next step of the scripted model: it calls a tool of heddle or one of the client itself, or searches for tools that the
 * client holds back.
 */
export type Action = ToolCall | { search: string };

interface ToolCall {
  tool: string;
  args: object;
  /** True for a tool of the client itself. */
  isOwn?: true;
}

/** Returns the name and the arguments of a call, for a client that puts `prefix` before the names of heddle's tools. */
export function namedCall(action: Action, prefix: string): { name: string; args: object } {
  if ('search' in action) throw new Error('this client has no search');
  return { name: action.isOwn ? action.tool : prefix + action.tool, args: action.args };
}

/** Decides on an action from the results so far. After the last turn the model ends the conversation. */
export type Turn = (results: ToolResult[]) => Action;

/** A tool of heddle as a model sees it, by heddle's own name. */
export interface ModelTool {
  name: string;
  description: string;
  schema: object;
  /** Present if the client asks for arguments that follow the schema strictly. */
  isStrict?: true;
}

/** The result of a tool call as a model sees it. */
export interface ToolResult {
  /** The content in the client's own form. */
  content: unknown;
  /** The text in it, without the client's heading. */
  text: string;
  /** True if the client marks it as an error; undefined if it marks no result. */
  isError: boolean | undefined;
}

/** The contents of a request to a model. */
export interface ModelInput {
  /** Everything before the results: the client's own prompt, the instructions of servers, the user's message. */
  prompt: string;
  /** The tools of heddle whose definitions the model has. */
  tools: ModelTool[];
  /** The results of the tool calls so far, without those of searches. */
  results: ToolResult[];
}

/** The interface of a model that a client uses. */
export interface ModelProtocol {
  /** Matches the path of the requests that a model answers. */
  path: RegExp;
  /** Returns the events of a reply. `number` counts replies, for ids. Without an action the reply is a text. */
  events: (number: number, action: Action | undefined) => { type?: string; [member: string]: unknown }[];
  /** Returns what a request tells the model. */
  // biome-ignore lint/suspicious/noExplicitAny: each interface has its own shape
  read: (body: any) => ModelInput;
}

/** A fake model interface that follows a script and records what it is sent. */
export interface ModelApi {
  url: string;
  /** One entry for each request that the model answered. */
  inputs: ModelInput[];
  /** Other requests, like `POST /v1/messages/count_tokens`, and hosts that the client tried to reach, like `CONNECT example.org:443`. */
  others: string[];
}

/** Starts a model interface on loopback that acts out `turns`. It stops with the test. */
export async function startModelApi({ path, events, read }: ModelProtocol, turns: readonly Turn[]): Promise<ModelApi> {
  const inputs: ModelInput[] = [];
  const others: string[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    const { pathname } = new URL(request.url!, 'http://localhost');
    if (request.method !== 'POST' || !path.test(pathname)) {
      others.push(`${request.method} ${pathname}`);
      // The only other request that matters to a test is for the number of tokens.
      const tokens = { input_tokens: Math.ceil(text.length / 4) };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens));
      return;
    }
    const input = read(JSON.parse(text));
    const action = turns[inputs.length]?.(input.results);
    inputs.push(input);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events(inputs.length, action)) {
      if (event.type) response.write(`event: ${event.type}\n`);
      response.write(`data: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  };
  const server = createServer((request, response) => {
    respond(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });
  // The clients have this server as their proxy, so that nothing leaves the machine unseen.
  server.on('connect', ({ url }, socket) => {
    others.push(`CONNECT ${url}`);
    // A client may give up before it has read the refusal.
    socket.on('error', () => {});
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, inputs, others };
}
