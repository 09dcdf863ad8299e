import { getEventListeners } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type RequestOptions, ServiceClient, type ServiceClientOptions } from '../../src/client/service-client.ts';
import { type FakeService, sendGoodResponse, sendResponse, startFakeService } from '../support/fake-service.ts';

async function start(
  options: Partial<ServiceClientOptions> = {},
): Promise<{ service: FakeService; client: ServiceClient }> {
  const service = await startFakeService();
  const client = new ServiceClient({
    connect: async () => ({ baseUrl: service.url, basic: { username: 'u', password: 'p' }, bearer: 't' }),
    userAgent: 'test',
    ...options,
  });
  onTestFinished(async () => {
    await client.close();
    await service.stop();
  });
  return { service, client };
}

/** Lets a test move the clock of deadlines forward. */
function movableClock(): { advance: (ms: number) => void } {
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  onTestFinished(() => clock.mockRestore());
  return {
    advance(ms) {
      aheadMs += ms;
    },
  };
}

const readCall = (client: ServiceClient, options: RequestOptions = {}) =>
  client.call('readCall', { body: { project_id: 'a/b', id: 'c' } }, options);

describe('RequestSender', () => {
  it('stops waiting for a retry when the request is cancelled', async () => {
    const { service, client } = await start({ timeoutMs: 600_000 });
    const cancel = new AbortController();
    const asked = new Promise<void>((resolve) => {
      service.respond = (request) => {
        sendResponse(request, 429, '{}', { 'retry-after': 300 });
        resolve();
      };
    });
    const call = readCall(client, { signal: cancel.signal });
    await asked;
    setTimeout(() => cancel.abort(), 50);
    await expect(call).rejects.toMatchObject({ code: 'cancelled' });
    expect(service.requests).toHaveLength(1);
  });

  it('sends nothing if the request was cancelled before it began', async () => {
    const { service, client } = await start();
    await expect(readCall(client, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'cancelled' });
    expect(service.requests).toEqual([]);
  });

  it("is cancelled by its client's signal, unless the request has a signal of its own", async () => {
    const { client } = await start();
    const cancelled = client.withSignal(AbortSignal.abort());
    await expect(readCall(cancelled)).rejects.toMatchObject({ code: 'cancelled' });
    await expect(readCall(cancelled.forToolCall())).rejects.toMatchObject({ code: 'cancelled' });
    await expect(readCall(cancelled, { signal: new AbortController().signal })).resolves.toHaveProperty('call');
    await expect(readCall(cancelled.withSignal(undefined))).resolves.toHaveProperty('call');
  });

  const project_id = 'a/b';
  const project = { entity: 'a', project: 'b' };
  const feedback = { project_id, id: 'f', weave_ref: 'weave:///a/b/call/c', feedback_type: 't', payload: {} };
  const requests: [string, number, (client: ServiceClient) => Promise<unknown>][] = [
    [
      'queryQueueItems',
      3,
      (client) => client.call('queryQueueItems', { path: { queue_id: 'q' }, body: { project_id } }),
    ],
    [
      'runInference',
      1,
      (client) => client.call('runInference', { path: { path: '/chat/completions' }, body: { model: 'm' } }),
    ],
    [
      'createEvaluation',
      1,
      (client) => client.call('createEvaluation', { path: project, body: { name: 'e', dataset: 'd' } }),
    ],
    ['listModels', 3, (client) => client.call('listModels', {})],
    ['listProjects', 3, (client) => client.call('listProjects', {})],
    ['queryQueues', 3, (client) => client.call('queryQueues', { body: { project_id } })],
    ['readQueue', 3, (client) => client.call('readQueue', { path: { queue_id: 'q' }, query: { project_id } })],
    ['queueStats', 3, (client) => client.call('queueStats', { body: { project_id, queue_ids: ['q'] } })],
    [
      'updateProgress',
      3,
      (client) =>
        client.call('updateProgress', {
          path: { queue_id: 'q', item_id: 'i' },
          body: { project_id, annotation_state: 'completed' },
        }),
    ],
    ['readCall', 3, (client) => client.call('readCall', { body: { project_id, id: 'c' } })],
    ['queryCalls', 3, (client) => client.call('queryCalls', { body: { project_id } })],
    ['countCalls', 3, (client) => client.call('countCalls', { body: { project_id } })],
    ['createFeedback', 3, (client) => client.call('createFeedback', { body: feedback })],
    ['createFeedbackBatch', 3, (client) => client.call('createFeedbackBatch', { body: { batch: [feedback] } })],
    ['queryFeedback', 3, (client) => client.call('queryFeedback', { body: { project_id } })],
    ['purgeFeedback', 3, (client) => client.call('purgeFeedback', { body: { project_id, query: { $expr: {} } } })],
    ['createQueue', 1, (client) => client.call('createQueue', { body: { project_id, name: 'Q', scorer_refs: [] } })],
    ['createTable', 3, (client) => client.call('createTable', { body: { table: { project_id, rows: [{ q: 1 }] } } })],
    ['queryTable', 3, (client) => client.call('queryTable', { body: { project_id, digest: 'd' } })],
    ['countTableRows', 3, (client) => client.call('countTableRows', { body: { project_id, digest: 'd' } })],
    [
      'createDataset',
      3,
      (client) => client.call('createDataset', { path: project, body: { name: 'd', rows: [{ q: 1 }] } }),
    ],
    [
      'addQueueItems',
      3,
      (client) =>
        client.call('addQueueItems', {
          path: { queue_id: 'q' },
          body: { project_id, call_ids: ['c'], display_fields: [] },
        }),
    ],
    [
      'createObject',
      3,
      (client) => client.call('createObject', { body: { obj: { project_id, object_id: 'o', val: {} } } }),
    ],
    ['readObject', 3, (client) => client.call('readObject', { body: { project_id, object_id: 'o', digest: 'x' } })],
    ['queryObjects', 3, (client) => client.call('queryObjects', { body: { project_id } })],
    ['readReferences', 3, (client) => client.call('readReferences', { body: { refs: ['weave:///a/b/object/o:x'] } })],
    ['listEvaluations', 3, (client) => client.call('listEvaluations', { path: project })],
    ['listDatasets', 3, (client) => client.call('listDatasets', { path: project })],
    ['listScorers', 3, (client) => client.call('listScorers', { path: project })],
  ];

  it('sends repeatable requests three times and others once when the service fails', async () => {
    const sent = requests.map(async ([name, , request]) => {
      const { service, client } = await start();
      service.respond = (received) => sendResponse(received, 500, '{}');
      await expect(request(client)).rejects.toMatchObject({ code: 'service_unavailable' });
      return [name, service.requests.length];
    });
    expect(await Promise.all(sent)).toEqual(requests.map(([name, times]) => [name, times]));
  });

  it('names the code of a network error once', async () => {
    const { service, client } = await start();
    await service.stop();
    await expect(readCall(client)).rejects.toMatchObject({
      code: 'network',
      message: `No complete response from ${service.url} to POST /call/read: connect ECONNREFUSED 127.0.0.1:${service.port}.`,
    });
  });

  it('applies one deadline to all attempts together', async () => {
    const { service, client } = await start({ timeoutMs: 1_500 });
    service.respond = (request) => {
      if (service.requests.length < 2) sendResponse(request, 503, '{}');
    };
    await expect(readCall(client)).rejects.toMatchObject({
      code: 'timeout',
      retryable: true,
      message: 'POST /call/read got no complete response within 1500 ms, in attempt 2.',
    });
    expect(service.requests).toHaveLength(2);
  });

  it('names the setting that raises the missed deadline', async () => {
    const { service, client } = await start({ timeoutMs: 100, inferenceTimeoutMs: 100 });
    service.respond = () => {};
    const dataset = 'weave:///a/b/object/rows:latest';
    await expect(
      client.call('createEvaluation', { path: project, body: { name: 'e', dataset } }),
    ).rejects.toMatchObject({
      code: 'timeout',
      hint: expect.stringMatching(/raise HEDDLE_TIMEOUT_MS\.$/),
    });
    await expect(
      client.call('runInference', { path: { path: '/chat/completions' }, body: { model: 'm' } }),
    ).rejects.toMatchObject({
      code: 'timeout',
      hint: expect.stringMatching(/raise HEDDLE_INFERENCE_TIMEOUT_MS\.$/),
    });
  });

  it('reports the failure of the service if Retry-After exceeds the deadline', async () => {
    const { service, client } = await start({ timeoutMs: 5_000 });
    service.respond = (request) => sendResponse(request, 429, '{}', { 'retry-after': 6 });
    await expect(readCall(client)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 6_000 });
    expect(service.requests).toHaveLength(1);
  });

  it('interprets a date in Retry-After by the clock of the service', async () => {
    const { service, client } = await start();
    service.respond = (request) => {
      const headers = { date: 'Wed, 21 Oct 2015 07:28:00 GMT', 'retry-after': 'Wed, 21 Oct 2015 07:38:00 GMT' };
      sendResponse(request, 429, '{}', headers);
    };
    await expect(readCall(client)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 600_000 });
  });

  it('leaves no listener and no timer behind, and no socket after closing', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const { service, client } = await start();
    const { signal } = new AbortController();
    await readCall(client, { signal });
    const before = timers();
    service.respond = (request) =>
      service.requests.length % 3 === 0 ? sendResponse(request, 503, '{}') : sendGoodResponse(request);
    await Promise.all(Array.from({ length: 40 }, () => readCall(client, { signal }).catch(() => {})));
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    expect(timers()).toBeLessThanOrEqual(before + 1);
    expect(service.sockets.size).toBeGreaterThan(0);
    const closed = [...service.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    await client.close();
    await Promise.all(closed);
  });

  it('closes the connection of a cancelled request only', async () => {
    const { service, client } = await start();
    const cancel = new AbortController();
    const finish: (() => void)[] = [];
    const arrived = new Promise<void>((resolve) => {
      service.respond = (request) => {
        finish.push(() => sendGoodResponse(request));
        if (finish.length === 2) resolve();
      };
    });
    const calls = [readCall(client, { signal: cancel.signal }), readCall(client)];
    await arrived;
    const [first, second] = service.requests;
    const closed = new Promise((resolve) => first!.socket.once('close', resolve));
    cancel.abort();
    await expect(calls[0]).rejects.toMatchObject({ code: 'cancelled' });
    await closed;
    expect(service.sockets.has(second!.socket)).toBe(true);
    for (const done of finish) done();
    await expect(calls[1]).resolves.toMatchObject({ call: { id: 'c1' } });
  });

  it('stops processing a response at the deadline, unless the request must not be repeated', async () => {
    const clock = movableClock();
    const { service, client } = await start({
      timeoutMs: 20_000,
      redactValue: async (value, pause) => {
        clock.advance(20_000);
        await pause();
        return value;
      },
    });
    await expect(readCall(client)).rejects.toMatchObject({
      code: 'timeout',
      message: 'Processing the response to POST /call/read did not finish within 20000 ms.',
      hint: 'Request less at once, or raise HEDDLE_TIMEOUT_MS.',
    });
    await expect(
      client.call('createEvaluation', { path: project, body: { name: 'e', dataset: 'd' } }),
    ).resolves.toHaveProperty('evaluation_ref');
    expect(service.requests).toHaveLength(2);
  });

  it('does not begin the next step of long work after the deadline or a cancellation', async () => {
    const clock = movableClock();
    const { client } = await start({ timeoutMs: 20_000 });
    const cancel = new AbortController();
    const task = client.forToolCall();
    await task.pause();
    cancel.abort();
    await expect(task.withSignal(cancel.signal).pause()).rejects.toMatchObject({ name: 'AbortError' });
    clock.advance(20_000);
    await expect(task.pause()).rejects.toMatchObject({
      code: 'timeout',
      message: 'Processing what the service has sent did not finish within 20000 ms.',
    });
  });

  it('shares one deadline among the requests of a task, and sends nothing afterwards', async () => {
    const clock = movableClock();
    const { service, client } = await start({ timeoutMs: 20_000 });
    const task = client.forToolCall();
    await readCall(task);
    clock.advance(19_000);
    service.respond = () => {};
    await expect(readCall(task)).rejects.toMatchObject({ code: 'timeout' });
    await expect(readCall(task)).rejects.toMatchObject({ code: 'timeout' });
    expect(service.requests).toHaveLength(2);
    service.respond = (request) => sendGoodResponse(request);
    await readCall(client);
  });
});
