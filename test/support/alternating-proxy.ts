import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { onEnd } from './on-end.ts';

/**
 * Starts a proxy that sends each HTTP request to the next of several servers in turn, and returns its URL. While a server
 * is down, its requests end as there: the connection closes without a response.
 * @param onResponse receives the path of each request that a server has answered, before the answer is passed on.
 */
export async function alternateBetween(urls: string[], onResponse: (path: string) => void = () => {}): Promise<string> {
  let requestCount = 0;
  const proxy = createServer((asked, response) => {
    const target = urls[requestCount++ % urls.length]! + asked.url;
    const { connection: _, ...headers } = asked.headers;
    // A connection for each request: none is left over from a server that was killed.
    const sent = request(target, { method: asked.method!, headers, agent: false });
    sent.on('error', () => response.destroy());
    sent.on('response', (received) => {
      onResponse(asked.url!);
      response.writeHead(received.statusCode!, received.headers);
      pipeline(received, response, () => {});
    });
    pipeline(asked, sent, () => {});
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onEnd(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}
