import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  decodersOf,
  HttpClient,
  type HttpClientOptions,
  type HttpRequest,
  type HttpResponse,
} from '../../src/core/http/http-client.ts';

/** A request that has reached the server, and the response to it. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

interface TestServer {
  url: string;
  /** Every connection that was ever made. */
  connections: Socket[];
  /** Resolves with the next request that no earlier call has returned. */
  next: () => Promise<Exchange>;
  /** Number of requests that have arrived. */
  readonly requestCount: number;
}

/** Starts a server that leaves each request to the test, or answers it with `listener`. */
async function startServer(listener?: RequestListener): Promise<TestServer> {
  const connections: Socket[] = [];
  const arrived: Exchange[] = [];
  let requestCount = 0;
  let onArrival: (() => void) | undefined;
  const server = createServer((request, response) => {
    requestCount += 1;
    if (listener) {
      listener(request, response);
      return;
    }
    arrived.push({ request, response });
    onArrival?.();
  });
  server.on('connection', (socket) => connections.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
    for (const socket of connections) socket.destroy();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    async next() {
      while (arrived.length === 0) await new Promise<void>((resolve) => (onArrival = resolve));
      return arrived.shift()!;
    },
    get requestCount() {
      return requestCount;
    },
  };
}

function newClient(options?: HttpClientOptions): HttpClient {
  const client = new HttpClient(options);
  onTestFinished(() => client.close());
  return client;
}

function send(client: HttpClient, url: string, options: Partial<HttpRequest> = {}): Promise<HttpResponse> {
  return client.send({ method: 'GET', url, headers: {}, signal: new AbortController().signal, ...options });
}

/** Returns the code of the error that a promise rejects with. */
function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no error',
    (error: NodeJS.ErrnoException) => error.code,
  );
}

