import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';

/** Milliseconds to keep idle connections open for requests that are already on their way. */
const drainMs = 1_000;
/** Interval in milliseconds between checks for connections that became idle later. */
const sweepMs = 20;

/**
 * Stops a server without losing requests of a proxy in front of it. Refuses new connections, answers the requests on
 * existing ones and closes each with the response. Cuts off what still runs after `graceMs`. Resolves when no connection
 * is left.
 */
export async function endServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.once('close', resolve));
  server.prependListener('request', (_, response) => response.setHeader('connection', 'close'));
  // The HTTP server's own close would also cut idle connections at once, and with them requests that a proxy has just
  // sent but cannot safely repeat.
  NetServer.prototype.close.call(server);
  const drainedAtMs = Date.now() + drainMs;
  const sweep = setInterval(() => {
    if (Date.now() >= drainedAtMs) server.closeIdleConnections();
  }, sweepMs);
  const graceTimer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(graceTimer);
}
