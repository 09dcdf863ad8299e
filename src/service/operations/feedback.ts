import * as z from 'zod';
import type { BodyOf, ResultOf } from '../../contract/endpoints.ts';
import {
  annotationFeedbackType,
  judgementTypes,
  type StoredFeedback,
  scoreFeedbackType,
} from '../../contract/feedback.ts';
import { callIdOf, parseReference } from '../../contract/references.ts';
import { appendTo } from '../../core/append-to.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { inBatches, inBatchesBySize } from '../../core/in-batches.ts';
import { sortedMembers } from '../../core/json/canonical-json.ts';
import { parseStoredJson, storedJson, withPlainNumbers } from '../../core/json/exact-number.ts';
import type { Members } from '../../core/json/json-object.ts';
import { fitsSchema } from '../../core/json/json-schema.ts';
import { withoutZone } from '../../core/timestamps.ts';
import {
  allOf,
  ComparedRecord,
  type Condition,
  type ConditionColumns,
  compileCondition,
  idsIn,
  joinParts,
} from '../query/condition.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { type Tables, tables } from '../storage/database-tables.ts';
import { newIds } from '../storage/ids.ts';
import { deleteByIds, inChunks, selectInProject } from '../storage/in-chunks.ts';
import { memoryBytesOf, totalMemoryOf } from '../storage/memory-bytes.ts';
import { findVersion } from '../storage/object-versions.ts';
import { findQueue } from '../storage/queue-rows.ts';
import { totalOrder } from '../storage/total-order.ts';
import { inTransaction, type OperationHandler } from './operation.ts';
import { pickMembers } from './pick-members.ts';
import { withEmojiNames } from './reaction-payload.ts';

type FeedbackRow = Omit<Tables['feedback'], 'memory_bytes'>;
const columns = Object.keys(tables.feedback.columns).filter(
  (column): column is keyof FeedbackRow => column !== 'memory_bytes',
);

/** The members that must be equal when feedback is sent again under the same id. */
const contentMembers = columns.filter((column) => !/^(project_id|id|wb_user_id|creator|created_at)$/.test(column));

/** Maximum size of a payload, as JSON. */
const maxPayloadBytes = 1024 * 1024;

/**
 * Stores feedback. An id that the account has used already returns what is stored.
 * @throws Refusal 400 for feedback that its type does not allow, 409 for an id that is stored with other content.
 */
export const createFeedback: OperationHandler<'createFeedback'> = async ({ body, account, budget }, { database }) => {
  await checkFeedback(database, [body], budget);
  return database.write((transaction) => storeFeedback(transaction, body, account));
};

/**
 * Stores several feedbacks: all of them, or none.
 * @throws Refusal as {@link createFeedback} does.
 */
export const createFeedbackBatch: OperationHandler<'createFeedbackBatch'> = async (
  { body: { batch }, account, budget },
  { database },
) => {
  await checkFeedback(database, batch, budget);
  return database.write(async (transaction) => {
    const res: ResultOf<'createFeedback'>[] = [];
    for (const feedback of batch) res.push(await storeFeedback(transaction, feedback, account));
    return { res };
  });
};

/**
 * Deletes feedback and stores another in its place.
 * @throws Refusal as {@link createFeedback} does; nothing is deleted then.
 */
export const replaceFeedback: OperationHandler<'replaceFeedback'> = async ({ body, account, budget }, { database }) => {
  const { feedback_id, ...feedback } = body;
  await checkFeedback(database, [feedback], budget);
  return database.write(async (transaction) => {
    await deleteByIds(transaction, 'feedback', body.project_id, [feedback_id]);
    return storeFeedback(transaction, feedback, account);
  });
};

