import type { Readable, Writable } from 'node:stream';
import type { Log } from '../../core/log.ts';
import { connect } from '../connect.ts';
import type { ServerFactory } from '../server.ts';
import { StdioTransport } from './transport.ts';

/** When the input ends, requests that were read may still be answered for so long, in milliseconds. */
const answerGraceMs = 1_000;

/**
 * Serves one client over a pair of streams, stdin and stdout as a rule, until the input ends or `signal` is aborted.
 * @returns when the connection is closed and nothing of it runs any more.
 */
export async function serveStdio(
  createServer: ServerFactory,
  { input, output }: { input: Readable; output: Writable },
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  const transport = new StdioTransport(input, output, log);
  const close = connect(createServer, transport, log);
  await new Promise<void>((resolve) => {
    input.once('end', () => transport.onceAnswered(answerGraceMs, resolve));
    input.once('error', () => resolve());
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await close();
}
