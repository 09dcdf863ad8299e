import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely';
import type { CallsFilter, QueryCallsRequest, RecordedCall } from '../../contract/calls.ts';
import type { SortKey } from '../../contract/queue-items.ts';
import { type CallRow, type JsonColumn, jsonColumns, smallColumns, toCall } from '../storage/call-rows.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';
import { matchesFilter } from './calls-filter.ts';
import { compareValues } from './compare-values.ts';
import {
  type DatabaseCondition,
  databaseCondition,
  fieldsOf,
  isStorable,
  maxListedValues,
} from './database-condition.ts';
import { compileExpression, fieldAt } from './expression.ts';

const eb = expressionBuilder<Tables, 'calls'>();

/** Maximum number of calls, and of their characters, that are read at once. */
const maxBatchCalls = 500;
const maxBatchChars = 4 * 1024 * 1024;

/** The part of a query that selects calls. */
export type CallsSelection = Pick<QueryCallsRequest, 'project_id' | 'filter' | 'query'>;

/** The meaning of a selection, for the database and for the calls that it returns. */
interface Plan {
  project_id: string;
  condition: Expression<SqlBool>;
  /** Tests what the condition leaves open; undefined if it leaves nothing open. */
  test: ((call: RecordedCall) => boolean) | undefined;
  /** The paths that the test reads. */
  fields: string[];
  /** True if the condition lists ids, so that it matches few calls. */
  listsIds: boolean;
}

/**
 * Finds recorded calls, and yields them in batches. Every batch is read in a transaction of its own, so that a slow reader
 * holds none: a call that is recorded meanwhile may be missing, and none is yielded twice.
 * @throws Refusal 422 for a query that cannot be evaluated, before the first batch.
 */
export async function* findCalls(
  database: Database,
  body: QueryCallsRequest,
): AsyncGenerator<RecordedCall[], void, undefined> {
  const plan = planOf(body);
  const { sort_by, columns } = body;
  const offset = body.offset ?? 0;
  const limit = body.limit ?? Number.MAX_SAFE_INTEGER;
  const [first, ...others] = sort_by ?? [];
  const read = columns?.length ? jsonColumnsOf([...columns, ...plan.fields]) : jsonColumns;
  if (first === undefined || (first.field === 'started_at' && others.length === 0)) {
    yield* inOrderOfStart(database, plan, { direction: first?.direction ?? 'asc', read, offset, limit });
    return;
  }
  const ids = limit === 0 ? [] : await sortedIds(database, plan, sort_by!, offset + limit);
  yield* byIds(database, plan, ids.slice(offset), read);
}

/**
 * Counts the recorded calls of a selection, but not beyond `limit`.
 * @throws Refusal 422 for a query that cannot be evaluated.
 */
export async function countFoundCalls(database: Database, selection: CallsSelection, limit: number): Promise<number> {
  const plan = planOf(selection);
  if (!plan.test) {
    const { count } = await database.read((transaction) =>
      transaction
        .selectFrom('calls')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where(plan.condition)
        .executeTakeFirstOrThrow(),
    );
    // PostgreSQL's driver returns counts as strings.
    return Math.min(Number(count), limit);
  }
  let count = 0;
  const read = jsonColumnsOf(plan.fields);
  for await (const calls of inOrderOfStart(database, plan, { direction: 'asc', read, offset: 0, limit })) {
    count += calls.length;
  }
  return count;
}

function planOf({ project_id, filter, query }: CallsSelection): Plan {
  const fitsQuery = query ? compileExpression(query.$expr) : undefined;
  const fitsFilter = matchesFilter(filter ?? {});
  const ofFilter = filterCondition(filter ?? {});
  const ofQuery = query ? databaseCondition(query.$expr) : undefined;
  const tests = [...(ofFilter.isExact ? [] : [fitsFilter]), ...(fitsQuery && !ofQuery?.isExact ? [fitsQuery] : [])];
  return {
    project_id,
    condition: eb.and([eb('project_id', '=', project_id), ofFilter.condition, ...(ofQuery ? [ofQuery.condition] : [])]),
    test: tests.length === 0 ? undefined : (call) => tests.every((test) => test(call)),
    fields: [...(ofFilter.isExact ? [] : ['inputs', 'output']), ...(ofQuery?.isExact ? [] : fieldsOf(query?.$expr))],
    listsIds: isListable(filter?.call_ids ?? []),
  };
}

