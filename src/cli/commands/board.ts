import type { Command } from 'commander';
import { findQueueId } from '../../queues/require-queue.ts';
import { requireProject } from '../../records/require-project.ts';
import { showView } from '../access/show-view.ts';
import { addSettingFlags, requireProjectSetting, runtimeFlags } from '../usage/flags.ts';
import { explain } from '../usage/help.ts';

/** Adds `heddle board`, which shows the review board in the person's browser. */
export function addBoard(program: Command): void {
  const board = program
    .command('board')
    .description('judge the items of a queue in your browser, until Ctrl-C')
    .argument('[queue]', 'id or name of the queue; without it, you choose one in the browser')
    .option('--no-open', 'only print the address');
  explain(board, {
    examples: ['heddle board', 'heddle board support-triage', "heddle board 'Nurse review'"],
    page: 'docs/board.md',
  });
  addSettingFlags(board, runtimeFlags).action((queue: string | undefined, { open }: { open: boolean }) =>
    showView(board, {
      uri: 'ui://heddle/review',
      tool: 'review_queue',
      args: async ({ service, project }) => {
        if (queue === undefined) {
          if (project !== undefined) await requireProject(project, await service());
          return {};
        }
        return { queue_id: await findQueueId(queue, requireProjectSetting(project), await service()) };
      },
      noun: 'board',
      open,
      keepsPort: true,
    }),
  );
}
