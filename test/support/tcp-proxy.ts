import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A way to a server that `decide` can cut: called with what a client sends, it says whether that gets through. */
export async function proxyTo(url: string, decide: (sent: string) => 'pass' | 'cut' | 'swallow'): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    upstream.pipe(client);
    client.on('data', (chunk) => {
      const decision = decide(chunk.toString('latin1'));
      if (decision === 'pass') upstream.write(chunk);
      else if (decision === 'cut') client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return Object.assign(new URL(url), { port: String((server.address() as AddressInfo).port) }).href;
}
