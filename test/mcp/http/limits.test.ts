import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Server } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { httpLimits } from '../../../src/mcp/http/http-limits.ts';
import { type HttpOptions, McpHttpServer } from '../../../src/mcp/http/mcp-http-server.ts';
import { ask, newerRequest, olderRequest } from '../../support/http-server.ts';
import { serverFactoryOf } from '../../support/server-factory.ts';

/** More than the buffers of a connection hold. */
const largeBytes = 24 * 1024 * 1024;

/** Starts a server in this process with other limits; its one tool answers when the test says so. */
async function start(
  limits: Partial<typeof httpLimits>,
  ready: HttpOptions['ready'] = async () => true,
): Promise<{ url: string; port: number; called: () => Promise<() => void> }> {
  const calls: (() => void)[] = [];
  let arrived = (): void => {};
  const factory = (): Server => {
    const server = new Server({ name: 'test', version: '1.0.0' }, { capabilities: { tools: { listChanged: false } } });
    server.setRequestHandler('tools/call', async ({ params }) => {
      if (params.name === 'large') return { content: [{ type: 'text', text: 'x'.repeat(largeBytes) }] };
      await new Promise<void>((resolve) => {
        calls.push(resolve);
        arrived();
      });
      return { content: [] };
    });
    return server;
  };
  const usual = { ...httpLimits };
  Object.assign(httpLimits, limits);
  onTestFinished(() => void Object.assign(httpLimits, usual));
  const server = new McpHttpServer(serverFactoryOf(factory), {
    host: '127.0.0.1',
    address: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    allowedOrigins: [],
    ready,
    log: () => {},
  });
  const url = await server.listen();
  onTestFinished(() => server.stop(0));
  const called = async (): Promise<() => void> => {
    if (calls.length === 0) await new Promise<void>((resolve) => (arrived = resolve));
    return calls.shift()!;
  };
  return { url, port: Number(new URL(url).port), called };
}

describe('connections to the HTTP server', () => {
  it('beyond the maximum close the one that has been without a request for longest', async () => {
    const { port } = await start({ maxConnections: 2 });
    const first = open(port, 'POST');
    const closed = new Promise((resolve) => first.once('close', resolve));
    await once(first, 'connect');
    const kept = [open(port, 'POST')];
    await once(kept[0]!, 'connect');
    kept.push(open(port, 'POST'));
    await closed;
    expect(kept.map(({ readyState }) => readyState)).toEqual(['open', 'open']);
  });
});

const slow = newerRequest('tools/call', { name: 'slow' });

function open(port: number, text: string): Socket {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.setEncoding('utf8').write(text);
  return socket;
}

const head = [
  'POST /mcp HTTP/1.1',
  'Host: localhost',
  'Content-Type: application/json',
  'Accept: application/json, text/event-stream',
  'Content-Length: 1000',
  '',
  '',
].join('\r\n');

