import * as z from 'zod';
import { pathSegment, projectId as projectIdSchema } from '../../contract/identifiers.ts';
import { annotationStates } from '../../contract/queue-items.ts';
import { validateValue } from '../../contract/validation.ts';
import { type ErrorDetail, HeddleError } from '../../core/errors.ts';
import { InexactNumberError, parseExactJson } from '../../core/json/json-numbers.ts';
import { JsonLimitError } from '../../core/json/parse-json.ts';
import { normalizeTimestamp } from '../../core/timestamps.ts';
import { toCallRow } from '../storage/call-rows.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { newIds } from '../storage/ids.ts';
import { insertRows } from '../storage/insert-rows.ts';
import { newQueue } from '../storage/queue-rows.ts';
import { checkArguments } from './check-arguments.ts';

const timestamp = z
  .string()
  .refine((text) => normalizeTimestamp(text) !== undefined, 'must be an ISO 8601 date and time')
  .transform((text) => normalizeTimestamp(text)!);
const nonEmpty = z.string().min(1);

export const itemLine = z.strictObject({
  call_id: nonEmpty,
  call_op_name: nonEmpty,
  call_trace_id: nonEmpty,
  call_started_at: timestamp,
  call_ended_at: timestamp.nullish(),
  display_fields: z.array(z.string()).default([]),
  added_by: z.string().nullish(),
  annotation_state: z.enum(annotationStates).default('unstarted'),
  call: z.record(z.string(), z.unknown()).default({}),
});

/** A checked item with normalised times. */
export type NewItem = z.output<typeof itemLine>;
/** An item as it is written in a line of a file. */
export type ItemLine = z.input<typeof itemLine>;

export interface ImportTarget {
  projectId: string;
  queueId: string;
  /** Author of the rows, and of the items whose line names none. */
  addedBy?: string;
  /** Receives the number of lines read so far, then the number of items written so far and their total. */
  onProgress?: (progress: { phase: 'reading' | 'writing'; done: number; total?: number }) => void;
}

export interface ImportResult {
  added: number;
  duplicates: number;
}

const targetSchema = z.object({ projectId: projectIdSchema, queueId: pathSegment });

const maxReportedLines = 20;
/** Number of invalid lines after which the rest is not read. */
const maxInvalidLines = 1_000;
const maxFaultsOfLine = 5;
const linesPerProgress = 500;

/**
 * Loads lines of JSON into a queue, which is created if it is missing. A call that is already in the queue counts as a
 * duplicate and is not changed. Nothing is loaded if any line is invalid.
 * @throws HeddleError `invalid_arguments` naming up to 20 invalid lines by their 1-based number.
 */
export async function importItems(
  database: Database,
  source: AsyncIterable<string> | Iterable<string>,
  target: ImportTarget,
): Promise<ImportResult> {
  const hint = 'Write the project as entity/project, and the queue as one plain identifier.';
  checkArguments(targetSchema, target, 'Nothing was imported', hint);
  const items = await readItems(source, target);
  return database.write(async (transaction) => {
    await ensureQueue(transaction, target);
    return addItems(transaction, items, target);
  });
}

async function readItems(source: AsyncIterable<string> | Iterable<string>, target: ImportTarget): Promise<NewItem[]> {
  const items: NewItem[] = [];
  const invalidLines: ErrorDetail[][] = [];
  let invalidCount = 0;
  let line = 0;
  for await (const text of source) {
    line += 1;
    if (line % linesPerProgress === 0) target.onProgress?.({ phase: 'reading', done: line });
    if (text.trim() === '') continue;
    const parsed = parseItem(text, line);
    if (Array.isArray(parsed)) {
      invalidCount += 1;
      if (invalidCount <= maxReportedLines) invalidLines.push(parsed);
      if (invalidCount === maxInvalidLines) break;
    } else if (invalidCount === 0) {
      items.push(parsed);
    }
  }
  if (invalidCount > 0) throw invalidLinesError(invalidLines, invalidCount);
  return items;
}

