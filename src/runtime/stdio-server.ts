import { serverFactory } from '../mcp/server.ts';
import { serveStdio } from '../mcp/stdio/serve-stdio.ts';
import type { ResolvedSettings } from '../settings/resolve-settings.ts';
import { configuredTraces } from '../telemetry/observers.ts';
import { openRuntime } from './runtime.ts';
import { endServing, stopSignal } from './stop.ts';
import { outliveUncaught } from './uncaught.ts';

/** Serves MCP on stdin and stdout until the client or a signal ends it, and then ends the process. */
export async function runStdioServer(resolved: ResolvedSettings): Promise<never> {
  const runtime = openRuntime(resolved);
  const { log, serverOptions } = runtime;
  outliveUncaught(log);
  const observer = await configuredTraces(log);
  // Loaded while the model thinks about its first call; where that fails, the call itself will say why.
  const warmUp = async (): Promise<void> => {
    await Promise.all([serverOptions.tools[0]?.load(), serverOptions.service().then((service) => service.warmUp())]);
  };
  const onListed = (): void =>
    void warmUp().catch((error: Error) => log('debug', 'not warmed up', { error: error.message }));
  const streams = { input: process.stdin, output: process.stdout };
  const createServer = serverFactory({ ...serverOptions, transport: 'stdio', observer, onListed });
  await serveStdio(createServer, streams, stopSignal(), log);
  return endServing(runtime, observer);
}
