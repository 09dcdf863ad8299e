import {
  type Expression,
  expressionBuilder,
  type RawBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import type { RecordedCall } from '../../contract/calls.ts';
import type { SortKey } from '../../contract/sort-keys.ts';
import { inBatches, inBatchesBySize } from '../../core/in-batches.ts';
import { nextTurn } from '../../core/turns.ts';
import { deletedCallIds } from '../storage/call-events.ts';
import { bytesOf, type CallRow, type JsonColumn, jsonColumns, smallColumns, toCall } from '../storage/call-rows.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { jsonOf, selectByIds } from '../storage/in-chunks.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import { type CallsPlan, hasIndex, isById, isCopied, isInOrderOfStart, needsScan } from './calls-plan.ts';
import { ComparedRecord, type ConditionPart, joinParts } from './condition.ts';
import { SearchSize } from './search-size.ts';

const eb = expressionBuilder<Tables, 'calls'>();

/** Maximum number of calls, and of their memory in bytes, that are read at once. */
export const maxBatchCalls = 500;
export const maxBatchBytes = 16 * 1024 * 1024;

type CallColumn = (typeof smallColumns)[number] | JsonColumn | 'json_bytes';

interface ScanOptions {
  direction: SortKey['direction'];
  /** The columns to read. */
  columns: readonly CallColumn[];
  /** Columns to read besides, of calls that must be tested. */
  tested?: readonly CallColumn[];
  offset: number;
  limit: number;
}

/** The columns whose text has no limit. */
const unlimitedColumns: readonly string[] = [...jsonColumns, 'exception', 'display_name'];

/** Maximum memory of a call whose values are read as it is found, in bytes. */
const maxSmallBytes = 8 * 1024;

const ifSmall = (column: CallColumn) =>
  sql<string | null>`case when memory_bytes <= ${sql.lit(maxSmallBytes)} then ${sql.ref(column)} end`.as(column);

/** Returns what to select for a column. */
const selected = (column: CallColumn) => (column === 'json_bytes' ? bytesOf(jsonColumns).as(column) : column);

/** The place of a call in the order of start, or without an id that of all calls with the start. */
type Position = Pick<Tables['calls'], 'started_at'> & { id?: string };

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
  const [since, before] = direction === 'asc' ? [after, upTo] : [upTo, after];
  const kept = parts.filter(({ about }) => !(since && about?.is === 'since') && !(before && about?.is === 'before'));
  return eb.and([
    joinParts(kept),
    ...(after ? [isBeside(after, 'after', direction)] : []),
    ...(upTo ? [isBeside(upTo, 'up to', direction)] : []),
  ]);
}

/** Selects the calls after a position, or up to it. Of calls with the same start, the lower id comes first in both directions. */
function isBeside(
  { id, started_at }: Position,
  side: 'after' | 'up to',
  direction: SortKey['direction'],
): Expression<SqlBool> {
  const isLater = (side === 'after') === (direction === 'asc');
  const [strictly, orEqual] = isLater ? (['>', '>='] as const) : (['<', '<='] as const);
  if (id === undefined) return eb('started_at', orEqual, started_at);
  // The first condition is implied by the others, but it is the one that an index can use.
  return eb.and([
    eb('started_at', orEqual, started_at),
    eb.or([eb('started_at', strictly, started_at), eb('id', side === 'after' ? '>' : '<=', id)]),
  ]);
}

/** Returns whether the calls of a plan are so few that they are found first and then sorted. */
const isSorted = (plan: CallsPlan): boolean => isById(plan) || plan.isSmall === true;

/** Returns what to order calls by. With the index of start, SQLite would walk through all calls to find listed ids. */
function startOf(plan: CallsPlan) {
  return isSorted(plan) ? sql<string>`started_at || ''` : sql<string>`started_at`;
}

/** Returns whether one statement may find all calls of a plan in order of start. */
export const isOrdered = (plan: CallsPlan): boolean => plan.parts.every(isSorted(plan) ? hasIndex : isInOrderOfStart);

/**
 * Returns where a statement must stop that searches at most `calls` calls of a range, counting those that an index finds in order of
 * start; undefined if fewer are left.
 */