const filterColumns = [
  ['call_ids', 'id'],
  ['trace_ids', 'trace_id'],
  ['parent_ids', 'parent_id'],
  ['thread_ids', 'thread_id'],
  ['turn_ids', 'turn_id'],
  ['wb_user_ids', 'wb_user_id'],
  ['wb_run_ids', 'wb_run_id'],
] as const;

/** Translates a filter to a condition, which is exact unless it looks into values or a list is too long. */
function filterCondition(filter: CallsFilter): DatabaseCondition {
  const conditions: Expression<SqlBool>[] = [];
  let isExact = !filter.input_refs?.length && !filter.output_refs?.length;
  for (const [member, column] of filterColumns) {
    const values = filter[member];
    if (!values?.length) continue;
    if (isListable(values)) conditions.push(eb(column, 'in', values));
    else isExact = false;
  }
  const names = filter.op_names ?? [];
  if (isListable(names)) {
    const exact = names.filter((name) => !name.endsWith(':*'));
    const prefixes = names.filter((name) => name.endsWith(':*')).map((name) => name.slice(0, -1));
    conditions.push(eb.or([...(exact.length > 0 ? [eb('op_name', 'in', exact)] : []), ...prefixes.map(startsWith)]));
  } else if (names.length > 0) isExact = false;
  if (filter.trace_roots_only) conditions.push(eb('parent_id', 'is', null));
  return { condition: eb.and(conditions), isExact };
}

const isListable = (values: readonly string[]): boolean =>
  values.length > 0 && values.length <= maxListedValues && values.every(isStorable);

/** Compares the name of an operation with a prefix that ends in a colon; the semicolon is the next character. */
function startsWith(prefix: string): Expression<SqlBool> {
  return eb.and([eb('op_name', '>=', prefix), eb('op_name', '<', `${prefix.slice(0, -1)};`)]);
}

/** Returns the JSON columns with the members at these paths. */
function jsonColumnsOf(paths: readonly string[]): JsonColumn[] {
  const names = new Set(paths.map((path) => path.split('.', 1)[0]!));
  const known: readonly string[] = [...smallColumns, ...jsonColumns];
  return jsonColumns.filter((column) =>
    column === 'data' ? [...names].some((name) => !known.includes(name) || name === 'data') : names.has(column),
  );
}

interface ScanOptions {
  direction: SortKey['direction'];
  /** The JSON columns to read. */
  read: readonly JsonColumn[];
  offset: number;
  limit: number;
}

/** The place of a call in the order of start. */
type Position = Pick<Tables['calls'], 'id' | 'started_at' | 'chars'>;

async function* inOrderOfStart(
  database: Database,
  { condition, test, listsIds, ...plan }: Plan,
  { direction, read, offset, limit }: ScanOptions,
): AsyncGenerator<RecordedCall[], void, undefined> {
  // The database skips calls only if it applies every condition.
  let skipped = test ? offset : 0;
  let wanted = limit;
  let last: Position | undefined;
  while (wanted > 0) {
    const { rows, end } = await database.read(async (transaction) => {
      let positions = transaction
        .selectFrom('calls')
        .select(['id', 'started_at', 'chars'])
        .where(condition)
        .orderBy(listsIds ? unindexedStart : 'started_at', direction)
        .orderBy('id')
        .limit(test ? maxBatchCalls : Math.min(wanted, maxBatchCalls));
      if (last) positions = positions.where(isAfter(last, direction));
      else if (!test) positions = positions.offset(offset);
      const batch = upToMaxChars(await positions.execute());
      return {
        rows: await readRows(
          transaction,
          plan,
          batch.map(({ id }) => id),
          read,
        ),
        end: batch.at(-1),
      };
    });
    if (!end) return;
    last = end;
    const calls = rows.map(toCall).filter((call) => test?.(call) ?? true);
    const found = calls.slice(skipped, skipped + wanted);
    skipped = Math.max(0, skipped - calls.length);
    wanted -= found.length;
    if (found.length > 0) yield found;
  }
}