describe('HttpClient.send', () => {
  it.each(['GET', 'POST', 'PUT', 'DELETE'] as const)(
    'sends %s with its headers and a body of known length',
    async (method) => {
      const { url } = await startServer(async (request, response) => {
        const { method, url: path, headers } = request;
        const body = await text(request);
        response.writeHead(201, { 'x-seen': 'yes' });
        response.end(JSON.stringify([method, path, headers['x-sent'], headers['content-length'], body]));
      });
      const { status, headers, body } = await send(newClient(), `${url}/a?b=c`, {
        method,
        headers: { 'X-Sent': 'value' },
        body: 'zwölf',
      });
      expect([status, headers['x-seen']]).toEqual([201, 'yes']);
      expect(JSON.parse(await text(body))).toEqual([method, '/a?b=c', 'value', '6', 'zwölf']);
    },
  );

  it('does not follow a redirect', async () => {
    const server = await startServer((_, response) => response.writeHead(307, { location: '/elsewhere' }).end());
    const { status, headers, body } = await send(newClient(), server.url);
    expect([status, headers.location, await text(body)]).toEqual([307, '/elsewhere', '']);
    expect(server.requestCount).toBe(1);
  });

  it('keeps the connection for the next request', async () => {
    const server = await startServer((_, response) => response.end('body'));
    const client = newClient();
    for (let count = 0; count < 3; count += 1) await text((await send(client, server.url)).body);
    expect([server.requestCount, server.connections.length]).toEqual([3, 1]);
  });

  it('opens no more than maxConnections, and sends a waiting request over the first that is free', async () => {
    const server = await startServer();
    const client = newClient({ maxConnections: 2 });
    const sent = ['/1', '/2', '/3'].map(async (path) => text((await send(client, server.url + path)).body));
    const first = await server.next();
    const second = await server.next();
    expect([first.request.url, second.request.url].sort()).toEqual(['/1', '/2']);
    expect([server.requestCount, server.connections.length]).toEqual([2, 2]);
    second.response.end('second');
    const third = await server.next();
    expect([third.request.url, third.request.socket]).toEqual(['/3', second.request.socket]);
    first.response.end('first');
    third.response.end('third');
    expect((await Promise.all(sent)).sort()).toEqual(['first', 'second', 'third']);
    expect(server.connections.length).toBe(2);
  });

  it('limits the connections to each origin separately', async () => {
    const servers = [await startServer(), await startServer()];
    const client = newClient({ maxConnections: 1 });
    const sent = servers.map(({ url }) => send(client, url));
    for (const server of servers) (await server.next()).response.end();
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it.each([
    ['ECONNREFUSED', 'http://127.0.0.1:1', {}],
    ['ERR_INVALID_URL', 'http://', {}],
    ['ERR_INVALID_CHAR', 'http://127.0.0.1:1', { 'x-name': 'a\nb' }],
  ])('rejects with %s', async (code, url, headers) => {
    expect(await codeOf(send(newClient(), url, { headers }))).toBe(code);
  });

  it('rejects with ECONNRESET when the server changes to another protocol', async () => {
    const server = await startServer();
    const sent = codeOf(send(newClient(), server.url));
    const { socket } = (await server.next()).request;
    const closed = once(socket, 'close');
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n');
    expect(await sent).toBe('ECONNRESET');
    await closed;
  });

  it('gives the body an error when the connection breaks before its end', async () => {
    const server = await startServer();
    const sent = send(newClient(), server.url);
    const { response } = await server.next();
    response.write('part');
    const { body } = await sent;
    response.destroy();
    expect(await codeOf(text(body))).toBe('ECONNRESET');
  });

  it('closes the connection of a body that is destroyed', async () => {
    const server = await startServer();
    const sent = send(newClient({ maxConnections: 1 }), server.url);
    const { request, response } = await server.next();
    response.write('part');
    const closed = once(request.socket, 'close');
    (await sent).body.destroy();
    await closed;
  });
});

describe('HttpClient.send, aborted', () => {
  it('sends nothing when the signal was aborted before', async () => {
    const server = await startServer((_, response) => response.end());
    const client = newClient();
    expect(await codeOf(send(client, server.url, { signal: AbortSignal.abort() }))).toBe('ABORT_ERR');
    await send(client, server.url);
    expect([server.requestCount, server.connections.length]).toEqual([1, 1]);
  });

  it('rejects a request that waits for a connection at once', async () => {
    const server = await startServer();
    const client = newClient({ maxConnections: 1 });
    const occupying = send(client, server.url);
    const { response } = await server.next();
    const abort = new AbortController();
    const waiting = codeOf(send(client, `${server.url}/aborted`, { signal: abort.signal }));
    const last = send(client, `${server.url}/last`);
    abort.abort();
    expect(await waiting).toBe('ABORT_ERR');
    response.end();
    (await occupying).body.resume();
    const { request, response: lastResponse } = await server.next();
    lastResponse.end();
    expect([request.url, (await last).status, server.connections.length]).toEqual(['/last', 200, 1]);
  });

  it('closes the connection before the headers arrive', async () => {
    const server = await startServer();
    const abort = new AbortController();
    const sent = codeOf(send(newClient(), server.url, { signal: abort.signal }));
    const closed = once((await server.next()).request.socket, 'close');
    abort.abort();
    expect(await sent).toBe('ABORT_ERR');
    await closed;
  });

  it('gives the body an error after the headers have arrived', async () => {
    const server = await startServer();
    const abort = new AbortController();
    const sent = send(newClient(), server.url, { signal: abort.signal });
    const { request, response } = await server.next();
    response.write('part');
    const { body } = await sent;
    const closed = once(request.socket, 'close');
    const read = codeOf(text(body));
    abort.abort();
    expect(await read).toBe('ABORT_ERR');
    await closed;
  });

  it('leaves the connection alone once the response has ended', async () => {
    const server = await startServer((_, response) => response.end('body'));
    const client = newClient();
    const abort = new AbortController();
    expect(await text((await send(client, server.url, { signal: abort.signal })).body)).toBe('body');
    abort.abort();
    expect(await text((await send(client, server.url)).body)).toBe('body');
    expect(server.connections.length).toBe(1);
  });
});

describe('HttpClient with silenceTimeoutMs', () => {
  it('rejects with ETIMEDOUT when the headers do not arrive', async () => {
    const server = await startServer();
    const sent = codeOf(send(newClient({ silenceTimeoutMs: 50 }), server.url));
    const closed = once((await server.next()).request.socket, 'close');
    expect(await sent).toBe('ETIMEDOUT');
    await closed;
  });

  it('gives the body the error ETIMEDOUT when no more of it arrives', async () => {
    const server = await startServer((_, response) => void response.write('part'));
    const { body } = await send(newClient({ silenceTimeoutMs: 50 }), server.url);
    const parts: string[] = [];
    const read = (async () => {
      for await (const part of body) parts.push(String(part));
    })();
    expect([await codeOf(read), parts]).toEqual(['ETIMEDOUT', ['part']]);
  });
});

describe('HttpClient.close', () => {
  it('rejects running and waiting requests with ERR_CLIENT_CLOSED, and opens no connection for waiting ones', async () => {
    const server = await startServer();
    const client = new HttpClient({ maxConnections: 1 });
    const underWay = codeOf(send(client, server.url));
    const { request } = await server.next();
    const waiting = codeOf(send(client, server.url));
    const closed = once(request.socket, 'close');
    client.close();
    expect(await Promise.all([underWay, waiting])).toEqual(['ERR_CLIENT_CLOSED', 'ERR_CLIENT_CLOSED']);
    await closed;
    // A connection that the client had opened would reach the server before this one.
    const later = send(newClient(), `${server.url}/later`);
    const { request: next, response } = await server.next();
    response.end();
    await later;
    expect([next.url, server.connections.length]).toEqual(['/later', 2]);
  });

  it('ends the body of a response with ERR_CLIENT_CLOSED', async () => {
    const server = await startServer((_, response) => void response.write('part'));
    const client = new HttpClient();
    const { body } = await send(client, server.url);
    const read = codeOf(text(body));
    client.close();
    expect(await read).toBe('ERR_CLIENT_CLOSED');
  });

  it('closes unused connections', async () => {
    const server = await startServer((_, response) => response.end());
    const client = new HttpClient();
    await text((await send(client, server.url)).body);
    const closed = once(server.connections[0]!, 'close');
    client.close();
    await closed;
  });

  it('refuses later requests', async () => {
    const server = await startServer();
    const client = new HttpClient();
    client.close();
    expect(await codeOf(send(client, server.url))).toBe('ERR_CLIENT_CLOSED');
    expect(server.connections).toEqual([]);
  });
});

describe('decodersOf', () => {
  const decoded = async (encoding: string | undefined, bytes: Buffer): Promise<string> => {
    const server = await startServer((_, response) => {
      if (encoding !== undefined) response.setHeader('content-encoding', encoding);
      response.end(bytes);
    });
    const response = await send(newClient(), server.url);
    const parts: Buffer[] = [];
    const collector = new Writable({
      write(part: Buffer, _, done) {
        parts.push(part);
        done();
      },
    });
    await pipeline([response.body, ...decodersOf(response)!, collector]);
    return Buffer.concat(parts).toString();
  };

  it.each([
    ['gzip', gzipSync('body')],
    ['x-gzip', gzipSync('body')],
    ['GZIP', gzipSync('body')],
    ['deflate', deflateSync('body')],
    ['br', brotliCompressSync('body')],
    ['identity', Buffer.from('body')],
    [undefined, Buffer.from('body')],
  ])('decompresses the encoding %s', async (encoding, bytes) => {
    expect(await decoded(encoding, bytes)).toBe('body');
  });

  it('gives the reader an error for a body that is cut off', async () => {
    expect(await codeOf(decoded('gzip', gzipSync('body').subarray(0, -4)))).toBe('Z_BUF_ERROR');
  });

  it.each(['zstd', 'gzip, br', 'gzipped'])('returns undefined for %s', (encoding) => {
    const response = { headers: { 'content-encoding': encoding } } as unknown as HttpResponse;
    expect(decodersOf(response)).toBeUndefined();
  });
});