async function endOfRange(
  transaction: Transaction,
  plan: CallsPlan,
  range: CallRange,
  calls: number,
): Promise<Position | undefined> {
  const ordered = transaction
    .selectFrom('calls')
    .select(['id', 'started_at'])
    .where(conditionOf(plan.parts.filter(isInOrderOfStart), range))
    .orderBy(startOf(plan), range.direction)
    .limit(1)
    .offset(calls - 1);
  const last = await ordered.executeTakeFirst();
  // Ordering by id as well takes ten times as long. Instead, the range stops before the first call with this start.
  if (last && last.started_at !== range.after?.started_at) return { ...last, id: '' };
  return last && ordered.orderBy('id').executeTakeFirst();
}

/** Returns SQL of the number of copies of calls that are selected, without those of deleted calls and perhaps others. */
export function countOfCopies(project_id: string, copied: RawBuilder<unknown>, others = sql``): RawBuilder<number> {
  return sql`(select count(*) ${copied}) - (
    select count(*) from (select id from ${deletedCallIds(project_id)} as deleted ${others}) as without
    where exists (select 1 ${copied} and calls.id = without.id)
  )`;
}

/** Returns whether all calls of a range are in a queue, by their number, which takes less time than looking up each. */
async function areAllIn(
  copies: ConditionPart['copies'],
  transaction: Transaction,
  { project_id, parts }: CallsPlan,
  { direction, after, upTo }: CallRange,
): Promise<boolean> {
  if (!copies || after?.started_at === upTo?.started_at || !parts.filter(isInOrderOfStart).every(isCopied))
    return false;
  // The indexes of items have no ids of calls.
  const [afterStart, upToStart] = [after, upTo].map((end) => end && { started_at: end.started_at });
  const where = conditionOf(parts.filter(isCopied), { direction, after: afterStart, upTo: upToStart });
  const copied = sql`from (${copies(project_id, (direction === 'asc' ? after : upTo)?.started_at)}) as calls where ${where}`;
  // Deleted calls are looked up for every range.
  const next = sql`select 1 from deleted_calls where project_id = ${project_id} limit 1 offset 1000`;
  const { rows } = await sql<{ areAllIn: unknown }>`select case when not exists (${next})
    then (select count(*) from calls where ${where}) = ${countOfCopies(project_id, copied)} end as "areAllIn"
  `.execute(transaction);
  return Boolean(rows[0]!.areAllIn);
}

/**
 * Returns the next range to search, of at most `calls` calls, counting those that an index finds in order of start. One in a queue begins
 * with the next item that may match, however many calls are before it. Returns undefined if there is no such item.
 */
async function nextRange(
  transaction: Transaction,
  plan: CallsPlan,
  range: CallRange,
  calls: number,
): Promise<CallRange | undefined> {
  const { direction, after } = range;
  const copies = plan.parts.find((part) => part.copies)?.copies;
  let begin = after;
  if (copies) {
    const items = copies(plan.project_id, direction === 'asc' ? after?.started_at : undefined);
    const where = conditionOf(plan.parts.filter(isCopied), {
      direction,
      // Items have no ids of calls in their indexes.
      after: after && { started_at: after.started_at },
    });
    const next = sql<Pick<Position, 'started_at'>>`
      select started_at from (${items}) as calls where ${where} order by started_at ${sql.raw(direction)} limit 1`;
    const [item] = (await next.execute(transaction)).rows;
    if (!item) return undefined;
    if (item.started_at !== after?.started_at) begin = item;
  }
  return { direction, after: begin, upTo: await endOfRange(transaction, plan, { direction, after: begin }, calls) };
}

/** Number of calls that PostgreSQL joins at once with the list of a condition; of fewer, it would look up each in the list. */
const maxJoined = 1_000_000;

