import type { RecordedCall } from '../../contract/calls.ts';
import type { Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';
import type { OperationInput, TransactionOperation } from './operation.ts';

/** Reads one recorded call; null when the project has no call with this id. */
export const readCall: TransactionOperation<'readCall'> = async (transaction, { body: { project_id, id } }) => {
  const [call = null] = await queryCalls(transaction, { body: { project_id, filter: { call_ids: [id] } } });
  return { call };
};

/** Reads recorded calls of a project in the order in which they started. */
export async function queryCalls(
  transaction: Transaction,
  { body }: Pick<OperationInput<'queryCalls'>, 'body'>,
): Promise<RecordedCall[]> {
  const { project_id, filter, limit, offset, columns } = body;
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
  return rows.map((row) => selectColumns(toCall(row), columns ?? []));
}

/** Members that every response has. */
const requiredMembers = ['id', 'project_id', 'trace_id', 'op_name', 'started_at'];

/** Keeps the given columns of a call, like `inputs` or only `inputs.question`, and empties its other members. */
function selectColumns(call: RecordedCall, columns: readonly string[]): RecordedCall {
  if (columns.length === 0) return call;
  const paths = [...requiredMembers, ...columns].map((column) => column.split('.'));
  return { ...emptyMembers, ...(project(call, paths) as RecordedCall) };
}

/** Projects a value onto paths of member names; a path that leads into a list or a scalar keeps all of it. */
function project(value: unknown, paths: string[][]): unknown {
  const isLeaf = typeof value !== 'object' || value === null || Array.isArray(value);
  if (isLeaf || paths.some(({ length }) => length === 0)) return value;
  const nextPaths = new Map<string, string[][]>();
  for (const [name = '', ...rest] of paths) {
    if (Object.hasOwn(value, name)) nextPaths.set(name, [...(nextPaths.get(name) ?? []), rest]);
  }
  const members = value as Record<string, unknown>;
  return Object.fromEntries([...nextPaths].map(([name, paths]) => [name, project(members[name], paths)]));
}

const emptyMembers = {
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

function toCall({ data, ...columns }: Tables['calls']): RecordedCall {
  const recorded = JSON.parse(data) as Record<string, unknown>;
  return {
    ...emptyMembers,
    // Unknown members stay readable, but cannot override the columns.
    ...recorded,
    display_name: toText(recorded.display_name),
    parent_id: toText(recorded.parent_id),
    exception: toText(recorded.exception),
    wb_user_id: toText(recorded.wb_user_id),
    ...columns,
  };
}

/** Converts a recorded value to a string, since an import may contain anything. */
function toText(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