/** Stores feedback that {@link checkFeedback} has accepted, in a write transaction. @throws Refusal 409 as {@link createFeedback} does. */
export async function storeFeedback(
  transaction: Transaction,
  body: BodyOf<'createFeedback'>,
  account: string,
): Promise<ResultOf<'createFeedback'>> {
  const [newId = ''] = newIds(1);
  const payload = body.feedback_type === 'wandb.reaction.1' ? await withEmojiNames(body.payload) : body.payload;
  const feedback: FeedbackRow = {
    project_id: body.project_id,
    id: body.id ?? newId,
    weave_ref: body.weave_ref,
    feedback_type: body.feedback_type,
    payload: storedJson(payload, sortedMembers),
    annotation_ref: body.annotation_ref ?? null,
    runnable_ref: body.runnable_ref ?? null,
    call_ref: body.call_ref ?? null,
    trigger_ref: body.trigger_ref ?? null,
    queue_id: body.queue_id ?? null,
    creator: body.creator ?? null,
    created_at: await timeAfterLatest(transaction, body),
    wb_user_id: account,
  };
  await transaction
    .insertInto('feedback')
    .values({ ...feedback, memory_bytes: memoryBytesOf(...Object.values(feedback)) })
    .onConflict((conflict) => conflict.columns(['project_id', 'id', 'wb_user_id']).doNothing())
    .execute();
  const stored = await selectInProject(transaction, 'feedback', feedback.project_id)
    .select(columns)
    .where('id', '=', feedback.id)
    .where('wb_user_id', '=', account)
    .executeTakeFirstOrThrow();
  if (contentMembers.some((member) => stored[member] !== feedback[member])) {
    throw new Refusal(409, `Feedback ${feedback.id} exists with other content`);
  }
  const { id, created_at, wb_user_id } = stored;
  return { id, created_at, wb_user_id, payload: parsePayload(stored.payload) };
}

/**
 * Returns the time for new feedback: now, or a millisecond after the latest on the same reference, which a process whose clock is
 * ahead may have stored. The latest judgement of a field counts, and no clock may decide which it is.
 */
async function timeAfterLatest(
  transaction: Transaction,
  { project_id, weave_ref }: BodyOf<'createFeedback'>,
): Promise<string> {
  const now = new Date().toISOString();
  const { latest } = await selectInProject(transaction, 'feedback', project_id)
    .select(({ fn }) => fn.max<string | null>('created_at').as('latest'))
    .where('weave_ref', '=', weave_ref)
    .executeTakeFirstOrThrow();
  return latest === null || latest < now ? now : new Date(Date.parse(latest) + 1).toISOString();
}

const sortColumns = ['created_at', 'id', 'wb_user_id', 'feedback_type', 'weave_ref'] as const;
const conditionColumns: ConditionColumns = {
  texts: columns.filter((column) => column !== 'payload' && column !== 'created_at'),
  times: { created_at: 1000 },
  checkField(path) {
    if ((columns as readonly string[]).includes(path.split('.', 1)[0]!)) return;
    throw new Refusal(400, `Unknown field: ${path.slice(0, 200).toWellFormed()}`);
  },
  kindOf: (path) => (path === 'created_at' ? 'other' : path.startsWith('payload') ? 'json' : 'text'),
};

/**
 * Reads feedback, by default the oldest first.
 * @throws Refusal 422 for a query that cannot be evaluated, 400 for an unknown field, 413 for feedback that is too large together.
 */
export const queryFeedback: OperationHandler<'queryFeedback'> = async ({ body, budget }, { database }) => {
  const { project_id, query, sort_by, fields } = body;
  const offset = body.offset ?? 0;
  const limit = body.limit ?? Number.MAX_SAFE_INTEGER;
  const condition = query ? compileCondition(query.$expr, conditionColumns) : allOf([]);
  const names = fields?.filter((name) => name !== countField) ?? [];
  for (const name of [...names, ...(sort_by ?? []).map(({ field }) => field)]) conditionColumns.checkField?.(name);
  const { isExact } = condition;
  const keys = await database.read((transaction) => {
    let rows = selectKeys(transaction, project_id).where(joinParts(condition.parts));
    for (const { column, direction } of totalOrder(sort_by, sortColumns, { field: 'created_at', direction: 'asc' })) {
      rows = rows.orderBy(column, direction);
    }
    return (isExact ? rows.limit(limit).offset(offset) : rows).execute();
  });
  budget.hold(keys.length * bytesPerKey, hint);
  // The count is one row, whatever else is asked for. Its members and those of chosen fields are fewer than the schema has.
  const isCount = fields?.includes(countField);
  const resultOf = (count: number) => ({ result: [{ [countField]: count } as object as StoredFeedback] });
  if (isCount && isExact) return resultOf(keys.length);
  const end = isExact ? keys.length : offset + limit;
  const found: StoredFeedback[] = [];
  for (const batch of feedbackBatches(keys)) {
    if (found.length >= end) break;
    const feedback = await readFeedbackByKeys(database, project_id, batch, budget);
    for (const key of batch) {
      const value = feedback.get(key);
      if (value && (isExact || (await isAccepted(condition, value, key, budget)))) found.push(value);
      else budget.release(key.memory_bytes);
    }
  }
  const page = isExact ? found : found.slice(offset, end);
  if (isCount) return resultOf(page.length);
  const members = names.map((name) => name.split('.', 1)[0]!);
  return { result: page.map((feedback) => pickMembers(feedback, members)) };
};

