import { type ChildProcess, spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  beginStream,
  chunked,
  type FakeService,
  type RecordedRequest,
  sendGoodResponse,
  startFakeService,
} from '../support/fake-service.ts';
import { command, emptyHome, temporaryFolder } from '../support/heddle.ts';
import { tally } from '../support/tally.ts';
import { toolCalls } from '../support/tool-server.ts';

const home = temporaryFolder();
const service: FakeService = await startFakeService();
const env = emptyHome(home, {
  HEDDLE_BASE_URL: service.url,
  HEDDLE_USERNAME: 'user',
  HEDDLE_PASSWORD: 'password-of-user',
  HEDDLE_TOKEN: 'token-of-user',
});
let http: ChildProcess;
let address: URL;

beforeAll(async () => {
  http = spawn(process.execPath, [command, 'serve', '--http', '--port', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  for await (const bytes of http.stderr!) {
    said += bytes;
    const url = /listening on (\S+)/.exec(said)?.[1];
    if (url) {
      address = new URL(url);
      break;
    }
  }
});

afterAll(async () => {
  http.kill('SIGKILL');
  await service.stop();
});

beforeEach(() => {
  service.requests.length = 0;
});

const transports = {
  stdio: () => new StdioClientTransport({ command: process.execPath, args: [command], env }),
  HTTP: () => new StreamableHTTPClientTransport(address),
};
const eras = { '2025-11-25 and before': 'legacy', '2026-07-28': { pin: '2026-07-28' } } as const;

const sse = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hel' } }] })}\n\n`;
const faults: [string, string, Record<string, unknown>, (request: RecordedRequest) => void][] = [
  ['an answer that is awaited', 'query_queue_items', {}, () => {}],
  ['inference that is awaited', 'run_inference', {}, () => {}],
  [
    'a stream',
    'run_inference',
    { stream: true },
    (request) => {
      beginStream(request);
      request.socket.write(chunked(sse));
    },
  ],
];

describe.each(Object.entries(transports))('%s', (transportName, connect) => {
  describe.each(Object.entries(eras))('%s', (era, mode) => {
    test.each(faults)('%s ends at the service when the client cancels', async (name, tool, extra, fault) => {
      const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
      await client.connect(connect());
      const cancel = new AbortController();
      const arrived = new Promise<RecordedRequest>((resolve) => {
        service.respond = (request) => {
          fault(request);
          resolve(request);
        };
      });
      const outcome = client
        .callTool(
          { name: tool, arguments: { ...toolCalls[tool]!('x'), ...extra } },
          { signal: cancel.signal, onprogress: () => {} },
        )
        .catch(() => 'cancelled');
      const { socket } = await arrived;
      const closed = once(socket, 'close');
      const started = performance.now();
      cancel.abort('not wanted any more');
      await closed;
      console.log(
        `${transportName}, ${era}, ${name}: at the service after ${(performance.now() - started).toFixed(1)} ms`,
      );
      expect(await outcome).toBe('cancelled');
      expect(service.requests).toHaveLength(1);
      tally('faults', 1);
      // The connection to the client goes on.
      service.respond = (request) => sendGoodResponse(request);
      await expect(client.callTool({ name: tool, arguments: toolCalls[tool]!('x') })).resolves.not.toHaveProperty(
        'isError',
      );
      await client.close();
    });
  });
});

test('a request of an older revision that a notification cancels comes to its end without an answer', async () => {
  const send = (body: object): Promise<Response> =>
    fetch(address, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': 'one of many',
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    });
  const arrived = new Promise<void>((resolve) => {
    service.respond = () => resolve();
  });
  const name = 'read_call';
  const call = send({ id: 7, method: 'tools/call', params: { name, arguments: toolCalls[name]!('x') } });
  await arrived;
  const cancelled = await send({ method: 'notifications/cancelled', params: { requestId: 7 } });
  expect(cancelled.status).toBe(202);
  const answer = await call;
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
    200,
    'text/event-stream',
    '',
  ]);
});

test('many cancelled calls leave no connection', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transports.stdio());
  let arrived = 0;
  const all = new Promise<void>((resolve) => {
    service.respond = () => {
      arrived += 1;
      if (arrived === 30) resolve();
    };
  });
  const cancel = new AbortController();
  setMaxListeners(0, cancel.signal);
  const calls = Array.from({ length: 30 }, () =>
    client
      .callTool({ name: 'read_call', arguments: toolCalls.read_call!('x') }, { signal: cancel.signal })
      .catch(() => 'cancelled'),
  );
  await all;
  const closed = [...service.sockets].map((socket) => once(socket, 'close'));
  cancel.abort();
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['cancelled']));
  await Promise.all(closed);
  // What undici opens anew in their place ends by itself.
  while (service.sockets.size > 0) await once([...service.sockets][0]!, 'close');
  await client.close();
});