/** Runs a query on the calls that match: range by range if there are ranges, otherwise once. */
async function* inRanges<T>(
  database: Database,
  plan: CallsPlan,
  { size, hasRanges }: { size: SearchSize; hasRanges: boolean },
  ask: (calls: SelectQueryBuilder<Tables, 'calls', unknown>, transaction: Transaction) => Promise<T>,
): AsyncGenerator<T, void, undefined> {
  let after: Position | undefined;
  do {
    await nextTurn();
    const { found, end } = await database.read((transaction) =>
      size.timed(async () => {
        const whole: CallRange = { direction: 'asc', after };
        const range = hasRanges ? await nextRange(transaction, plan, whole, size.calls) : whole;
        const inQueue = plan.parts.find(({ copies }) => copies);
        const isNeedless = range && (await areAllIn(inQueue?.copies, transaction, plan, range));
        const parts = isNeedless ? plan.parts.filter((part) => part !== inQueue) : plan.parts;
        const calls = range && transaction.selectFrom('calls').where(conditionOf(parts, range));
        return { found: calls && (await ask(calls, transaction)), end: range?.upTo };
      }),
    );
    if (found !== undefined) yield found;
    after = end;
  } while (after);
}

/** Counts the calls that match, up to a limit or somewhat more, range by range if not all conditions have an index. */
export async function* countInRanges(
  database: Database,
  plan: CallsPlan,
  limit: number,
): AsyncGenerator<number, void, undefined> {
  const size = new SearchSize(database);
  const isJoin = plan.parts.every((part) => hasIndex(part) || part.callIds);
  if (isJoin && limit > maxJoined && !database.blocksEventLoop) size.calls = maxJoined;
  for await (const { count } of inRanges(database, plan, { size, hasRanges: needsScan(plan) }, (calls) =>
    calls.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
  )) {
    // PostgreSQL's driver returns counts as strings.
    yield Number(count);
  }
}

/**
 * Asks for something about the calls that match, range by range, and lists those of them that must be tested because they do not satisfy
 * the certain condition of a plan (`open`).
 */
export async function* askInRanges<Found>(
  database: Database,
  plan: CallsPlan,
  asked: (transaction: Transaction) => RawBuilder<Found>,
): AsyncGenerator<{ found: Found; open: string[] }, void, undefined> {
  const ranges = { size: new SearchSize(database), hasRanges: true };
  for await (const { found, open } of inRanges(database, plan, ranges, (calls, transaction) =>
    calls
      .select([
        asked(transaction).as('found'),
        jsonOf('id', transaction, sql`not coalesce(${plan.certain!}, false)`).as('open'),
      ])
      .executeTakeFirstOrThrow(),
  )) {
    yield { found: found as Found, open: JSON.parse(open ?? '[]') };
  }
}

/** The sums of some calls. */
export interface CallSums {
  /** The beginning of their start, which they have in common. */
  started_at: string;
  count: number;
  failed: number;
  /** Number of those with a latency. */
  timed: number;
  /** Sum, least and greatest of their latencies in milliseconds, null if none has one. */
  latency: number | null;
  min_latency: number | null;
  max_latency: number | null;
  /** Bytes of their JSON. */
  json_bytes: number;
}

/** Returns the sums of one call. */
export function toCallSums({ started_at, exception, latency, json_bytes = 0 }: SizedRow): CallSums {
  const [failed, timed] = [exception ? 1 : 0, latency === null ? 0 : 1];
  return { started_at, count: 1, failed, timed, latency, min_latency: latency, max_latency: latency, json_bytes };
}

/**
 * Adds up the calls that match by the first characters of their start, range by range unless they are few, so that no statement takes
 * long or returns much. Several sums can have the same beginning.
 */
export async function* sumInRanges(
  database: Database,
  plan: CallsPlan,
  chars: number,
): AsyncGenerator<CallSums[], void, undefined> {
  const ranges = { size: new SearchSize(database), hasRanges: !plan.isSmall };
  const beginning = sql<string>`substr(started_at, 1, ${sql.lit(chars)})`;
  const failed = sql<number>`sum(case when exception <> '' then 1 else 0 end)`;
  for await (const sums of inRanges(database, plan, ranges, (calls) =>
    calls
      .select(({ fn }) => [
        beginning.as('started_at'),
        fn.countAll<number>().as('count'),
        failed.as('failed'),
        fn.count<number>('latency').as('timed'),
        fn.sum<number | null>('latency').as('latency'),
        fn.min('latency').as('min_latency'),
        fn.max('latency').as('max_latency'),
        sql<number>`sum(${bytesOf(jsonColumns)})`.as('json_bytes'),
      ])
      .groupBy(beginning)
      .execute(),
  )) {
    // PostgreSQL's driver returns counts as strings.
    yield sums.map((sum) => ({
      ...sum,
      count: Number(sum.count),
      failed: Number(sum.failed),
      timed: Number(sum.timed),
      json_bytes: Number(sum.json_bytes),
    }));
  }
}