describe('limits of the HTTP server', () => {
  it('refuses calls beyond the maximum with Retry-After until one of them has ended', async () => {
    const { url, called } = await start({ maxCalls: 2 });
    const first = ask(url, slow);
    const answerFirst = await called();
    const second = ask(url, slow);
    const answerSecond = await called();
    expect(await ask(url, slow)).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Service unavailable: too many requests at once"},"id":null}',
    });
    expect((await ask(new URL('/healthz', url), { method: 'GET' })).status).toBe(200);
    answerFirst();
    expect((await first).status).toBe(200);
    const third = ask(url, slow);
    (await called())();
    answerSecond();
    expect([(await second).status, (await third).status]).toEqual([200, 200]);
  });

  it('counts an open stream as a running call until its client goes away', async () => {
    const { url, called } = await start({ maxCalls: 1 });
    const { headers, body } = olderRequest('tools/call', { name: 'slow' });
    const streaming = request(url, { method: 'POST', headers: { ...headers } });
    streaming.on('error', () => {});
    streaming.end(JSON.stringify(body));
    await called();
    expect((await ask(url, slow)).status).toBe(503);
    streaming.destroy();
    let status = 503;
    const retried = (async () => {
      while (status === 503) ({ status } = await ask(url, slow));
    })();
    (await called())();
    await retried;
    expect(status).toBe(200);
  });

  it('cuts off a client that sends a byte at a time, and does not count it as a running call', async () => {
    const { url, port, called } = await start({
      maxCalls: 1,
      // Long enough for the call below on a busy machine.
      headersTimeoutMs: 1_000,
      requestTimeoutMs: 1_000,
      timeoutCheckMs: 50,
    });
    const slowHead = open(port, 'POST /mcp HTTP/1.1\r\nHost: loc');
    const slowBody = open(port, head);
    const drip = setInterval(() => {
      for (const socket of [slowHead, slowBody]) if (socket.writable) socket.write('x');
    }, 50);
    onTestFinished(() => clearInterval(drip));
    const ended = [slowHead, slowBody].map(async (socket) => {
      const [answer] = (await once(socket, 'data')) as [string];
      if (!socket.destroyed) await once(socket, 'close');
      return answer;
    });
    const call = ask(url, slow);
    (await called())();
    expect((await call).status).toBe(200);
    for (const answer of await Promise.all(ended)) {
      expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
      expect(answer).toContain('{"jsonrpc":"2.0","error":{"code":-32000,"message":"Request timeout"},"id":null}');
    }
  });

  it('refuses a body that would exceed the total size limit of bodies being received', async () => {
    const { url, port } = await start({ maxTotalBodyBytes: 700 });
    const half = open(port, head + 'x'.repeat(600));
    const refused = open(port, head + 'x'.repeat(600));
    const answers = [half, refused].map(async (socket) => (await once(socket, 'data'))[0] as string);
    expect(await Promise.race(answers)).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    half.destroy();
    refused.destroy();
    await expect.poll(async () => (await ask(url, newerRequest('ping'))).status).not.toBe(503);
  });

  it.each([
    ['2026-07-28', newerRequest('tools/call', { name: 'slow' })],
    ['2025-11-25', olderRequest('tools/call', { name: 'slow' })],
  ])('sends comments while a long call is running: %s', async (_, { headers, body }) => {
    const { url, called } = await start({ maxSilenceMs: 50 });
    const sent = request(url, { method: 'POST', headers: { ...headers } });
    sent.end(JSON.stringify(body));
    const [stream] = (await once(sent, 'response')) as [IncomingMessage];
    expect([stream.statusCode, stream.headers['content-type']]).toEqual([200, 'text/event-stream']);
    let text = '';
    stream.setEncoding('utf8').on('data', (part) => {
      text += part;
    });
    await expect.poll(() => text).toMatch(/^(: .+\n\n){2,}$/);
    (await called())();
    await once(stream, 'end');
    const message = /\n\nevent: message\ndata: (.*)\n\n$/.exec(text)![1]!;
    expect(JSON.parse(message)).toMatchObject({ jsonrpc: '2.0', id: 1, result: { content: [] } });
  });

  it('cuts off a client that does not read its response', async () => {
    const { url, port } = await start({ stallTimeoutMs: 300, maxCalls: 1 });
    const { headers, body } = newerRequest('tools/call', { name: 'large' });
    const text = JSON.stringify(body);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const closed = once(socket, 'close');
    socket.on('error', () => {});
    socket.write(
      ['POST /mcp HTTP/1.1', 'Host: localhost', ...lines, `Content-Length: ${text.length}`, '', text].join('\r\n'),
    );
    await once(socket, 'readable');
    // The test reads only once the server has given up; otherwise it would get the whole response.
    const status = async (): Promise<number> => (await ask(url, newerRequest('tools/list'))).status;
    expect(await status()).toBe(503);
    await expect.poll(status).not.toBe(503);
    let received = 0;
    socket.on('data', (part: Buffer) => {
      received += part.length;
    });
    await closed;
    expect(received).toBeLessThan(largeBytes);
  });

  it('reports not ready when the service does not respond in time, and asks it once for many requests', async () => {
    let asked = 0;
    const { url } = await start({ readinessTimeoutMs: 100, readinessCacheMs: 60_000 }, () => {
      asked += 1;
      return new Promise(() => {});
    });
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(new URL('/readyz', url), { method: 'GET' })));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(503));
    expect(asked).toBe(1);
  });
});
