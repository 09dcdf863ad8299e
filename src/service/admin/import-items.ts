import * as z from 'zod';
import { timestamp } from '../../contract/calls.ts';
import { entriesNamed, projectId as projectIdSchema } from '../../contract/identifiers.ts';
import { isPlainSegment, maxSegmentChars } from '../../contract/path-segments.ts';
import { type AnnotationState, annotationStates } from '../../contract/queue-items.ts';
import { validateValue } from '../../contract/validation.ts';
import { type ErrorDetail, HeddleError } from '../../core/errors.ts';
import { inBatches } from '../../core/in-batches.ts';
import { parseKeepingNumbers } from '../../core/json/exact-number.ts';
import { isJsonObject } from '../../core/json/json-object.ts';
import { JsonLimitError } from '../../core/json/parse-json.ts';
import { normalizeTimestamp } from '../../core/timestamps.ts';
import { toCallRow } from '../storage/call-rows.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { newIds } from '../storage/ids.ts';
import { inChunks, selectByIds, selectInProject } from '../storage/in-chunks.ts';
import { insertRows } from '../storage/insert-rows.ts';
import { copiedColumns, copyToItems, itemLatency, newQueue } from '../storage/queue-rows.ts';
import { checkArguments } from './check-arguments.ts';
import { addFeedback, feedbackLine, feedbackMembers, type NewFeedback, type NewField } from './import-feedback.ts';

const time = timestamp.transform((text) => normalizeTimestamp(text)!);
const nonEmpty = z.string().min(1);

export const itemLine = z.strictObject({
  call_id: nonEmpty,
  call_op_name: nonEmpty,
  call_trace_id: nonEmpty,
  call_started_at: time,
  call_ended_at: time.nullish(),
  display_fields: z.array(z.string()).default([]),
  added_by: z.string().nullish(),
  annotation_state: z.enum(annotationStates).default('unstarted'),
  call: z.record(z.string(), z.unknown()).default({}),
});

/** A line of a file: an item with what was said about it. */
const importedLine = itemLine.extend({
  ...feedbackMembers,
  /** By default that of an item without judgements, or of one that its annotators have judged. */
  annotation_state: z.enum(annotationStates).optional(),
  /** True for a call that is no item of the queue when the file has its parent. */
  roots_only: z.boolean().default(false),
});

/** A checked item with normalised times. */
export type NewItem = z.output<typeof itemLine>;
/** An item as it is written in a line of a file. */
export type ItemLine = z.input<typeof itemLine>;

export interface ImportTarget {
  projectId: string;
  /** Id or name of the queue. */
  queueId: string;
  /** Author of the rows, and of the items whose line names none. */
  addedBy?: string;
  /** Fields that the queue gets, besides those that its judgements name. */
  fields?: readonly NewField[];
  /** Says annotators how to judge. */
  guidelines?: string | undefined;
  /** Receives the number of lines read so far, then the number of items written so far and their total. */
  onProgress?: (progress: { phase: 'reading' | 'writing'; done: number; total?: number }) => void;
}

export interface ImportResult {
  added: number;
  duplicates: number;
}

/** Numbers of the entries that an import stored. */
export interface FileImportResult extends ImportResult {
  /** Judgements, notes and scores that were added, if the file has any. */
  feedback?: number;
  /** Lines with feedback on calls that the project does not have, which were left out. */
  unknownCalls?: number;
  /** The names of the queues that the project had before, if the queue is new. */
  otherQueues?: string[];
  /** The names of the fields that a queue got which the project had before. */
  newFields?: string[];
  /** True if the queue has no field to judge. */
  lacksFields?: boolean;
}

const queueIdOrName = z
  .string()
  .max(maxSegmentChars)
  .refine((text) => text.trim() !== '' && !/\p{Cc}/u.test(text), 'must be an id or a name on one line');
