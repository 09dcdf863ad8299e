import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A service that finds no items, and keeps the headers of what it was asked. */
export interface ListeningService {
  url: string;
  /** Environment of a heddle that works on it. */
  environment: Record<string, string>;
  seen: { path: string; headers: IncomingHttpHeaders }[];
  /** Statuses of the next answers; 200 when it is empty. */
  statuses: number[];
}

/** Starts it; it ends with the test. */
export async function listeningService(): Promise<ListeningService> {
  const seen: ListeningService['seen'] = [];
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url ?? '', headers: request.headers });
    request.resume();
    const status = statuses.shift() ?? 200;
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
    response.end(status === 200 ? '{"items":[]}' : '{"reason":"words of the service"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    seen,
    statuses,
    environment: {
      HEDDLE_BASE_URL: url,
      HEDDLE_PROJECT: 'team/project',
      HEDDLE_USERNAME: 'mia',
      HEDDLE_PASSWORD: 'password-of-user',
      HEDDLE_TOKEN: 'token-of-user',
    },
  };
}

/** One call that the service answers. */
export const someCall = { name: 'query_queue_items', arguments: { queue_id: 'secret-queue' } };
