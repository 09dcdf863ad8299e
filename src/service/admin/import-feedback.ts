import * as z from 'zod';
import { timestamp } from '../../contract/calls.ts';
import { annotationFeedbackType, goldFeedbackType, scoreFeedbackType } from '../../contract/feedback.ts';
import { callReference, parseReference } from '../../contract/references.ts';
import { appendTo } from '../../core/append-to.ts';
import { HeddleError } from '../../core/errors.ts';
import { inBatches } from '../../core/in-batches.ts';
import { canonicalJson } from '../../core/json/canonical-json.ts';
import { withPlainNumbers } from '../../core/json/exact-number.ts';
import { objectOrEmpty } from '../../core/json/json-object.ts';
import { fitsSchema } from '../../core/json/json-schema.ts';
import { normalizeTimestamp, toMilliseconds } from '../../core/timestamps.ts';
import type { Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { newIds } from '../storage/ids.ts';
import { selectInProject } from '../storage/in-chunks.ts';
import { insertRows } from '../storage/insert-rows.ts';
import { memoryBytesOf } from '../storage/memory-bytes.ts';
import { findVersion, prepareObject, putVersion } from '../storage/object-versions.ts';
import { findQueue } from '../storage/queue-rows.ts';

const nonEmpty = z.string().min(1);
const time = timestamp.transform((text) => toMilliseconds(normalizeTimestamp(text)!)).nullish();
const given = { annotator: nonEmpty, creator: z.string().nullish(), judged_at: time };

const judgedValue = z.unknown().transform(withPlainNumbers);

/** Members of a line with the judgements, notes and scores of people and programs. */
export const feedbackMembers = {
  judgements: z
    .array(
      z.strictObject({
        field: nonEmpty,
        value: judgedValue,
        is_gold: z.boolean().default(false).describe('It settles a dispute, and is no judgement of an annotator.'),
        reason: z.string().nullish().describe('Of gold.'),
        ...given,
      }),
    )
    .default([]),
  notes: z.array(z.strictObject({ note: nonEmpty, ...given })).default([]),
  scores: z
    .array(z.strictObject({ scorer: nonEmpty, value: judgedValue, comment: z.string().nullish(), judged_at: time }))
    .default([]),
};

/** Feedback on a call that another line, or an earlier import, describes. */
export const feedbackLine = z.strictObject({ feedback_on: nonEmpty, ...feedbackMembers });

const lineFeedback = z.object(feedbackMembers);
/** Feedback on a call as a line has it. */
export type ItemFeedback = z.input<typeof lineFeedback>;
/** Checked feedback on a call. */
export type NewFeedback = z.output<typeof lineFeedback> & { call_id: string };

/** A field that a queue is to have: its name and the JSON Schema of its values. */
export interface NewField {
  name: string;
  field_schema: Record<string, unknown>;
}

interface FeedbackTarget {
  projectId: string;
  queueId: string;
  addedBy?: string;
  fields?: readonly NewField[];
}

const defaultAuthor = 'import';
const noteType = 'wandb.note.1';
/** Choices that a field gets from its judgements, at most; with more, it takes any text. */
const maxChoices = 20;
/** Characters that a note may have at the public service. */
const maxNoteChars = 1024;

/**
 * Stores judgements and notes as those of their annotators, and scores as those of their scorers. A queue gets the fields that
 * the target or the judgements name. What is stored already is not stored again. Needs a write transaction.
 * @returns the number of judgements, notes and scores that were added, the names of the fields that the queue got, and whether it has none.
 * @throws HeddleError `invalid_arguments` for a value that does not fit a field that the queue has.
 */
export async function addFeedback(
  transaction: Transaction,
  list: readonly NewFeedback[],
  target: FeedbackTarget,
): Promise<{ added: number; newFields: string[]; lacksFields: boolean }> {
  const { fields, newFields } = await ensureFields(transaction, list, target);
  const scorers = new Map<string, string>();
  const scorerOf = async (scorer: string): Promise<string> => {
    const name = objectNameOf(scorer);
    const reference = scorers.get(name) ?? (await putScorer(transaction, name, scorer, target));
    scorers.set(name, reference);
    return reference;
  };
  let added = 0;
  for (const batch of inBatches(list, callsPerBatch)) {
    const rows: NewRow[] = [];
    for (const { call_id, judgements, notes, scores } of batch) {
      const weave_ref = callReference(target.projectId, call_id);
      for (const { field, value, is_gold, reason, ...by } of judgements) {
        const { name, reference, schema } = fields.get(objectNameOf(field))!;
        const fitting = [value, String(value)].find((candidate) => fitsSchema(schema, candidate));
        if (fitting === undefined) throw unfitting(call_id, name, value, schema);
        const judged = is_gold
          ? { feedback_type: goldFeedbackType(name), payload: { value: fitting, ...(reason && { reason }) } }
          : { feedback_type: annotationFeedbackType(name), payload: { value: fitting }, annotation_ref: reference };
        rows.push({ weave_ref, ...judged, ...authorOf(by), queue_id: target.queueId });
      }
      for (const { note, ...by } of notes) {
        for (let at = 0; at < note.length; at += maxNoteChars) {
          const payload = { note: note.slice(at, at + maxNoteChars).toWellFormed() };
          rows.push({ weave_ref, feedback_type: noteType, payload, ...authorOf(by), queue_id: target.queueId });
        }
      }
      for (const { scorer, value, comment, judged_at } of scores) {
        const payload = { output: value ?? null, ...(comment && { comment }) };
        const by = authorOf({ annotator: target.addedBy ?? defaultAuthor, judged_at });
        const runnable_ref = await scorerOf(scorer);
        rows.push({
          weave_ref,
          feedback_type: scoreFeedbackType(objectNameOf(scorer)),
          payload,
          runnable_ref,
          ...by,
          queue_id: null,
        });
      }
    }
    added += await insertMissing(transaction, rows, target.projectId);
  }
  return { added, newFields, lacksFields: fields.size === 0 };
}

const callsPerBatch = 200;

interface NewRow {
  weave_ref: string;
  feedback_type: string;
  payload: object;
  annotation_ref?: string;
  runnable_ref?: string;
  wb_user_id: string;
  creator: string | null;
  judged_at: string | undefined;
  queue_id: string | null;
}

function authorOf({
  annotator,
  creator,
  judged_at,
}: {
  annotator: string;
  creator?: string | null | undefined;
  judged_at?: string | null | undefined;
}) {
  return { wb_user_id: annotator, creator: creator ?? null, judged_at: judged_at ?? undefined };
}

/** Stores feedback, except what the same author said before: at the same time, or at any if the file has none. */
async function insertMissing(transaction: Transaction, rows: readonly NewRow[], project_id: string): Promise<number> {
  if (rows.length === 0) return 0;
  const refs = [...new Set(rows.map(({ weave_ref }) => weave_ref))];
  const stored = await selectInProject(transaction, 'feedback', project_id)
    .select(['weave_ref', 'feedback_type', 'wb_user_id', 'creator', 'queue_id', 'created_at', 'payload'])
    .where('weave_ref', 'in', refs)
    .execute();
  const keyOf = (
    row: Pick<NewRow, 'weave_ref' | 'feedback_type' | 'wb_user_id' | 'creator' | 'queue_id'>,
    payload: string,
  ): string => {
    // A note does not replace another, and a judgement does.
    const content = row.feedback_type === noteType ? payload : null;
    return JSON.stringify([row.weave_ref, row.feedback_type, row.wb_user_id, row.creator, row.queue_id, content]);
  };
  const times = new Map<string, string[]>();
  for (const row of stored) appendTo(times, keyOf(row, row.payload), row.created_at);
  const now = new Date().toISOString();
  const missing: Tables['feedback'][] = [];
  const ids = newIds(rows.length);
  for (const { payload: content, judged_at, annotation_ref = null, runnable_ref = null, ...row } of rows) {
    const payload = canonicalJson(content);
    const key = keyOf(row, payload);
    const before = times.get(key);
    if (before && (judged_at === undefined || before.includes(judged_at))) continue;
    const created_at = judged_at ?? now;
    appendTo(times, key, created_at);
    const id = ids[missing.length]!;
    const feedback = {
      project_id,
      id,
      ...row,
      payload,
      annotation_ref,
      runnable_ref,
      call_ref: null,
      trigger_ref: null,
      created_at,
    };
    missing.push({ ...feedback, memory_bytes: memoryBytesOf(...Object.values(feedback)) });
  }
  await insertRows(transaction, 'feedback', missing);
  return missing.length;
}

interface StoredField {
  name: string;
  reference: string;
  schema: Record<string, unknown>;
}

/** Returns the fields of the queue by their names, after those were added that the target or the judgements name: the new ones. */
async function ensureFields(
  transaction: Transaction,
  list: readonly NewFeedback[],
  target: FeedbackTarget,
): Promise<{ fields: Map<string, StoredField>; newFields: string[] }> {
  const { projectId, queueId } = target;
  const queue = (await findQueue(transaction, projectId, queueId))!;
  const references = JSON.parse(queue.scorer_refs) as string[];
  const fields = new Map<string, StoredField>();
  for (const text of references) {
    const reference = parseReference(text);
    if (reference?.kind !== 'object') continue;
    const found = await findVersion(transaction, {
      project_id: projectId,
      object_id: reference.name,
      version: reference.version!,
    });
    const { field_schema } = JSON.parse(found?.content ?? '{}') as { field_schema?: Record<string, unknown> };
    if (field_schema) fields.set(reference.name, { name: reference.name, reference: text, schema: field_schema });
  }
  const newFields: string[] = [];
  const add = async (written: string, field_schema: Record<string, unknown>): Promise<void> => {
    const name = objectNameOf(written);
    const content = { name, field_schema, ...(name !== written && { description: written }) };
    const owner = { project_id: projectId, created_by: target.addedBy ?? defaultAuthor };
    const { reference } = await putVersion(transaction, prepareObject('field', { ...owner, object_id: name, content }));
    const before = fields.get(name);
    if (before && before.reference !== reference) {
      throw refused(
        `The queue ${queueId} has the field ${name} with another type: ${valuesOf(before.schema)}`,
        'Leave out --field for it, or choose another name or queue.',
      );
    }
    if (!before) {
      references.push(reference);
      newFields.push(name);
    }
    fields.set(name, { name, reference, schema: field_schema });
  };
  for (const { name, field_schema } of target.fields ?? []) await add(name, field_schema);
  for (const [name, values] of valuesByField(list))
    if (!fields.has(objectNameOf(name))) await add(name, schemaOf(values));
  if (newFields.length > 0) {
    await transaction
      .updateTable('queues')
      .set({ scorer_refs: JSON.stringify(references), updated_at: new Date().toISOString() })
      .where('project_id', '=', projectId)
      .where('id', '=', queueId)
      .execute();
  }
  return { fields, newFields };
}

function valuesByField(list: readonly NewFeedback[]): Map<string, Set<unknown>> {
  const values = new Map<string, Set<unknown>>();
  for (const { judgements } of list) {
    for (const { field, value } of judgements) values.set(field, (values.get(field) ?? new Set()).add(value));
  }
  return values;
}

/** Returns the schema of the values of a field: of their only type, a choice of few texts, or any text. */
function schemaOf(values: ReadonlySet<unknown>): Record<string, unknown> {
  const types = new Set([...values].map((value) => (Number.isInteger(value) ? 'integer' : typeof value)));
  const [type] = types;
  if (types.size === 1 && (type === 'boolean' || type === 'integer' || type === 'number')) return { type };
  if (types.size === 2 && types.has('integer') && types.has('number')) return { type: 'number' };
  if (types.has('object')) return {};
  const isChoice = values.size <= maxChoices && [...values].every((value) => String(value).length <= maxChoiceChars);
  return isChoice ? { type: 'string', enum: [...values].map(String) } : { type: 'string' };
}

const maxChoiceChars = 60;

/** Returns a scorer for the scores of a tool, which cannot run here. */
async function putScorer(
  transaction: Transaction,
  object_id: string,
  name: string,
  { projectId, addedBy = defaultAuthor }: FeedbackTarget,
): Promise<string> {
  const content = { name, description: 'Scores that were imported from a file.' };
  const version = prepareObject('scorer', { project_id: projectId, object_id, content, created_by: addedBy });
  return (await putVersion(transaction, version)).reference;
}

/** Returns the name of the object for a field or a scorer. */
function objectNameOf(name: string): string {
  return name
    .trim()
    .replaceAll(/[^\p{L}\p{N}_.-]/gu, '_')
    .slice(0, 128);
}

function unfitting(callId: string, name: string, value: unknown, schema: unknown): HeddleError {
  const shown = JSON.stringify(value)?.slice(0, 100);
  return refused(
    `The judgement ${shown} of call ${callId} does not fit the field ${name} (${valuesOf(schema)})`,
    'Fix the value, or import into a queue without this field.',
  );
}

/** Returns the values that a schema allows: in words, if it is the schema of a kind of field. */
function valuesOf(schema: unknown): string {
  const { type, enum: choices, minimum, maximum, ...others } = objectOrEmpty(schema);
  if (Object.keys(others).length > 0 || typeof (choices ?? type) === 'undefined') return JSON.stringify(schema);
  if (Array.isArray(choices)) return `a choice of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`;
  if (type === 'boolean') return 'boolean: true or false';
  const bounds = [minimum !== undefined && `at least ${minimum}`, maximum !== undefined && `at most ${maximum}`];
  return [type === 'string' ? 'text' : type, ...bounds.filter(Boolean)].join(', ');
}

function refused(message: string, hint: string): HeddleError {
  return new HeddleError({ code: 'invalid_arguments', message: `${message}. Nothing was stored.`, hint });
}