export type SizedRow = CallRow & { memory_bytes: number; json_bytes?: number } & Pick<FoundCall, 'is_certain'>;

/** Returns the call of a row if the test of a plan accepts it. */
export function callIfAccepted(plan: CallsPlan): (row: SizedRow) => Promise<RecordedCall | undefined> {
  return async (row) => {
    await plan.budget.parse(row.memory_bytes);
    const isTested = plan.accepts && !row.is_certain;
    const record = isTested ? await comparedIfAccepted(plan, row) : undefined;
    // The record has other values if references are expanded.
    if (record && !plan.expand) return record.members as unknown as RecordedCall;
    return record || !isTested ? toCall(row) : undefined;
  };
}

/** Returns the record that the test of a plan compares and sort keys are read from, if the test accepts it. */
export async function comparedIfAccepted(plan: CallsPlan, row: SizedRow): Promise<ComparedRecord | undefined> {
  const { accepts, scans, budget, related, expand } = plan;
  const call = toCall(row);
  await expand?.(call);
  const record = new ComparedRecord(call, related?.of(row.id));
  if (!accepts || row.is_certain) return record;
  await budget.scan(row.memory_bytes, scans);
  return accepts(record) ? record : undefined;
}

/** The place of a call in the order of start, with the values of all columns to read if they are short. */
export interface FoundCall extends Pick<Tables['calls'], 'id' | 'started_at' | 'memory_bytes'> {
  /** Set if the plan accepts the call without a test. */
  is_certain?: unknown;
}
export const placeColumns = ['id', 'started_at'] as const;
const place = [...placeColumns, 'memory_bytes'] as const;

/** Returns what to select for the place of a call. */
const placeIn = ({ certain }: CallsPlan) => [
  ...place,
  ...(certain ? [sql<unknown>`case when ${certain} then 1 end`.as('is_certain')] : []),
];

/** Converts the rows of a plan, in the order of start. `convert` returns undefined for a row that the plan does not accept. */
export async function* inOrderOfStart<T>(
  database: Database,
  plan: CallsPlan,
  scan: ScanOptions,
  convert: (row: SizedRow) => Promise<T | undefined>,
): AsyncGenerator<T[], void, undefined> {
  const { accepts, certain, budget, ids } = plan;
  const { tested = [], offset, limit } = scan;
  const allColumns = [...scan.columns, ...tested];
  // With a certain condition, few calls must be tested: these are read by their ids.
  const columns = certain ? scan.columns : allColumns;
  const hasShortOnly = !ids && !columns.some((column) => unlimitedColumns.includes(column));
  // If indexes apply every condition, the database skips the first calls.
  const skippedByDatabase = !ids && !accepts && isOrdered(plan) ? offset : 0;
  let toSkip = offset - skippedByDatabase;
  // The values of small calls are read as they are found, unless they are to be skipped.
  const readsSmall = hasShortOnly || (!ids && ((accepts && !certain) || toSkip === 0));
  const hasAll = columns.length === allColumns.length;
  const isRead = ({ memory_bytes, is_certain }: FoundCall): boolean =>
    (hasAll || Boolean(is_certain)) && (hasShortOnly || (readsSmall && memory_bytes <= maxSmallBytes));
  let wanted = limit;
  const batches = ids
    ? listedInOrderOfStart(database, plan, ids, scan)
    : foundInOrderOfStart(database, plan, scan, { columns: readsSmall ? columns : [], skippedByDatabase });
  for await (const found of batches) {
    // Without a test, the values of calls to skip need not be read.
    const skipped = accepts ? 0 : Math.min(toSkip, found.length);
    const remaining = accepts ? found : found.slice(skipped, skipped + wanted);
    toSkip -= skipped;
    const isShort = hasShortOnly && hasAll;
    for (const batch of isShort ? [remaining] : inBatchesBySize(remaining, maxBatchBytes, memoryOf)) {
      // If the page begins after all of these calls, only those that must be tested are read.
      const toRead = toSkip < batch.length ? batch : batch.filter(({ is_certain }) => !is_certain);
      toSkip -= batch.length - toRead.length;
      const bytes = isShort ? 0 : totalMemoryOf(toRead);
      await budget.reserve(bytes);
      try {
        const large = toRead.filter((call) => !isRead(call));
        const read = new Map((await readCallRows(database, plan, large, allColumns)).map((row) => [row.id, row]));
        const rows = toRead.flatMap((call) => (isRead(call) ? (call as SizedRow) : (read.get(call.id) ?? [])));
        const accepted: T[] = [];
        await plan.related?.load(rows.map(({ id }) => id));
        for (const row of rows) {
          const value = await convert(row);
          if (value !== undefined) accepted.push(value);
        }
        const chosen = accepted.slice(toSkip, toSkip + wanted);
        toSkip = Math.max(0, toSkip - accepted.length);
        wanted -= chosen.length;
        if (chosen.length > 0) yield chosen;
      } finally {
        budget.release(bytes);
      }
      if (wanted === 0) return;
    }
  }
}

