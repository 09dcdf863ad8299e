import { describe, expect, it } from 'vitest';
import { sampleToolCall, startFakeService } from '../support/fake-service.ts';
import { temporaryFolder } from '../support/heddle.ts';
import { ask, newerRequest, olderRequest, startHttp } from '../support/http-server.ts';
import { LineClient } from '../support/line-client.ts';

const generated = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

// biome-ignore lint/suspicious/noExplicitAny: lines have different members
function linesOf(stderr: string): any[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
}

const debugging = { HEDDLE_LOG_LEVEL: 'debug', HEDDLE_LOG_FORMAT: 'json' };

describe('log', () => {
  it('has the request id of the response and of the requests to the service on every line of an HTTP call', async () => {
    const service = await startFakeService();
    service.nextStatuses.push(503);
    const { url, output } = await startHttp([], { ...service.environment, ...debugging });
    const answer = await ask(url, newerRequest('tools/call', sampleToolCall));
    const id = answer.headers['x-request-id'];
    expect(id).toMatch(generated);
    expect(service.requests.map(({ headers }) => headers['x-request-id'])).toEqual([id, id]);
    await expect.poll(() => output.stderr).toContain('call ended');
    const lines = linesOf(output.stderr).filter(({ request_id }) => request_id === id);
    const rest = { time: expect.any(String), request_id: id };
    expect(lines).toEqual([
      { ...rest, level: 'debug', message: 'call started', method: 'tools/call', tool: 'query_queue_items' },
      {
        ...rest,
        level: 'debug',
        message: 'response of the service',
        operation: 'queryQueueItems',
        attempt: 1,
        status: 503,
      },
      {
        ...rest,
        level: 'info',
        message: 'retrying',
        operation: 'queryQueueItems',
        attempt: 1,
        of: 3,
        delay_ms: expect.any(Number),
        code: 'service_unavailable',
      },
      {
        ...rest,
        level: 'debug',
        message: 'response of the service',
        operation: 'queryQueueItems',
        attempt: 2,
        status: 200,
      },
      {
        ...rest,
        level: 'info',
        message: 'call ended',
        method: 'tools/call',
        tool: 'query_queue_items',
        code: 'ok',
        duration_ms: expect.any(Number),
        retries: 1,
      },
    ]);
  });

  it("uses a proxy's request id if it is safe in a log, and replaces any other", async () => {
    const service = await startFakeService();
    const { url } = await startHttp([], service.environment);
    const { headers, body } = olderRequest('tools/call', sampleToolCall);
    for (const [given, taken] of [
      ['7f1c/proxy:1', '7f1c/proxy:1'],
      ['x'.repeat(128), 'x'.repeat(128)],
      ['x'.repeat(129), generated],
      ['two words', generated],
      ['"quoted"', generated],
    ] as const) {
      service.requests.length = 0;
      const answer = await ask(url, { headers: { ...headers, 'x-request-id': given }, body });
      expect(answer.headers['x-request-id']).toMatch(taken);
      expect(service.requests.map((request) => request.headers['x-request-id'])).toEqual([
        answer.headers['x-request-id'],
      ]);
    }
  });

  it('has a request id for a refused request, which a page of an allowed origin can read', async () => {
    const { url, output } = await startHttp([], { HEDDLE_LOG_LEVEL: 'info', HEDDLE_LOG_FORMAT: 'json' });
    const origin = { origin: 'http://localhost:3000', 'x-request-id': 'from-proxy' };
    const answer = await ask(url, { headers: { ...origin, 'content-type': 'text/plain' } });
    expect([answer.status, answer.headers['x-request-id']]).toEqual([415, 'from-proxy']);
    expect(answer.headers['access-control-expose-headers']).toContain('x-request-id');
    await expect
      .poll(() => linesOf(output.stderr))
      .toContainEqual(
        expect.objectContaining({ message: 'request refused', request_id: 'from-proxy', status: 415, level: 'info' }),
      );
  });

  it('has a different request id for each stdio call, also sent to the service', async () => {
    const service = await startFakeService();
    const server = new LineClient(temporaryFolder(), { ...service.environment, ...debugging });
    await server.initialize();
    service.nextStatuses.push(200, 404);
    for (const id of [1, 2]) await server.ask({ id, method: 'tools/call', params: sampleToolCall });
    expect(await server.end()).toBe(0);
    const ends = linesOf(server.stderr).filter(({ message }) => message === 'call ended');
    expect(ends.map(({ code, status }) => [code, status])).toEqual([
      ['ok', undefined],
      ['not_found', 404],
    ]);
    const ids = ends.map(({ request_id }) => request_id);
    expect(service.requests.map(({ headers }) => headers['x-request-id'])).toEqual(ids);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(generated);
  });

  it('has the same request id on lines of the embedded service', async () => {
    const { url, output } = await startHttp([], debugging);
    const { headers, body } = newerRequest('tools/call', { name: 'list_queues' });
    await ask(url, { headers: { ...headers, 'x-request-id': 'abc' }, body });
    await expect
      .poll(() => linesOf(output.stderr))
      .toContainEqual(
        expect.objectContaining({
          message: 'request served',
          request_id: 'abc',
          operation: 'queryQueues',
          status: 200,
        }),
      );
  });

  it('reports resource reads and completions like tool calls', async () => {
    const { url, output } = await startHttp([], debugging);
    const uri = 'heddle://demo/support/queues/support-triage';
    const read = await ask(url, olderRequest('resources/read', { uri }));
    const ref = { type: 'ref/prompt', name: 'triage_queue' };
    const completed = await ask(
      url,
      olderRequest('completion/complete', { ref, argument: { name: 'queue_id', value: '' } }),
    );
    for (const [answer, method] of [
      [read, 'resources/read'],
      [completed, 'completion/complete'],
    ] as const) {
      await expect
        .poll(() => linesOf(output.stderr))
        .toContainEqual(
          expect.objectContaining({
            message: 'call ended',
            request_id: answer.headers['x-request-id'],
            method,
            code: 'ok',
          }),
        );
    }
  });

  it('has one line of plain text per event by default', async () => {
    const service = await startFakeService();
    service.nextStatuses.push(404);
    const { url, output } = await startHttp([], { ...service.environment, HEDDLE_LOG_LEVEL: 'info' });
    const { headers, body } = newerRequest('tools/call', sampleToolCall);
    await ask(url, { headers: { ...headers, 'x-request-id': 'abc' }, body });
    await expect
      .poll(() => output.stderr)
      .toMatch(
        /^\d{4}-\d\d-\d\dT[\d:.]+Z info call ended request_id=abc method=tools\/call tool=query_queue_items code=not_found status=404 duration_ms=\d+ retries=0$/m,
      );
  });

  it('contains no arguments, no text of the service and no secrets', async () => {
    const service = await startFakeService();
    service.nextStatuses.push(422, 500, 500, 500);
    const { url, output } = await startHttp([], { ...service.environment, HEDDLE_LOG_LEVEL: 'debug' });
    for (const args of [
      { queue_id: 'secret-queue' },
      { queue_id: 'secret-queue' },
      { queue_id: 'secret-queue' },
      { queue_id: 'secret-queue', limit: 'secret-limit' },
      { queue_id: '../secret-queue' },
      { 'secret-name': 1 },
    ]) {
      await ask(url, olderRequest('tools/call', { name: 'query_queue_items', arguments: args }));
    }
    await expect.poll(() => output.stderr.match(/call ended/g)).toHaveLength(6);
    expect(output.stderr).not.toMatch(/secret|words of the service|of-user|team/);
  });
});
