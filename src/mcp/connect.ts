import type { Server, Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Log } from '../core/log.ts';

/**
 * Serves one client on a transport that the caller brings, in whichever protocol revision the client opens with.
 * @returns the way to end the connection.
 */
export function connect(createMcpServer: () => Server, transport: Transport, log: Log): () => Promise<void> {
  const handle = serveStdio(() => createMcpServer(), {
    transport,
    onerror: (error) => log('warn', 'protocol', { error: error.message }),
  });
  return () => handle.close();
}
