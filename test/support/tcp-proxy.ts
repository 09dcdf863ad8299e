import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * Starts a proxy to a server and returns the server's URL with the port of the proxy. `decide` gets each chunk that a
 * client sends: it passes, is swallowed, or cuts the connection.
 */
export async function proxyTo(url: string, decide: (sent: string) => 'pass' | 'cut' | 'swallow'): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const serverSocket = connect(Number(port), hostname);
    for (const socket of [client, serverSocket]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        serverSocket.destroy();
      });
    }
    serverSocket.pipe(client);
    client.on('data', (chunk) => {
      const decision = decide(chunk.toString('latin1'));
      if (decision === 'pass') serverSocket.write(chunk);
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
