import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { connect } from '../mcp/connect.ts';
import { LineTransport } from '../mcp/line-transport.ts';
import { serverFactory } from '../mcp/server.ts';
import type { ResolvedSettings } from '../settings/resolve-settings.ts';
import { configuredTraces } from '../telemetry/observers.ts';
import { closeRuntime, logUncaught, type ProcessControl, stopSignal, untilAborted } from './process-lifecycle.ts';
import { openRuntime, type RuntimeOptions, warnIfUnusable } from './runtime.ts';

/** Serves MCP until the input ends, the output breaks or a signal arrives. */
export async function runStdioServer(
  resolved: ResolvedSettings,
  options: RuntimeOptions,
  { input, output, control }: { input: Readable; output: Writable; control: ProcessControl },
): Promise<void> {
  const runtime = openRuntime(resolved, options);
  const { log, serverOptions } = runtime;
  logUncaught(control, log);
  warnIfUnusable(resolved, log);
  const stop = stopSignal(control);
  const observer = await configuredTraces(log);
  const transport = new LineTransport(output, log);
  const close = connect(serverFactory({ ...serverOptions, transport: 'stdio', observer }), transport, log);
  const ended = transport.read(input).catch((error: Error) => log('warn', 'protocol', { error: error.message }));
  await Promise.race([ended, untilAborted(stop).then(() => transport.finish()), once(output, 'error')]);
  await close();
  await closeRuntime(runtime, observer);
}
