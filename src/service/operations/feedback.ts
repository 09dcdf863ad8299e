import * as z from 'zod';
import type { BodyOf, ResultOf } from '../../contract/endpoints.ts';
import { annotationFeedbackType, type StoredFeedback } from '../../contract/feedback.ts';
import { parseReference } from '../../contract/references.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { canonicalJson } from '../../core/json/canonical-json.ts';
import { fitsSchema } from '../../core/json/json-schema.ts';
import { allOf, type ConditionColumns, compileCondition, idsIn, joinParts } from '../query/condition.ts';
import type { Transaction } from '../storage/database.ts';
import { type Tables, tables } from '../storage/database-tables.ts';
import { newIds } from '../storage/ids.ts';
import { deleteByIds, inChunks } from '../storage/in-chunks.ts';
import { findVersion } from '../storage/object-versions.ts';
import { findQueue } from '../storage/queue-rows.ts';
import { totalOrder } from '../storage/total-order.ts';
import { inTransaction } from './operation.ts';
import { pickMembers } from './pick-members.ts';

const columns = Object.keys(tables.feedback.columns) as (keyof Tables['feedback'])[];

/** The members that must be equal when feedback is sent again under the same id. */
const contentMembers = columns.filter((column) => !/^(project_id|id|wb_user_id|creator|created_at)$/.test(column));

/** Maximum size of a payload, as JSON. */
const maxPayloadBytes = 1024 * 1024;

/**
 * Stores feedback, in a write transaction. An id that the account has used already returns what is stored.
 * @throws Refusal 400 for feedback that its type does not allow, 409 for an id that is stored with other content.
 */
export const createFeedback = inTransaction('createFeedback', (transaction, { body, account }) =>
  storeFeedback(transaction, body, account),
);

/**
 * Stores several feedbacks, in one write transaction: all of them, or none.
 * @throws Refusal as {@link createFeedback} does.
 */
export const createFeedbackBatch = inTransaction('createFeedbackBatch', async (transaction, { body, account }) => {
  const res: ResultOf<'createFeedback'>[] = [];
  for (const feedback of body.batch) res.push(await storeFeedback(transaction, feedback, account));
  return { res };
});

/**
 * Deletes feedback and stores another in its place, in one write transaction.
 * @throws Refusal as {@link createFeedback} does; nothing is deleted then.
 */
export const replaceFeedback = inTransaction('replaceFeedback', async (transaction, { body, account }) => {
  const { feedback_id, ...feedback } = body;
  await deleteByIds(transaction, 'feedback', body.project_id, [feedback_id]);
  return storeFeedback(transaction, feedback, account);
});

