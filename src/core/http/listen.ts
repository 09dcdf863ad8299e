import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Listens; port 0 takes a free one. `address` is what `host` stands for, where that is known.
 * @returns the URL of the server, without a slash at its end.
 * @throws the system's error when it cannot listen.
 */
export async function listen(server: Server, port: number, host: string, address = host): Promise<string> {
  await once(server.listen(port, address), 'listening');
  const { port: actual } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}
