import type { QueueItem } from '../contract/queue-items.ts';
import { HeddleError } from '../core/errors.ts';
import { inBatches } from '../core/in-batches.ts';
import { ownMember } from '../core/json/member-at.ts';
import { countEach } from '../core/statistics/count-each.ts';
import { readCalls } from '../records/read-calls.ts';
import { operationName } from '../records/unknown-operation.ts';
import { valuesAt } from '../text/call-values.ts';
import { csvLine } from '../text/csv-line.ts';
import { pluralize } from '../text/page.ts';
import { queueOrder, sortItems } from './item-order.ts';
import { withReadableTimes } from './item-pages.ts';
import { byCall, goldJudgementsOf, judgementsOf, latestJudgements, notesOf } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { readAllItems, readItemsWithFeedback } from './read-items.ts';
import { requireQueue } from './require-queue.ts';

export const exportFormats = ['jsonl', 'csv'] as const;

export interface ExportForm {
  format: (typeof exportFormats)[number];
  /** Also judgements that their annotator replaced later. */
  all?: true;
  /** One line for each item, judged or not, with a column for each field and annotator. */
  wide?: true;
  /** Adds the values of the recorded calls that the queue displays. */
  values?: true;
}

/** A part of an export, with what there is of it so far. */
export interface ExportedPart {
  text: string;
  /** Judgements, gold and notes of the whole export, and how many there are by whom, like `2 by ana` and `1 note`. */
  judgements: number;
  origins: string;
  /** Items of the whole export. */
  items: number;
  writtenItems: number;
  /** Cells that were changed, because a spreadsheet would run them as formulas. */
  defused: number;
  /** Row and column of the first of them. */
  firstDefused?: string | undefined;
}

const itemsPerPart = 500;
/** What is written of an item that has no judgements. */
const noRows = [{ row: {} }];
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
 * Yields the judgements and notes of a queue as text, item by item in the order of the queue, one line each or one line an item.
 * @throws HeddleError `not_found` for an unknown queue.
 */
export async function* exportedJudgements(
  queue: QueueAccess,
  { format, all, wide, values }: ExportForm,
): AsyncGenerator<ExportedPart> {
  await requireQueue(queue.id, queue.project, queue.service);
  const { items: found, feedback } = wide
    ? await readAllItems(queue, { include_feedback: true })
    : await readItemsWithFeedback(queue);
  const items = sortItems(found, queueOrder);
  const given = [judgementsOf(feedback), goldJudgementsOf(feedback)];
  const [judgements = [], gold = []] = all ? given : given.map(latestJudgements);
  const notes = notesOf(feedback);
  const entries: Entry[] = [
    ...judgements.map(({ call_id, field, value, annotator, at }) => ({
      call_id,
      row: { field, value, annotator, judged_at: at },
    })),
    // Gold is no annotator's.
    ...gold.map(({ call_id, field, value, reason, at }) => ({
      call_id,
      row: { field, value, reason, judged_at: at, gold: true },
    })),
    ...notes.map(({ call_id, note, annotator, at }) => ({
      call_id,
      row: { note, annotator, judged_at: at },
    })),
  ];
  const rows = wide ? wideRows(entries) : entries;
  const rowsByCall = byCall(rows);
  const exportedItems = items.filter(({ call_id }) => wide || rowsByCall.has(call_id));
  const paths = values ? [...new Set(exportedItems.flatMap(({ display_fields }) => display_fields))] : [];
  const origins = [
    ...[...countEach(judgements.map(({ annotator }) => annotator))].map(([name, count]) => `${count} by ${name}`),
    ...(gold.length > 0 ? [`${gold.length} gold`] : []),
    ...(notes.length > 0 ? [pluralize(notes.length, 'note')] : []),
  ].join(', ');
  const counts = { judgements: entries.length, origins, items: exportedItems.length };
  let writtenItems = 0;
  let rowNumber = 1;
  let defused = 0;
  let firstDefused: string | undefined;
  const callColumns = paths.map((path) => `call.${path}`);
  // A table with a line for each item is for people, who read the values and the judgements first.
  const columns = wide
    ? [...callColumns, ...[...new Set(rows.flatMap(({ row }) => Object.keys(row)))].sort(), ...itemColumns.toReversed()]
    : [...itemColumns, ...judgementColumns, ...(gold.length > 0 ? goldColumns : []), ...callColumns];
  yield { text: format === 'csv' ? `${csvLine(columns).line}\r\n` : '', ...counts, writtenItems, defused };
  for (const batch of inBatches(exportedItems, itemsPerPart)) {
    const calls = values ? await readCalls(batch, queue.project, queue.service) : undefined;
    const lines: string[] = [];
    for (const item of batch) {
      const call = calls?.get(item.call_id);
      const callValues = !call || call instanceof HeddleError ? {} : valuesAt(call, item.display_fields, maxValueChars);
      for (const { row } of rowsByCall.get(item.call_id) ?? noRows) {
        const members = itemMembers(withReadableTimes(item));
        if (format === 'jsonl') {
          const shown = values && { call_values: callValues };
          const exported = wide ? { ...shown, ...row, ...members } : { ...members, ...row, ...shown };
          lines.push(`${JSON.stringify(exported)}\n`);
          continue;
        }
        const exported = {
          ...members,
          ...(wide && { call_op_name: operationName(item.call_op_name) }),
          ...row,
          ...Object.fromEntries(paths.map((path) => [`call.${path}`, ownMember(callValues, path)])),
        };
        const { line, changed } = csvLine(columns.map((name) => ownMember(exported, name)));
        defused += changed.length;
        rowNumber += 1;
        if (changed[0] !== undefined) firstDefused ??= `row ${rowNumber}, column ${columns[changed[0]]}`;
        lines.push(`${line}\r\n`);
      }
    }
    writtenItems += batch.length;
    yield { text: lines.join(''), ...counts, writtenItems, defused, firstDefused };
  }
}

/** What was given to the call of an item. */
interface Entry {
  call_id: string;
  row: {
    field?: string;
    value?: unknown;
    note?: string;
    annotator?: string;
    judged_at: string;
    reason?: string | undefined;
    gold?: boolean;
  };
}

/** Returns one row a call, with members like `helpful (ana)`, `note (ana)`, `helpful, gold` and `helpful, reason of gold`. */
function wideRows(entries: readonly Entry[]): { call_id: string; row: Record<string, unknown> }[] {
  return [...byCall(entries)].map(([call_id, given]) => {
    const row = new Map<string, unknown>();
    for (const { field, value, note, annotator, reason, gold } of given.map((entry) => entry.row)) {
      if (note !== undefined) {
        const name = `note (${annotator})`;
        row.set(name, row.has(name) ? `${row.get(name)}\n${note}` : note);
      } else row.set(gold ? `${field}, gold` : `${field} (${annotator})`, value);
      if (reason !== undefined) row.set(`${field}, reason of gold`, reason);
    }
    return { call_id, row: Object.fromEntries(row) };
  });
}

function itemMembers(item: QueueItem): Record<string, unknown> {
  const { id: item_id, project_id, queue_id, call_id, call_op_name, call_started_at, annotation_state } = item;
  return { project_id, queue_id, item_id, call_id, call_op_name, call_started_at, annotation_state };
}
