import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, expect, test } from 'vitest';
import { bearer, startTestService } from '../../support/embedded-service.ts';

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

test('a request goes on without what is heddle’s own, and the answer comes back as it is', async () => {
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

test('a header that cannot be sent is refused', async () => {
  expect(await service.infer({ model: 'm', extra_headers: { 'X-A': 'a\r\nX-B: b' } })).toMatchObject({
    status: 400,
    body: { reason: 'extra_headers: invalid X-A header' },
  });
});

test('errors are passed through', async () => {
  reply = (_, response) => {
    response.writeHead(429, { 'Content-Type': 'application/json', 'Retry-After': '7' });
    response.end('{"error":{"message":"slow down"}}');
  };
  const answer = await service.infer({ model: 'm' });
  expect(answer).toMatchObject({ status: 429, body: { error: { message: 'slow down' } } });
  expect(answer.headers.get('retry-after')).toBe('7');
});

test('models come from the model provider', async () => {
  reply = (request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ object: 'list', data: [{ id: `${request.method} ${request.url}` }] }));
  };
  const { body } = await service.send('GET', '/inference/v1/models', bearer);
  expect(body.data).toEqual([{ id: 'GET /api/v1/models' }]);
});

test('a stream arrives piece by piece, not at its end', async () => {
  let finish = () => {};
  reply = (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write('data: 1\n\n');
    finish = () => response.end('data: [DONE]\n\n');
  };
  const answer = await fetch(`${service.running.url}/inference/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: bearer },
    body: JSON.stringify({ model: 'm', stream: true }),
  });
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect(await reader.read()).toEqual({ done: false, value: 'data: 1\n\n' });
  finish();
  expect(await reader.read()).toEqual({ done: false, value: 'data: [DONE]\n\n' });
  expect((await reader.read()).done).toBe(true);
});

test.each(['before the first byte', 'within the stream'])(
  'a client that goes away %s ends the request at the model provider',
  async (when) => {
    const arrived = signalOnce();
    const gone = signalOnce();
    reply = (_, response) => {
      response.on('close', gone.resolve);
      if (when === 'within the stream')
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
      arrived.resolve();
    };
    const cancel = new AbortController();
    const answer = fetch(`${service.running.url}/inference/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: bearer },
      body: JSON.stringify({ model: 'm', stream: true }),
      signal: cancel.signal,
    }).then((response) => response.text());
    answer.catch(() => {});
    await arrived.promise;
    await new Promise((resolve) => setTimeout(resolve, 50));
    cancel.abort();
    await gone.promise;
    await expect(answer).rejects.toThrow();
  },
);

test('a model provider that breaks off breaks the answer off, with nothing added to it', async () => {
  reply = (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write('data: 1\n\n');
    setTimeout(() => response.destroy(), 50);
  };
  const answer = await fetch(`${service.running.url}/inference/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: bearer },
    body: JSON.stringify({ model: 'm', stream: true }),
  });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toBe('data: 1\n\n');
  await expect(reader.read()).rejects.toThrow();
});

test('a redirect is not followed', async () => {
  reply = (_, response) => void response.writeHead(307, { Location: 'http://127.0.0.1:1/' }).end();
  expect(await service.infer({ model: 'm' })).toMatchObject({
    status: 502,
    body: { error: { type: 'model_provider_redirect' } },
  });
});

test('a model provider that is slower than the timeout asked for', async () => {
  reply = () => {};
  expect(await service.infer({ model: 'm', timeout: 0.1 })).toMatchObject({
    status: 504,
    body: { error: { type: 'model_provider_timeout' } },
  });
});

test('a model provider that is not there', async () => {
  const lonely = await startTestService({ modelProvider: { url: 'http://127.0.0.1:1/v1' } });
  expect(await lonely.infer({ model: 'm' })).toMatchObject({
    status: 502,
    body: { error: { type: 'model_provider_unreachable', message: 'The model provider cannot be reached.' } },
  });
});