/** The field that stands for the number of feedbacks. */
const countField = 'count(*)';

async function isAccepted(
  { accepts, scans }: Condition,
  feedback: StoredFeedback,
  { memory_bytes }: FeedbackKey,
  budget: RequestBudget,
): Promise<boolean> {
  await budget.scan(memory_bytes, scans);
  return accepts(new ComparedRecord(feedback));
}

/**
 * Deletes feedback by its ids, in a write transaction. An item that the account has completed is no longer complete for it without
 * one of its judgements, unless another author's for the account remain. @throws Refusal 400 for any other query.
 */
export const purgeFeedback = inTransaction('purgeFeedback', async (transaction, { body, account }) => {
  const { project_id } = body;
  const ids = idsIn(body.query.$expr);
  const reopened_items = await reopenItems(transaction, project_id, ids, account);
  await deleteByIds(transaction, 'feedback', project_id, ids);
  return reopened_items.length > 0 ? { reopened_items } : {};
});

/**
 * Sets the items that an account has completed, and on which it gave one of these judgements, to in progress, unless it also has judgements
 * on them by other authors than these. Returns their ids.
 */
async function reopenItems(
  transaction: Transaction,
  project_id: string,
  feedbackIds: readonly string[],
  account: string,
): Promise<string[]> {
  const judgementsWhere = async (column: 'id' | 'weave_ref', values: readonly string[]) => {
    const feedback = await inChunks(values, (chunk) =>
      selectInProject(transaction, 'feedback', project_id)
        .select(['queue_id', 'weave_ref', 'feedback_type', 'creator'])
        .where(column, 'in', chunk)
        .where('wb_user_id', '=', account)
        .execute(),
    );
    return feedback.filter(({ feedback_type }) => judgementTypes.some((type) => feedback_type.startsWith(type)));
  };
  const deleted = await judgementsWhere('id', feedbackIds);
  const references = deleted.map(({ weave_ref }) => weave_ref);
  // Some clients name the account as the creator of what its user judges.
  const authors = new Set(deleted.map(({ creator }) => creator ?? account));
  const others = (await judgementsWhere('weave_ref', references)).filter(
    (given) => !authors.has(given.creator ?? account),
  );
  const kept = new Set(others.map(({ queue_id, weave_ref }) => `${queue_id} ${weave_ref}`));
  const callsByQueue = new Map<string, string[]>();
  for (const { queue_id, weave_ref } of deleted) {
    if (queue_id === null || kept.has(`${queue_id} ${weave_ref}`)) continue;
    appendTo(callsByQueue, queue_id, callIdOf(weave_ref));
  }
  const reopened: string[] = [];
  for (const [queue_id, callIds] of callsByQueue) {
    const items = await inChunks([...new Set(callIds)], (calls) =>
      selectInProject(transaction, 'queue_items', project_id)
        .innerJoin('annotator_progress', 'annotator_progress.item_id', 'queue_items.id')
        .select('queue_items.id')
        .where('queue_id', '=', queue_id)
        .where('call_id', 'in', calls)
        .where('annotator_progress.annotator_user_id', '=', account)
        .where('annotator_progress.annotation_state', '=', 'completed')
        .execute(),
    );
    reopened.push(...items.map(({ id }) => id));
  }
  await inChunks(reopened, async (ids) => {
    for (const [table, id] of [
      ['annotator_progress', 'item_id'],
      // What another annotator has done since stays in view.
      ['queue_items', 'id'],
    ] as const) {
      await transaction
        .updateTable(table)
        .set({ annotation_state: 'in_progress' })
        .where(id, 'in', ids)
        .where('annotator_user_id', '=', account)
        .where('annotation_state', '=', 'completed')
        .execute();
    }
    return [];
  });
  return reopened;
}

/** Identifies feedback, and tells what it is on and how much memory it takes, in bytes. */
export type FeedbackKey = Pick<Tables['feedback'], 'id' | 'wb_user_id' | 'weave_ref' | 'memory_bytes'>;

const bytesPerKey = 300;
const hint = 'ask for less feedback at once, with limit and offset';

