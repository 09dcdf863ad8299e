import { type RawBuilder, sql } from 'kysely';
import type { EndedCall, StartedCall } from '../../contract/calls.ts';
import type { ResultOf } from '../../contract/endpoints.ts';
import { inBatches } from '../../core/in-batches.ts';
import { normalizeTimestamp } from '../../core/timestamps.ts';
import { latencyOf, toCallRow, toJson } from './call-rows.ts';
import type { Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';
import { newIds } from './ids.ts';
import { deleteByIds, inChunks, selectByIds, selectInProject } from './in-chunks.ts';
import { insertRows } from './insert-rows.ts';
import { memoryBytesOf } from './memory-bytes.ts';
import { copyToItems, forgetCalls } from './queue-rows.ts';

type IdentifiedStart = StartedCall & { id: string; trace_id: string };
/** An end of a call, its name, or both. It waits in `early_call_ends` for the start of the call. */
type CallChange = Tables['early_call_ends'];

/** Stays below the database engines' limits on parameters. */
const rowsPerInsert = 100;

/**
 * Records starts and ends of calls of any projects, in a write transaction. What is recorded does not change: of several
 * starts or ends of a call the first counts. An end without a start waits for it.
 * @param account the account that records the calls.
 * @returns the id and trace of each start.
 */
export async function recordEvents(
  transaction: Transaction,
  account: string,
  { starts, ends }: { starts: readonly StartedCall[]; ends: readonly EndedCall[] },
): Promise<ResultOf<'startCall'>[]> {
  const freshIds = newIds(starts.length * 2);
  const identified = starts.map((start) => {
    const [id, trace_id] = freshIds.splice(-2) as [string, string];
    return { ...start, id: start.id ?? id, trace_id: start.trace_id || trace_id };
  });
  const eventsByProject = new Map<string, { starts: IdentifiedStart[]; ends: EndedCall[] }>();
  const eventsOf = (project_id: string) => {
    const events = eventsByProject.get(project_id) ?? { starts: [], ends: [] };
    eventsByProject.set(project_id, events);
    return events;
  };
  for (const start of identified) eventsOf(start.project_id).starts.push(start);
  for (const end of ends) eventsOf(end.project_id).ends.push(end);
  const recordedTraces = new Map<string, Map<string, string>>();
  for (const [project_id, events] of eventsByProject) {
    recordedTraces.set(project_id, await recordEventsOf(transaction, project_id, account, events));
  }
  return identified.map(({ project_id, id, trace_id }) => ({
    id,
    trace_id: recordedTraces.get(project_id)?.get(id) ?? trace_id,
  }));
}

/** Records events of one project. Returns the traces of those calls that were recorded before. */
async function recordEventsOf(
  transaction: Transaction,
  project_id: string,
  account: string,
  { starts, ends }: { starts: readonly IdentifiedStart[]; ends: readonly EndedCall[] },
): Promise<Map<string, string>> {
  const ids = [...starts, ...ends].map(({ id }) => id);
  const { recorded, deleted, pendingChanges } = await findStored(transaction, project_id, ids);
  const newCalls = new Map<string, Tables['calls']>();
  for (const start of starts) {
    const { id } = start;
    if (recorded.has(id) || deleted.has(id) || newCalls.has(id)) continue;
    const newCall = toNewCallRow(start, account);
    newCall.display_name = pendingChanges.get(id)?.display_name ?? newCall.display_name;
    newCalls.set(id, newCall);
  }
  const pendingEnds = new Map<string, CallChange>();
  for (const end of ends.map(toCallChange)) {
    if (pendingChanges.get(end.id)?.ended_at) continue;
    const newCall = newCalls.get(end.id);
    if (newCall) endNewCall(newCall, end);
    else if (recorded.has(end.id)) await endCall(transaction, recorded.get(end.id)!, end);
    else if (!deleted.has(end.id) && !pendingEnds.has(end.id)) pendingEnds.set(end.id, end);
  }
  const ended = ends.map(({ id }) => id).filter((id) => recorded.has(id));
  await copyToItems(transaction, project_id, ended, 'running');
  await insertRows(transaction, 'calls', [...newCalls.values()]);
  const startedLate = [...newCalls.keys()].filter((id) => pendingChanges.has(id));
  for (const id of startedLate) await applyPendingEnd(transaction, newCalls.get(id)!);
  await deleteByIds(transaction, 'early_call_ends', project_id, startedLate);
  await storePendingEnds(transaction, [...pendingEnds.values()]);
  return new Map([...recorded].map(([id, { trace_id }]) => [id, trace_id]));
}

/** Ends a call with the end that arrived before its start, if there is one. Ends may be large, so each is read by itself. */
async function applyPendingEnd(transaction: Transaction, call: Tables['calls']): Promise<void> {
  const change = await selectInProject(transaction, 'early_call_ends', call.project_id)
    .selectAll()
    .where('id', '=', call.id)
    .executeTakeFirst();
  if (change?.ended_at) await endCall(transaction, call, change);
}

/** Returns what is stored about calls: their rows, whether they were deleted, and the pending changes, without the values. */
async function findStored(transaction: Transaction, project_id: string, ids: string[]) {
  const find = <Row extends { id: string }>(query: (chunk: string[]) => Promise<Row[]>) =>
    inChunks(ids, query).then((rows) => new Map(rows.map((row) => [row.id, row])));
  const recorded = await find((chunk) =>
    selectByIds(transaction, 'calls', project_id, chunk)
      // No index has the last column. Without it, SQLite would look for the ids in the whole index of traces.
      .select(['id', 'trace_id', 'started_at', 'memory_bytes'])
      .execute(),
  );
  const deleted = await find((chunk) =>
    selectByIds(transaction, 'deleted_calls', project_id, chunk).select('id').execute(),
  );
  const pendingChanges = await find((chunk) =>
    selectByIds(transaction, 'early_call_ends', project_id, chunk).select(['id', 'ended_at', 'display_name']).execute(),
  );
  return { recorded, deleted, pendingChanges };
}

function toNewCallRow(start: IdentifiedStart, account: string): Tables['calls'] {
  const { project_id, id, op_name, trace_id, started_at, parent_id, ...rest } = start;
  const { display_name, thread_id, turn_id, wb_run_id, attributes, inputs } = rest;
  const key = { project_id, id, op_name, trace_id, started_at: normalizeTimestamp(started_at)!, ended_at: null };
  return toCallRow(key, {
    // An empty string stands for no value.
    parent_id: parent_id || null,
    display_name: display_name || null,
    thread_id: thread_id || null,
    turn_id: turn_id || null,
    wb_run_id: wb_run_id || null,
    wb_user_id: account,
    attributes,
    inputs,
  });
}

function toCallChange({ project_id, id, ended_at, exception, output, summary }: EndedCall): CallChange {
  const values = { exception: exception || null, output: toJson(output), summary: toJson(summary) };
  return {
    project_id,
    id,
    ended_at: normalizeTimestamp(ended_at)!,
    display_name: null,
    memory_bytes: memoryBytesOf(...Object.values(values)),
    ...values,
  };
}

/** Ends a new call that has not ended. */
function endNewCall(call: Tables['calls'], { ended_at, exception, output, summary, memory_bytes }: CallChange): void {
  if (call.ended_at !== null) return;
  Object.assign(call, { ended_at, exception, output, summary, memory_bytes: call.memory_bytes + memory_bytes });
  call.latency = latencyOf(call.started_at, ended_at, summary);
}

/** Ends a recorded call that has not ended. */
async function endCall(
  transaction: Transaction,
  { started_at }: Pick<Tables['calls'], 'started_at'>,
  end: CallChange,
): Promise<void> {
  const { project_id, id, ended_at, exception, output, summary, memory_bytes } = end;
  await transaction
    .updateTable('calls')
    .set((eb) => ({
      ended_at,
      latency: latencyOf(started_at, ended_at, summary),
      exception,
      output,
      summary,
      memory_bytes: eb('memory_bytes', '+', memory_bytes),
    }))
    .where('project_id', '=', project_id)
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
}

/** Stores ends that wait for the start of their call; a name or an end that was stored before stays. */
async function storePendingEnds(transaction: Transaction, ends: readonly CallChange[]): Promise<void> {
  for (const batch of inBatches(ends, rowsPerInsert)) {
    await transaction
      .insertInto('early_call_ends')
      .values(batch)
      .onConflict((conflict) =>
        conflict
          .columns(['project_id', 'id'])
          .doUpdateSet(({ ref }) => ({
            ended_at: ref('excluded.ended_at'),
            memory_bytes: ref('excluded.memory_bytes'),
            exception: ref('excluded.exception'),
            output: ref('excluded.output'),
            summary: ref('excluded.summary'),
          }))
          .where('early_call_ends.ended_at', 'is', null),
      )
      .execute();
  }
}

const unended = { ended_at: null, memory_bytes: 0, exception: null, output: null, summary: null };

/** Names a call, in a write transaction; an empty name removes its name. A call that has not arrived is named when it does. */
export async function nameCall(
  transaction: Transaction,
  { project_id, id, display_name: name }: { project_id: string; id: string; display_name: string },
): Promise<void> {
  const display_name = name || null;
  const { recorded, deleted } = await findStored(transaction, project_id, [id]);
  if (recorded.has(id)) {
    await transaction
      .updateTable('calls')
      .set({ display_name })
      .where('project_id', '=', project_id)
      .where('id', '=', id)
      .execute();
  } else if (!deleted.has(id)) {
    await transaction
      .insertInto('early_call_ends')
      .values({ ...unended, project_id, id, display_name })
      .onConflict((conflict) => conflict.columns(['project_id', 'id']).doUpdateSet({ display_name }))
      .execute();
  }
}

/**
 * Deletes calls and all that they called, in a write transaction, for good: neither a start nor an end that is sent again
 * brings them back. Unknown calls are skipped.
 * @returns the number of deleted calls.
 */
export async function deleteCallTrees(
  transaction: Transaction,
  project_id: string,
  ids: readonly string[],
): Promise<number> {
  const find = (column: 'id' | 'parent_id', values: string[]) =>
    inChunks(values, (chunk) =>
      selectInProject(transaction, 'calls', project_id).select('id').where(column, 'in', chunk).execute(),
    ).then((rows) => rows.map(({ id }) => id));
  const deleted = new Set<string>();
  let found = await find('id', [...ids]);
  while (found.length > 0) {
    for (const id of found) deleted.add(id);
    found = (await find('parent_id', found)).filter((id) => !deleted.has(id));
  }
  // An id may be there already: an import can bring a deleted call back.
  const rows = [...deleted].map((id) => ({ project_id, id }));
  await insertRows(transaction, 'deleted_calls', rows, ['project_id', 'id']);
  await deleteByIds(transaction, 'calls', project_id, [...deleted]);
  await forgetCalls(transaction, project_id, [...deleted]);
  return deleted.size;
}

/** Returns SQL of the ids of a project's calls that were deleted. An import can bring a deleted call back. */
export function deletedCallIds(project_id: string): RawBuilder<unknown> {
  return sql`(select id from deleted_calls where project_id = ${project_id}
    and not exists (select 1 from calls where calls.project_id = deleted_calls.project_id and calls.id = deleted_calls.id))`;
}
