import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { beginStream, chunked, type FakeService, sendResponse, startFakeService } from '../../support/fake-service.ts';
import { ask, newerRequest, olderRequest, startHttp, startHttpProcess } from '../../support/http-server.ts';

const credentials = { username: 'api', password: 'password-of-api', token: 'token-of-api' };

/** Starts a server on a service that holds every inference request until the test answers it. */
async function startHeld<Server>(
  start: (args: string[], extra: Record<string, string>) => Promise<Server>,
): Promise<Server & { service: FakeService; held: () => Promise<Held> }> {
  const service = await startFakeService({ credentials });
  const waiting: Held[] = [];
  let arrived = (): void => {};
  service.respond = (incoming) => {
    if (!incoming.path.endsWith('/chat/completions')) return service.respondNormally(incoming);
    const send = (text: string): void => void incoming.socket.write(chunked(text));
    waiting.push({
      begin: (text) => {
        beginStream(incoming);
        send(text);
      },
      end: (text) => {
        send(text);
        send('');
      },
      aborted: new Promise((resolve) => incoming.socket.once('close', resolve)),
    });
    arrived();
  };
  const server = await start([], {
    HEDDLE_BASE_URL: service.url,
    HEDDLE_USERNAME: credentials.username,
    HEDDLE_PASSWORD: credentials.password,
    HEDDLE_TOKEN: credentials.token,
    HEDDLE_PROJECT: 'demo/support',
  });
  const held = async (): Promise<Held> => {
    if (waiting.length === 0) await new Promise<void>((resolve) => (arrived = resolve));
    return waiting.shift()!;
  };
  return { ...server, service, held };
}

interface Held {
  /** Begins the streamed response with a first chunk. */
  begin: (text: string) => void;
  /** Sends the last chunk of the response. */
  end: (text: string) => void;
  /** Resolves when the connection of the request has closed. */
  aborted: Promise<unknown>;
}

const inference = { name: 'run_inference', arguments: { model: 'm', messages: [], stream: true } };
const chunk = (text: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
const lastChunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
const progressToken = { _meta: { progressToken: 'p' } };

const modes = [
  ['2025-11-25', olderRequest('tools/call', inference)],
  ['2026-07-28', newerRequest('tools/call', inference)],
  ['2026-07-28, with progress', newerRequest('tools/call', { ...inference, ...progressToken })],
] as const;

/** For the tests that leave the server as it was. */
const { url, service, held } = await startHeld(startHttp);

test.each(modes)('cancels the request at the service when the client disconnects: %s', async (_, { headers, body }) => {
  const sent = request(url, { method: 'POST', headers: { ...headers } });
  sent.on('error', () => {});
  const answered = once(sent, 'response').catch(() => undefined);
  sent.end(JSON.stringify(body));
  const { begin, aborted } = await held();
  if (JSON.stringify(body).includes('progressToken')) {
    begin(chunk('Hello'));
    const [stream] = (await answered) as [IncomingMessage];
    await once(stream, 'data');
  }
  sent.destroy();
  await aborted;
  expect((await ask(new URL('/healthz', url), { method: 'GET' })).status).toBe(200);
});

test.each([
  [
    'SDK v2, older era',
    async (url: URL) => {
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'legacy' } });
      await client.connect(new StreamableHTTPClientTransport(url));
      return { close: () => client.close(), call: (signal: AbortSignal) => client.callTool(inference, { signal }) };
    },
  ],
  [
    'SDK v2, 2026-07-28',
    async (url: URL) => {
      const versionNegotiation = { mode: { pin: '2026-07-28' } };
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation });
      await client.connect(new StreamableHTTPClientTransport(url));
      return { close: () => client.close(), call: (signal: AbortSignal) => client.callTool(inference, { signal }) };
    },
  ],
  [
    'SDK v1',
    async (url: URL) => {
      const client = new OlderClient({ name: 'test', version: '1.0.0' });
      await client.connect(new OlderTransport(url) as never);
      return {
        close: () => client.close(),
        call: (signal: AbortSignal) => client.callTool(inference, undefined, { signal }),
      };
    },
  ],
])('cancels the request at the service when the client cancels the call: %s', async (_, connect) => {
  const [client, bystander] = await Promise.all([connect(new URL(url)), connect(new URL(url))]);
  onTestFinished(async () => {
    await Promise.all([client.close(), bystander.close()]);
  });
  const cancel = new AbortController();
  const cancelled = expect(client.call(cancel.signal)).rejects.toThrow();
  const { aborted } = await held();
  // Another client has a running call with the same id.
  const other = bystander.call(new AbortController().signal);
  const otherRequest = await held();
  cancel.abort();
  await Promise.all([cancelled, aborted]);
  otherRequest.begin(chunk('Hello'));
  otherRequest.end(lastChunk);
  expect(await other).toMatchObject({
    structuredContent: { response: { choices: [{ message: { content: 'Hello' } }] } },
  });
});

