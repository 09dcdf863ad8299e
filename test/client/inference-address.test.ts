import { describe, expect, it, onTestFinished } from 'vitest';
import { ServiceClient, type ServiceClientOptions } from '../../src/client/service-client.ts';
import type { McpCallScope, RequestStart } from '../../src/core/observer.ts';
import { createClient } from '../../src/library.ts';
import {
  beginStream,
  chunked,
  type FakeService,
  type FakeServiceOptions,
  sendResponse,
  startFakeService,
} from '../support/fake-service.ts';
import { freePort } from '../support/free-port.ts';

const credentials = { username: 'u', password: 'p', token: 'token-of-user' };

interface Setup {
  service: FakeService;
  inference: FakeService;
  client: ServiceClient;
}

/** Starts a service, another one for its inference at `path`, and a client of both. */
async function start(path = '/v1', options: Partial<ServiceClientOptions> = {}): Promise<Setup> {
  const fakeOptions: FakeServiceOptions = { credentials };
  const [service, inference] = await Promise.all([startFakeService(fakeOptions), startFakeService(fakeOptions)]);
  const { username, password, token } = credentials;
  const client = new ServiceClient({
    connect: async () => ({
      baseUrl: service.url,
      inferenceUrl: inference.url + path,
      basic: { username, password },
      bearer: token,
    }),
    userAgent: 'test',
    redact: (text) => text.replaceAll(token, '[secret]'),
    ...options,
  });
  onTestFinished(() => client.close());
  return { service, inference, client };
}

const body = { model: 'm', messages: [] };

