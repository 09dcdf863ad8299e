import { readFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Descriptors that a process needs besides those of its connections: files, and its own connections to others. */
const otherDescriptors = 40;

/**
 * Limits the connections of a server, also to what the process may open. One more closes the one that has been without a request
 * for longest, so that idle connections keep nobody out; if there is none, it is closed itself.
 */
export function limitConnections(server: Server, maxConnections: number): void {
  const limit = Math.max(1, Math.min(maxConnections, maxDescriptors() - otherDescriptors));
  const open = new Set<Socket>();
  // In the order in which they became idle.
  const idle = new Set<Socket>();
  const forget = (socket: Socket): void => {
    open.delete(socket);
    idle.delete(socket);
  };
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    idle.add(socket);
    socket.once('close', () => forget(socket));
    if (open.size <= limit) return;
    const [longest = socket] = idle;
    forget(longest);
    longest.destroy();
  });
  const onRequest = ({ socket }: { socket: Socket }, response: ServerResponse): void => {
    idle.delete(socket);
    response.once('finish', () => {
      if (open.has(socket)) idle.add(socket);
    });
  };
  server.on('request', onRequest);
  server.on('checkContinue', onRequest);
}

/** Returns how many descriptors the process may have open, where the system tells. */
function maxDescriptors(): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
