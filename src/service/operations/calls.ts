import type { CallsFilter, QueryCallsRequest, RecordedCall } from '../../contract/calls.ts';
import type { SortKey } from '../../contract/queue-items.ts';
import { matchesFilter } from '../query/calls-filter.ts';
import { expandReferences } from '../query/expand-references.ts';
import { compileExpression, fieldAt } from '../query/expression.ts';
import type { Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';
import type { OperationInput, TransactionOperation } from './operation.ts';

/** Reads one recorded call; null when the project has no call with this id. */
export const readCall: TransactionOperation<'readCall'> = async (transaction, { body: { project_id, id }, maySee }) => {
  const [call = null] = await queryCalls(transaction, { body: { project_id, filter: { call_ids: [id] } }, maySee });
  return { call };
};

/** Columns by which the database itself sorts. None can be null: the engines place null differently. */
const sortColumns = ['started_at', 'op_name', 'trace_id', 'id'] as const;

/**
 * Reads recorded calls of a project, by default in the order in which they started.
 * @throws Refusal 422 for a query that cannot be evaluated.
 */
export async function queryCalls(
  transaction: Transaction,
  { body, maySee }: Pick<OperationInput<'queryCalls'>, 'body' | 'maySee'>,
): Promise<RecordedCall[]> {
  const { columns, expand_columns } = body;
  const calls = await matchingCalls(transaction, body);
  const filled = calls.map((call) => selectColumns(call, columns ?? []));
  if (expand_columns?.length) await expandReferences(transaction, filled, expand_columns, maySee);
  return filled;
}

/**
 * Counts the recorded calls that match; no more than `limit`, if the request has one.
 * @throws Refusal 422 for a query that cannot be evaluated.
 */
export const countCalls: TransactionOperation<'countCalls'> = async (transaction, { body }) => {
  const { project_id, filter, query, limit } = body;
  if (query || filter) return { count: (await matchingCalls(transaction, body)).length };
  const { count } = await transaction
    .selectFrom('calls')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('project_id', '=', project_id)
    .executeTakeFirstOrThrow();
  // PostgreSQL's driver returns counts as strings.
  return { count: Math.min(Number(count), limit ?? Number.MAX_SAFE_INTEGER) };
};

async function matchingCalls(transaction: Transaction, body: QueryCallsRequest): Promise<RecordedCall[]> {
  const { project_id, query, sort_by } = body;
  const filter = body.filter ?? {};
  const offset = body.offset ?? 0;
  const limit = body.limit ?? Number.MAX_SAFE_INTEGER;
  const keys: SortKey[] = sort_by?.length ? sort_by : [{ field: 'started_at', direction: 'asc' }];
  const fitsQuery = query ? compileExpression(query.$expr) : undefined;
  const isSorted = keys.every(({ field }) => sortColumns.some((column) => column === field));
  let rows = transaction.selectFrom('calls').selectAll().where('project_id', '=', project_id);
  for (const [member, column] of filterColumns) {
    const values = filter[member] ?? [];
    if (isShort(values)) rows = rows.where(column, 'in', values);
  }
  if (isSorted) {
    for (const { field, direction } of keys) rows = rows.orderBy(field as (typeof sortColumns)[number], direction);
    rows = rows.orderBy('id');
    // A page can be cut by the database only if the database has applied every condition.
    if (!fitsQuery && isAppliedByColumns(filter)) {
      return (await rows.limit(limit).offset(offset).execute()).map(toCall);
    }
  }
  const fitsFilter = matchesFilter(filter);
  const calls = (await rows.execute()).map(toCall).filter((call) => fitsFilter(call) && (fitsQuery?.(call) ?? true));
  if (!isSorted) calls.sort(byKeys(keys));
  return calls.slice(offset, offset + limit);
}

const filterColumns = [
  ['call_ids', 'id'],
  ['trace_ids', 'trace_id'],
  ['op_names', 'op_name'],
] as const;

/** Returns whether the database can compare a column with these values: a list has limits, and knows no wildcards. */
const isShort = (values: readonly string[]): boolean =>
  values.length > 0 && values.length <= 500 && !values.some((value) => value.endsWith(':*'));

function isAppliedByColumns(filter: CallsFilter): boolean {
  const applied = new Set<string>(
    filterColumns.filter(([member]) => isShort(filter[member] ?? [])).map(([member]) => member),
  );
  return Object.entries(filter).every(
    ([member, value]) => applied.has(member) || !value || (Array.isArray(value) && value.length === 0),
  );
}

/** Compares calls by members; calls without a member come last. */
function byKeys(keys: readonly SortKey[]): (a: RecordedCall, b: RecordedCall) => number {
  return (a, b) => {
    for (const { field, direction } of keys) {
      const order = compareValues(fieldAt(a, field), fieldAt(b, field), direction);
      if (order !== 0) return order;
    }
    return a.id < b.id ? -1 : 1;
  };
}

function compareValues(a: unknown, b: unknown, direction: SortKey['direction']): number {
  if (a === b) return 0;
  if (a === undefined || a === null) return 1;
  if (b === undefined || b === null) return -1;
  const isNumeric = typeof a === 'number' && typeof b === 'number';
  const [left, right] = isNumeric ? [a, b] : [toText(a) ?? '', toText(b) ?? ''];
  if (left === right) return 0;
  const smaller = left < right;
  return smaller === (direction === 'asc') ? -1 : 1;
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
    if (!Object.hasOwn(value, name)) continue;
    const known = nextPaths.get(name);
    if (known) known.push(rest);
    else nextPaths.set(name, [rest]);
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
  wb_run_id: null,
  deleted_at: null,
  storage_size_bytes: null,
  total_storage_size_bytes: null,
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
    wb_run_id: toText(recorded.wb_run_id),
    deleted_at: toText(recorded.deleted_at),
    ...columns,
  };
}

/** Converts a recorded value to a string, since an import may contain anything. */
function toText(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
