import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Log } from '../../core/log.ts';
import { connect } from '../connect.ts';
import type { ServerFactory } from '../server.ts';
import { MessageFilter } from './message-filter.ts';

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
  // The SDK listens for errors once for each message that waits to be written.
  output.setMaxListeners(0);
  const filter = new MessageFilter(output, log);
  const close = connect(createServer, new FilteredTransport(filter, output), log);
  // The filter passes an error of the input on to the transport, which logs it.
  const ended = pipeline(input, filter).catch(() => {});
  if (!signal.aborted) await Promise.race([ended, once(signal, 'abort'), once(output, 'error')]);
  await close();
}

/** The SDK's transport behind a filter, which learns what has been answered. */
class FilteredTransport extends StdioServerTransport {
  readonly #filter: MessageFilter;

  constructor(filter: MessageFilter, output: Writable) {
    // The filter bounds the lines.
    super(filter, output, { maxBufferSize: Number.POSITIVE_INFINITY });
    this.#filter = filter;
  }

  override send(message: JSONRPCMessage): Promise<void> {
    const sent = super.send(message);
    if (!('method' in message)) this.#filter.settle(message.id);
    return sent;
  }
}
