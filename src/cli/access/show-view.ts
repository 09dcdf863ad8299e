import type { Command } from 'commander';
import { closeRuntime, logUncaught, stopSignal, untilAborted } from '../../runtime/process-lifecycle.ts';
import { openRuntime } from '../../runtime/runtime.ts';
import { startViewServer } from '../../runtime/view-server.ts';
import { invocation } from '../invocation.ts';
import { printLine } from '../terminal/print.ts';
import { UsageError } from '../terminal/report-failure.ts';
import { settingsOf } from '../usage/flags.ts';
import { openBrowser } from './open-browser.ts';
import { runtimeOptions } from './runtime-options.ts';

interface ShownView {
  uri: `ui://${string}`;
  /** Tool whose result the View shows, and its arguments. */
  tool: string;
  args: Record<string, unknown>;
  /** Noun for the View in what is printed. */
  noun: string;
  /** False to print the address only. */
  open: boolean;
}

/**
 * Shows a View in the person's browser until Ctrl-C.
 * @throws UsageError if the tool is not offered.
 */
export async function showView(command: Command, { uri, tool, args, noun, open }: ShownView): Promise<void> {
  const settings = settingsOf(command);
  const runtime = openRuntime(settings, runtimeOptions(settings));
  if (!runtime.serverOptions.tools.some(({ name }) => name === tool)) {
    throw new UsageError(`the ${noun} needs the tool ${tool}, which HEDDLE_TOOLS or --tools leaves out`);
  }
  const { control } = invocation();
  logUncaught(control, runtime.log);
  const stop = stopSignal(control);
  const server = await startViewServer(uri, args, runtime.serverOptions);
  const removePage = open ? await openBrowser(server.url) : undefined;
  printLine(
    removePage
      ? `The ${noun} opens in your browser. If it does not: ${server.url}`
      : `Open the ${noun} in a browser: ${server.url}`,
  );
  printLine('The address works once. Press Ctrl-C to end.');
  await untilAborted(stop);
  removePage?.();
  await server.stop();
  await closeRuntime(runtime, undefined);
  control.exit(0);
}
