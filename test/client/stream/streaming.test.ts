import { expect, onTestFinished, test } from 'vitest';
import { ServiceClient, type ServiceClientOptions } from '../../../src/client/service-client.ts';
import {
  beginStream,
  chunked,
  type FakeService,
  sendGoodResponse,
  startFakeService,
} from '../../support/fake-service.ts';
import { tally } from '../../support/tally.ts';

async function start(
  options: Partial<ServiceClientOptions> = {},
): Promise<{ service: FakeService; client: ServiceClient }> {
  const service = await startFakeService();
  const client = new ServiceClient({
    connect: async () => ({ baseUrl: service.url, bearer: 'token-of-user' }),
    userAgent: 'test',
    redact: (text) => text.replaceAll('token-of-user', '[secret]'),
    ...options,
  });
  onTestFinished(async () => {
    await client.close();
    await service.stop();
  });
  return { service, client };
}

const piece = (content: string, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content }, finish_reason }] })}\n\n`;
const infer = (client: ServiceClient, options = {}) =>
  client.runInference('/chat/completions', { model: 'm', stream: true }, options);

/** Sends the pieces, and what follows them, as the answer to one streamed request. */
async function streamed(
  pieces: string[],
  then: 'end' | 'reset' | 'close' | 'nothing',
  options: Partial<ServiceClientOptions> = {},
) {
  const { service, client } = await start(options);
  service.respond = (request) => {
    beginStream(request);
    const { socket } = request;
    for (const text of pieces) socket.write(chunked(text));
    if (then === 'end') socket.write(chunked(''));
    if (then === 'close') socket.end();
    if (then === 'reset') setTimeout(() => socket.resetAndDestroy(), 50);
  };
  tally('faults', 1);
  const outcome = await infer(client).catch((error: unknown) => error);
  // Never again after the first byte.
  expect(service.requests).toHaveLength(1);
  return outcome;
}

const done = 'data: [DONE]\n\n';

test.each([
  ['with [DONE]', [piece('Hel'), piece('lo', 'stop'), done]],
  ['without [DONE]', [piece('Hel'), piece('lo', 'stop')]],
  ['without the last line end', [piece('Hel'), piece('lo', 'stop').trimEnd()]],
  ['without finish_reason', [piece('Hel'), piece('lo'), done]],
  ['with comments only between', [': ping\n\n', piece('Hello', 'stop'), ': ping\n\n', done]],
  ['with more after [DONE]', [piece('Hello', 'stop'), done, piece('!')]],
])('a reply %s is whole', async (_, pieces) => {
  expect(await streamed(pieces, 'end')).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { content: 'Hello' } }],
  });
});

test('text completions are joined too', async () => {
  const part = (text: string, finish_reason: string | null) =>
    `data: ${JSON.stringify({ object: 'text_completion', choices: [{ index: 0, text, finish_reason }] })}\n\n`;
  expect(await streamed([part('Hel', null), part('lo', 'stop'), done], 'end')).toEqual({
    object: 'text_completion',
    choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }],
  });
});

// What arrives, how it ends, and what is told of it.
test.each([
  ['ends in the middle', [piece('Hel')], 'end', 'network', true, 'Hel', 'ended before it was finished'],
  ['is closed in the middle', [piece('Hel')], 'close', 'network', true, 'Hel', 'broke'],
  ['is reset in the middle', [piece('Hel')], 'reset', 'network', true, 'Hel', 'broke'],
  ['is reset before the first event', [], 'reset', 'network', true, '', 'broke'],
  [
    'is cut in the last event',
    [piece('Hel'), piece('lo', 'stop').slice(0, 40)],
    'end',
    'network',
    true,
    'Hel',
    'ended before',
  ],
  [
    'tells an error',
    [piece('Hel'), 'data: {"error":{"message":"over token-of-user"}}\n\n'],
    'nothing',
    'service_unavailable',
    true,
    'Hel',
    'over [secret]',
  ],
  [
    'tells an error by its event',
    [piece('Hel'), 'event: error\ndata: {"message":"no more"}\n\n'],
    'nothing',
    'service_unavailable',
    true,
    'Hel',
    'no more',
  ],
  [
    'tells an error in another form',
    [piece('Hel'), 'data: {"detail":"gone"}\n\n'],
    'nothing',
    'service_unavailable',
    true,
    'Hel',
    'gone',
  ],
  ['is no JSON', [piece('Hel'), 'data: lo\n\n'], 'nothing', 'bad_response', false, 'Hel', 'not a JSON object'],
  ['has nothing in it', [done], 'nothing', 'bad_response', false, '', 'no reply in it'],
  ['is empty', [], 'end', 'network', true, '', 'ended before'],
  [
    'has an event without end',
    [piece('Hel'), 'data: ', 'x'.repeat(5 * 1024 * 1024)],
    'nothing',
    'too_large',
    false,
    'Hel',
    'an event of more than',
  ],
  [
    'has no end',
    [piece('Hel'), ...Array(33).fill(`: ${'x'.repeat(1024 * 1024)}\n`)],
    'nothing',
    'too_large',
    false,
    'Hel',
    'is larger than',
  ],
] as const)('a stream that %s', async (_, pieces, then, code, retryable, partialText, message) => {
  const failure = await streamed([...pieces], then);
  expect(failure).toMatchObject({ code, retryable, partialText, message: expect.stringContaining(message) });
});

test('a stream that stands still is ended, and its connection closed', async () => {
  const { service, client } = await start({ idleTimeoutMs: 100 });
  let closed: Promise<unknown> | undefined;
  service.respond = (request) => {
    closed = new Promise((resolve) => request.socket.once('close', resolve));
    beginStream(request);
    request.socket.write(chunked(piece('Hel')));
  };
  await expect(infer(client)).rejects.toMatchObject({
    code: 'timeout',
    partialText: 'Hel',
    message: expect.stringContaining('stood still for 100 ms'),
  });
  await closed;
});

test('comments keep a stream alive, and waiting for its first byte is no standing still', async () => {
  const { service, client } = await start({ idleTimeoutMs: 150 });
  service.respond = async (request) => {
    beginStream(request);
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (let beat = 0; beat < 6; beat += 1) {
      request.socket.write(chunked(': still thinking\n\n'));
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    request.socket.write(chunked(piece('Hello', 'stop') + done));
  };
  expect(await infer(client)).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
});

test('the deadline and a cancellation give the text so far, and close the connection', async () => {
  const { service, client } = await start({ inferenceTimeoutMs: 300 });
  const cancel = new AbortController();
  service.respond = (request) => {
    beginStream(request);
    request.socket.write(chunked(piece('Hel')));
  };
  await expect(infer(client)).rejects.toMatchObject({ code: 'timeout', partialText: 'Hel' });
  await expect(infer(client, { signal: cancel.signal, onText: () => cancel.abort() })).rejects.toMatchObject({
    code: 'cancelled',
    partialText: 'Hel',
  });
  for (const { socket } of service.requests) {
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  }
});

test('a streamed request that is answered in one piece, and one in one piece that is streamed', async () => {
  const { service, client } = await start();
  service.respond = (request) => sendGoodResponse(request);
  expect(await infer(client)).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
  service.respond = (request) => {
    beginStream(request);
    request.socket.write(chunked(piece('Hello', 'stop') + done));
  };
  expect(await client.runInference('/chat/completions', { model: 'm' })).toMatchObject({
    choices: [{ message: { content: 'Hello' } }],
  });
});
