import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';

/** Milliseconds that an idle connection is kept for the request that may be on its way to it already. */
const drainMs = 1_000;
/** How often connections that fell idle later are looked for, in milliseconds. */
const sweepMs = 20;

/**
 * Ends a server such that a proxy in front of it loses no request on the connections that it has: they are answered, and
 * each answer closes its connection. New ones are refused from now on. What still runs after `graceMs` is cut off.
 * Resolves when no connection is left.
 */
export async function endServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.once('close', resolve));
  server.prependListener('request', (_, response) => response.setHeader('connection', 'close'));
  // Node's own close would also cut idle connections at once. A proxy that has just sent a POST on one cannot know
  // whether it was seen, and has to report a failure.
  NetServer.prototype.close.call(server);
  let sweep: NodeJS.Timeout | undefined;
  const drained = setTimeout(
    () => {
      sweep = setInterval(() => server.closeIdleConnections(), sweepMs);
    },
    Math.min(drainMs, graceMs),
  );
  const impatience = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  for (const timer of [drained, impatience, sweep]) clearTimeout(timer);
}