const targetSchema = z.object({ projectId: projectIdSchema, queueId: queueIdOrName });

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
  named: ImportTarget,
): Promise<FileImportResult> {
  const { items, states, steps, feedback } = await readImport(source, named);
  const result = await database.write(async (transaction) => {
    const { queueId, otherQueues } = await ensureQueue(transaction, named);
    const target = { ...named, queueId };
    for (const batch of inBatches(inCallOrder(steps), itemsPerStep))
      await addCalls(transaction, batch, target.projectId);
    const itemCounts = await addItems(transaction, items, target);
    const known = await onKnownCalls(transaction, feedback, target);
    const { added, newFields, lacksFields } = await addFeedback(transaction, known, target);
    await completeJudged(transaction, states, known, target);
    return {
      ...itemCounts,
      ...(feedback.length > 0 && { feedback: added, unknownCalls: feedback.length - known.length }),
      ...(otherQueues ? { otherQueues } : newFields.length > 0 && { newFields }),
      ...(lacksFields && { lacksFields }),
    };
  });
  if (items.length + steps.length + feedback.length > itemsPerStep) await database.gatherStatistics();
  return result;
}

/** The lines of a file, checked. */
export interface CheckedImport {
  items: NewItem[];
  /** The states that the file names, by call. */
  states: Map<string, AnnotationState>;
  /** Calls that are no items: the parents of their items are in the file. */
  steps: NewItem[];
  feedback: NewFeedback[];
}

/**
 * Reads and checks lines of JSON without storing them.
 * @throws HeddleError as {@link importItems} does.
 */
export async function readImport(
  source: AsyncIterable<string> | Iterable<string>,
  target: ImportTarget,
): Promise<CheckedImport> {
  const hint = 'Write the project as entity/project, and the queue as its id or its name.';
  checkArguments(targetSchema, target, 'Nothing was imported', hint);
  const items: NewItem[] = [];
  const states = new Map<string, AnnotationState>();
  const possibleSteps: NewItem[] = [];
  const feedback: NewFeedback[] = [];
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
      const { item, isStep, given } = parsed;
      if (given.judgements.length + given.notes.length + given.scores.length > 0) feedback.push(given);
      if (!item) continue;
      const { annotation_state = 'unstarted' } = item;
      if (item.annotation_state) states.set(item.call_id, annotation_state);
      (isStep ? possibleSteps : items).push({ ...item, annotation_state });
    }
  }
  if (invalidCount > 0) throw invalidLinesError(invalidLines, invalidCount);
  if (possibleSteps.length === 0) return { items, states, steps: [], feedback };
  const inFile = new Set([...items, ...possibleSteps].map(({ call_id }) => call_id));
  const isStep = ({ call }: NewItem): boolean => inFile.has(String(call.parent_id));
  return {
    states,
    items: [...items, ...possibleSteps.filter((item) => !isStep(item))],
    steps: possibleSteps.filter(isStep),
    feedback,
  };
}

interface ParsedLine {
  item?: Omit<NewItem, 'annotation_state'> & { annotation_state?: AnnotationState | undefined };
  isStep?: boolean;
  given: NewFeedback;
}

/** Parses a line, or returns its faults. */
function parseItem(text: string, line: number): ParsedLine | ErrorDetail[] {
  let value: unknown;
  try {
    value = parseKeepingNumbers(text);
  } catch (error) {
    const msg = error instanceof JsonLimitError ? `is ${error.message}` : 'is not JSON';
    return [{ loc: ['line', line], msg, type: 'json_invalid' }];
  }
  const isFeedback = isJsonObject(value) && 'feedback_on' in value;
  if (isFeedback) {
    const { data, faults } = validateValue(feedbackLine, value, 'line');
    if (faults) return faultsOf(faults, line);
    const { feedback_on: call_id, ...given } = data;
    return { given: { call_id, ...given } };
  }
  const { data, faults } = validateValue(importedLine, value, 'line');
  if (faults) return faultsOf(faults, line);
  const { judgements, notes, scores, roots_only: isStep, ...item } = data;
  return { item, isStep, given: { call_id: item.call_id, judgements, notes, scores } };
}

