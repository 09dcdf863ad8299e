import type { CompletedCall, EndedCall, RecordedCall, StartedCall } from '../../contract/calls.ts';
import type { BodyOf } from '../../contract/endpoints.ts';
import { callReference } from '../../contract/references.ts';
import { groupBy } from '../../core/append-to.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { inBatches, inBatchesBySize } from '../../core/in-batches.ts';
import type { Members } from '../../core/json/json-object.ts';
import { nextTurn } from '../../core/turns.ts';
import { referenceExpander } from '../query/expand-references.ts';
import { countFoundCalls, findCalls, measureCalls } from '../query/find-calls.ts';
import type { RequestBudget } from '../request-budget.ts';
import { deleteCallTrees, nameCall, recordEvents } from '../storage/call-events.ts';
import { emptyMembers } from '../storage/call-rows.ts';
import type { Database, ProjectFilter } from '../storage/database.ts';
import { deleteJobs } from '../storage/evaluation-jobs.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import { isStorableText } from '../storage/storable-text.ts';
import { createCostAdder } from './costs.ts';
import { findFeedbackOf, readFeedbackByKeys } from './feedback.ts';
import { inTransaction, type OperationHandler } from './operation.ts';
import { warnOfIds } from './warn-of-ids.ts';

/** Reads one recorded call; null when the project has no call with this id. */
export const readCall: OperationHandler<'readCall'> = async ({ body, maySee, budget }, { database }) => {
  const { project_id, id, include_costs } = body;
  const query = { project_id, filter: { call_ids: [id] }, limit: 1, include_costs };
  for await (const call of readCalls(database, query, maySee, budget)) return { call };
  return { call: null };
};

/**
 * Reads recorded calls of a project, by default in the order in which they started.
 * @throws Refusal 422 for a query that cannot be evaluated.
 */
export const queryCalls: OperationHandler<'queryCalls'> = async ({ body, maySee, budget }, { database }) =>
  readCalls(database, body, maySee, budget);

async function* readCalls(
  database: Database,
  body: BodyOf<'queryCalls'>,
  maySee: ProjectFilter,
  budget: RequestBudget,
): AsyncGenerator<RecordedCall, void, undefined> {
  const { project_id, columns, expand_columns, include_costs, include_feedback } = body;
  const expandReferences = referenceExpander(database, maySee, budget);
  const addCosts = createCostAdder(database, project_id, budget);
  for await (const found of findCalls(database, body, { maySee, budget })) {
    const calls = found.map((call) => selectColumns(call, columns ?? []));
    if (expand_columns?.length) await expandReferences(calls, expand_columns);
    if (include_costs) await addCosts(calls);
    if (include_feedback) yield* withFeedback(database, project_id, calls, budget);
    else yield* calls;
  }
}

/** Maximum memory of the feedback that is read at once, in bytes. */
const maxFeedbackBytes = 16 * 1024 * 1024;

/** Adds the feedback on calls to their summaries, the oldest first, and yields each call once it has its own. */
async function* withFeedback(
  database: Database,
  project_id: string,
  calls: readonly RecordedCall[],
  budget: RequestBudget,
): AsyncGenerator<RecordedCall, void, undefined> {
  const references = calls.map(({ id }) => callReference(project_id, id));
  const found = await findFeedbackOf(database, project_id, references);
  const keysByReference = groupBy(found, ({ weave_ref }) => weave_ref);
  const entries = calls.map((call, index) => ({ call, keys: keysByReference.get(references[index]!) ?? [] }));
  for (const batch of inBatchesBySize(entries, maxFeedbackBytes, ({ keys }) => totalMemoryOf(keys))) {
    const keys = batch.flatMap((entry) => entry.keys);
    const feedback = await readFeedbackByKeys(database, project_id, keys, budget);
    for (const entry of batch) {
      const summary = Object(entry.call.summary ?? {}) as Record<string, unknown>;
      const found = entry.keys.flatMap((key) => {
        const { project_id: _, queue_id: __, ...given } = (feedback.get(key) ?? {}) as Members;
        return 'id' in given ? [given] : [];
      });
      entry.call.summary = { ...summary, weave: { ...Object(summary.weave), feedback: found } };
      yield entry.call;
      // The caller may keep the call, but not the feedback, whose memory is released.
      entry.call.summary = summary;
    }
    budget.release(totalMemoryOf(keys));
  }
}

/**
 * Counts the recorded calls that match; no more than `limit`, if the request has one, and then tells whether there are more.
 * @throws Refusal 422 for a query that cannot be evaluated.
 */
export const countCalls: OperationHandler<'countCalls'> = async ({ body, maySee, budget }, { database }) => {
  const { limit, include_total_storage_size, ...selection } = body;
  const access = { maySee, budget };
  if (include_total_storage_size) return measureCalls(database, { ...selection, limit }, access);
  if (limit == null) return { count: await countFoundCalls(database, body, Number.MAX_SAFE_INTEGER, access) };
  const count = await countFoundCalls(database, body, limit + 1, access);
  return { count: Math.min(count, limit), has_more: count > limit };
};

/** Members that every response has. */
const requiredMembers = ['id', 'project_id', 'trace_id', 'op_name', 'started_at'];

/** Keeps the members of a call that columns name, such as `inputs` for `inputs.question`, and empties the others. */
function selectColumns(call: RecordedCall, columns: readonly string[]): RecordedCall {
  if (columns.length === 0) return call;
  const names = new Set([...requiredMembers, ...columns.map((column) => column.split('.', 1)[0])]);
  const kept = Object.entries(call).filter(([name]) => names.has(name));
  return { ...emptyMembers, ...(Object.fromEntries(kept) as RecordedCall) };
}

