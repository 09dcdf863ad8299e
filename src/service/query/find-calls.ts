import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely';
import type { CallsFilter, QueryCallsRequest, RecordedCall } from '../../contract/calls.ts';
import type { SortKey } from '../../contract/sort-keys.ts';
import { nextTurn } from '../../core/event-loop.ts';
import {
  type CallRow,
  emptyMembers,
  type JsonColumn,
  jsonColumns,
  smallColumns,
  toCall,
} from '../storage/call-rows.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';
import { matchesFilter } from './calls-filter.ts';
import { compareValues } from './compare-values.ts';
import { compileExpression, fieldAt } from './record-condition.ts';
import {
  type CaseInsensitiveLike,
  type ConditionPart,
  type DatabaseCondition,
  databaseCondition,
  fieldsOf,
  isStorable,
  joinParts,
  maxListedValues,
  stringsCondition,
} from './sql-condition.ts';

const eb = expressionBuilder<Tables, 'calls'>();

/** Maximum number of calls, and of their characters, that are read at once. */
const maxBatchCalls = 500;
const maxBatchChars = 4 * 1024 * 1024;

/** The part of a query that selects calls. */
export type CallsSelection = Pick<QueryCallsRequest, 'project_id' | 'filter' | 'query'>;

/** The evaluation of a selection: conditions for the database, and a test for what they leave open. */
interface Plan {
  project_id: string;
  /** The conditions that the database applies. */
  parts: ConditionPart[];
  /** True if at least one condition has no index, so that the database tests one call after the other. */
  needsScan: boolean;
  /** Tests what the conditions leave open; undefined if they leave nothing open. */
  test: ((call: RecordedCall) => boolean) | undefined;
  /** The paths that the test reads. */
  fields: string[];
  /** True if the condition lists ids, so that it matches few calls. */
  listsIds: boolean;
}

/**
 * Finds recorded calls, and yields them in batches. Every batch is read in a transaction of its own, so that a slow reader
 * keeps none open. A call that is recorded meanwhile may be missing; no call is yielded twice.
 * @throws Refusal 422 for a query that cannot be evaluated, before the first batch.
 */
