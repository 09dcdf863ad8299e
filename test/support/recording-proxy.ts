import { once } from 'node:events';
import { createServer, type IncomingMessage, request as send } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface RecordingProxy {
  url: string;
  /** The request lines that arrived, such as `CONNECT host:443`, each with its `Proxy-Authorization`. */
  requestLines: string[];
  /** The status that it refuses every request with, if not undefined. */
  refusal: number | undefined;
}

/** Starts an HTTP proxy in this process. It connects to this machine whatever host a request names, and stops with the test. */
export async function startRecordingProxy(): Promise<RecordingProxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket.on('error', () => {}));
  };
  const record = ({ method, url, headers }: IncomingMessage): void => {
    proxy.requestLines.push(`${method} ${url} ${headers['proxy-authorization'] ?? '-'}`);
  };
  const server = createServer((request, response) => {
    record(request);
    if (proxy.refusal !== undefined) return response.writeHead(proxy.refusal).end('<h1>refused by the proxy</h1>');
    const { port, pathname, search } = new URL(request.url!);
    const { method, headers } = request;
    const passed = send({ host: '127.0.0.1', port, path: pathname + search, method, headers }, (received) => {
      response.writeHead(received.statusCode!, received.headers);
      received.pipe(response);
    });
    request.pipe(passed.on('error', () => response.destroy()));
  });
  server.on('connection', keep);
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    record(request);
    if (proxy.refusal !== undefined) return client.end(`HTTP/1.1 ${proxy.refusal} Refused\r\n\r\n`);
    const target = connect(Number(request.url!.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.pipe(client).pipe(target);
    });
    keep(target);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const proxy: RecordingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requestLines: [],
    refusal: undefined,
  };
  return proxy;
}
