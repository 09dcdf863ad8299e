import type { Command } from 'commander';
import { showView } from '../access/show-view.ts';
import { addSettingFlags, runtimeFlags } from '../usage/flags.ts';
import { explain } from '../usage/help.ts';

/** Adds `heddle board`, which shows the review board in the person's browser. */
export function addBoard(program: Command): void {
  const board = program
    .command('board')
    .description('judge the items of a queue in your browser, until Ctrl-C')
    .argument('[queue]', 'id of the queue; without it, you choose one in the browser')
    .option('--no-open', 'only print the address');
  explain(board, { examples: ['heddle board', 'heddle board support-triage'], page: 'docs/board.md' });
  addSettingFlags(board, runtimeFlags).action((queue_id: string | undefined, { open }: { open: boolean }) =>
    showView(board, {
      uri: 'ui://heddle/review',
      tool: 'review_queue',
      args: queue_id === undefined ? {} : { queue_id },
      noun: 'board',
      open,
      keepsPort: true,
    }),
  );
}
