import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
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
  client.call('runInference', { path: { path: '/chat/completions' }, body: { model: 'm', stream: true } }, options);

/** Resolves when a client in this process has read what was written. */
async function afterItIsRead(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
}

/** Runs one streamed request against a service that sends the pieces and then ends, breaks or stalls. */
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
    if (then === 'reset') void afterItIsRead().then(() => socket.resetAndDestroy());
  };
  tally('faults', 1);
  const outcome = await infer(client).catch((error: unknown) => error);
  // A request is never sent again after the first byte of its response.
  expect(service.requests).toHaveLength(1);
  return outcome;
}

const done = 'data: [DONE]\n\n';

describe('ServiceClient.runInference with a streamed reply', () => {
  it.each([
    ['with [DONE]', [piece('Hel'), piece('lo', 'stop'), done]],
    ['without [DONE]', [piece('Hel'), piece('lo', 'stop')]],
    ['without the last line end', [piece('Hel'), piece('lo', 'stop').trimEnd()]],
    ['without finish_reason', [piece('Hel'), piece('lo'), done]],
    ['with comments between events', [': ping\n\n', piece('Hello', 'stop'), ': ping\n\n', done]],
    ['with more after [DONE]', [piece('Hello', 'stop'), done, piece('!')]],
  ])('returns a reply %s', async (_, pieces) => {
    expect(await streamed(pieces, 'end')).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'Hello' } }],
    });
  });

  it('assembles text completions', async () => {
    const part = (text: string, finish_reason: string | null) =>
      `data: ${JSON.stringify({ object: 'text_completion', choices: [{ index: 0, text, finish_reason }] })}\n\n`;
    expect(await streamed([part('Hel', null), part('lo', 'stop'), done], 'end')).toEqual({
      object: 'text_completion',
      choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }],
    });
  });

  // Columns: pieces, what the connection does next, code, retryable, partial text, part of the message.
  it.each([
    ['ends in the middle', [piece('Hel')], 'end', 'network', true, 'Hel', 'ended before it was finished'],
    ['is closed in the middle', [piece('Hel')], 'close', 'network', true, 'Hel', 'broke'],
    ['is reset in the middle', [piece('Hel')], 'reset', 'network', true, 'Hel', 'broke'],
    ['is reset before the first event', [], 'reset', 'network', true, '', 'broke'],
    [
      'ends inside the last event',
      [piece('Hel'), piece('lo', 'stop').slice(0, 40)],
      'end',
      'network',
      true,
      'Hel',
      'ended before',
    ],
    [
      'reports an error',
      [piece('Hel'), 'data: {"error":{"message":"over token-of-user"}}\n\n'],
      'nothing',
      'service_unavailable',
      true,
      'Hel',
      'over [secret]',
    ],
    [
      'reports an error by the name of its event',
      [piece('Hel'), 'event: error\ndata: {"message":"no more"}\n\n'],
      'nothing',
      'service_unavailable',
      true,
      'Hel',
      'no more',
    ],
    [
      'reports an error in another form',
      [piece('Hel'), 'data: {"detail":"gone"}\n\n'],
      'nothing',
      'service_unavailable',
      true,
      'Hel',
      'gone',
    ],
    ['is not JSON', [piece('Hel'), 'data: lo\n\n'], 'nothing', 'bad_response', false, 'Hel', 'not a JSON object'],
    ['has no chunks before [DONE]', [done], 'nothing', 'bad_response', false, '', 'no reply in it'],
    ['is empty', [], 'end', 'network', true, '', 'ended before'],
    [
      'has an endless event',
      [piece('Hel'), 'data: ', 'x'.repeat(5 * 1024 * 1024)],
      'nothing',
      'too_large',
      false,
      'Hel',
      'an event of more than',
    ],
  ] as const)('reports a stream that %s', async (_, pieces, then, code, retryable, partialText, message) => {
    const failure = await streamed([...pieces], then);
    expect(failure).toMatchObject({ code, retryable, partialText, message: expect.stringContaining(message) });
  });

  it('ends a stream that stalls, and closes its connection', async () => {
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
      message: expect.stringContaining('stalled for 100 ms'),
    });
    await closed;
  });

  it('returns the text so far at the deadline and on cancellation, and closes the connection', async () => {
    const { service, client } = await start({ inferenceTimeoutMs: 1_000 });
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

  it('holds the deadline between the events of a stream that has arrived', async () => {
    const now = performance.now.bind(performance);
    let aheadMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
    onTestFinished(() => clock.mockRestore());
    const { service, client } = await start({ inferenceTimeoutMs: 600_000 });
    service.respond = (request) => {
      beginStream(request);
      request.socket.write(chunked(piece('Hel') + piece('lo') + piece('!', 'stop') + done));
    };
    const onText = () => {
      aheadMs = 600_000;
    };
    await expect(infer(client, { onText })).rejects.toMatchObject({ code: 'timeout', partialText: 'Hello' });
  });

  it('accepts a plain response to a streaming request, and a streamed one to a plain request', async () => {
    const { service, client } = await start();
    service.respond = (request) => sendGoodResponse(request);
    expect(await infer(client)).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
    service.respond = (request) => {
      beginStream(request);
      request.socket.write(chunked(piece('Hello', 'stop') + done));
    };
    expect(
      await client.call('runInference', { path: { path: '/chat/completions' }, body: { model: 'm' } }),
    ).toMatchObject({
      choices: [{ message: { content: 'Hello' } }],
    });
  });
});
