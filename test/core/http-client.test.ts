import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  HttpClient,
  type HttpClientOptions,
  type HttpRequest,
  type HttpResponse,
  networkCode,
} from '../../src/core/http/http-client.ts';

import { startRecordingProxy } from '../support/recording-proxy.ts';

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
    for (let count = 0; count < 3; count += 1) {
      await text((await send(client, server.url)).body);
      // undici uses a connection again in the next turn of the event loop.
      await setImmediate();
    }
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
    ['UND_ERR_INVALID_ARG', 'http://127.0.0.1:1', { 'x-name': 'a\nb' }],
  ])('rejects with %s', async (code, url, headers) => {
    expect(await codeOf(send(newClient(), url, { headers }))).toBe(code);
  });

  it('rejects with UND_ERR_SOCKET when the server changes to another protocol', async () => {
    const server = await startServer();
    const sent = codeOf(send(newClient(), server.url));
    const { socket } = (await server.next()).request;
    const closed = once(socket, 'close');
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n');
    expect(await sent).toBe('UND_ERR_SOCKET');
    await closed;
  });

  it('gives the body an error when the connection breaks before its end', async () => {
    const server = await startServer();
    const sent = send(newClient(), server.url);
    const { response } = await server.next();
    response.write('part');
    const { body } = await sent;
    response.destroy();
    expect(await codeOf(text(body))).toBe('UND_ERR_SOCKET');
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

/** The reason of signals; its code is what the requests reject with. */
const cancelled = Object.assign(new Error('cancelled'), { code: 'cancelled' });

describe('HttpClient.send, aborted', () => {
  it('sends nothing when the signal was aborted before', async () => {
    const server = await startServer((_, response) => response.end());
    const client = newClient();
    expect(await codeOf(send(client, server.url, { signal: AbortSignal.abort(cancelled) }))).toBe('cancelled');
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
    abort.abort(cancelled);
    expect(await waiting).toBe('cancelled');
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
    abort.abort(cancelled);
    expect(await sent).toBe('cancelled');
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
    abort.abort(cancelled);
    expect(await read).toBe('cancelled');
    await closed;
  });

  it('leaves the connection alone once the response has ended', async () => {
    const server = await startServer((_, response) => response.end('body'));
    const client = newClient();
    const abort = new AbortController();
    expect(await text((await send(client, server.url, { signal: abort.signal })).body)).toBe('body');
    abort.abort(cancelled);
    await setImmediate();
    expect(await text((await send(client, server.url)).body)).toBe('body');
    expect(server.connections.length).toBe(1);
  });
});

describe('HttpClient with silenceTimeoutMs', () => {
  it('rejects with UND_ERR_HEADERS_TIMEOUT when the headers do not arrive', async () => {
    const server = await startServer();
    const sent = codeOf(send(newClient({ silenceTimeoutMs: 50 }), server.url));
    const closed = once((await server.next()).request.socket, 'close');
    expect(await sent).toBe('UND_ERR_HEADERS_TIMEOUT');
    await closed;
  });

  it('gives the body the error UND_ERR_BODY_TIMEOUT when no more of it arrives', async () => {
    const server = await startServer((_, response) => void response.write('part'));
    const { body } = await send(newClient({ silenceTimeoutMs: 50 }), server.url);
    const parts: string[] = [];
    const read = (async () => {
      for await (const part of body) parts.push(String(part));
    })();
    expect([await codeOf(read), parts]).toEqual(['UND_ERR_BODY_TIMEOUT', ['part']]);
  });
});

describe('HttpClient.close', () => {
  it('rejects running and waiting requests with UND_ERR_DESTROYED, and opens no connection for waiting ones', async () => {
    const server = await startServer();
    const client = new HttpClient({ maxConnections: 1 });
    const running = codeOf(send(client, server.url));
    const { request } = await server.next();
    const waiting = codeOf(send(client, server.url));
    const closed = once(request.socket, 'close');
    client.close();
    expect(await Promise.all([running, waiting])).toEqual(['UND_ERR_DESTROYED', 'UND_ERR_DESTROYED']);
    await closed;
    // A connection that the client had opened would reach the server before this one.
    const later = send(newClient(), `${server.url}/later`);
    const { request: next, response } = await server.next();
    response.end();
    await later;
    expect([next.url, server.connections.length]).toEqual(['/later', 2]);
  });

  it('ends the body of a response with UND_ERR_DESTROYED', async () => {
    const server = await startServer((_, response) => void response.write('part'));
    const client = new HttpClient();
    const { body } = await send(client, server.url);
    const read = codeOf(text(body));
    client.close();
    expect(await read).toBe('UND_ERR_DESTROYED');
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
    expect(await codeOf(send(client, server.url))).toBe('UND_ERR_DESTROYED');
    expect(server.connections).toEqual([]);
  });
});

describe('HttpResponse.body', () => {
  const respondWith = async (encoding: string | undefined, bytes: Buffer): Promise<HttpResponse> => {
    const server = await startServer((_, response) => {
      if (encoding !== undefined) response.setHeader('content-encoding', encoding);
      response.end(bytes);
    });
    return send(newClient(), server.url);
  };

  it.each([
    ['gzip', gzipSync('body')],
    ['x-gzip', gzipSync('body')],
    ['GZIP', gzipSync('body')],
    ['deflate', deflateSync('body')],
    ['br', brotliCompressSync('body')],
    ['identity', Buffer.from('body')],
    [undefined, Buffer.from('body')],
  ])('is decompressed from the encoding %s', async (encoding, bytes) => {
    const { body, unknownEncoding } = await respondWith(encoding, bytes);
    expect([await text(body), unknownEncoding]).toEqual(['body', undefined]);
  });

  it('has an error if the compressed data is cut off', async () => {
    const { body } = await respondWith('gzip', gzipSync('body').subarray(0, -4));
    expect(await codeOf(text(body))).toBe('Z_BUF_ERROR');
  });

  it.each(['zstd', 'gzip, br', 'gzipped'])('is left as it is in the encoding %s', async (encoding) => {
    const { body, unknownEncoding } = await respondWith(encoding, Buffer.from('body'));
    expect([await text(body), unknownEncoding]).toEqual(['body', encoding]);
  });
});

describe('HttpClient through a proxy', () => {
  const secureUrl = 'https://service.example:8443/a?b=c';

  it('sends a request for an http address to the proxy, with its credentials', async () => {
    const proxy = await startRecordingProxy();
    const server = await startServer((request, response) => {
      const { method, url, headers } = request;
      response.end(JSON.stringify([method, url, headers.host]));
    });
    const { port } = new URL(server.url);
    const client = newClient({ proxies: { httpProxy: proxy.url.replace('//', '//ada:p%40ss@') } });
    const response = await send(client, `http://service.example:${port}/a?b=c`);
    expect(JSON.parse(await text(response.body))).toEqual(['GET', '/a?b=c', `service.example:${port}`]);
    expect(response.proxy).toBe(proxy.url);
    expect(proxy.requestLines).toEqual([
      `GET http://service.example:${port}/a?b=c Basic ${Buffer.from('ada:p@ss').toString('base64')}`,
    ]);
  });

  it('opens a tunnel for an https address, which alone sees the credentials', async () => {
    const proxy = await startRecordingProxy();
    const server = await startServer();
    const { port } = new URL(server.url);
    const client = newClient({ proxies: { httpsProxy: proxy.url.replace('//', '//ada:pass@') } });
    // The server speaks no TLS, so the tunnel is all there is.
    const error: Error = await send(client, `https://service.example:${port}`).catch((error) => error);
    expect(error.message).toContain(`, through the proxy ${proxy.url}`);
    expect(proxy.requestLines).toEqual([`CONNECT service.example:${port} Basic ${btoa('ada:pass')}`]);
  });

  it('sends directly to this machine and to the hosts of NO_PROXY', async () => {
    const proxy = await startRecordingProxy();
    const server = await startServer((_, response) => response.end('direct'));
    const { port } = new URL(server.url);
    const client = newClient({ proxies: { httpProxy: proxy.url, noProxy: '0.0.0.0' } });
    for (const host of ['127.0.0.1', '0.0.0.0']) {
      const response = await send(client, `http://${host}:${port}`);
      expect([await text(response.body), response.proxy]).toEqual(['direct', undefined]);
    }
    expect(proxy.requestLines).toEqual([]);
  });

  it.each([407, 403, 502])('rejects with ERR_PROXY when the proxy refuses a tunnel with %s', async (status) => {
    const proxy = await startRecordingProxy();
    proxy.refusal = status;
    const client = newClient({ proxies: { httpsProxy: proxy.url.replace('//', '//ada:p4ssword@') } });
    const error: NodeJS.ErrnoException = await send(client, secureUrl).catch((error) => error);
    expect(error.code).toBe('ERR_PROXY');
    expect(error.message).toMatch(new RegExp(`^the proxy ${proxy.url} failed: .*${status}`));
    expect(inspect(error)).not.toContain('p4ssword');
  });

  it('rejects with ERR_PROXY when the proxy wants credentials for an http address', async () => {
    const proxy = await startRecordingProxy();
    proxy.refusal = 407;
    const client = newClient({ proxies: { httpProxy: proxy.url } });
    await expect(send(client, 'http://service.example')).rejects.toMatchObject({
      code: 'ERR_PROXY',
      message: `the proxy ${proxy.url} failed: it requires another user name and password (status 407)`,
    });
  });

  it.each(['http', 'https'])('rejects with ERR_PROXY for an %s address when the proxy is down', async (scheme) => {
    const proxies = { httpProxy: 'http://127.0.0.1:1', httpsProxy: 'http://127.0.0.1:1' };
    await expect(send(newClient({ proxies }), `${scheme}://service.example`)).rejects.toMatchObject({
      code: 'ERR_PROXY',
      message: 'the proxy http://127.0.0.1:1 failed: connect ECONNREFUSED 127.0.0.1:1',
    });
  });

  it('rejects with the reason of the signal while the proxy does not answer', async () => {
    const proxy = await startRawServer(() => {});
    const client = newClient({ proxies: { httpsProxy: proxy.url } });
    const abort = new AbortController();
    const sent = codeOf(send(client, secureUrl, { signal: abort.signal }));
    await proxy.requested;
    abort.abort(cancelled);
    expect(await sent).toBe('cancelled');
  });
});

/** Starts a server that writes to the socket of each request by hand. */
async function startRawServer(
  respond: (socket: Socket, count: number) => void,
): Promise<{ url: string; requested: Promise<void> }> {
  let count = 0;
  let onRequest = (): void => {};
  const requested = new Promise<void>((resolve) => (onRequest = resolve));
  const sockets: Socket[] = [];
  const server = createNetServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    socket.on('data', () => {
      count += 1;
      onRequest();
      respond(socket, count);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requested };
}

describe('HttpClient.send, answered against HTTP', () => {
  const good = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood';
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

  // A failure outside of the request would end the run of the tests as an uncaught exception.
  it.each([
    ['100 Continue, unasked', `HTTP/1.1 100 Continue\r\n\r\n${good}`, 'UND_ERR_SOCKET'],
    ['a change of protocol', `HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n`, 'UND_ERR_SOCKET'],
    ['another protocol', 'SSH-2.0-OpenSSH_9\r\n', 'HPE_INVALID'],
    [
      'two content lengths',
      'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\ngood',
      'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
    ],
    ['a negative content length', 'HTTP/1.1 200 OK\r\ncontent-length: -4\r\n\r\ngood', 'HPE_INVALID'],
    ['a header of 100 kB', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`, 'UND_ERR_HEADERS_OVERFLOW'],
    ['a chunk without a length', `${chunked}good\r\n`, 'HPE_INVALID'],
    ['an early end', `${chunked}4\r\ngood\r\n`, 'UND_ERR_SOCKET'],
    ['nothing', '', 'UND_ERR_SOCKET'],
  ])('fails that one request for %s', async (_, bytes, code) => {
    const { url } = await startRawServer((socket, count) => socket.end(count === 1 ? bytes : good));
    const client = newClient();
    const failed = send(client, url).then(({ body }) => text(body));
    expect(await failed.catch(networkCode)).toBe(code);
    expect(await text((await send(client, url)).body)).toBe('good');
  });

  it.each([
    ['early hints before', `HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${good}`],
    ['a second response after', good + good],
    ['bytes after', `${good}${'x'.repeat(100_000)}`],
    [
      'headers with the names of members of objects in',
      good.replace('\r\n\r\n', '\r\n__proto__: x\r\nconstructor: x\r\n\r\n'),
    ],
  ])('reads a response with %s it', async (_, bytes) => {
    const { url } = await startRawServer((socket, count) => socket.write(count === 1 ? bytes : good));
    const client = newClient();
    for (const _ of [1, 2]) {
      expect(await text((await send(client, url)).body)).toBe('good');
      await setImmediate();
    }
  });

  it('throws nothing when a body without listeners is destroyed', async () => {
    const server = await startServer((_, response) => void response.write('part'));
    const { body } = await send(newClient(), server.url);
    const closed = new Promise((resolve) => body.once('close', resolve));
    body.destroy();
    await closed;
  });
});
