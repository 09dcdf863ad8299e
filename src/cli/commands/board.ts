import type { Command } from 'commander';
import { startBoard, untilAborted } from '../../runtime/board-server.ts';
import { exitServer, logUncaught, stopSignal } from '../../runtime/process-lifecycle.ts';
import { openRuntime } from '../../runtime/runtime.ts';
import { addSettingFlags, runtimeFlags, settingsOf } from '../support/flags.ts';
import { explain } from '../support/help.ts';
import { openBrowser } from '../support/open-browser.ts';
import { printLine } from '../support/print.ts';
import { UsageError } from '../support/report-failure.ts';
import { runtimeOptions } from '../support/secrets.ts';

/** Adds `heddle board`, which shows the review board in the person's browser. */
export function addBoard(program: Command): void {
  const board = program
    .command('board')
    .description('judge the items of a queue in your browser, until Ctrl-C')
    .argument('[queue]', 'id of the queue; without it, you choose one in the browser')
    .option('--no-open', 'only print the address');
  explain(board, { examples: ['heddle board', 'heddle board support-triage'], page: 'docs/board.md' });
  addSettingFlags(board, runtimeFlags).action((queue: string | undefined, { open }: { open: boolean }) =>
    runBoard(board, queue, open),
  );
}

async function runBoard(command: Command, queue: string | undefined, open: boolean): Promise<never> {
  const settings = settingsOf(command);
  const runtime = openRuntime(settings, runtimeOptions(settings));
  if (!runtime.serverOptions.tools.some(({ name }) => name === 'review_queue')) {
    throw new UsageError('the board needs the tool review_queue, which HEDDLE_TOOLS or --tools leaves out');
  }
  logUncaught(runtime.log);
  const stop = stopSignal();
  const { url, stop: stopBoard } = await startBoard(queue, runtime.serverOptions);
  const isOpen = open && (await openBrowser(url));
  printLine(isOpen ? `The board opens in your browser. If it does not: ${url}` : `Open the board in a browser: ${url}`);
  printLine('The address works once. Press Ctrl-C to end.');
  await untilAborted(stop);
  await stopBoard();
  return exitServer(runtime, undefined);
}