function selectKeys(transaction: Transaction, project_id: string) {
  return selectInProject(transaction, 'feedback', project_id).select(['id', 'wb_user_id', 'weave_ref', 'memory_bytes']);
}

/**
 * Finds the feedback on calls or objects, by the references to them, the oldest on each first. With `queueId`, only
 * what was given in this queue.
 */
export function findFeedbackOf(
  database: Database,
  project_id: string,
  references: string[],
  queueId?: string,
): Promise<FeedbackKey[]> {
  return inChunks(references, (chunk) =>
    database.read((transaction) => {
      const onCalls = selectKeys(transaction, project_id)
        .where('weave_ref', 'in', chunk)
        // In the order of the index: by time alone, SQLite would walk all feedback of the queue in that order.
        .orderBy('weave_ref')
        .orderBy('created_at')
        .orderBy('id');
      return (queueId === undefined ? onCalls : onCalls.where('queue_id', '=', queueId)).execute();
    }),
  );
}

/** Number of rows, and of their bytes, that are read at once. */
const rowsPerRead = 500;
const bytesPerRead = 16 * 1024 * 1024;

/** Splits keys into batches of feedback that may be in memory at once. */
export function* feedbackBatches(keys: readonly FeedbackKey[]): Generator<FeedbackKey[]> {
  for (const batch of inBatchesBySize(keys, bytesPerRead, ({ memory_bytes }) => memory_bytes)) {
    yield* inBatches(batch, rowsPerRead);
  }
}

/** Reads feedback by its keys. The budget holds the memory of each key; feedback that was deleted meanwhile is missing. */
export async function readFeedbackByKeys(
  database: Database,
  project_id: string,
  keys: readonly FeedbackKey[],
  budget: RequestBudget,
): Promise<Map<FeedbackKey, StoredFeedback>> {
  const feedback = new Map<FeedbackKey, StoredFeedback>();
  for (const batch of feedbackBatches(keys)) {
    await budget.reserve(totalMemoryOf(batch), hint);
    const ids = batch.map(({ id }) => id);
    const rows = await database.read((transaction) =>
      selectInProject(transaction, 'feedback', project_id).select(columns).where('id', 'in', ids).execute(),
    );
    const rowsByKey = new Map(rows.map((row) => [nameOf(row), row]));
    for (const key of batch) {
      const row = rowsByKey.get(nameOf(key));
      if (!row) continue;
      await budget.parse(key.memory_bytes);
      feedback.set(
        key,
        Object.assign(row, { payload: parsePayload(row.payload), created_at: withoutZone(row.created_at) }),
      );
    }
  }
  return feedback;
}

/** Parses the payload of a feedback as it is stored. */
export function parsePayload(json: string): Members {
  return parseStoredJson(json) as Members;
}

function nameOf({ id, wb_user_id }: Pick<FeedbackKey, 'id' | 'wb_user_id'>): string {
  return `${id}\n${wb_user_id}`;
}

/**
 * Checks feedback before it is stored, because that takes longer than others should have to wait for a write transaction.
 * @throws Refusal 400 for feedback that its type does not allow, 413 for more than the budget allows.
 */
export async function checkFeedback(
  database: Database,
  list: readonly BodyOf<'createFeedback'>[],
  budget: RequestBudget,
): Promise<void> {
  const readField = createFieldReader(database, budget);
  const queues = new Set<string>();
  for (const body of list) {
    if (Buffer.byteLength(JSON.stringify(body.payload)) > maxPayloadBytes) throw refused('the payload is over 1 MiB');
    checkPayload(body);
    const type = body.feedback_type;
    if (type.startsWith('wandb.annotation')) await checkAnnotation(body, readField, budget);
    else if (body.annotation_ref) throw refused('only annotations have an annotation_ref');
    if (type.startsWith('wandb.runnable')) checkScore(body);
    else if (body.runnable_ref || body.call_ref || body.trigger_ref) {
      throw refused('only feedback of a runnable has a runnable_ref, call_ref or trigger_ref');
    }
    const { project_id, queue_id } = body;
    if (!queue_id || queues.has(`${project_id}/${queue_id}`)) continue;
    const queue = await database.read((transaction) => findQueue(transaction, project_id, queue_id));
    if (!queue) throw refused(`queue ${queue_id} not found`);
    queues.add(`${project_id}/${queue_id}`);
  }
}

