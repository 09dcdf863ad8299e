import type { Readable, Writable } from 'node:stream';
import { serverFactory } from '../mcp/server.ts';
import { serveStdio } from '../mcp/stdio/serve-stdio.ts';
import type { ResolvedSettings } from '../settings/resolve-settings.ts';
import { configuredTraces } from '../telemetry/observers.ts';
import { exitServer, logUncaught, stopSignal } from './process-lifecycle.ts';
import { openRuntime, type RuntimeOptions } from './runtime.ts';

/** Serves MCP on a pair of streams until the client closes them or a signal arrives, then ends the process. */
export async function runStdioServer(
  resolved: ResolvedSettings,
  options: RuntimeOptions,
  streams: { input: Readable; output: Writable },
): Promise<never> {
  const runtime = openRuntime(resolved, options);
  const { log, serverOptions } = runtime;
  logUncaught(log);
  const observer = await configuredTraces(log);
  const createServer = serverFactory({ ...serverOptions, transport: 'stdio', observer });
  await serveStdio(createServer, streams, stopSignal(), log);
  return exitServer(runtime, observer);
}
