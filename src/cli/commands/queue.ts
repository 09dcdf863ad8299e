import { Argument, type Command, Option } from 'commander';
import {
  type ExportedPart,
  type ExportForm,
  exportedJudgements,
  exportFormats,
} from '../../queues/exported-judgements.ts';
import { findQueueId, requireQueue } from '../../queues/require-queue.ts';
import { cell } from '../../text/compact-table.ts';
import { byteOrderMark, describeDefused } from '../../text/csv-line.ts';
import { pluralize } from '../../text/page.ts';
import { writeInParts } from '../access/named-file.ts';
import { type OpenedService, withService } from '../access/with-runtime.ts';
import { invocation } from '../invocation.ts';
import { confirmChange } from '../terminal/confirm-change.ts';
import { addOutputOptions, type OutputForm } from '../terminal/output-form.ts';
import { escapeControls, printLine } from '../terminal/print.ts';
import { drawProgress, showProgress } from '../terminal/progress.ts';
import { addChangeFlags, addSettingFlags, runtimeFlags } from '../usage/flags.ts';
import { explain } from '../usage/help.ts';
import { runCall } from './call.ts';

/** Adds `heddle queue`: what people do with a whole queue, at any service. */
export function addQueue(program: Command): void {
  const queue = program.command('queue').description('list the queues, export the judgements of one, or delete one');
  explain(queue, {
    examples: [
      'heddle queue list',
      'heddle queue export support-triage > support-triage-judgements.jsonl',
      'heddle queue export support-triage --format csv --values --out support-triage-judgements.csv',
      'heddle queue delete support-triage',
    ],
    page: 'docs/service.md#export-back-up-and-delete',
  });
  addList(queue);
  addExport(queue);
  addDelete(queue);
}

function addList(queue: Command): void {
  const command = queue
    .command('list')
    .description('list the queues of the project, with their fields and the number of items that are not finished');
  explain(command, { examples: ['heddle queue list'], page: 'docs/tools.md#list_queues' });
  addSettingFlags(addOutputOptions(command), runtimeFlags).action((form: OutputForm) =>
    runCall(command, { name: 'list_queues', json: '{"limit":1000}', form }),
  );
}

function queueArgument(): Argument {
  return new Argument('<queue>', 'id or name of the queue; `heddle queue list` lists them');
}

function addExport(queue: Command): void {
  const command = queue
    .command('export')
    .description('print the judgements and notes of a queue, the latest of each annotator')
    .addArgument(queueArgument())
    .addOption(
      new Option('--format <format>', 'jsonl, or csv for spreadsheets').choices(exportFormats).default('jsonl'),
    )
    .option('--all', 'also judgements that their annotator replaced later')
    .addOption(new Option('--wide', 'one line an item, with a column for each field and annotator').conflicts('all'))
    .option('--values', 'add the values of the recorded calls that the queue displays')
    .option('--out <file>', 'file to write, in one step and readable only by you; stdout by default');
  explain(command, {
    examples: [
      'heddle queue export support-triage > support-triage-judgements.jsonl',
      'heddle queue export support-triage --format csv --wide --values --out support-triage-judgements.csv',
    ],
    page: 'docs/service.md#export-back-up-and-delete',
  });
  addSettingFlags(command, runtimeFlags).action((idOrName: string, options: ExportOptions) =>
    withService(command, async (opened) => {
      const id = await findQueueId(idOrName, opened.project, opened.service);
      const exported = await exportJudgements(id, options, opened).finally(() => showProgress(''));
      const { judgements, origins, items, defused, firstDefused } = exported;
      const note = defused > 0 ? ` ${describeDefused(defused, firstDefused)}` : '';
      const from = origins && `: ${origins}`;
      const found = judgements === 1 ? '1 judgement or note' : `${judgements} judgements and notes`;
      invocation().stderr.write(`${escapeControls(`${found} of ${pluralize(items, 'item')}${from}.${note}`)}\n`);
    }),
  );
}

interface ExportOptions extends ExportForm {
  out?: string;
}

type Exported = Omit<ExportedPart, 'text' | 'writtenItems'>;

/** Writes the judgements and notes of a queue to a file or to stdout, and counts them. */
function exportJudgements(id: string, { out, ...form }: ExportOptions, opened: OpenedService): Promise<Exported> {
  // On a terminal, the lines themselves show the progress.
  const showsProgress = out !== undefined || !invocation().stdout.isTTY;
  return writeInParts(out, async (write) => {
    if (form.format === 'csv') await write(byteOrderMark);
    let exported: Exported = { judgements: 0, origins: '', items: 0, defused: 0 };
    for await (const part of exportedJudgements({ ...opened, id, progress: drawProgress }, form)) {
      if (!showsProgress) showProgress('');
      await write(part.text);
      if (showsProgress) drawProgress({ unit: 'exporting items', done: part.writtenItems, total: part.items });
      exported = part;
    }
    showProgress('');
    return exported;
  });
}

function addDelete(queue: Command): void {
  const command = queue
    .command('delete')
    .description('delete a queue after a question; its recorded calls and their judgements stay at the service')
    .addArgument(queueArgument())
    .option('--yes', 'delete without asking');
  explain(command, {
    examples: ['heddle queue export review > review.jsonl && heddle queue delete review'],
    page: 'docs/service.md#export-back-up-and-delete',
  });
  addChangeFlags(command, runtimeFlags).action((idOrName: string, options: { yes?: true }) =>
    withService(command, async ({ service, project }) => {
      const id = await findQueueId(idOrName, project, service);
      const { name } = await requireQueue(id, project, service);
      const { stats } = await service.call('queueStats', { body: { project_id: project, queue_ids: [id] } });
      const { total_items = 0, completed_items = 0 } = stats[0] ?? {};
      const title = name === id ? id : `${id} (${cell(name)})`;
      const question = `Delete the queue ${title} of ${project}, with ${total_items} items, of which ${completed_items} are finished?`;
      if (!(await confirmChange(question, options))) return printLine('Nothing was deleted.');
      await service.call('deleteQueue', { path: { queue_id: id }, query: { project_id: project } });
      printLine(`Deleted the queue ${title} of ${project}.`);
    }),
  );
}