describe('ServiceClient with a separate inference URL', () => {
  it('sends inference there, and everything else to the base URL', async () => {
    const { service, inference, client } = await start();
    expect(await client.call('runInference', { path: { path: '/chat/completions' }, body })).toMatchObject({
      id: 'r1',
    });
    expect(await client.call('listModels', {})).toMatchObject({ data: [{ id: 'm' }, {}] });
    await client.call('readCall', { body: { project_id: 'a/b', id: 'c' } });
    expect(inference.requestLines()).toEqual([
      'POST /v1/chat/completions Bearer token-of-user',
      'GET /v1/models Bearer token-of-user',
    ]);
    expect(service.requestLines()).toEqual(['POST /call/read Basic dTpw']);
  });

  it.each([
    ['', '/models'],
    ['/openai/v1beta', '/openai/v1beta/models'],
    ['/%7Bpath%7D', '/%7Bpath%7D/models'],
  ])('keeps the path of the inference URL: "%s"', async (path, requested) => {
    const { inference, client } = await start(path);
    inference.respond = (request) => sendResponse(request, 200, { data: [] });
    await client.call('listModels', {});
    expect(inference.requests.map((request) => request.path)).toEqual([requested]);
  });

  it('keeps requests below the path of the inference URL', async () => {
    const { inference, client } = await start();
    await expect(client.call('runInference', { path: { path: '/../admin' }, body })).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
    expect(inference.requests).toEqual([]);
  });

  it('names the request that was sent and the inference URL in errors, and no secret', async () => {
    const { inference, client } = await start();
    inference.respond = (request) => sendResponse(request, 401, { reason: `bad ${credentials.token}` });
    await expect(client.call('listModels', {})).rejects.toMatchObject({
      code: 'unauthorized',
      message: 'The service rejected the credentials (Bearer), status 401, on GET /v1/models: "bad [secret]".',
    });
    inference.respond = (request) => sendResponse(request, 302, '', { location: 'https://elsewhere.example' });
    await expect(client.call('runInference', { path: { path: '/chat/completions' }, body })).rejects.toMatchObject({
      code: 'bad_response',
      message:
        'The service sent a redirect, which is not followed with credentials, status 302, on POST /v1/chat/completions.',
      hint: 'Ask the user to set the inference URL to the real address of the service.',
    });
    inference.respond = (request) => sendResponse(request, 200, `<h1>${credentials.token}</h1>`);
    await expect(client.call('listModels', {})).rejects.toMatchObject({
      code: 'bad_response',
      message:
        'The service answered GET /v1/models with status 200, but the body is not JSON. It starts with "<h1>[secret]</h1>"',
      hint: 'Ask the user to check that the inference URL points to the API of the service, not a web page or a proxy.',
    });
  });

  it('names the origin of the inference URL if it cannot be reached', async () => {
    const port = await freePort();
    const { client } = await start('', {
      connect: async () => ({
        baseUrl: 'https://own.example',
        inferenceUrl: `http://127.0.0.1:${port}/v1`,
        bearer: credentials.token,
      }),
    });
    await expect(client.call('runInference', { path: { path: '/chat/completions' }, body })).rejects.toMatchObject({
      code: 'network',
      message: expect.stringContaining(
        `No complete response from http://127.0.0.1:${port} to POST /v1/chat/completions: `,
      ),
      hint: 'Nothing listens there. Ask the user to start the service (`heddle service start` if it is one of heddle), or to check the inference URL with `heddle doctor`; then try again.',
    });
  });

  it('names the origin of the inference URL if the token is missing', async () => {
    const { client } = await start('', {
      connect: async () => ({ baseUrl: 'https://own.example', inferenceUrl: 'https://llm.example/v1' }),
    });
    await expect(client.call('listModels', {})).rejects.toMatchObject({
      code: 'credentials_missing',
      message: 'No bearer token for https://llm.example: nothing was sent.',
    });
  });

  it('retries requests, and reports each attempt with the address it went to', async () => {
    const { inference, client } = await start();
    inference.nextStatuses = [503];
    const started: RequestStart[] = [];
    let retries = 0;
    const scope: McpCallScope = {
      log: () => {},
      headers: { 'x-request-id': 'r' },
      observer: {
        request(request) {
          started.push(request);
          return { end: () => {} };
        },
        end: () => {},
      },
      onRetry: () => {
        retries += 1;
      },
    };
    await client.forToolCall(scope).call('listModels', {});
    const attempt = { operation: 'listModels', method: 'GET', baseUrl: inference.url, template: '/v1/models' };
    expect(started).toEqual([
      { ...attempt, attempt: 1 },
      { ...attempt, attempt: 2 },
    ]);
    expect(retries).toBe(1);
    expect(inference.requests.map(({ headers }) => headers['x-request-id'])).toEqual(['r', 'r']);
  });

  it('applies the time limit of inference, and names the request that was sent', async () => {
    const { inference, client } = await start('/v1', { timeoutMs: 60_000, inferenceTimeoutMs: 100 });
    inference.respond = () => {};
    await expect(client.call('runInference', { path: { path: '/chat/completions' }, body })).rejects.toMatchObject({
      code: 'timeout',
      message: 'POST /v1/chat/completions got no complete response within 100 ms.',
    });
  });

  it('reads a stream from the inference URL', async () => {
    const { inference, client } = await start();
    inference.respond = (request) => {
      beginStream(request);
      const chunk = { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }] };
      request.socket.write(chunked(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`));
      request.socket.write(chunked(''));
    };
    const reply = await client.call('runInference', {
      path: { path: '/chat/completions' },
      body: { ...body, stream: true },
    });
    expect(reply).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
  });
});

describe('ServiceClient with a project for inference', () => {
  it('names the project in a header', async () => {
    const { inference, service, client } = await start();
    await client.call('runInference', { path: { path: '/chat/completions' }, body }, { project: 'team/app' });
    await client.call('listModels', {}, { project: 'team/app' });
    await client.call('listModels', {});
    await client.call('readCall', { body: { project_id: 'team/app', id: 'c' } });
    expect(inference.requests.map(({ headers }) => headers['openai-project'])).toEqual([
      'team/app',
      'team/app',
      undefined,
    ]);
    expect(service.requests.map(({ headers }) => headers['openai-project'])).toEqual([undefined]);
  });

  it.each(['team/späti', 'チーム/app', 'team/app\r\nx: y', ''])('leaves the header out for %j', async (project) => {
    const { inference, client } = await start();
    await client.call('runInference', { path: { path: '/chat/completions' }, body }, { project });
    await client.call('listModels', {}, { project });
    expect(inference.requests.map(({ headers }) => [headers['openai-project'], headers.x])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });
});

describe('createClient', () => {
  it('sends inference to the inference URL', async () => {
    const [service, inference] = await Promise.all([startFakeService(), startFakeService()]);
    const { token } = credentials;
    const client = createClient({ baseUrl: service.url, inferenceUrl: `${inference.url}/v1/`, token });
    onTestFinished(() => client.close());
    await client.call('listModels', {});
    expect(inference.requestLines()).toEqual(['GET /v1/models Bearer token-of-user']);
    expect(() => createClient({ baseUrl: service.url, inferenceUrl: 'llm.example' })).toThrow(
      '--inference-url must be an http or https URL.',
    );
  });
});