/** Number of calls that are skipped in the order of a page; more are skipped in that of start alone, which an index has. */
const maxSkipped = 1000;

/**
 * Returns the start of the call after a number of calls that an index finds in order of start, and how many of these have the same
 * start; undefined if there is no such call.
 */
async function startAfter(transaction: Transaction, plan: CallsPlan, direction: SortKey['direction'], calls: number) {
  const parts = plan.parts.filter(isInOrderOfStart);
  const next = await transaction
    .selectFrom('calls')
    .select('started_at')
    .where(joinParts(parts))
    .orderBy('started_at', direction)
    .limit(1)
    .offset(calls)
    .executeTakeFirst();
  if (!next) return undefined;
  const { earlier } = await transaction
    .selectFrom('calls')
    .select(({ fn }) => fn.countAll<number>().as('earlier'))
    .where(conditionOf(parts, { direction, after: undefined, upTo: { ...next, id: '' } }))
    .executeTakeFirstOrThrow();
  // PostgreSQL's driver returns counts as strings.
  return { ...next, calls: calls - Number(earlier) };
}

/** Finds the calls that satisfy the conditions of a plan, in the order of start, in batches. */
async function* foundInOrderOfStart(
  database: Database,
  plan: CallsPlan,
  { direction, offset, limit }: ScanOptions,
  { columns, skippedByDatabase }: { columns: readonly CallColumn[]; skippedByDatabase: number },
): AsyncGenerator<FoundCall[], void, undefined> {
  const { parts, accepts } = plan;
  const size = new SearchSize(database);
  const needsRanges = !isOrdered(plan);
  const excluded = parts.find(({ opposite }) => opposite?.copies)?.opposite?.copies;
  let wanted = offset - skippedByDatabase + limit;
  let after: Position | undefined;
  let end: Position | undefined;
  let isFull = false;
  let toSkip = skippedByDatabase;
  if (offset > maxSkipped && !isSorted(plan)) {
    const next = await database.read((transaction) => startAfter(transaction, plan, direction, offset));
    // The other conditions find no more calls.
    if (!next) return;
    if (toSkip > 0) {
      after = { started_at: next.started_at };
      toSkip = next.calls;
    }
  }
  while (wanted > 0) {
    await nextTurn();
    const maxFound = accepts ? maxBatchCalls : Math.min(wanted, maxBatchCalls);
    const found = await database.read((transaction) =>
      size.timed(async () => {
        // A range with more calls than a batch is searched to its end, which takes long to find.
        if (!isFull && needsRanges) {
          const range = await nextRange(transaction, plan, { direction, after }, size.calls);
          after = range?.after;
          end = range?.upTo;
          if (!range || (await areAllIn(excluded, transaction, plan, range))) return [];
        }
        const positions = transaction
          .selectFrom('calls')
          .select(placeIn(plan))
          .select(columns.map((column) => (unlimitedColumns.includes(column) ? ifSmall(column) : selected(column))))
          .where(conditionOf(parts, { direction, after, upTo: end }))
          .orderBy(startOf(plan), direction)
          .orderBy('id')
          .limit(maxFound)
          .offset(toSkip);
        return positions.execute();
      }),
    );
    toSkip = 0;
    if (!accepts) wanted -= found.length;
    yield found;
    isFull = found.length === maxFound;
    after = isFull ? found.at(-1) : end;
    if (!after) return;
  }
}