/** Sorts by start without the index of that order, in which SQLite would look for the listed ids among all calls. */
const unindexedStart = sql<string>`started_at || ''`;

function isAfter({ id, started_at }: Position, direction: SortKey['direction']): Expression<SqlBool> {
  const [before, notAfter] = direction === 'asc' ? (['>', '>='] as const) : (['<', '<='] as const);
  // The first condition is implied by the others, but it is the one that an index can use.
  return eb.and([
    eb('started_at', notAfter, started_at),
    eb.or([eb('started_at', before, started_at), eb('id', '>', id)]),
  ]);
}

/** Returns the first calls of a list that are small enough to be read together, and at least one. */
function upToMaxChars<Sized extends { chars: number }>(list: readonly Sized[]): Sized[] {
  let chars = 0;
  const end = list.findIndex((entry, index) => {
    chars += entry.chars;
    return index > 0 && chars > maxBatchChars;
  });
  return end === -1 ? [...list] : list.slice(0, end);
}

/** Reads rows by their ids, in the order of the ids. */
async function readRows(
  transaction: Transaction,
  { project_id }: Pick<Plan, 'project_id'>,
  ids: readonly string[],
  read: readonly JsonColumn[],
): Promise<CallRow[]> {
  if (ids.length === 0) return [];
  const rows: CallRow[] = await transaction
    .selectFrom('calls')
    .select([...smallColumns, ...read])
    .where('project_id', '=', project_id)
    .where('id', 'in', ids)
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** A call, and its values by which it is sorted. */
interface Sortable {
  id: string;
  keys: (string | number | undefined)[];
}

/** Returns the ids of the first `count` calls of a selection in an order that the database does not know. */
async function sortedIds(database: Database, plan: Plan, sortBy: readonly SortKey[], count: number): Promise<string[]> {
  const compare = byKeys(sortBy);
  const read = jsonColumnsOf([...plan.fields, ...sortBy.map(({ field }) => field)]);
  let found: Sortable[] = [];
  const keepFirst = (): void => {
    found = found.sort(compare).slice(0, count);
  };
  const scan = { direction: 'asc', read, offset: 0, limit: Number.MAX_SAFE_INTEGER } as const;
  for await (const calls of inOrderOfStart(database, plan, scan)) {
    for (const call of calls) {
      found.push({ id: call.id, keys: sortBy.map(({ field }) => sortableOf(fieldAt(call, field))) });
    }
    if (found.length > 2 * count + maxBatchCalls) keepFirst();
  }
  keepFirst();
  return found.map(({ id }) => id);
}

/** Returns a number as it is and anything else as text; undefined for no value. */
function sortableOf(value: unknown): string | number | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value);
}

/** Compares calls by their keys; calls without a value come last. */
function byKeys(sortBy: readonly SortKey[]): (a: Sortable, b: Sortable) => number {
  return (a, b) => {
    for (const [index, { direction }] of sortBy.entries()) {
      const order = compareValues(a.keys[index], b.keys[index], direction);
      if (order !== 0) return order;
    }
    return a.id < b.id ? -1 : 1;
  };
}

async function* byIds(
  database: Database,
  plan: Plan,
  ids: readonly string[],
  read: readonly JsonColumn[],
): AsyncGenerator<RecordedCall[], void, undefined> {
  let start = 0;
  while (start < ids.length) {
    const { rows, count } = await database.read(async (transaction) => {
      const next = ids.slice(start, start + maxBatchCalls);
      const sizes = await transaction
        .selectFrom('calls')
        .select(['id', 'chars'])
        .where('project_id', '=', plan.project_id)
        .where('id', 'in', next)
        .execute();
      const sizeOf = new Map(sizes.map(({ id, chars }) => [id, chars]));
      const batch = upToMaxChars(next.map((id) => ({ id, chars: sizeOf.get(id) ?? 0 }))).map(({ id }) => id);
      return { rows: await readRows(transaction, plan, batch, read), count: batch.length };
    });
    start += count;
    // A call that was deleted since its place was found has no row.
    if (rows.length > 0) yield rows.map(toCall);
  }
}
