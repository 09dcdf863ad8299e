import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Log } from '../../core/log.ts';
import { connect } from '../connect.ts';
import type { ServerFactory } from '../server.ts';
import { LineTransport } from './line-transport.ts';

/**
 * Serves one client over a pair of streams, normally stdin and stdout, until the input ends, the output breaks or
 * `signal` is aborted. Returns when the connection is closed.
 */
export async function serveStdio(
  createServer: ServerFactory,
  { input, output }: { input: Readable; output: Writable },
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  const transport = new LineTransport(output, log);
  const close = connect(createServer, transport, log);
  const ended = transport.read(input).catch((error: Error) => log('warn', 'protocol', { error: error.message }));
  if (!signal.aborted) await Promise.race([ended, once(signal, 'abort'), once(output, 'error')]);
  await close();
}