function faultsOf(faults: readonly ErrorDetail[], line: number): ErrorDetail[] {
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
 * Creates a queue unless the project has one with this id or name. A deleted one with the id is restored, or its new items could not
 * be listed.
 * @returns its id, and if it is new the names of the other queues.
 * @throws HeddleError `invalid_arguments` for a name that several queues have.
 */
export async function ensureQueue(
  transaction: Transaction,
  { projectId: project_id, queueId: name, addedBy: created_by = 'import', guidelines }: ImportTarget,
  scorer_refs: readonly string[] = [],
): Promise<{ queueId: string; otherQueues?: string[] }> {
  const queues = await selectInProject(transaction, 'queues', project_id)
    .select(['id', 'name', 'deleted_at'])
    .execute();
  const existing = existingQueue(queues, name);
  const id = existing ?? (isPlainSegment(name) ? name : newIds(1)[0]!);
  const others = queues.filter(({ deleted_at }) => deleted_at === null).map((other) => other.name);
  const ensured = { queueId: id, ...(existing === undefined && { otherQueues: others }) };
  const queue = newQueue({ project_id, id, name, description: guidelines ?? null, scorer_refs, created_by });
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
  if (guidelines === undefined) return ensured;
  const { updated_at } = queue;
  await transaction
    .updateTable('queues')
    .set({ description: guidelines, updated_at })
    .where('project_id', '=', project_id)
    .where('id', '=', id)
    .execute();
  return ensured;
}

/** Returns the id of the queue that has a text as its id, or else as its name, whatever its case; undefined if there is none. */
function existingQueue(
  queues: readonly Pick<Tables['queues'], 'id' | 'name' | 'deleted_at'>[],
  text: string,
): string | undefined {
  if (queues.some(({ id }) => id === text)) return text;
  const [queue, ...others] = entriesNamed(
    text,
    queues.filter(({ deleted_at }) => deleted_at === null),
  );
  if (others.length === 0) return queue?.id;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `${others.length + 1} queues have the name ${JSON.stringify(text)}, nothing was imported.`,
    hint: 'Pass the id of one of them, which `heddle call list_queues` shows.',
  });
}

/** Stores calls, and returns what items copy of them, by their ids. A call that is stored already is not changed. */
async function addCalls(transaction: Transaction, items: readonly NewItem[], project_id: string) {
  const calls = items.map((item) =>
    toCallRow(
      {
        project_id,
        id: item.call_id,
        op_name: item.call_op_name,
        trace_id: item.call_trace_id,
        started_at: item.call_started_at,
        ended_at: item.call_ended_at ?? null,
      },
      item.call,
    ),
  );
  await insertRows(transaction, 'calls', calls, ['project_id', 'id']);
  const ids = items.map(({ call_id }) => call_id);
  const deleted = await inChunks(ids, (chunk) =>
    selectByIds(transaction, 'deleted_calls', project_id, chunk).select('id').execute(),
  );
  // A call that comes back may differ from the deleted one that items copied.
  const returned = deleted.map(({ id }) => id);
  await copyToItems(transaction, project_id, returned, 'all');
  const stored = await inChunks(ids, (chunk) =>
    selectByIds(transaction, 'calls', project_id, chunk)
      .select(['id as call_id', ...copiedColumns])
      .execute(),
  );
  return new Map(stored.map((call) => [call.call_id, call]));
}

/** Returns the feedback on calls that the project has. The queue gets those that it has not as items, if people judged them. */
async function onKnownCalls(
  transaction: Transaction,
  feedback: readonly NewFeedback[],
  target: ImportTarget,
): Promise<NewFeedback[]> {
  const { projectId, queueId } = target;
  const ids = [...new Set(feedback.map(({ call_id }) => call_id))];
  const rows = await inChunks(ids, (chunk) =>
    selectByIds(transaction, 'calls', projectId, chunk)
      .select(['id as call_id', ...copiedColumns])
      .execute(),
  );
  const calls = new Map(rows.map((row) => [row.call_id, row]));
  const items = await inChunks(ids, (chunk) =>
    selectInProject(transaction, 'queue_items', projectId)
      .select('call_id')
      .where('queue_id', '=', queueId)
      .where('call_id', 'in', chunk)
      .execute(),
  );
  const inQueue = new Set(items.map(({ call_id }) => call_id));
  const judged = feedback.filter(
    ({ call_id, judgements }) => judgements.length > 0 && calls.has(call_id) && !inQueue.has(call_id),
  );
  const rest = { display_fields: ['inputs', 'output'], annotation_state: 'completed', call: {} } as const;
  const added = [...new Set(judged.map(({ call_id }) => call_id))].map((id) => ({
    ...calls.get(id)!,
    ...rest,
    display_fields: [...rest.display_fields],
  }));
  await addItems(transaction, added, target);
  return feedback.filter(({ call_id }) => calls.has(call_id));
}