export async function* findCalls(
  database: Database,
  body: QueryCallsRequest,
): AsyncGenerator<RecordedCall[], void, undefined> {
  const plan = planOf(body, database.caseInsensitiveLike);
  const { sort_by, columns } = body;
  const offset = body.offset ?? 0;
  const limit = body.limit ?? Number.MAX_SAFE_INTEGER;
  const [first, ...others] = sort_by ?? [];
  const read = columns?.length ? jsonColumnsOf([...columns, ...plan.fields]) : jsonColumns;
  if (first === undefined || (first.field === 'started_at' && others.length === 0)) {
    const scan = { direction: first?.direction ?? 'asc', columns: [...smallColumns, ...read], offset, limit };
    yield* inOrderOfStart(database, plan, scan, callIfMatching(plan));
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
  const plan = planOf(selection, database.caseInsensitiveLike);
  const split = splitByFailure(selection);
  // Count all and subtract the failed ones, which an index finds; calls that have not failed would be read one by one.
  if (split && !plan.test && limit === Number.MAX_SAFE_INTEGER) {
    const failedCount = await countFoundCalls(database, split.failed, limit);
    return Math.max(0, (await countFoundCalls(database, split.all, limit)) - failedCount);
  }
  if (!plan.needsScan && !plan.test) {
    const { count } = await database.read((transaction) => countWhere(transaction, joinParts(plan.parts)));
    // PostgreSQL's driver returns counts as strings.
    return Math.min(Number(count), limit);
  }
  let count = 0;
  if (!plan.test) {
    for await (const found of countInRanges(database, plan)) {
      count += found;
      if (count >= limit) return limit;
    }
    return count;
  }
  const columns = [...smallColumns, ...jsonColumnsOf(plan.fields)];
  const scan = { direction: 'asc', columns, offset: 0, limit } as const;
  for await (const calls of inOrderOfStart(database, plan, scan, callIfMatching(plan))) {
    count += calls.length;
  }
  return count;
}

const countWhere = (transaction: Transaction, condition: Expression<SqlBool>) =>
  transaction
    .selectFrom('calls')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(condition)
    .executeTakeFirstOrThrow();

/**
 * Splits a selection with the condition that calls have not failed: `all` is the selection without it, and `failed` are the
 * failed calls among these. Returns undefined if it has no such condition.
 */
function splitByFailure(selection: CallsSelection): { all: CallsSelection; failed: CallsSelection } | undefined {
  const expression = selection.query?.$expr;
  const operands = Array.isArray(expression?.$and) ? (expression.$and as unknown[]) : [expression];
  const remaining = operands.filter((operand) => JSON.stringify(operand) !== hasNotFailed);
  if (remaining.length === operands.length) return undefined;
  const withOperands = ($and: unknown[]): CallsSelection => ({
    ...selection,
    query: $and.length > 0 ? { $expr: { $and } } : null,
  });
  const hasFailed = { $not: [JSON.parse(hasNotFailed)] };
  return { all: withOperands(remaining), failed: withOperands([...remaining, hasFailed]) };
}

const hasNotFailed = JSON.stringify({ $eq: [{ $getField: 'exception' }, { $literal: null }] });

function planOf({ project_id, filter, query }: CallsSelection, caseInsensitiveLike: CaseInsensitiveLike): Plan {
  const queryTest = query ? compileExpression(query.$expr) : undefined;
  const filterTest = matchesFilter(filter ?? {});
  const byFilter = filterCondition(filter ?? {});
  const byQuery = query ? databaseCondition(query.$expr, caseInsensitiveLike) : undefined;
  const tests = [...(byFilter.isExact ? [] : [filterTest]), ...(queryTest && !byQuery?.isExact ? [queryTest] : [])];
  const byProject: ConditionPart = { condition: eb('project_id', '=', project_id), index: 'in order of start' };
  const parts = [byProject, ...byFilter.parts, ...(byQuery?.parts ?? [])];
  return {
    project_id,
    parts,
    needsScan: parts.some(({ index }) => !index),
    test: tests.length === 0 ? undefined : (call) => tests.every((test) => test(call)),
    fields: [...(byFilter.isExact ? [] : ['inputs', 'output']), ...(byQuery?.isExact ? [] : fieldsOf(query?.$expr))],
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

/** Columns of the filter that no index has. */
const unindexedColumns: readonly string[] = ['turn_id', 'wb_user_id', 'wb_run_id'];

/**
 * Translates a filter to a condition. It is exact unless the filter looks into inputs or outputs, or one of its lists is too
 * long or has a string that the database cannot store.
 */
function filterCondition(filter: CallsFilter): DatabaseCondition {
  const parts: ConditionPart[] = [];
  let isExact = true;
  for (const [member, column] of filterColumns) {
    const values = filter[member];
    if (!values?.length) continue;
    if (!isListable(values)) isExact = false;
    else if (unindexedColumns.includes(column)) parts.push({ condition: eb(column, 'in', values) });
    else parts.push({ condition: eb(column, 'in', values), index: 'in order of start' });
  }
  const names = filter.op_names ?? [];
  if (isListable(names)) parts.push(namesCondition(names));
  else if (names.length > 0) isExact = false;
  if (filter.trace_roots_only) parts.push({ condition: eb('parent_id', 'is', null), index: 'in order of start' });
  for (const [column, references] of [
    ['inputs', filter.input_refs],
    ['output', filter.output_refs],
  ] as const) {
    if (!references?.length) continue;
    isExact = false;
    parts.push(...(stringsCondition(column, references)?.parts ?? []));
  }
  return { parts, isExact };
}

/** Translates names of operations, of which some end in `:*` for all versions. */
function namesCondition(names: readonly string[]): ConditionPart {
  const exact = names.filter((name) => !name.endsWith(':*'));
  const prefixes = names.filter((name) => name.endsWith(':*')).map((name) => name.slice(0, -1));
  const condition = eb.or([...(exact.length > 0 ? [eb('op_name', 'in', exact)] : []), ...prefixes.map(startsWith)]);
  // An index has the calls of one name in order of start, and those of several names or of a prefix name by name.
  return { condition, index: names.length === 1 && exact.length === 1 ? 'in order of start' : 'in another order' };
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
  // A member without a column of its own is in `data`.
  const known: readonly string[] = [...smallColumns, ...jsonColumns];
  return jsonColumns.filter((column) =>
    column === 'data' ? [...names].some((name) => !known.includes(name) || name === 'data') : names.has(column),
  );
}

type CallColumn = (typeof smallColumns)[number] | JsonColumn;

interface ScanOptions {
  direction: SortKey['direction'];
  /** The columns to read. */
  columns: readonly CallColumn[];
  offset: number;
  limit: number;
}

/** The place of a call in the order of start. */
type Position = Pick<Tables['calls'], 'id' | 'started_at'>;

const minSearched = 500;
const maxSearched = 20_000;

/**
 * Number of calls that one statement searches. If the database blocks the event loop, the number grows after fast statements
 * and shrinks after slow ones.
 */
class SearchSize {
  calls: number;
  readonly #isFixed: boolean;

  constructor({ blocksEventLoop }: Database) {
    this.#isFixed = !blocksEventLoop;
    this.calls = blocksEventLoop ? minSearched : maxSearched;
  }

  /** Runs a statement that searches `this.calls` calls, and corrects that number by the time that the statement took. */
  async timed<T>(statement: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const result = await statement();
    const ms = performance.now() - startedAt;
    if (this.#isFixed) return result;
    if (ms < 25) this.calls = Math.min(this.calls * 2, maxSearched);
    else if (ms > 75) this.calls = Math.max(Math.floor(this.calls / 2), minSearched);
    return result;
  }
}

/** A part of the order of start: the calls after one of them, up to another one. */
interface CallRange {
  direction: SortKey['direction'];
  after: Position | undefined;
  upTo?: Position | undefined;
}

/**
 * Returns the conditions for a range. The ends of the range replace the selection's limits of time, which are wider: given both,
 * an engine may use the wider one, and read the same calls again for every range.
 */
function conditionOf(parts: readonly ConditionPart[], { direction, after, upTo }: CallRange): Expression<SqlBool> {
  const [afterReplaces, upToReplaces] = direction === 'asc' ? ['since', 'before'] : ['before', 'since'];
  const kept = parts.filter(
    ({ limits }) => !limits || !((after && limits === afterReplaces) || (upTo && limits === upToReplaces)),
  );
  const ends = [...(after ? [isAfter(after, direction)] : []), ...(upTo ? [isUpTo(upTo, direction)] : [])];
  return eb.and([joinParts(kept), ...ends]);
}

/**
 * Returns where a statement that searches `calls` calls of a range must stop, counting those that fit the conditions with an
 * index in order of start; undefined if fewer are left.
 */
async function endOfRange(
  transaction: Transaction,
  { parts, listsIds }: Plan,
  range: CallRange,
  calls: number,
): Promise<Position | undefined> {
  return transaction
    .selectFrom('calls')
    .select(['id', 'started_at'])
    .where(
      conditionOf(
        parts.filter(({ index }) => index === 'in order of start'),
        range,
      ),
    )
    .orderBy(listsIds ? unindexedStart : 'started_at', range.direction)
    .orderBy('id')
    .limit(1)
    .offset(calls - 1)
    .executeTakeFirst();
}

/** Counts the calls that match conditions which only the database tests, range by range. */
async function* countInRanges(database: Database, plan: Plan): AsyncGenerator<number, void, undefined> {
  const size = new SearchSize(database);
  let after: Position | undefined;
  do {
    await nextTurn();
    const { count, end } = await database.read((transaction) =>
      size.timed(async () => {
        const end = await endOfRange(transaction, plan, { direction: 'asc', after }, size.calls);
        const { count } = await countWhere(
          transaction,
          conditionOf(plan.parts, { direction: 'asc', after, upTo: end }),
        );
        return { count, end };
      }),
    );
    yield Number(count);
    after = end;
  } while (after);
}

/** Converts the rows of a plan, in the order of start. `convert` returns undefined for a row to leave out. */
async function* inOrderOfStart<T>(
  database: Database,
  plan: Plan,
  { direction, columns, offset, limit }: ScanOptions,
  convert: (row: CallRow) => T | undefined,
): AsyncGenerator<T[], void, undefined> {
  const { parts, needsScan, test, listsIds } = plan;
  const hasNoJson = !jsonColumns.some((column) => columns.includes(column));
  const size = new SearchSize(database);
  // The database skips the first calls if an index applies every condition. If not, they are skipped here: before their values
  // are read, or after the test if the plan has one.
  const skipsInDatabase = !test && !needsScan;
  let toSkip = skipsInDatabase ? 0 : offset;
  let wanted = limit;
  let after: Position | undefined;
  while (wanted > 0) {
    await nextTurn();
    const maxFound = test ? maxBatchCalls : Math.min(toSkip + wanted, maxBatchCalls);
    const { rows, next, skippedUnread } = await database.read(async (transaction) => {
      const { found, end } = await size.timed(async () => {
        const end = needsScan ? await endOfRange(transaction, plan, { direction, after }, size.calls) : undefined;
        const positions = transaction
          .selectFrom('calls')
          .select(['id', 'started_at', 'chars', ...(hasNoJson ? columns : [])])
          .where(conditionOf(parts, { direction, after, upTo: end }))
          .orderBy(listsIds ? unindexedStart : 'started_at', direction)
          .orderBy('id')
          .limit(maxFound)
          .offset(skipsInDatabase && !after ? offset : 0);
        return { found: await positions.execute(), end };
      });
      const kept = test ? found : found.slice(toSkip);
      const batch = upToMaxChars(kept);
      const mayHaveMore = batch.length < kept.length || found.length === maxFound;
      const next = mayHaveMore ? (batch.at(-1) ?? found.at(-1)) : end;
      const ids = batch.map(({ id }) => id);
      const rows = hasNoJson ? (batch as CallRow[]) : await readRows(transaction, plan, ids, columns);
      return { rows, next, skippedUnread: found.length - kept.length };
    });
    const values = rows.map(convert).filter((value) => value !== undefined);
    const chosen = test ? values.slice(toSkip, toSkip + wanted) : values;
    toSkip = test ? Math.max(0, toSkip - values.length) : toSkip - skippedUnread;
    wanted -= chosen.length;
    if (chosen.length > 0) yield chosen;
    if (!next) return;
    after = next;
  }
}

/** Returns the call of a row if it passes the test of a plan. */
const callIfMatching =
  ({ test }: Plan) =>
  (row: CallRow): RecordedCall | undefined => {
    const call = toCall(row);
    return test && !test(call) ? undefined : call;
  };

/** Orders by start without the index of that order. With it, SQLite would walk through all calls to find the listed ids. */
const unindexedStart = sql<string>`started_at || ''`;

function isAfter({ id, started_at }: Position, direction: SortKey['direction']): Expression<SqlBool> {
  const [strictly, orEqual] = direction === 'asc' ? (['>', '>='] as const) : (['<', '<='] as const);
  // The first condition is implied by the others, but it is the one that an index can use.
  return eb.and([
    eb('started_at', orEqual, started_at),
    eb.or([eb('started_at', strictly, started_at), eb('id', '>', id)]),
  ]);
}

/** The opposite of {@link isAfter}. */
function isUpTo({ id, started_at }: Position, direction: SortKey['direction']): Expression<SqlBool> {
  const [strictly, orEqual] = direction === 'asc' ? (['<', '<='] as const) : (['>', '>='] as const);
  return eb.and([
    eb('started_at', orEqual, started_at),
    eb.or([eb('started_at', strictly, started_at), eb('id', '<=', id)]),
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
  columns: readonly CallColumn[],
): Promise<CallRow[]> {
  if (ids.length === 0) return [];
  const rows = (await transaction
    .selectFrom('calls')
    // No index has the last column. Without it, SQLite might look for the ids in the whole index of another order.
    .select([...columns, 'chars'])
    .where('project_id', '=', project_id)
    .where('id', 'in', ids)
    .execute()) as CallRow[];
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** A call, and the values by which it is sorted. */
interface Sortable {
  id: string;
  values: (string | number | undefined)[];
}

/** Returns the ids of the first `count` calls of a selection in an order that the database does not know. */
async function sortedIds(database: Database, plan: Plan, sortBy: readonly SortKey[], count: number): Promise<string[]> {
  const compare = byValues(sortBy);
  const fields = sortBy.map(({ field }) => field);
  let found: Sortable[] = [];
  const keepFirst = (): void => {
    found = found.sort(compare).slice(0, count);
  };
  const valuesOf = (record: object) =>
    fields.map((field) => sortValueOf(fieldAt(record as Record<string, unknown>, field)));
  const sortableOfCall = (row: CallRow): Sortable | undefined => {
    const call = callIfMatching(plan)(row);
    return call && { id: call.id, values: valuesOf(call) };
  };
  const read = jsonColumnsOf([...plan.fields, ...fields]);
  // Building whole calls would take most of the time.
  const needsNoCall = !plan.test && read.every((column) => column !== 'summary' && column !== 'data');
  const columns = needsNoCall
    ? ([...new Set(['id', ...smallColumns.filter((column) => fields.includes(column)), ...read])] as CallColumn[])
    : [...smallColumns, ...read];
  const sortableOfRow = (row: CallRow): Sortable => ({ id: row.id, values: valuesOf(withValues(row, read)) });
  const scan = { direction: 'asc', columns, offset: 0, limit: Number.MAX_SAFE_INTEGER } as const;
  for await (const batch of inOrderOfStart(database, plan, scan, needsNoCall ? sortableOfRow : sortableOfCall)) {
    found.push(...batch);
    if (found.length > 2 * count + maxBatchCalls) keepFirst();
  }
  keepFirst();
  return found.map(({ id }) => id);
}

/** Returns a row with the values of JSON columns; a missing value of inputs or attributes is an empty object. */
function withValues(row: CallRow, columns: readonly JsonColumn[]): object {
  const values: Record<string, unknown> = { ...row };
  for (const column of columns) {
    const json = row[column];
    values[column] = json == null ? (emptyMembers as Record<string, unknown>)[column] : JSON.parse(json);
  }
  return values;
}

/** Returns a number as it is and anything else as text; undefined for no value. */
function sortValueOf(value: unknown): string | number | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value);
}

/** Compares calls by their values; calls without a value come last. */
function byValues(sortBy: readonly SortKey[]): (a: Sortable, b: Sortable) => number {
  return (a, b) => {
    for (const [index, { direction }] of sortBy.entries()) {
      const order = compareValues(a.values[index], b.values[index], direction);
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
    await nextTurn();
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
      return { rows: await readRows(transaction, plan, batch, [...smallColumns, ...read]), count: batch.length };
    });
    start += count;
    // A call that was deleted since its place was found has no row.
    if (rows.length > 0) yield rows.map(toCall);
  }
}
