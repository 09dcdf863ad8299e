import { type ExportedPart, type ExportForm, exportedJudgements } from '../../../queues/exported-judgements.ts';
import { byteOrderMark } from '../../../text/csv-line.ts';
import { writeInParts } from '../../access/named-file.ts';
import type { OpenedService } from '../../access/with-runtime.ts';
import { invocation } from '../../invocation.ts';
import { drawProgress, showProgress } from '../../terminal/progress.ts';

export interface ExportOptions extends ExportForm {
  out?: string;
}

type Exported = Omit<ExportedPart, 'text' | 'writtenItems'>;

/**
 * Writes the judgements and notes of a queue to a file or to stdout, and counts them.
 * @throws HeddleError `not_found` for an unknown queue.
 */
export async function exportJudgements(
  id: string,
  { out, ...form }: ExportOptions,
  opened: OpenedService,
): Promise<Exported> {
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
