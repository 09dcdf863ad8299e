import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { connect } from '../mcp/connect.ts';
import { LineTransport } from '../mcp/line-transport.ts';
import { serverFactory } from '../mcp/server.ts';
import type { ResolvedSettings } from '../settings/resolve-settings.ts';
import { configuredTraces } from '../telemetry/observers.ts';
import { exitServer, logUncaught, stopSignal } from './process-lifecycle.ts';
import { openRuntime, type RuntimeOptions, warnIfUnusable } from './runtime.ts';

/** Serves MCP until the input ends, the output breaks or a signal arrives, then ends the process. */
export async function runStdioServer(
  resolved: ResolvedSettings,
  options: RuntimeOptions,
  { input, output }: { input: Readable; output: Writable },
): Promise<never> {
  const runtime = openRuntime(resolved, options);
  const { log, serverOptions } = runtime;
  logUncaught(log);
  warnIfUnusable(resolved, log);
  const stop = stopSignal();
  const observer = await configuredTraces(log);
  const transport = new LineTransport(output, log);
  const close = connect(serverFactory({ ...serverOptions, transport: 'stdio', observer }), transport, log);
  const ended = transport.read(input).catch((error: Error) => log('warn', 'protocol', { error: error.message }));
  const stopped = stop.aborted ? Promise.resolve() : once(stop, 'abort');
  await Promise.race([ended, stopped.then(() => transport.finish()), once(output, 'error')]);
  await close();
  return exitServer(runtime, observer);
}