/** The payloads of the types that the public service defines. */
const payloads: [RegExp, z.ZodType][] = [
  [/^wandb\.note\.1$/, z.looseObject({ note: z.string().min(1).max(1024) })],
  [/^wandb\.reaction\.1$/, z.looseObject({ emoji: z.string().refine(hasOneEmoji, 'must have exactly one emoji') })],
  [/^wandb\.annotation\b/, z.looseObject({ value: z.unknown().refine((value) => value !== undefined, 'is missing') })],
  [/^wandb\.runnable\b/, z.looseObject({ output: z.unknown().refine((value) => value !== undefined, 'is missing') })],
];

function checkPayload({ feedback_type, payload }: BodyOf<'createFeedback'>): void {
  const schema = payloads.find(([type]) => type.test(feedback_type))?.[1];
  const error = schema?.safeParse(payload).error;
  if (error) throw refused(`the payload does not fit ${feedback_type}: ${z.prettifyError(error)}`);
}

// The compiler's target does not know the flag v; every supported version of Node does.
const unicodeSets: string = 'gv';
const emoji = new RegExp('\\p{RGI_Emoji}', unicodeSets);

function hasOneEmoji(text: string): boolean {
  return text.length <= 64 && text.match(emoji)?.length === 1;
}

/** A field of a queue, and the memory in bytes that it takes. */
interface StoredField {
  isField: boolean;
  schema: unknown;
  bytes: number;
}

type FieldReader = (object: {
  project_id: string;
  object_id: string;
  version: string;
}) => Promise<StoredField | undefined>;

/** Returns a reader of fields, which reads each of them once. */
function createFieldReader(database: Database, budget: RequestBudget): FieldReader {
  const fields = new Map<string, StoredField | undefined>();
  return async (object) => {
    const key = `${object.project_id}/${object.object_id}:${object.version}`;
    if (fields.has(key)) return fields.get(key);
    const row = await database.read((transaction) => findVersion(transaction, object));
    let field: StoredField | undefined;
    if (row) {
      budget.hold(row.memory_bytes);
      await budget.parse(row.memory_bytes);
      const { field_schema } = JSON.parse(row.content) as { field_schema?: unknown };
      const isField = row.base_object_class === 'AnnotationSpec';
      field = { isField, schema: field_schema ?? {}, bytes: row.memory_bytes };
    }
    fields.set(key, field);
    return field;
  };
}

/** Number of scans that comparing a value with a schema takes. */
const scansPerCheck = 40;

async function checkAnnotation(
  body: BodyOf<'createFeedback'>,
  readField: FieldReader,
  budget: RequestBudget,
): Promise<void> {
  const { annotation_ref, project_id, payload, feedback_type } = body;
  if (!annotation_ref) throw refused('an annotation needs annotation_ref');
  const reference = parseReference(annotation_ref);
  if (reference?.kind !== 'object') throw refused(`annotation_ref is no reference to an object: ${annotation_ref}`);
  if (feedback_type !== annotationFeedbackType(reference.name)) {
    throw refused(`annotation_ref names ${reference.name}, which is not the field of ${feedback_type}`);
  }
  if (`${reference.entity}/${reference.project}` !== project_id) throw refused('annotation_ref is of another project');
  if (/^(latest|v\d+)$/.test(reference.version!)) throw refused('annotation_ref needs a digest');
  const field = await readField({ project_id, object_id: reference.name, version: reference.version! });
  if (!field) throw refused(`annotation_ref ${annotation_ref} not found`);
  if (!field.isField) throw refused('annotation_ref is not an AnnotationSpec');
  await budget.scan(field.bytes, scansPerCheck);
  if (!fitsSchema(field.schema, withPlainNumbers(payload.value)))
    throw refused('the value does not fit the schema of the field');
}

function checkScore({ runnable_ref, call_ref, feedback_type }: BodyOf<'createFeedback'>): void {
  const reference = runnable_ref ? parseReference(runnable_ref) : undefined;
  if (reference?.kind !== 'object' && reference?.kind !== 'op') {
    throw refused('feedback of a runnable needs runnable_ref, a reference to an object or an op');
  }
  if (feedback_type !== scoreFeedbackType(reference.name)) {
    throw refused(`runnable_ref names ${reference.name}, which is not that of ${feedback_type}`);
  }
  if (reference.kind === 'op' && !call_ref) throw refused('feedback of an op needs call_ref');
}

function refused(reason: string): Refusal {
  return new Refusal(400, `Invalid feedback: ${reason}`);
}