test.each([
  ['2025-11-25', olderRequest('tools/call', { ...inference, ...progressToken })],
  ['2026-07-28', newerRequest('tools/call', { ...inference, ...progressToken })],
])('sends progress of a streamed inference as events while it runs: %s', async (_, { headers, body }) => {
  const sent = request(url, { method: 'POST', headers: { ...headers } });
  sent.end(JSON.stringify(body));
  const { begin, end } = await held();
  begin(chunk('Hello'));
  const [stream] = (await once(sent, 'response')) as [IncomingMessage];
  expect(stream.headers['content-type']).toBe('text/event-stream');
  const [first] = (await once(stream.setEncoding('utf8'), 'data')) as [string];
  expect(JSON.parse(/^data: (.*)$/m.exec(first)![1]!)).toMatchObject({
    method: 'notifications/progress',
    params: { progressToken: 'p', progress: 5, message: '5 characters' },
  });
  end(lastChunk);
  let rest = '';
  for await (const text of stream) rest += text;
  expect(JSON.parse(/^data: (.*)$/m.exec(rest)![1]!)).toMatchObject({
    id: 1,
    result: {
      structuredContent: { response: { choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] } },
    },
  });
});

/** Waits until the server has handled a signal and refuses new connections. */
async function refusing(url: string): Promise<void> {
  const knock = () => ask(new URL('/healthz', url), { method: 'GET' }).then(String, ({ code }) => code);
  await expect.poll(knock).toBe('ECONNREFUSED');
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s finishes running calls, accepts no new connection and exits with 0',
  async (name) => {
    const { url, signal, finished, held } = await startHeld(startHttp);
    const running = ask(url, newerRequest('tools/call', { ...inference, ...progressToken }));
    const { begin, end } = await held();
    signal(name);
    await refusing(url);
    begin(chunk('Hello'));
    end(lastChunk);
    expect(await running).toMatchObject({ status: 200, body: expect.stringContaining('"content":"Hello"') });
    expect(await finished).toMatchObject({ code: 0, stdout: '' });
  },
);

test('answers a running request on a kept connection when SIGTERM arrives', async () => {
  const { url, child, exit } = await startHttpProcess();
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const list = newerRequest('tools/list');
  const asked = async (): Promise<{ status?: number; reused: boolean }> => {
    const sent = request(url, { method: 'POST', headers: { ...list.headers }, agent });
    sent.end(JSON.stringify(list.body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    return { status: response.statusCode, reused: sent.reusedSocket };
  };
  const several = () => Promise.all(Array.from({ length: 8 }, asked));
  await several();
  child.kill('SIGTERM');
  expect(await several()).toEqual(Array(8).fill({ status: 200, reused: true }));
  expect(await exit).toBe(0);
});

test('exits at once on a second signal and cancels the request at the service', async () => {
  const { url, child, exit, held } = await startHeld(startHttpProcess);
  const running = ask(url, newerRequest('tools/call', inference));
  const lost = expect(running).rejects.toThrow();
  const { aborted } = await held();
  child.kill('SIGTERM');
  await refusing(url);
  child.kill('SIGTERM');
  expect(await exit).toBe(1);
  await Promise.all([lost, aborted]);
});

test('reports not ready but healthy while the service fails', async () => {
  const get = async (path: string): Promise<number> => (await ask(new URL(path, url), { method: 'GET' })).status;
  // Like the embedded service while its database is down.
  service.respond = (request) => sendResponse(request, request.path === '/health' ? 503 : 404);
  expect([await get('/healthz'), await get('/readyz')]).toEqual([200, 503]);
  const before = service.requests.length;
  // Asked again within a second: the service is not.
  expect(await get('/readyz')).toBe(503);
  expect(service.requests.length - before).toBeLessThanOrEqual(1);
  service.respond = service.respondNormally;
  await expect.poll(() => get('/readyz'), { interval: 100 }).toBe(200);
});
