import { createHash } from 'node:crypto';
import type { Command } from 'commander';
import type { McpServerOptions } from '../../mcp/server.ts';
import { closeRuntime, logUncaught, stopSignal, untilAborted } from '../../runtime/process-lifecycle.ts';
import { openRuntime, type Runtime } from '../../runtime/runtime.ts';
import { startViewServer } from '../../runtime/view-server.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { invocation } from '../invocation.ts';
import { printLine } from '../terminal/print.ts';
import { UsageError } from '../terminal/report-failure.ts';
import { settingsOf } from '../usage/flags.ts';
import { openBrowser } from './open-browser.ts';
import { runtimeOptions } from './runtime-options.ts';

interface ShownView {
  uri: `ui://${string}`;
  /** Tool whose result the View shows, and its arguments, or a function that checks and returns them. */
  tool: string;
  args: Record<string, unknown> | ((options: McpServerOptions) => Promise<Record<string, unknown>>);
  /** Noun for the View in what is printed. */
  noun: string;
  /** False to print the address only. */
  open: boolean;
  /** True if the browser keeps something for the View, which needs the same port each time. */
  keepsPort?: boolean;
}

/** Ports below those that systems give to outgoing connections. */
const firstPort = 20_000;
const portCount = 10_000;
/** Ports that one user has for one service. */
const portsPerUser = 4;

/** Returns the ports on which this user finds the boards of a service: the same each time, and others for another user. */
function portsOf({ values, folders }: ResolvedSettings): number[] {
  const { baseUrl, username, dataDir } = values;
  const key = JSON.stringify([process.getuid?.(), folders.data, dataDir, baseUrl, username]);
  const digest = createHash('sha256').update(key).digest();
  return Array.from({ length: portsPerUser }, (_, index) => firstPort + (digest.readUInt32BE(4 * index) % portCount));
}

/**
 * Shows a View in the person's browser until Ctrl-C.
 * @throws UsageError if the tool is not offered.
 */
export async function showView(
  command: Command,
  { uri, tool, args, noun, open, keepsPort = false }: ShownView,
): Promise<void> {
  const settings = settingsOf(command);
  const runtime = openRuntime(settings, runtimeOptions(settings));
  if (!runtime.serverOptions.tools.some(({ name }) => name === tool)) {
    throw new UsageError(`the ${noun} needs the tool ${tool}, which HEDDLE_TOOLS or --tools leaves out`);
  }
  const { control } = invocation();
  logUncaught(control, runtime.log);
  const stop = stopSignal(control);
  const ports = keepsPort ? portsOf(settings) : [];
  const viewArguments = typeof args === 'object' ? args : await checked(args, runtime);
  const server = await startViewServer(uri, viewArguments, runtime.serverOptions, ports);
  const removePage = open ? await openBrowser(server.url) : undefined;
  printLine(
    removePage
      ? `The ${noun} opens in your browser. If it does not: ${server.url}`
      : `Open the ${noun} in a browser: ${server.url}`,
  );
  if (ports[0] !== undefined && server.port !== ports[0]) {
    const kept = `What your browser kept for the ${noun} at port ${ports[0]} shows again when that port is free`;
    printLine(`Port ${ports[0]} is in use, by another ${noun} or program, so the address is another one. ${kept}.`);
  }
  printLine('The address works in one browser until you press Ctrl-C.');
  await untilAborted(stop);
  printLine(`\nThe ${noun} has ended.`);
  removePage?.();
  await server.stop();
  await closeRuntime(runtime, undefined);
  control.exit(0);
}

/** Returns what `check` finds, or closes the runtime and throws its error. */
async function checked<Value>(
  check: (options: McpServerOptions) => Promise<Value>,
  { serverOptions, close }: Runtime,
): Promise<Value> {
  try {
    return await check(serverOptions);
  } catch (error) {
    await close();
    throw error;
  }
}
