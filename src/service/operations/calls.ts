import type { QueryCallsRequest, ReadCallRequest, RecordedCall } from '../../contract/calls.ts';
import type { Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';

/** A recorded call; null where the project has none of this id (design §7; `POST /call/read`). */
export async function readCall(
  transaction: Transaction,
  { project_id, id }: ReadCallRequest,
): Promise<RecordedCall | null> {
  const [call] = await queryCalls(transaction, { project_id, filter: { call_ids: [id] } });
  return call ?? null;
}

/** Recorded calls of a project, the one that started first at the top (design §7; `POST /calls/stream_query`). */
export async function queryCalls(transaction: Transaction, request: QueryCallsRequest): Promise<RecordedCall[]> {
  const { project_id, filter, limit, offset, columns } = request;
  const ids = filter?.call_ids ?? [];
  const rows = await transaction
    .selectFrom('calls')
    .selectAll()
    .where('project_id', '=', project_id)
    .$if(ids.length > 0, (query) => query.where('id', 'in', ids))
    .orderBy('started_at')
    .orderBy('id')
    .limit(limit ?? Number.MAX_SAFE_INTEGER)
    .offset(offset ?? 0)
    .execute();
  return rows.map((row) => withColumns(callOf(row), columns ?? []));
}

/** Members that every answer has. */
const always = ['id', 'project_id', 'trace_id', 'op_name', 'started_at'];

/** A call with only some of its members filled: all of `inputs`, or of `inputs.question` only that. */
function withColumns(call: RecordedCall, columns: readonly string[]): RecordedCall {
  if (columns.length === 0) return call;
  const paths = [...always, ...columns].map((column) => column.split('.'));
  return { ...empty, ...(narrowed(call, paths) as RecordedCall) };
}

/** What of a value lies at the paths; the whole of it where one ends here, or leads into something without names. */
function narrowed(value: unknown, paths: string[][]): unknown {
  const nameless = typeof value !== 'object' || value === null || Array.isArray(value);
  if (nameless || paths.some(({ length }) => length === 0)) return value;
  const further = new Map<string, string[][]>();
  for (const [name = '', ...rest] of paths) {
    if (Object.hasOwn(value, name)) further.set(name, [...(further.get(name) ?? []), rest]);
  }
  const members = value as Record<string, unknown>;
  return Object.fromEntries([...further].map(([name, rests]) => [name, narrowed(members[name], rests)]));
}

/** Members of a call about which nothing is known. */
const empty = {
  display_name: null,
  parent_id: null,
  ended_at: null,
  attributes: {},
  inputs: {},
  output: null,
  summary: null,
  exception: null,
  wb_user_id: null,
};

function callOf({ data, ...columns }: Tables['calls']): RecordedCall {
  const recorded = JSON.parse(data) as Record<string, unknown>;
  return {
    ...empty,
    // Whatever else was recorded stays readable; what the columns say cannot be overridden by it.
    ...recorded,
    display_name: textOf(recorded.display_name),
    parent_id: textOf(recorded.parent_id),
    exception: textOf(recorded.exception),
    wb_user_id: textOf(recorded.wb_user_id),
    ...columns,
  };
}

/** An import may have recorded anything where readers expect text. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