/** Parses a line, or returns its faults. */
function parseItem(text: string, line: number): NewItem | ErrorDetail[] {
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    if (error instanceof InexactNumberError) {
      return error.faults.map((fault) => ({ ...fault, loc: ['line', line, ...fault.loc] }));
    }
    const msg = error instanceof JsonLimitError ? `is ${error.message}` : 'is not JSON';
    return [{ loc: ['line', line], msg, type: 'json_invalid' }];
  }
  const { data, faults } = validateValue(itemLine, value, 'line');
  if (!faults) return data;
  return faults.slice(0, maxFaultsOfLine).map((fault) => ({ ...fault, loc: ['line', line, ...fault.loc.slice(1)] }));
}

function invalidLinesError(lines: ErrorDetail[][], total: number): HeddleError {
  const detail = lines.flat();
  const reports = detail.map(({ loc: [, line, ...member], msg }) => `line ${line}: ${[...member, msg].join(': ')}`);
  if (total > lines.length) reports.push(`and ${total - lines.length} more`);
  const atLeast = total === maxInvalidLines ? 'at least ' : '';
  const count = `${atLeast}${total} invalid ${total === 1 ? 'line' : 'lines'}`;
  return new HeddleError({
    code: 'invalid_arguments',
    message: `${count}, nothing was loaded: ${reports.join('; ')}`,
    hint: 'Fix these lines and import the file again.',
    detail,
  });
}

/**
 * Creates a queue and names it after its id, unless the project already has a queue with this id. A deleted one is
 * restored, or its new items could not be listed.
 */
export async function ensureQueue(
  transaction: Transaction,
  { projectId: project_id, queueId: id, addedBy: created_by = 'import' }: ImportTarget,
  scorer_refs: readonly string[] = [],
): Promise<void> {
  const queue = newQueue({ project_id, id, name: id, description: null, scorer_refs, created_by });
  await transaction
    .insertInto('queues')
    .values(queue)
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'id'])
        .doUpdateSet({ deleted_at: null, updated_at: queue.updated_at })
        .where('queues.deleted_at', 'is not', null),
    )
    .execute();
}

const itemsPerStep = 1024;

/** Adds items and their calls to an existing queue in a write transaction. The new ids sort in the order of the list. */
export async function addItems(
  transaction: Transaction,
  items: NewItem[],
  target: ImportTarget,
): Promise<ImportResult> {
  const { projectId: project_id, queueId: queue_id, addedBy, onProgress } = target;
  const now = new Date().toISOString();
  const ids = newIds(items.length);
  let added = 0;
  for (let start = 0; start < items.length; start += itemsPerStep) {
    const chunk = items.slice(start, start + itemsPerStep);
    const calls = chunk.map((item) => callRowOf(item, project_id));
    await insertRows(transaction, 'calls', calls, ['project_id', 'id']);
    const rows = chunk.map((item, index) => ({
      id: ids[start + index]!,
      project_id,
      queue_id,
      call_id: item.call_id,
      call_started_at: item.call_started_at,
      call_ended_at: item.call_ended_at ?? null,
      call_op_name: item.call_op_name,
      call_trace_id: item.call_trace_id,
      annotation_state: item.annotation_state,
      display_fields: JSON.stringify(item.display_fields),
      added_by: item.added_by ?? addedBy ?? null,
      annotator_user_id: null,
      created_at: now,
      created_by: addedBy ?? 'import',
      updated_at: now,
      deleted_at: null,
    }));
    added += await insertRows(transaction, 'queue_items', rows, ['project_id', 'queue_id', 'call_id']);
    onProgress?.({ phase: 'writing', done: start + chunk.length, total: items.length });
  }
  return { added, duplicates: items.length - added };
}

function callRowOf(item: NewItem, project_id: string) {
  const key = {
    project_id,
    id: item.call_id,
    op_name: item.call_op_name,
    trace_id: item.call_trace_id,
    started_at: item.call_started_at,
    ended_at: item.call_ended_at ?? null,
  };
  return toCallRow(key, item.call);
}