/** Stores feedback in a write transaction. @throws Refusal as {@link createFeedback} does. */
export async function storeFeedback(
  transaction: Transaction,
  body: BodyOf<'createFeedback'>,
  account: string,
): Promise<ResultOf<'createFeedback'>> {
  await checkFeedback(transaction, body);
  const [newId = ''] = newIds(1);
  const feedback = {
    project_id: body.project_id,
    id: body.id ?? newId,
    weave_ref: body.weave_ref,
    feedback_type: body.feedback_type,
    payload: canonicalJson(body.payload),
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
    .values(feedback)
    .onConflict((conflict) => conflict.columns(['project_id', 'id', 'wb_user_id']).doNothing())
    .execute();
  const stored = await transaction
    .selectFrom('feedback')
    .selectAll()
    .where('project_id', '=', feedback.project_id)
    .where('id', '=', feedback.id)
    .where('wb_user_id', '=', account)
    .executeTakeFirstOrThrow();
  if (contentMembers.some((member) => stored[member] !== feedback[member])) {
    throw new Refusal(409, `Feedback ${feedback.id} exists with other content`);
  }
  const { id, created_at, wb_user_id, payload } = stored;
  return { id, created_at, wb_user_id, payload: JSON.parse(payload) };
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
  const { latest } = await transaction
    .selectFrom('feedback')
    .select(({ fn }) => fn.max<string | null>('created_at').as('latest'))
    .where('project_id', '=', project_id)
    .where('weave_ref', '=', weave_ref)
    .executeTakeFirstOrThrow();
  return latest === null || latest < now ? now : new Date(Date.parse(latest) + 1).toISOString();
}

/** The members that feedback has whichever members a request asks for. */
const requiredMembers = ['id', 'weave_ref', 'feedback_type', 'payload', 'created_at'];
const sortColumns = ['created_at', 'id', 'wb_user_id', 'feedback_type', 'weave_ref'] as const;
const conditionColumns: ConditionColumns = {
  texts: columns.filter((column) => column !== 'payload' && column !== 'created_at'),
  times: ['created_at'],
};

/**
 * Reads feedback, by default the oldest first.
 * @throws Refusal 422 for a query that cannot be evaluated.
 */
export const queryFeedback = inTransaction('queryFeedback', async (transaction, { body }) => {
  const { project_id, query, sort_by, fields } = body;
  const offset = body.offset ?? 0;
  const limit = body.limit ?? Number.MAX_SAFE_INTEGER;
  const { parts, isExact, accepts } = query ? compileCondition(query.$expr, conditionColumns) : allOf([]);
  let rows = transaction
    .selectFrom('feedback')
    .selectAll()
    .where('project_id', '=', project_id)
    .where(joinParts(parts));
  for (const { column, direction } of totalOrder(sort_by, sortColumns, { field: 'created_at', direction: 'asc' })) {
    rows = rows.orderBy(column, direction);
  }
  if (isExact) rows = rows.limit(limit).offset(offset);
  const found = (await rows.execute()).map(toFeedback);
  const page = isExact ? found : found.filter(accepts).slice(offset, offset + limit);
  const members = fields?.length ? [...requiredMembers, ...fields] : undefined;
  return { result: page.map((feedback) => pickMembers(feedback, members)) };
});

/** Deletes feedback by its ids, in a write transaction. @throws Refusal 400 for any other query. */
export const purgeFeedback = inTransaction('purgeFeedback', async (transaction, { body }) => {
  await deleteByIds(transaction, 'feedback', body.project_id, idsIn(body.query.$expr));
  return {};
});

/**
 * Reads the feedback on calls or objects, by the references to them, the oldest on each first. With `queueId`, only
 * what was given in this queue.
 */
export async function readFeedbackOf(
  transaction: Transaction,
  project_id: string,
  references: string[],
  queueId?: string,
): Promise<StoredFeedback[]> {
  const rows = await inChunks(references, (chunk) => {
    const onCalls = transaction
      .selectFrom('feedback')
      .selectAll()
      .where('project_id', '=', project_id)
      .where('weave_ref', 'in', chunk)
      .orderBy('created_at')
      .orderBy('id');
    return (queueId === undefined ? onCalls : onCalls.where('queue_id', '=', queueId)).execute();
  });
  return rows.map(toFeedback);
}

function toFeedback(row: Tables['feedback']) {
  return Object.assign(row, { payload: JSON.parse(row.payload) });
}

/** @throws Refusal 400 for feedback that its type does not allow. */
async function checkFeedback(transaction: Transaction, body: BodyOf<'createFeedback'>): Promise<void> {
  if (Buffer.byteLength(JSON.stringify(body.payload)) > maxPayloadBytes) throw refused('the payload is over 1 MiB');
  checkPayload(body);
  const type = body.feedback_type;
  if (type.startsWith('wandb.annotation')) await checkAnnotation(transaction, body);
  else if (body.annotation_ref) throw refused('only annotations have an annotation_ref');
  if (type.startsWith('wandb.runnable')) checkScore(body);
  else if (body.runnable_ref || body.call_ref || body.trigger_ref) {
    throw refused('only feedback of a runnable has a runnable_ref, call_ref or trigger_ref');
  }
  const { project_id, queue_id } = body;
  if (queue_id && !(await findQueue(transaction, project_id, queue_id))) throw refused(`queue ${queue_id} not found`);
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

async function checkAnnotation(transaction: Transaction, body: BodyOf<'createFeedback'>): Promise<void> {
  const { annotation_ref, project_id, payload, feedback_type } = body;
  if (!annotation_ref) throw refused('an annotation needs annotation_ref');
  const reference = parseReference(annotation_ref);
  if (reference?.kind !== 'object') throw refused(`annotation_ref is no reference to an object: ${annotation_ref}`);
  if (feedback_type !== annotationFeedbackType(reference.name)) {
    throw refused(`annotation_ref names ${reference.name}, which is not the field of ${feedback_type}`);
  }
  if (`${reference.entity}/${reference.project}` !== project_id) throw refused('annotation_ref is of another project');
  if (/^(latest|v\d+)$/.test(reference.version!)) throw refused('annotation_ref needs a digest');
  const spec = await findVersion(transaction, { project_id, object_id: reference.name, version: reference.version! });
  if (!spec) throw refused(`annotation_ref ${annotation_ref} not found`);
  if (spec.base_object_class !== 'AnnotationSpec') throw refused('annotation_ref is not an AnnotationSpec');
  const { field_schema } = JSON.parse(spec.content) as { field_schema?: unknown };
  if (!fitsSchema(field_schema ?? {}, payload.value)) throw refused('the value does not fit the schema of the field');
}

function checkScore({ runnable_ref, call_ref, feedback_type }: BodyOf<'createFeedback'>): void {
  const reference = runnable_ref ? parseReference(runnable_ref) : undefined;
  if (reference?.kind !== 'object' && reference?.kind !== 'op') {
    throw refused('feedback of a runnable needs runnable_ref, a reference to an object or an op');
  }
  if (feedback_type !== `wandb.runnable.${reference.name}`) {
    throw refused(`runnable_ref names ${reference.name}, which is not that of ${feedback_type}`);
  }
  if (reference.kind === 'op' && !call_ref) throw refused('feedback of an op needs call_ref');
}

function refused(reason: string): Refusal {
  return new Refusal(400, `Invalid feedback: ${reason}`);
}