/** Gives the imported state of an item to those who judged it, so that others may still judge it. */
async function completeJudged(
  transaction: Transaction,
  states: ReadonlyMap<string, AnnotationState>,
  feedback: readonly NewFeedback[],
  target: ImportTarget,
): Promise<void> {
  const people = new Map<string, Set<string>>();
  for (const { call_id, judgements } of feedback) {
    for (const { annotator, is_gold } of judgements)
      if (!is_gold) people.set(call_id, (people.get(call_id) ?? new Set()).add(annotator));
  }
  const ids = [...people.keys()];
  const rows = await inChunks(ids, (chunk) =>
    selectInProject(transaction, 'queue_items', target.projectId)
      .select(['id', 'call_id'])
      .where('queue_id', '=', target.queueId)
      .where('annotator_user_id', 'is', null)
      .where('call_id', 'in', chunk)
      .execute(),
  );
  const now = new Date().toISOString();
  const progress = rows.flatMap(({ id, call_id }) => {
    const annotation_state = states.get(call_id) ?? 'completed';
    return annotation_state === 'unstarted'
      ? []
      : [...people.get(call_id)!].map((annotator_user_id) => ({
          item_id: id,
          annotator_user_id,
          annotator_kind: 'person' as const,
          annotation_state,
          created_at: now,
          updated_at: now,
        }));
  });
  for (const batch of inBatches(progress, progressPerInsert)) {
    await insertRows(transaction, 'annotator_progress', batch, ['item_id', 'annotator_user_id']);
    const last = new Map(batch.map((entry) => [entry.item_id, entry]));
    for (const { item_id, annotator_user_id, annotation_state } of last.values()) {
      await transaction
        .updateTable('queue_items')
        .set({ annotator_user_id, annotation_state })
        .where('id', '=', item_id)
        .execute();
    }
  }
}

/** Items and calls that are stored at a time. After more of them, the engine has to learn what its tables hold. */
export const itemsPerStep = 1024;
/** Brings removed items back, with new display fields. They keep their ids, and with them the progress of their annotators. */
const bringBack =
  'update set deleted_at = null, updated_at = excluded.updated_at, display_fields = excluded.display_fields where queue_items.deleted_at is not null';
/** Stays below the database engines' limits on parameters. */
const progressPerInsert = 100;

/**
 * Adds items and their calls to an existing queue in a write transaction. The new ids sort in the order of the list; a removed
 * item comes back and counts as added.
 */
export async function addItems(
  transaction: Transaction,
  items: NewItem[],
  target: ImportTarget,
): Promise<ImportResult> {
  const { projectId: project_id, queueId: queue_id, addedBy, onProgress } = target;
  const now = new Date().toISOString();
  const ids = newIds(items.length);
  const idOf = new Map(items.map((item, index) => [item, ids[index]!]));
  let added = 0;
  let done = 0;
  const firsts = inCallOrder(items);
  for (const batch of inBatches(firsts, itemsPerStep)) {
    const calls = await addCalls(transaction, batch, project_id);
    const rows = batch.map((item) => ({
      ...calls.get(item.call_id)!,
      latency: itemLatency(calls.get(item.call_id)!),
      id: idOf.get(item)!,
      project_id,
      queue_id,
      annotation_state: item.annotation_state,
      display_fields: JSON.stringify(item.display_fields),
      added_by: item.added_by ?? addedBy ?? null,
      annotator_user_id: null,
      created_at: now,
      created_by: addedBy ?? 'import',
      updated_at: now,
      deleted_at: null,
    }));
    added += await insertRows(transaction, 'queue_items', rows, ['project_id', 'queue_id', 'call_id'], bringBack);
    done += batch.length;
    onProgress?.({ phase: 'writing', done, total: firsts.length });
  }
  return { added, duplicates: items.length - added };
}

/**
 * Returns the first item of each call in the order that most indexes of calls have. SQLite stores rows in the order of an index
 * in less than half the time.
 */
function inCallOrder(items: readonly NewItem[]): NewItem[] {
  const firsts = new Map<string, NewItem>();
  for (const item of items) if (!firsts.has(item.call_id)) firsts.set(item.call_id, item);
  return [...firsts.values()].sort((a, b) =>
    (a.call_started_at === b.call_started_at ? a.call_id < b.call_id : a.call_started_at < b.call_started_at) ? -1 : 1,
  );
}
