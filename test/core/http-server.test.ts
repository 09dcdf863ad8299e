import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createBodyReader } from '../../src/core/http/body-reader.ts';
import { createHttpServer } from '../../src/core/http/http-server.ts';
import { listen } from '../../src/core/http/listen.ts';
import { Refusal } from '../../src/core/http/refusal.ts';

/** Starts a server; returns its URL, what it logs and the statuses of its refusals. */
async function start(serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>) {
  const logged: unknown[][] = [];
  const statuses: number[] = [];
  const server = createHttpServer(serve, {
    errorBody: (error) => ({ error }),
    headers: { 'x-content-type-options': 'nosniff' },
    log: (...entry) => logged.push(entry),
    onRefused: (status) => statuses.push(status),
  });
  onTestFinished(() => void server.close());
  return { url: await listen(server, 0, '127.0.0.1'), logged, statuses };
}

describe('createHttpServer', () => {
  it('sends a refusal with its status, its headers and those of every response', async () => {
    const { url, logged, statuses } = await start(async () => {
      throw new Refusal(401, 'Unauthorized: no token', { headers: { 'www-authenticate': 'Bearer' } });
    });
    const response = await fetch(url, { headers: { 'x-request-id': 'r-1' } });
    expect([response.status, await response.json()]).toEqual([401, { error: 'Unauthorized: no token' }]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'www-authenticate': 'Bearer',
      'x-content-type-options': 'nosniff',
      'x-request-id': 'r-1',
    });
    expect(statuses).toEqual([401]);
    expect(logged).toEqual([
      ['info', 'request refused', { request_id: 'r-1', status: 401, reason: 'Unauthorized: no token' }],
    ]);
  });

  it('logs an unexpected failure, and tells the client nothing of it', async () => {
    const { url, logged, statuses } = await start(async () => {
      throw new TypeError('internals');
    });
    const response = await fetch(url);
    expect([response.status, await response.json()]).toEqual([500, { error: 'Internal error' }]);
    expect(statuses).toEqual([]);
    expect(logged).toMatchObject([['error', 'request failed', { error: expect.stringContaining('internals') }]]);
  });

  it('asks a client that expects it for the body, once the body is read', async () => {
    const { url } = await start(async (_, response) => {
      const body = await createBodyReader(10)(response);
      response.end(body);
    });
    const request = httpRequest(url, { method: 'POST', headers: { expect: '100-continue' } });
    request.flushHeaders();
    await once(request, 'continue');
    request.end('text');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(String(await response.toArray())).toBe('text');
  });
});
