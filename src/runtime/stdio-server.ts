import { redactValue } from '../core/redaction.ts';
import { serverFactory } from '../mcp/server.ts';
import { serveStdio as serveStreams } from '../mcp/stdio/serve-stdio.ts';
import type { Resolved } from '../settings/resolve-settings.ts';
import { configuredTraces } from '../telemetry/observers.ts';
import { openSession } from './runtime.ts';
import { endServing, stopSignal } from './stop.ts';
import { outliveUncaught } from './uncaught.ts';

/** Serves MCP on stdin and stdout until the client or a signal ends it, and then ends the process. */
export async function serveStdio(resolved: Resolved): Promise<never> {
  const session = openSession(resolved);
  const { log, settings } = session;
  outliveUncaught(log);
  const observer = await configuredTraces(log);
  // Loaded while the model thinks about its first call; where that fails, the call itself will say why.
  const warmUp = async (): Promise<void> => {
    await Promise.all([settings.tools[0]?.load(), settings.service().then((service) => service.warmUp())]);
    // Makes the forms of the secrets, which are known by now.
    redactValue(null);
  };
  const onListed = (): void =>
    void warmUp().catch((error: Error) => log('debug', 'not warmed up', { error: error.message }));
  const streams = { input: process.stdin, output: process.stdout };
  const createServer = serverFactory({ ...settings, transport: 'stdio', observer, onListed });
  await serveStreams(createServer, streams, stopSignal(), log);
  return endServing(session, observer);
}
