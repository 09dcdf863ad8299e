import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A service of a few lines: accepts one user and one token, and keeps what it was asked. */
export interface Stub {
  url: string;
  /** `METHOD path authorization` of each request, in order. */
  requests: string[];
  /** Answers in the place of the usual answer where it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
  credentials: { username: string; password: string; token: string };
}

/** Starts a stub that ends with the test. */
export async function startStub(credentials: Stub['credentials']): Promise<Stub> {
  const stub: Stub = { url: '', requests: [], intercept: () => false, credentials };
  const server = createServer((request, response) => {
    const { authorization = '-' } = request.headers;
    stub.requests.push(`${request.method} ${request.url} ${authorization}`);
    request.resume();
    if (stub.intercept(request, response)) return;
    const { username, password, token } = stub.credentials;
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const bearer = request.url?.startsWith('/inference/') ?? false;
    const expected = bearer
      ? `Bearer ${token}`
      : `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
    if (request.url === '/') answer(200, {});
    else if (authorization !== expected) answer(401, { reason: '401 Error' });
    else if (request.url === '/inference/v1/models') answer(200, { object: 'list', data: [{ id: 'm' }] });
    else if (request.url?.endsWith('/items/query')) answer(200, { items: [] });
    else answer(422, { detail: [{ loc: ['body', 'name'], msg: 'Field required', type: 'missing' }] });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  stub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return stub;
}
