import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { bearer, startTestService } from '../../support/embedded-service.ts';
import { startRecordingProxy } from '../../support/recording-proxy.ts';

type Reply = (request: IncomingMessage, response: ServerResponse, body: string) => void | Promise<void>;
let reply: Reply = () => {};
const server = createServer(async (request, response) => reply(request, response, await text(request)));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/`;
const service = await startTestService({ modelProvider: { url, key: 'provider-key' } });

function signalOnce(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Requests a stream. */
function streamed(signal?: AbortSignal): Promise<Response> {
  return fetch(`${service.running.url}/inference/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: bearer },
    body: JSON.stringify({ model: 'm', stream: true }),
    ...(signal && { signal }),
  });
}

describe('ModelProvider', () => {
  it('forwards a request without the members and headers meant for heddle, and passes the response through unchanged', async () => {
    let seen: { method?: string; url?: string; headers: IncomingMessage['headers']; body: unknown } | undefined;
    reply = (request, response, body) => {
      seen = { method: request.method, url: request.url, headers: request.headers, body: JSON.parse(body) };
      response.writeHead(200, { 'Content-Type': 'application/json', 'X-Request-Id': 'r1', 'Set-Cookie': 'a=b' });
      response.end('{"choices": [],   "odd":true}');
    };
    const answer = await fetch(`${service.running.url}/inference/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: bearer, cookie: 'secret=1' },
      body: JSON.stringify({
        model: 'm',
        messages: [{ role: 'user', content: 'Hi {name}' }],
        template_vars: { name: 'Ada' },
        temperature: null,
        timeout: 30,
        api_version: '2',
        extra_headers: {
          'X-Trace': 't',
          Authorization: 'Bearer stolen',
          Host: 'evil',
          'Content-Length': '1',
          Cookie: 'c',
        },
      }),
    });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('{"choices": [],   "odd":true}');
    expect(answer.headers.get('x-request-id')).toBe('r1');
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(seen).toMatchObject({ method: 'POST', url: '/api/v1/chat/completions' });
    expect(seen?.body).toEqual({ model: 'm', messages: [{ role: 'user', content: 'Hi Ada' }], temperature: null });
    expect(seen?.headers).toMatchObject({ authorization: 'Bearer provider-key', 'x-trace': 't' });
    expect(seen?.headers.host).toBe(new URL(url).host);
    expect(seen?.headers.cookie).toBeUndefined();
  });

  it('forwards members that the interface does not name, and null', async () => {
    let seen: unknown;
    reply = (_, response, body) => {
      seen = JSON.parse(body);
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    };
    const extras = { stream_options: { include_usage: true }, reasoning_effort: 'low', top_k: 5, tool_choice: null };
    const nulls = { extra_headers: null, template_vars: null, prompt: null };
    const messages = [{ role: 'user', content: 'a {b}' }];
    expect(await service.infer({ model: 'm', messages, ...extras, ...nulls })).toMatchObject({ status: 200 });
    expect(seen).toEqual({ model: 'm', messages, ...extras });
  });

  it('refuses an extra header that cannot be sent', async () => {
    expect(await service.infer({ model: 'm', extra_headers: { 'X-A': 'a\r\nX-B: b' } })).toMatchObject({
      status: 400,
      body: { reason: 'extra_headers: invalid X-A header' },
    });
  });

  it('passes error responses through', async () => {
    reply = (_, response) => {
      response.writeHead(429, { 'Content-Type': 'application/json', 'Retry-After': '7' });
      response.end('{"error":{"message":"slow down"}}');
    };
    const answer = await service.infer({ model: 'm' });
    expect(answer).toMatchObject({ status: 429, body: { error: { message: 'slow down' } } });
    expect(answer.headers.get('retry-after')).toBe('7');
  });

  it.each([
    ['plain', (text: string) => Buffer.from(text), {}],
    ['compressed with gzip', (text: string) => gzipSync(text), { 'Content-Encoding': 'gzip' }],
    ['compressed with brotli', (text: string) => brotliCompressSync(text), { 'Content-Encoding': 'br' }],
    ['compressed with deflate', (text: string) => deflateSync(text), { 'Content-Encoding': 'deflate' }],
  ])('removes its key from the headers and the body of a response that is %s', async (_, encode, headers) => {
    reply = (request, response) => {
      const key = request.headers.authorization!;
      response.writeHead(401, { 'Content-Type': 'application/json', 'X-Request-Id': `for ${key}`, ...headers });
      response.end(encode(JSON.stringify({ error: { message: `Incorrect key ${key}, ${btoa(key)}` } })));
    };
    const answer = await service.infer({ model: 'm', extra_headers: { 'Accept-Encoding': 'gzip' } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('x-request-id')).toBe('for Bearer [secret]');
    expect(answer.headers.get('content-encoding')).toBeNull();
    expect(answer.body.error.message).toBe('Incorrect key Bearer [secret], QmVhcmVyIH[secret]Q==');
  });

  it('removes its key from a stream, however the bytes are split', async () => {
    const event = 'data: {"error":"Incorrect key provider-key, or provider-kex"}\n\n';
    for (let at = 1; at < event.length; at += 1) {
      reply = async (_, response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write(event.slice(0, at));
        await new Promise((resolve) => setImmediate(resolve));
        response.end(event.slice(at));
      };
      const answer = await fetch(`${service.running.url}/inference/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: bearer },
        body: JSON.stringify({ model: 'm', stream: true }),
      });
      expect(await answer.text()).toBe('data: {"error":"Incorrect key [secret], or provider-kex"}\n\n');
    }
  });

  it('takes the proxy for the address of the model provider', async () => {
    const proxy = await startRecordingProxy();
    const distant = url.replace('127.0.0.1', 'provider.example');
    const modelProvider = { url: distant, key: 'provider-key', proxies: { httpProxy: proxy.url } };
    const proxied = await startTestService({ modelProvider });
    reply = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"choices":[]}');
    };
    expect(await proxied.infer({ model: 'm' })).toMatchObject({ status: 200, body: { choices: [] } });
    expect(proxy.requestLines).toEqual([`POST ${distant}chat/completions -`]);
  });

  it('refuses a response in an encoding in which the key cannot be found', async () => {
    reply = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'zstd' });
      response.end('{}');
    };
    expect(await service.infer({ model: 'm' })).toMatchObject({
      status: 502,
      body: { error: { type: 'model_provider_encoding' } },
    });
  });

  it('lists the models of the model provider', async () => {
    reply = (request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ object: 'list', data: [{ id: `${request.method} ${request.url}` }] }));
    };
    const { body } = await service.send('GET', '/inference/v1/models', bearer);
    expect(body.data).toEqual([{ id: 'GET /api/v1/models' }]);
  });

  it('reads one model of the model provider, with the slashes of its id encoded', async () => {
    reply = (request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ id: `${request.method} ${request.url}` }));
    };
    for (const id of ['team/m:7b', 'team%2Fm:7b']) {
      const { body } = await service.send('GET', `/inference/v1/models/${id}`, bearer);
      expect(body).toEqual({ id: 'GET /api/v1/models/team%2Fm:7b' });
    }
  });

  it('forwards a stream chunk by chunk', async () => {
    let finish = () => {};
    reply = (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: 1\n\n');
      finish = () => response.end('data: [DONE]\n\n');
    };
    const answer = await streamed();
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect(await reader.read()).toEqual({ done: false, value: 'data: 1\n\n' });
    finish();
    expect(await reader.read()).toEqual({ done: false, value: 'data: [DONE]\n\n' });
    expect((await reader.read()).done).toBe(true);
  });

  it.each(['before the first byte', 'during the stream'])(
    'cancels the request to the model provider when the client disconnects %s',
    async (when) => {
      const arrived = signalOnce();
      const gone = signalOnce();
      reply = (_, response) => {
        response.on('close', gone.resolve);
        if (when === 'during the stream')
          response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
        arrived.resolve();
      };
      const cancel = new AbortController();
      const started = signalOnce();
      const received = async () => {
        const response = await streamed(cancel.signal);
        for await (const _ of response.body!) started.resolve();
      };
      const answer = expect(received()).rejects.toThrow();
      await (when === 'during the stream' ? started : arrived).promise;
      cancel.abort();
      await gone.promise;
      await answer;
    },
  );

  it('breaks off the response when the model provider does, and adds nothing to it', async () => {
    const read = signalOnce();
    reply = async (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: 1\n\n');
      await read.promise;
      response.destroy();
    };
    const reader = (await streamed()).body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe('data: 1\n\n');
    read.resolve();
    await expect(reader.read()).rejects.toThrow();
  });

  it('does not follow a redirect', async () => {
    reply = (_, response) => void response.writeHead(307, { Location: 'http://127.0.0.1:1/' }).end();
    expect(await service.infer({ model: 'm' })).toMatchObject({
      status: 502,
      body: { error: { type: 'model_provider_redirect' } },
    });
  });

  it('responds with 504 when the model provider exceeds the timeout of the request', async () => {
    reply = () => {};
    expect(await service.infer({ model: 'm', timeout: 0.1 })).toMatchObject({
      status: 504,
      body: { error: { type: 'model_provider_timeout' } },
    });
  });

  it('responds with 502 when the model provider is unreachable', async () => {
    const lonely = await startTestService({ modelProvider: { url: 'http://127.0.0.1:1/v1' } });
    expect(await lonely.infer({ model: 'm' })).toMatchObject({
      status: 502,
      body: { error: { type: 'model_provider_unreachable', message: 'The model provider cannot be reached.' } },
    });
  });
});
