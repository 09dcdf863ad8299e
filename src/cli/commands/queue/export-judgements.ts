import { once } from 'node:events';
import { HeddleError } from '../../../core/errors.ts';
import { inBatches } from '../../../core/in-batches.ts';
import { ownMember } from '../../../core/json/member-at.ts';
import {
  byCall,
  goldJudgementsOf,
  judgementsOf,
  latestJudgements,
  notesOf,
  readFeedback,
} from '../../../queues/judgements.ts';
import { matchingItems } from '../../../queues/matching-items.ts';
import { requireQueue } from '../../../queues/require-queue.ts';
import { readCalls } from '../../../records/read-calls.ts';
import { valuesAt } from '../../../text/call-values.ts';
import { createNamedFile } from '../../access/named-file.ts';
import type { OpenedService } from '../../access/with-runtime.ts';
import { invocation } from '../../invocation.ts';
import { drawProgress, showProgress } from '../../terminal/progress.ts';
import { csvLine } from './csv-line.ts';

export const exportFormats = ['jsonl', 'csv'] as const;

export interface ExportOptions {
  format: (typeof exportFormats)[number];
  all?: true;
  values?: true;
  out?: string;
}

interface Exported {
  /** Judgements, gold and notes. */
  judgements: number;
  items: number;
  /** Cells that were changed, because a spreadsheet would run them as formulas. */
  defused: number;
}

const itemsPerBatch = 500;
/** Values are exported whole, unlike those that a model reads. */
const maxValueChars = 1_000_000;

const itemColumns = [
  'project_id',
  'queue_id',
  'item_id',
  'call_id',
  'call_op_name',
  'call_started_at',
  'annotation_state',
];
const judgementColumns = ['field', 'value', 'note', 'annotator', 'judged_at'];
/** Only where there is gold. */
const goldColumns = ['gold', 'reason'];

/**
 * Writes the judgements and notes of a queue, item by item in the order of the queue, one line each.
 * @throws HeddleError `not_found` for an unknown queue.
 */
export async function exportJudgements(
  queueId: string,
  { format, all, values, out }: ExportOptions,
  opened: OpenedService,
): Promise<Exported> {
  const { project } = opened;
  await requireQueue(queueId, project, opened.service);
  const queue = { ...opened, id: queueId, progress: drawProgress };
  const { items } = await matchingItems(queue, {});
  const feedback = await readFeedback(queue);
  const given = [judgementsOf(feedback), goldJudgementsOf(feedback)];
  const [judgements = [], gold = []] = all ? given : given.map(latestJudgements);
  const entries = [
    ...judgements.map(({ call_id, field, value, annotator, at }) => ({
      call_id,
      row: { field, value, annotator, judged_at: at },
    })),
    // Gold is no annotator's.
    ...gold.map(({ call_id, field, value, reason, at }) => ({
      call_id,
      row: { field, value, reason, judged_at: at, gold: true },
    })),
    ...notesOf(feedback).map(({ call_id, note, annotator, at }) => ({
      call_id,
      row: { note, annotator, judged_at: at },
    })),
  ];
  const entriesByCall = byCall(entries);
  const annotatedItems = items.filter(({ call_id }) => entriesByCall.has(call_id));
  const paths = values ? [...new Set(annotatedItems.flatMap(({ display_fields }) => display_fields))] : [];

  const target = out === undefined ? stdoutTarget : createNamedFile(out, 'owner');
  const members = [...itemColumns, ...judgementColumns, ...(gold.length > 0 ? goldColumns : [])];
  const columns = [...members, ...paths.map((path) => `call.${path}`)];
  let defused = 0;
  let itemsWritten = 0;
  // On a terminal, the lines themselves show the progress.
  const showsProgress = out !== undefined || !invocation().stdout.isTTY;
  if (!showsProgress) showProgress('');
  try {
    if (format === 'csv') await target.write(`${csvLine(columns).line}\r\n`);
    for (const batch of inBatches(annotatedItems, itemsPerBatch)) {
      const calls = values ? await readCalls(batch, project, opened.service) : undefined;
      const lines: string[] = [];
      for (const item of batch) {
        const call = calls?.get(item.call_id);
        const callValues =
          !call || call instanceof HeddleError ? {} : valuesAt(call, item.display_fields, maxValueChars);
        for (const { row } of entriesByCall.get(item.call_id)!) {
          const exported: Record<string, unknown> = { ...itemMembers(item), ...row };
          if (format === 'jsonl') {
            lines.push(`${JSON.stringify({ ...exported, ...(values && { call_values: callValues }) })}\n`);
            continue;
          }
          const cells = members.map((name) => ownMember(exported, name));
          const { line, changed } = csvLine([...cells, ...paths.map((path) => ownMember(callValues, path))]);
          defused += changed;
          lines.push(`${line}\r\n`);
        }
        itemsWritten += 1;
      }
      await target.write(lines.join(''));
      if (showsProgress) drawProgress({ unit: 'exporting items', done: itemsWritten, total: annotatedItems.length });
    }
    target.finish();
  } finally {
    // An unfinished export neither replaces nor resembles a complete one.
    target.discard();
  }
  return { judgements: entries.length, items: annotatedItems.length, defused };
}

type QueueItem = Awaited<ReturnType<typeof matchingItems>>['items'][number];

function itemMembers(item: QueueItem): Record<string, unknown> {
  const { id: item_id, project_id, queue_id, call_id, call_op_name, call_started_at, annotation_state } = item;
  return { project_id, queue_id, item_id, call_id, call_op_name, call_started_at, annotation_state };
}

const stdoutTarget = {
  async write(text: string) {
    const { stdout } = invocation();
    if (!stdout.write(text)) await once(stdout, 'drain');
  },
  finish: () => {},
  discard: () => {},
};
