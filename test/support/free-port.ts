import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Returns a port of 127.0.0.1 that nothing listens on, below those that systems assign to programs that ask for any port. */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 30_000);
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return freePort();
    throw error;
  }
  server.close();
  await once(server, 'close');
  return port;
}
