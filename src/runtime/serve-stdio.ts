import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Observer } from '../core/observer.ts';
import { nextTurn } from '../core/turns.ts';
import { FrontDoor } from '../mcp/front-door.ts';
import { LineTransport } from '../mcp/line-transport.ts';
import type { ResolvedSettings } from '../settings/resolve-settings.ts';
import { configuredTraces } from '../telemetry/observers.ts';
import {
  closeRuntime,
  logUncaught,
  type ProcessControl,
  releaseMemoryAtRest,
  stopSignal,
  untilAborted,
} from './process-lifecycle.ts';
import { openRuntime, type Runtime, type RuntimeOptions, warnIfUnusable } from './runtime.ts';

/** Serves MCP until the input ends, the output breaks or a signal arrives. */
export async function runStdioServer(
  resolved: ResolvedSettings,
  options: RuntimeOptions,
  { input, output, control }: { input: Readable; output: Writable; control: ProcessControl },
): Promise<void> {
  const runtime = openRuntime(resolved, options);
  const { log, serverOptions } = runtime;
  logUncaught(control, log);
  releaseMemoryAtRest();
  warnIfUnusable(resolved, log);
  const stop = stopSignal(control);
  const observer = await configuredTraces(log);
  const transport = new LineTransport(output, log);
  const door = new FrontDoor(transport, serverOptions);
  let hasEnded = false;
  let close: (() => Promise<void>) | undefined;
  const serve = async (): Promise<void> => {
    if (hasEnded) return;
    const startServer = await loadServer();
    if (hasEnded) return;
    close = startServer(runtime, door, observer);
    void loadForCalls(runtime, transport, () => hasEnded);
  };
  const serving = door.serverNeeded.then(serve).catch((error) => {
    hasEnded = true;
    // Otherwise an input that is still open would keep the process.
    input.destroy();
    throw error;
  });
  const answerLast = async (): Promise<void> => {
    if (door.isHoldingBack) await serving;
    await transport.finish();
  };
  const ended = transport.read(input).catch((error: Error) => {
    if (!hasEnded) log('warn', 'protocol', { error: error.message });
  });
  await Promise.race([
    ended.then(answerLast),
    untilAborted(stop).then(() => transport.finish()),
    once(output, 'error'),
    serving.then(() => new Promise<never>(() => {})),
  ]);
  hasEnded = true;
  await close?.();
  await closeRuntime(runtime, observer);
}

/** Loads the server, which needs the SDK and its schemas. @returns a function that starts it and returns the way to end it. */
async function loadServer() {
  const [{ connect }, { serverFactory }] = await Promise.all([import('../mcp/connect.ts'), import('../mcp/server.ts')]);
  return ({ serverOptions, log }: Runtime, door: FrontDoor, observer: Observer | undefined) =>
    connect(serverFactory({ ...serverOptions, transport: 'stdio', observer }), door, log);
}

/** Loads what the first call needs, one part at a time and only while no request waits for its response. */
async function loadForCalls(
  { serverOptions: { tools, service } }: Runtime,
  transport: LineTransport,
  hasEnded: () => boolean,
): Promise<void> {
  const loadUndici = async () => (await import('../core/http/http-client.ts')).loadUndici();
  for (const load of [() => tools[0]?.load(), service, loadUndici]) {
    await nextTurn();
    await transport.answered();
    if (hasEnded()) return;
    // The call that needs it reports the failure.
    await Promise.resolve(load()).catch(() => {});
  }
}
