import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Starts listening. Port 0 takes a free port; `address` is the resolved address of `host`, if known.
 * @returns the URL of the server, without a trailing slash.
 * @throws the system's error if it cannot listen.
 */
export async function listen(server: Server, port: number, host: string, address = host): Promise<string> {
  await once(server.listen(port, address), 'listening');
  const { port: actual } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${actual}`;
}