/** Maximum number of events in one transaction, so that other requests need not wait for a whole batch of megabytes. */
const eventsPerTransaction = 500;

/**
 * Records starts and ends of calls: none if one of them is invalid. A failure between two transactions leaves some recorded,
 * which sending the batch again does not change.
 * @throws Refusal 400 for text that cannot be stored.
 */
export const recordCalls: OperationHandler<'recordCalls'> = async ({ body: { batch }, account }, { database, log }) => {
  checkStorable(batch.map(({ req }) => ('start' in req ? req.start : req.end)));
  warnOfIds(
    batch.flatMap(({ req }) => ('start' in req ? [req.start] : [])),
    log,
  );
  const res: { id?: string; trace_id?: string }[] = [];
  // A start without an id that is sent again is another call, so all of such a batch is recorded, or nothing.
  const hasIds = batch.every(({ req }) => !('start' in req) || req.start.id);
  const step = hasIds ? eventsPerTransaction : batch.length;
  for (const events of inBatches(batch, step)) {
    const starts = events.flatMap(({ req }) => ('start' in req ? [req.start] : []));
    const ends = events.flatMap(({ req }) => ('end' in req ? [req.end] : []));
    await nextTurn();
    const started = await database.write((transaction) => recordEvents(transaction, account, { starts, ends }));
    res.push(...events.map(({ mode }) => (mode === 'start' ? started.shift()! : {})));
  }
  return { res };
};

/** @throws Refusal 400 for text that the databases do not keep; in values, which are stored as JSON, it is escaped. */
function checkStorable(events: readonly object[]): void {
  const isStorable = (value: unknown): boolean => typeof value !== 'string' || isStorableText(value);
  if (events.every((event) => Object.values(event).every(isStorable))) return;
  throw new Refusal(400, 'Text contains a NUL character or an unpaired surrogate, which cannot be stored');
}

/** Records the start of a call. */
export const startCall: OperationHandler<'startCall'> = async ({ body, account }, { database, log }) => {
  warnOfIds([body.start], log);
  const events = { starts: [body.start], ends: [] };
  const [started] = await database.write((transaction) => recordEvents(transaction, account, events));
  return started!;
};

/** Records the end of a call in a write transaction. */
export const endCall = inTransaction('endCall', async (transaction, { body, account }) => {
  await recordEvents(transaction, account, { starts: [], ends: [body.end] });
  return {};
});

/** Records the start of a call of the project that the path names. @throws Refusal 400 for a call of another project. */
export const startCallInProject: OperationHandler<'startCallInProject'> = async (input, context) => {
  checkSameProject(input.path, [input.body.start]);
  return startCall(input, context);
};

/** Records the end of a call of the project that the path names. @throws Refusal 400 for a call of another project. */
export const endCallInProject: OperationHandler<'endCallInProject'> = async (input, context) => {
  checkSameProject(input.path, [input.body.end]);
  return endCall(input, context);
};

/**
 * Records calls that have ended: none if one of them is invalid. A failure between two transactions leaves some recorded,
 * which sending the batch again does not change.
 * @throws Refusal 400 for calls of another project than the one in the path, and for text that cannot be stored.
 */
export const completeCalls: OperationHandler<'completeCalls'> = async (
  { path, body: { batch }, account },
  { database, log },
) => {
  checkSameProject(path, batch);
  checkStorable(batch);
  warnOfIds(batch, log);
  await recordWhole(database, account, batch);
  return {};
};

/**
 * Records calls, and the ends of those that have ended. A failure between two transactions leaves some recorded, which sending
 * them again does not change.
 */
export async function recordWhole(
  database: Database,
  account: string,
  batch: readonly (Omit<CompletedCall, 'ended_at'> & { ended_at?: string })[],
): Promise<void> {
  for (const calls of inBatches(batch, eventsPerTransaction / 2)) {
    await nextTurn();
    const ends = calls.flatMap(({ ended_at, ...call }) =>
      ended_at === undefined ? [] : [{ ...call, ended_at, summary: call.summary ?? {} }],
    );
    await database.write((transaction) => recordEvents(transaction, account, { starts: calls, ends }));
  }
}

function checkSameProject(
  { entity, project }: { entity: string; project: string },
  calls: readonly (StartedCall | EndedCall | CompletedCall)[],
): void {
  const other = calls.find(({ project_id }) => project_id !== `${entity}/${project}`);
  if (other) throw new Refusal(400, `The call is of project ${other.project_id}, but the path names another`);
}

/**
 * Names a call, in a write transaction. A call that has not arrived gets its name once it does.
 * @throws Refusal 400 without a name.
 */
export const updateCall = inTransaction('updateCall', async (transaction, { body }) => {
  const { project_id, call_id, display_name } = body;
  if (display_name == null) throw new Refusal(400, 'display_name is required');
  await nameCall(transaction, { project_id, id: call_id, display_name });
  return {};
});

/** Deletes calls and those that they made, in a write transaction. Runs of evaluations that are deleted end. */
export const deleteCalls = inTransaction('deleteCalls', async (transaction, { body }) => {
  await deleteJobs(transaction, body.project_id, body.call_ids);
  return { num_deleted: await deleteCallTrees(transaction, body.project_id, body.call_ids) };
});