/** Number of listed calls that one statement looks up. */
const idsPerLookUp = 5000;

/** Finds the first of some calls that satisfy the conditions of a plan, and yields them in the order of start, in batches. */
async function* listedInOrderOfStart(
  database: Database,
  plan: CallsPlan,
  ids: readonly string[],
  { direction, offset, limit }: ScanOptions,
): AsyncGenerator<FoundCall[], void, undefined> {
  const maxFound = plan.accepts ? Number.MAX_SAFE_INTEGER : offset + limit;
  const found: FoundCall[] = [];
  for (const batch of inBatches(ids, idsPerLookUp)) {
    await nextTurn();
    const first = await database.read((transaction) =>
      selectMatching(transaction, plan, batch)
        .select(placeIn(plan))
        // An index of start would have the other calls too.
        .orderBy(sql`started_at || ''`, direction)
        .orderBy('id')
        .limit(Math.min(maxFound, batch.length))
        .execute(),
    );
    found.push(...first);
  }
  const sign = direction === 'asc' ? 1 : -1;
  const order = (a: FoundCall, b: FoundCall): number =>
    a.started_at === b.started_at ? (a.id < b.id ? -1 : 1) : a.started_at < b.started_at ? -sign : sign;
  yield* inBatches(found.sort(order).slice(0, maxFound), maxBatchCalls);
}

/** Counts those of some calls that satisfy the conditions of a plan, in batches. */
export async function* countListed(
  database: Database,
  plan: CallsPlan,
  ids: readonly string[],
): AsyncGenerator<number, void, undefined> {
  for (const batch of inBatches(ids, idsPerLookUp)) {
    await nextTurn();
    const { count } = await database.read((transaction) =>
      selectMatching(transaction, plan, batch)
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow(),
    );
    // PostgreSQL's driver returns counts as strings.
    yield Number(count);
  }
}

export const memoryOf = ({ memory_bytes }: Pick<Tables['calls'], 'memory_bytes'>): number => memory_bytes;

/** Reads the rows of calls, in the order of the calls. One that was deleted since it was found has none. */
export async function readCallRows(
  database: Database,
  { project_id }: CallsPlan,
  calls: readonly { id: string }[],
  columns: readonly CallColumn[],
): Promise<SizedRow[]> {
  if (calls.length === 0) return [];
  const ids = calls.map(({ id }) => id);
  const rows = (await database.read((transaction) =>
    selectByIds(transaction, 'calls', project_id, ids)
      // No index has the last column. Without it, SQLite might look for the ids in the whole index of another order.
      .select([...columns.map(selected), 'memory_bytes'])
      .execute(),
  )) as SizedRow[];
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Returns the places of those of some calls that satisfy the conditions of a plan, in the order of the calls. */
export async function readMatching(database: Database, plan: CallsPlan, ids: readonly string[]): Promise<FoundCall[]> {
  if (ids.length === 0) return [];
  const rows = await database.read((transaction) => selectMatching(transaction, plan, ids).select(place).execute());
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Selects those of some calls that satisfy the conditions of a plan. */
function selectMatching(transaction: Transaction, { project_id, parts }: CallsPlan, ids: readonly string[]) {
  const some = selectByIds(transaction, 'calls', project_id, ids);
  const others = parts.filter(({ about }) => about?.column !== 'project_id');
  if (others.length === 0) return some;
  // Its limit keeps the engines from merging the inner query with the conditions, which would bring other indexes into play.
  return transaction.selectFrom(some.selectAll().limit(ids.length).as('calls')).where(joinParts(others));
}

/** Returns the JSON columns with the members at these paths. */
export function jsonColumnsOf(paths: readonly string[]): JsonColumn[] {
  const names = new Set(paths.map((path) => path.split('.', 1)[0]!));
  // A member without a column of its own is in `data`.
  const known: readonly string[] = [...smallColumns, ...jsonColumns];
  return jsonColumns.filter((column) =>
    column === 'data' ? [...names].some((name) => !known.includes(name) || name === 'data') : names.has(column),
  );
}
