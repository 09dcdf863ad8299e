import { once, setMaxListeners } from 'node:events';
import { PassThrough } from 'node:stream';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { beforeEach, describe, expect, it } from 'vitest';
import { exampleFor } from '../support/call-every-tool.ts';
import {
  beginStream,
  chunked,
  type FakeService,
  type RecordedRequest,
  sendGoodResponse,
  startFakeService,
} from '../support/fake-service.ts';
import { emptyHome, startCommand, temporaryFolder } from '../support/heddle.ts';
import { startHttp } from '../support/http-server.ts';
import { tally } from '../support/tally.ts';

const service: FakeService = await startFakeService();
const settings = {
  HEDDLE_BASE_URL: service.url,
  HEDDLE_PROJECT: 'a/b',
  HEDDLE_USERNAME: 'user',
  HEDDLE_PASSWORD: 'password-of-user',
  HEDDLE_TOKEN: 'token-of-user',
};
const address = new URL((await startHttp([], settings)).url);

beforeEach(() => {
  service.requests.length = 0;
});

const transports = {
  stdio: () => {
    const stdin = new PassThrough();
    const { stdout } = startCommand([], emptyHome(temporaryFolder(), settings), stdin);
    // Reads and writes lines; it is the end of a server by its name only.
    return new StdioServerTransport(stdout, stdin);
  },
  HTTP: () => new StreamableHTTPClientTransport(address),
};
const eras = { '2025-11-25 and before': 'legacy', '2026-07-28': { pin: '2026-07-28' } } as const;

const sse = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hel' } }] })}\n\n`;
const situations: [string, string, Record<string, unknown>, (request: RecordedRequest) => void][] = [
  ['while it waits for a response', 'query_queue_items', {}, () => {}],
  ['while it waits for inference', 'run_inference', {}, () => {}],
  [
    'in the middle of a streamed reply',
    'run_inference',
    { stream: true },
    (request) => {
      beginStream(request);
      request.socket.write(chunked(sse));
    },
  ],
];

describe.each(Object.entries(transports))('a tool call over %s', (_transport, connect) => {
  describe.each(Object.entries(eras))('of revision %s', (_revision, mode) => {
    it.each(situations)(
      'ends the request to the service when the client cancels %s',
      async (_, tool, extra, respond) => {
        const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
        await client.connect(connect());
        const cancel = new AbortController();
        const arrived = new Promise<RecordedRequest>((resolve) => {
          service.respond = (request) => {
            respond(request);
            resolve(request);
          };
        });
        const outcome = client
          .callTool(
            { name: tool, arguments: { ...exampleFor(tool), ...extra } },
            { signal: cancel.signal, onprogress: () => {} },
          )
          .catch(() => 'cancelled');
        const { socket } = await arrived;
        // With bytes of the reply unread, the connection is reset instead of ended.
        const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
        cancel.abort('no longer wanted');
        await closed;
        expect(await outcome).toBe('cancelled');
        expect(service.requests).toHaveLength(1);
        tally('faults', 1);
        // The client's connection still works.
        service.respond = (request) => sendGoodResponse(request);
        await expect(client.callTool({ name: tool, arguments: exampleFor(tool) })).resolves.not.toHaveProperty(
          'isError',
        );
        await client.close();
      },
    );
  });
});

describe('cancellation', () => {
  it('ends the event stream of a request of an older revision without a response', async () => {
    const send = (body: object): Promise<Response> =>
      fetch(address, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-session-id': 'one-of-many',
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      });
    const arrived = new Promise<void>((resolve) => {
      service.respond = () => resolve();
    });
    const name = 'read_call';
    const call = send({ id: 7, method: 'tools/call', params: { name, arguments: exampleFor(name) } });
    await arrived;
    const cancelled = await send({ method: 'notifications/cancelled', params: { requestId: 7 } });
    expect(cancelled.status).toBe(202);
    const response = await call;
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      'text/event-stream',
      '',
    ]);
  });

  it('of 30 calls at once leaves no connection to the service open', async () => {
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
        .callTool({ name: 'read_call', arguments: exampleFor('read_call') }, { signal: cancel.signal })
        .catch(() => 'cancelled'),
    );
    await all;
    const closed = [...service.sockets].map((socket) => once(socket, 'close'));
    cancel.abort();
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['cancelled']));
    await Promise.all(closed);
    // undici opens new connections in their place, which close by themselves.
    while (service.sockets.size > 0) await once([...service.sockets][0]!, 'close');
    await client.close();
  });
});
