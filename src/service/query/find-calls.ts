import { expressionBuilder, type SqlBool, sql } from 'kysely';
import type { RecordedCall } from '../../contract/calls.ts';
import type { BodyOf } from '../../contract/endpoints.ts';
import type { SortKey } from '../../contract/sort-keys.ts';
import { inBatches, inBatchesBySize } from '../../core/in-batches.ts';
import { parseStoredJson } from '../../core/json/exact-number.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { normalizeTimestamp } from '../../core/timestamps.ts';
import { nextTurn } from '../../core/turns.ts';
import { type CallRow, emptyMembers, type JsonColumn, jsonColumns, smallColumns } from '../storage/call-rows.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { jsonOf } from '../storage/in-chunks.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import { callFields } from './call-fields.ts';
import {
  bytesPerPlace,
  type CallsPlan,
  type CallsSelection,
  copiesOf,
  hasIndex,
  isById,
  isServedByOperations,
  maxListed,
  narrowPlan,
  planCalls,
  type QueryAccess,
  queuesOf,
  readsNameOnly,
  timeColumns,
  withConditions,
} from './calls-plan.ts';
import {
  anyOf,
  ComparedRecord,
  type Condition,
  type ConditionPart,
  feedbackPath,
  isOneOf,
  joinParts,
  queuePath,
} from './condition.ts';
import {
  kindsIn,
  latencyField,
  type MemberIndex,
  MemberIndexes,
  maxCallsWithoutIndex,
  readIndexedIds,
} from './member-order.ts';
import { hasMuchFeedback, readFeedbackByCall } from './related-values.ts';
import {
  askInRanges,
  type CallSums,
  callIfAccepted,
  comparedIfAccepted,
  countInRanges,
  countListed,
  countOfCopies,
  type FoundCall,
  inOrderOfStart,
  isOrdered,
  jsonColumnsOf,
  maxBatchBytes,
  maxBatchCalls,
  memoryOf,
  placeColumns,
  readCallRows,
  readMatching,
  type SizedRow,
  sumInRanges,
  toCallSums,
} from './scan-calls.ts';
import { maxSearched } from './search-size.ts';
import { compareValues, type SortValue, sortValueOf } from './sort-records.ts';

const eb = expressionBuilder<Tables, 'calls'>();

/**
 * Finds recorded calls, and yields them in batches, whose memory the budget holds until the next one. Every batch is read in a
 * transaction of its own, so that a slow reader keeps none open. A call that is recorded meanwhile may be missing; no call is
 * yielded twice.
 * @throws Refusal 422 for a query that cannot be evaluated, before the first batch, 400 and 403 for fields and comparisons that the
 * public service refuses; 413 for one that the budget does not allow.
 */
export async function* findCalls(
  database: Database,
  body: BodyOf<'queryCalls'>,
  access: QueryAccess,
): AsyncGenerator<RecordedCall[], void, undefined> {
  const { sort_by, columns } = body;
  const sortFields = (sort_by ?? []).map(({ field }) => field);
  for (const path of [...sortFields, ...(columns ?? [])]) callFields.checkField(path);
  const [plan] = await narrowPlan(database, planCalls(database, body, { ...access, sortFields }), 'page');
  const offset = body.offset ?? 0;
  const limit = body.limit ?? Number.MAX_SAFE_INTEGER;
  const read = columns?.length ? jsonColumnsOf([...columns, ...plan.paths]) : jsonColumns;
  yield* inOrder(database, plan, { sortBy: decidingKeys(sort_by ?? []), read, offset, limit });
}

/** Drops sort keys that cannot change the order: those after the id, which is unique, and an ascending id after others, which breaks ties anyway. */
function decidingKeys(keys: readonly SortKey[]): readonly SortKey[] {
  const at = keys.findIndex(({ field }) => field === 'id');
  if (at === -1) return keys;
  return keys.slice(0, at > 0 && keys[at]!.direction === 'asc' ? at : at + 1);
}

/**
 * Finds calls as {@link findCalls} does, in the order of their start, and yields their rows with some columns: building whole calls
 * takes most of the time of sums.
 */
export async function* findCallRows(
  database: Database,
  selection: CallsSelection,
  columns: readonly (keyof CallRow)[],
  access: QueryAccess,
): AsyncGenerator<SizedRow[], void, undefined> {
  const [plan] = await narrowPlan(database, planCalls(database, selection, access), 'page');
  yield* rowsOfPlan(database, plan, columns, Number.MAX_SAFE_INTEGER);
}

async function* rowsOfPlan(
  database: Database,
  plan: CallsPlan,
  columns: readonly (keyof CallRow | 'json_bytes')[],
  limit: number,
): AsyncGenerator<SizedRow[], void, undefined> {
  const read = [...new Set([...placeColumns, ...columns])];
  const tested = plan.accepts ? [...smallColumns, ...jsonColumnsOf(plan.paths)] : [];
  const scan = {
    direction: 'asc',
    columns: read,
    tested: tested.filter((column) => !read.includes(column)),
    offset: 0,
    limit,
  } as const;
  yield* inOrderOfStart(database, plan, scan, async (row) => {
    if (row.is_certain) return row;
    await plan.budget.parse(row.memory_bytes);
    return !plan.accepts || (await comparedIfAccepted(plan, row)) ? row : undefined;
  });
}

/** Returns the rows of those of some calls that the tests of a plan accept. */
const testedRows = (database: Database, plan: CallsPlan, ids: readonly string[]) =>
  rowsOfPlan(database, { ...plan, certain: undefined, ids }, [], Number.MAX_SAFE_INTEGER);

/** Finds calls as {@link findCalls} does, in no order, and yields their ids. */
export async function* findCallIds(
  database: Database,
  selection: CallsSelection,
  access: QueryAccess,
): AsyncGenerator<string[], void, undefined> {
  const [plan] = await narrowPlan(database, planCalls(database, selection, access), 'page');
  const { certain } = plan;
  if (!certain || isById(plan)) {
    for await (const rows of rowsOfPlan(database, plan, [], Number.MAX_SAFE_INTEGER)) yield rows.map(({ id }) => id);
    return;
  }
  for await (const { found, open } of askInRanges(database, plan, (transaction) =>
    jsonOf('id', transaction, certain),
  )) {
    yield JSON.parse(found ?? '[]');
    for await (const rows of testedRows(database, plan, open)) yield rows.map(({ id }) => id);
  }
}

/** A selection, of which perhaps only the first calls in the order of start are wanted. */
type LimitedSelection = CallsSelection & Pick<BodyOf<'queryCalls'>, 'limit'>;

/**
 * Adds up the calls of a selection by the first `chars` characters of their start. The database does it, unless tests must read each
 * call. Several sums can have the same beginning.
 */
export async function* sumCalls(
  database: Database,
  { limit, ...selection }: LimitedSelection,
  chars: number,
  access: QueryAccess,
): AsyncGenerator<CallSums[], void, undefined> {
  const [plan] = await narrowPlan(database, planCalls(database, selection, access), 'page');
  if (!plan.accepts && !plan.ids && limit == null) {
    yield* sumInRanges(database, plan, chars);
    return;
  }
  const rows = rowsOfPlan(database, plan, ['exception', 'latency', 'json_bytes'], limit ?? Number.MAX_SAFE_INTEGER);
  for await (const batch of rows) yield batch.map(toCallSums);
}

/** Counts the calls of a selection, and adds up the bytes of their JSON. */
export async function measureCalls(
  database: Database,
  selection: LimitedSelection,
  access: QueryAccess,
): Promise<{ count: number; total_storage_size_bytes: number }> {
  const measured = { count: 0, total_storage_size_bytes: 0 };
  for await (const sums of sumCalls(database, selection, 0, access)) {
    for (const { count, json_bytes } of sums) {
      measured.count += count;
      measured.total_storage_size_bytes += json_bytes;
    }
  }
  return measured;
}

/** The calls of a plan to yield. */
interface Page {
  /** Their order; that of start if it is empty. */
  sortBy: readonly SortKey[];
  /** The JSON columns to read. */
  read: readonly JsonColumn[];
  offset: number;
  limit: number;
}

async function* inOrder(
  database: Database,
  plan: CallsPlan,
  page: Page,
): AsyncGenerator<RecordedCall[], void, undefined> {
  const { sortBy, read, offset, limit } = page;
  const [first, ...others] = sortBy;
  if (limit === 0) return;
  if (first === undefined || (first.field === 'started_at' && others.length === 0)) {
    const scan = { direction: first?.direction ?? 'asc', columns: [...smallColumns, ...read], offset, limit };
    yield* inOrderOfStart(database, plan, scan, callIfAccepted(plan));
  } else if (first.field === 'op_name' && !plan.ids) {
    // Few calls that another index finds are faster sorted than looked for in one operation after the other.
    const found = isServedByOperations(plan) ? undefined : yield* bySortedPlaces(database, plan, page, maxSorted);
    if (found !== undefined && found <= maxSorted) return;
    const inOperation = others.length > 0 ? others : [{ field: 'id', direction: 'asc' } as const];
    yield* byOperation(database, plan, { ...page, sortBy: [first, ...inOperation] });
  } else if (first.field === 'id' && canSortById(database, plan, page)) {
    yield* byId(database, plan, page);
  } else {
    yield* byMembers(database, plan, page);
  }
}

/** Maximum number of calls to sort in memory instead of reading them operation by operation, or to sort by id in one statement. */
const maxSorted = 5000;

/** Yields calls in an order in which they are not stored. */
async function* byMembers(
  database: Database,
  plan: CallsPlan,
  page: Page,
): AsyncGenerator<RecordedCall[], void, undefined> {
  const indexes = MemberIndexes.of(database);
  // An index has the values of calls, not those behind references or of feedback.
  const [first, ...others] = page.sortBy as [SortKey, ...SortKey[]];
  const index = plan.expand || plan.related ? undefined : indexes.indexFor(first);
  const byFeedback = await sortedFeedback(database, plan, page.sortBy);
  const isByPrimaryKey = first.field === 'id' && !plan.related && page.offset + page.limit <= maxSorted;
  const isReady =
    byFeedback !== undefined ||
    isByPrimaryKey ||
    (index !== undefined && (await indexes.isReady(index, plan.project_id)));
  if ((index || isReady) && !(isReady && isForAll(plan))) {
    // Few calls that match are faster found and sorted than looked for in another order.
    const maxFound = isReady ? maxBatchCalls : maxCallsWithoutIndex;
    const found = yield* bySortedPlaces(database, plan, page, maxFound);
    if (found <= maxFound) return;
    if (index && !isReady) await indexes.create(index);
  }
  if (byFeedback) yield* byIds(database, plan, page, idsByFeedback(database, plan, byFeedback));
  else if (isByPrimaryKey) yield* byIds(database, plan, page, idsOfProject(database, plan, first.direction));
  else if (index && (isReady || (await indexes.isReady(index, plan.project_id)))) {
    const inOrder = idsByIndex(database, plan, page, index);
    yield* others.length === 0
      ? byIds(database, plan, page, inOrder)
      : bySortedPlaces(database, plan, page, undefined, inOrder);
  } else yield* bySortedPlaces(database, plan, page);
}

/** A member of the feedback of a type, and the direction to sort calls in. */
interface SortedFeedback extends SortKey {
  type: string;
}

/** Returns the only sort key if it is a member of feedback, of which there is not much, and no test needs more than the call itself. */
async function sortedFeedback(
  database: Database,
  { project_id, tests, expand }: CallsPlan,
  [key, ...others]: readonly SortKey[],
): Promise<SortedFeedback | undefined> {
  const type = key && feedbackPath(key.field)?.type;
  const needsMore = tests.some(({ paths }) => paths.some((path) => feedbackPath(path) ?? path === queuePath));
  if (type === undefined || others.length > 0 || expand || needsMore) return undefined;
  return (await hasMuchFeedback(database, project_id, type, maxListed)) ? undefined : { ...key!, type };
}

/** Yields the ids of a project's calls in the order of a member of their feedback; those without come last. */
async function* idsByFeedback(
  database: Database,
  plan: CallsPlan,
  key: SortedFeedback,
): AsyncGenerator<string[], void, undefined> {
  const { project_id, budget } = plan;
  const places: { id: string; values: [SortValue] }[] = [];
  for await (const calls of readFeedbackByCall(database, { project_id, type: key.type, paths: [key.field] }, budget)) {
    for (const { call_id, record, bytes } of calls) {
      await budget.scan(bytes, 1);
      const value = sortValueOf(record.valueAt(key.field));
      if (value === undefined) continue;
      budget.hold(bytesPerPlace + (typeof value === 'string' ? value.length : 0), 'sort by a smaller member');
      places.push({ id: call_id, values: [value] });
    }
  }
  places.sort((a, b) => compareValues(a.values, b.values, [key]) || (a.id < b.id ? -1 : 1));
  for (const batch of inBatches(places, maxBatchCalls)) yield batch.map(({ id }) => id);
  yield* idsOfProject(database, plan, 'asc');
}

/** Yields the ids of a project's calls in their order. */
async function* idsOfProject(
  database: Database,
  { project_id }: CallsPlan,
  direction: SortKey['direction'],
): AsyncGenerator<string[], void, undefined> {
  let last: string | undefined;
  for (let size = maxBatchCalls, hasMore = true; hasMore; size = Math.min(2 * size, maxSearched)) {
    await nextTurn();
    const rows = await database.read((transaction) =>
      transaction
        .selectFrom('calls')
        .select('id')
        .where('project_id', '=', project_id)
        .$if(last !== undefined, (calls) => calls.where('id', direction === 'asc' ? '>' : '<', last!))
        .orderBy('id', direction)
        .limit(size)
        .execute(),
    );
    yield rows.map(({ id }) => id);
    last = rows.at(-1)?.id;
    hasMore = rows.length === size;
  }
}

/** Returns whether a plan finds all calls of its project. */
const isForAll = ({ parts, accepts, ids }: CallsPlan): boolean => parts.length === 1 && !accepts && !ids;

/** Returns whether one statement sorts calls by their ids, which takes SQLite long for pages far from the first, unless it finds all. */
function canSortById(database: Database, plan: CallsPlan, { offset, limit }: Page): boolean {
  const maxEnd = database.blocksEventLoop && !isForAll(plan) ? maxSorted : Number.MAX_SAFE_INTEGER;
  return limit <= maxSorted && offset + limit <= maxEnd && !plan.ids && !plan.accepts && isOrdered(plan);
}

/** Yields a page of calls in the order of their ids. Indexes find the calls, and the database sorts them. */
async function* byId(
  database: Database,
  plan: CallsPlan,
  { sortBy, read, offset, limit }: Page,
): AsyncGenerator<RecordedCall[], void, undefined> {
  const found = await database.read((transaction) =>
    transaction
      .selectFrom('calls')
      .select('id')
      .where(joinParts(plan.parts))
      // SQLite would walk all calls in the order of the primary key, and look at each.
      .orderBy(isForAll(plan) ? sql`id` : sql`id || ''`, sortBy[0]!.direction)
      .limit(limit)
      .offset(offset)
      .execute(),
  );
  const ids = found.map(({ id }) => id);
  yield* readInOrder(database, plan, await readMatching(database, plan, ids), read, callIfAccepted(plan));
}

/**
 * Yields calls that it sorts in memory; none if there are more than `maxFound`. Returns the number of those that it found: all that match,
 * unless there are the ids of a project's calls in the order of the first sort key.
 */
async function* bySortedPlaces(
  database: Database,
  plan: CallsPlan,
  { sortBy, read, offset, limit }: Page,
  maxFound = Number.MAX_SAFE_INTEGER - 1,
  inOrder?: AsyncIterable<string[]>,
): AsyncGenerator<RecordedCall[], number, undefined> {
  const { places, found } = await sortCalls(database, plan, sortBy, { count: offset + limit, maxFound, inOrder });
  const accepted = { ...plan, accepts: undefined };
  if (found <= maxFound) yield* readInOrder(database, accepted, places.slice(offset), read, callIfAccepted(accepted));
  releasePlaces(plan, places);
  return found;
}

function releasePlaces({ budget }: CallsPlan, places: readonly SortableCall[]): void {
  for (const { heldBytes } of places) budget.release(heldBytes);
}

/** Yields the ids of a project's calls in the order of an index of their member. */
async function* idsByIndex(
  database: Database,
  { project_id, parts }: CallsPlan,
  { sortBy }: Page,
  index: MemberIndex,
): AsyncGenerator<string[], void, undefined> {
  const { direction, field } = sortBy[0]!;
  const onNumber = parts.filter(({ numberField }) => numberField === field);
  // The index has the start too. Compared as such, an engine could prefer the index of start.
  const onStart = parts.filter(({ about }) => about?.column === 'started_at');
  const conditions = [...onNumber, { condition: sql<SqlBool>`coalesce(${joinParts(onStart)}, false)` }];
  // Only numbers satisfy conditions on a number.
  for (const kind of onNumber.length > 0 ? (['number'] as const) : kindsIn(direction, index)) {
    let size = maxBatchCalls;
    for (let start = 0, hasMore = true; hasMore; start += size, size = Math.min(2 * size, maxSearched)) {
      await nextTurn();
      const part = { project_id, conditions, kind, direction, limit: size, offset: start };
      const ids = await database.read((transaction) => readIndexedIds(transaction, index, part));
      hasMore = ids.length === size;
      yield ids;
    }
  }
}

/** Yields the calls of a plan in the order of the ids of a project's calls. */
async function* byIds(
  database: Database,
  plan: CallsPlan,
  page: Page,
  inOrder: AsyncIterable<string[]>,
): AsyncGenerator<RecordedCall[], void, undefined> {
  const { read, offset, limit } = page;
  // Feedback has put the ids in their order, and no test reads it.
  const ordered = { ...plan, related: undefined };
  const maxWorthSorting = sortingChecks(offset + limit);
  let [toSkip, wanted] = [offset, limit];
  for await (const { places, known } of placesInOrder(database, ordered, inOrder)) {
    const maxFound = maxWorthSorting(known, offset - toSkip + limit - wanted);
    const rest = { ...page, offset: offset + limit - wanted, limit: wanted };
    if (maxFound > 0 && (yield* bySortedPlaces(database, plan, rest, maxFound)) <= maxFound) return;
    // Without a test, the values of calls to skip need not be read.
    const skipped = plan.accepts ? 0 : Math.min(toSkip, places.length);
    toSkip -= skipped;
    const toRead = plan.accepts ? places : places.slice(skipped, skipped + wanted);
    for await (const calls of readInOrder(database, ordered, toRead, read, callIfAccepted(ordered))) {
      const chosen = calls.slice(toSkip, toSkip + wanted);
      toSkip = Math.max(0, toSkip - calls.length);
      wanted -= chosen.length;
      if (chosen.length > 0) yield chosen;
      if (wanted === 0) return;
    }
  }
}

/** Number of calls that a search looks at before it first decides whether to sort the matching ones instead. */
const firstCheck = 5000;

/**
 * Returns a function that decides, while the first `count` calls in an order are searched for, whether to sort all matching calls instead.
 * It takes the number of calls looked at (`known`) and how many of them match (`found`), and returns the maximum number of matching calls
 * to sort, or 0 to go on searching. Sorting takes at most a few times as long as the search so far, or as long as the rest of it.
 */
function sortingChecks(count: number): (known: number, found: number) => number {
  let next = firstCheck;
  return (known, found) => {
    if (known < next) return 0;
    next = 4 * known;
    const left = ((count - found) * known) / Math.max(found, 1);
    // If half of the calls match, or more, sorting them takes longer than finishing the search.
    return left > known && found < known / 2 ? Math.ceil(Math.min(left, 4 * known)) : 0;
  };
}

/**
 * Yields the places of those of a project's calls that satisfy the conditions of a plan, once each, in the order of the ids, and the number
 * of calls that were looked at.
 */
async function* placesInOrder(
  database: Database,
  plan: CallsPlan,
  inOrder: AsyncIterable<string[]>,
): AsyncGenerator<{ places: FoundCall[]; known: number }, void, undefined> {
  const listed = plan.ids && new Set(plan.ids);
  // A call whose value has just been recorded could be met a second time.
  const known = new Set<string>();
  for await (const ids of inOrder) {
    for (const batch of inBatches(ids, maxBatchCalls)) {
      const added = batch.filter((id) => !known.has(id));
      plan.budget.hold(added.length * bytesPerPlace);
      for (const id of added) known.add(id);
      const matching = listed ? added.filter((id) => listed.has(id)) : added;
      yield { places: await readMatching(database, plan, matching), known: known.size };
    }
  }
}

/** Operations whose calls are read one after the other, before those of all others are sorted together. */
const maxOperations = 100;

/** Yields calls by the name of the operation, the first key of the page, then by its other keys: one operation after the other. */
async function* byOperation(
  database: Database,
  plan: CallsPlan,
  page: Page,
): AsyncGenerator<RecordedCall[], void, undefined> {
  const [{ direction }, ...sortBy] = page.sortBy as [SortKey, ...SortKey[]];
  let { offset, limit } = page;
  let rest = plan;
  for (let operations = 0; operations < maxOperations; operations += 1) {
    await nextTurn();
    const name = await database.read((transaction) => firstOperation(transaction, rest, direction));
    if (name === undefined) return;
    const ofOperation = withPart(plan, isOneOf('op_name', [name]).parts[0]!);
    rest = withPart(plan, { condition: eb('op_name', direction === 'asc' ? '>' : '<', name), about: afterName });
    const skipped = offset === 0 ? 0 : await countPlanned(database, ofOperation, offset);
    offset -= skipped;
    if (offset > 0) continue;
    for await (const calls of inOrder(database, ofOperation, { ...page, sortBy, offset: skipped, limit })) {
      limit -= calls.length;
      yield calls;
    }
    if (limit === 0) return;
  }
  yield* bySortedPlaces(database, rest, { ...page, offset, limit });
}

const afterName = { column: 'op_name', is: 'tested' } as const;

const withPart = (plan: CallsPlan, part: ConditionPart): CallsPlan => ({ ...plan, parts: [...plan.parts, part] });

/** Returns the first name of an operation that the conditions on the name alone do not exclude; undefined if there is none. */
async function firstOperation(
  transaction: Transaction,
  { parts }: CallsPlan,
  direction: SortKey['direction'],
): Promise<string | undefined> {
  const onName = parts.filter(({ about }) => about?.column === 'project_id' || about?.column === 'op_name');
  const found = await transaction
    .selectFrom('calls')
    .select('op_name')
    .where(joinParts(onName))
    .orderBy('op_name', direction)
    .limit(1)
    .executeTakeFirst();
  return found?.op_name;
}

/**
 * Counts the recorded calls of a selection, but not beyond `limit`.
 * @throws Refusal 422 for a query that cannot be evaluated.
 */
export async function countFoundCalls(
  database: Database,
  selection: CallsSelection,
  limit: number,
  access: QueryAccess,
): Promise<number> {
  return countQuickly(database, planCalls(database, selection, access), limit);
}

/** Maximum number of conditions for which others are counted instead: each doubles the number of statements. */
const maxReplaced = 4;

/** Returns whether an index has all that a condition compares. */
const isByIndex = ({ parts, isExact }: Condition): boolean =>
  isExact && parts.every((part) => hasIndex(part) || part.copies);

/** Returns whether an index finds the calls that satisfy a condition, or somewhat more. Many calls may start at a time or later. */
function isIndexed(condition: Condition): boolean {
  const { parts, alternatives, conjuncts = [condition] } = condition;
  const isFound = (part: ConditionPart) => part.callIds || (hasIndex(part) && part.about!.column !== 'started_at');
  return (
    isByIndex(condition) ||
    conjuncts.some(readsNameOnly) ||
    parts.some(isFound) ||
    alternatives?.every(isIndexed) === true
  );
}

/** Returns whether other conditions are counted in place of one, which take less time. */
function isReplaceable(condition: Condition): boolean {
  const { alternatives, opposite } = condition;
  if (isByIndex(condition)) return false;
  return opposite ? !opposite.isExact || isIndexed(opposite) : alternatives?.every(isIndexed) === true;
}

/** Returns the number of conditions that are counted in place of one. */
const sizeOf = ({ alternatives, opposite }: Condition): number =>
  opposite ? sizeOf(opposite) : (alternatives?.reduce((sum, condition) => sum + sizeOf(condition), 0) ?? 1);

/**
 * Counts the calls of a plan. Calls that have not failed, or that are not in some traces or a queue, would be read one by one; an index finds
 * the others, which are subtracted from all. Those that satisfy one of several conditions are counted by each, without those of both.
 */
async function countQuickly(database: Database, plan: CallsPlan, limit: number): Promise<number> {
  const slow = plan.conditions.filter(isReplaceable);
  const [first] = slow;
  const others = plan.conditions.filter((condition) => condition !== first);
  const isAsFast =
    isById(plan) ||
    limit < Number.MAX_SAFE_INTEGER ||
    !others.every(({ isExact }) => isExact) ||
    slow.reduce((sum, condition) => sum + sizeOf(condition), 0) > maxReplaced;
  if (!first || isAsFast) {
    let count = 0;
    for (const narrowed of await narrowPlan(database, plan, 'count')) {
      count += await countPlanned(database, narrowed, limit - count);
    }
    return count;
  }
  const count = (...conditions: Condition[]): Promise<number> =>
    countQuickly(database, withConditions(database, plan, [...others, ...conditions]), limit);
  // Between two counts, calls may be recorded.
  if (first.opposite) return Math.max(0, (await count()) - (await count(first.opposite)));
  const [one, ...rest] = first.alternatives!;
  if (!one) return 0;
  const other = anyOf(rest);
  return Math.max(0, (await count(one)) + (await count(other)) - (await count(one, other)));
}

async function countPlanned(database: Database, plan: CallsPlan, limit: number): Promise<number> {
  const listed = copiesOf(plan);
  if (listed) return countCopies(database, plan, listed, limit);
  let count = 0;
  if (!plan.accepts) {
    const counts = plan.ids
      ? countListed(database, plan, plan.ids)
      : queuesOf(plan).length > 1 && database.blocksEventLoop
        ? countInQueues(database, plan)
        : countInRanges(database, plan, limit);
    for await (const found of counts) {
      count += found;
      if (count >= limit) return limit;
    }
    return count;
  }
  if (plan.certain && !plan.ids) {
    for await (const { found, open } of askInRanges(database, plan, () => sql<number | string>`count(*)`)) {
      // PostgreSQL's driver returns counts as strings.
      count += Number(found) - open.length;
      for await (const rows of testedRows(database, plan, open)) count += rows.length;
      if (count >= limit) return limit;
    }
    return count;
  }
  for await (const rows of rowsOfPlan(database, plan, ['id'], limit)) count += rows.length;
  return count;
}

/** Counts the calls of a plan by the copies that a condition lists, without reading them. */
async function countCopies(
  database: Database,
  { project_id, parts }: CallsPlan,
  listed: ConditionPart,
  limit: number,
): Promise<number> {
  const others = parts.filter((part) => part !== listed);
  const withoutLatency = others.some(({ numberField }) => numberField)
    ? sql`union all select id from calls where project_id = ${project_id} and latency is null and ended_at is not null`
    : sql``;
  const copied = sql`from (${listed.copies!(project_id)}) as calls where ${joinParts(others)}`;
  const { rows } = await database.read((transaction) =>
    sql<{ count: number }>`select ${countOfCopies(project_id, copied, withoutLatency)} as count`.execute(transaction),
  );
  // PostgreSQL's driver returns counts as strings.
  return Math.min(limit, Number(rows[0]!.count));
}

/** Counts the calls of a plan that are in several large queues, by the ids in the one with the fewest items. */
async function* countInQueues(database: Database, plan: CallsPlan): AsyncGenerator<number, void, undefined> {
  const { project_id, parts } = plan;
  const queues = await Promise.all(
    queuesOf(plan).map(async (queue) => ({
      queue,
      items: await countCopies(database, { ...plan, parts: [] }, queue, Number.MAX_SAFE_INTEGER),
    })),
  );
  const { queue: smallest } = queues.reduce((least, other) => (other.items < least.items ? other : least));
  const others = { ...plan, parts: parts.filter((part) => part !== smallest) };
  let after = '';
  let ids: string[];
  do {
    await nextTurn();
    const next = sql<{ call_id: string }>`
      select call_id from (${smallest.callIds!(project_id)}) as listed where call_id > ${after}
      order by call_id limit ${sql.lit(maxSearched)}`;
    ids = (await database.read((transaction) => next.execute(transaction))).rows.map(({ call_id }) => call_id);
    yield* countListed(database, others, ids);
    after = ids.at(-1) ?? '';
  } while (ids.length === maxSearched);
}

/** The place of a call in another order than that of start. */
interface SortableCall {
  id: string;
  memory_bytes: number;
  values: SortValue[];
  /** The memory that the budget holds for this place. */
  heldBytes: number;
}

/**
 * Returns the places of the first `count` calls of a selection in an order in which they are not stored, and the number of those found:
 * all, but no more than one beyond `maxFound`, and no more than the first need where the calls come in the order of the first sort key.
 */
async function sortCalls(
  database: Database,
  plan: CallsPlan,
  sortBy: readonly SortKey[],
  { count, maxFound, inOrder }: { count: number; maxFound: number; inOrder?: AsyncIterable<string[]> | undefined },
): Promise<{ places: SortableCall[]; found: number }> {
  const fields = sortBy.map(({ field }) => field);
  const { budget } = plan;
  const places: SortableCall[] = [];
  const keepFirst = (): void => {
    places.sort((a, b) => compareValues(a.values, b.values, sortBy) || (a.id < b.id ? -1 : 1));
    releasePlaces(plan, places.splice(count));
  };
  const columnOf = (field: string): string => (field === latencyField ? 'latency' : field);
  const read = jsonColumnsOf([...plan.paths, ...fields.map(columnOf)]);
  // Building whole calls would take most of the time.
  const needsCalls = plan.accepts ?? plan.related ?? plan.expand ?? (read.includes('summary') || read.includes('data'));
  const sorted = smallColumns.filter((column) => column === 'id' || fields.map(columnOf).includes(column));
  const toPlace = async (row: SizedRow): Promise<SortableCall | undefined> => {
    await budget.parse(row.memory_bytes);
    const record = needsCalls ? await comparedIfAccepted(plan, row) : new ComparedRecord(withValues(row, read));
    if (!record) return undefined;
    const values: SortValue[] = [];
    let heldBytes = bytesPerPlace;
    for (const field of fields) {
      const found = field === latencyField ? row.latency : record.valueAt(field);
      if (typeof found === 'object') await budget.scan(row.memory_bytes, 1);
      const time = timeColumns.includes(field) && typeof found === 'string' ? normalizeTimestamp(found) : undefined;
      const value = time ?? sortValueOf(found);
      values.push(value);
      if (typeof value === 'string') heldBytes += value.length;
    }
    budget.hold(heldBytes, 'sort by fewer or smaller members, or ask for fewer calls');
    return { id: row.id, memory_bytes: row.memory_bytes, values, heldBytes };
  };
  const columns = [...(needsCalls ? smallColumns : sorted), ...read];
  let found = 0;
  let lastValue: SortValue;
  /** Adds places in the order of the first sort key, and returns whether all later calls come after the first `count`. */
  const add = (more: readonly SortableCall[]): boolean => {
    const last = more[count - found - 1];
    if (last) lastValue = last.values[0];
    places.push(...more);
    found += more.length;
    if (places.length > 2 * count + maxBatchCalls) keepFirst();
    return found > count && more.at(-1)!.values[0] !== lastValue;
  };
  if (inOrder) {
    const maxWorthSorting = sortingChecks(count);
    search: for await (const { places: matching, known } of placesInOrder(database, plan, inOrder)) {
      const maxSortable = maxWorthSorting(known, found);
      if (maxSortable > 0) {
        const sorted = await sortCalls(database, plan, sortBy, { count, maxFound: maxSortable });
        releasePlaces(plan, sorted.found <= maxSortable ? places : sorted.places);
        if (sorted.found <= maxSortable) return sorted;
      }
      for await (const more of readInOrder(database, plan, matching, read, toPlace)) if (add(more)) break search;
    }
  } else {
    const isByStart = fields[0] === 'started_at';
    const direction = isByStart ? sortBy[0]!.direction : 'asc';
    const scan = { direction, columns, offset: 0, limit: maxFound + 1 };
    for await (const more of inOrderOfStart(database, plan, scan, toPlace)) if (add(more) && isByStart) break;
  }
  keepFirst();
  return { places, found };
}

/** Returns a row with the values of JSON columns; a missing value of inputs or attributes is an empty object. */
function withValues(row: CallRow, read: readonly JsonColumn[]): object {
  const values: Record<string, unknown> = { ...row };
  for (const column of read) {
    const json = row[column];
    values[column] = json == null ? ownMember(emptyMembers, column) : parseStoredJson(json);
  }
  return values;
}

/** Converts the rows of calls in the order of their places. `convert` returns undefined for a row that the plan does not accept. */
async function* readInOrder<T>(
  database: Database,
  plan: CallsPlan,
  places: readonly Pick<SortableCall, 'id' | 'memory_bytes'>[],
  read: readonly JsonColumn[],
  convert: (row: SizedRow) => Promise<T | undefined>,
): AsyncGenerator<T[], void, undefined> {
  for (const sized of inBatchesBySize(places, maxBatchBytes, memoryOf)) {
    for (const batch of inBatches(sized, maxBatchCalls)) {
      await nextTurn();
      const bytes = totalMemoryOf(batch);
      await plan.budget.reserve(bytes);
      try {
        const accepted: T[] = [];
        for (const row of await readCallRows(database, plan, batch, [...smallColumns, ...read])) {
          const value = await convert(row);
          if (value !== undefined) accepted.push(value);
        }
        if (accepted.length > 0) yield accepted;
      } finally {
        plan.budget.release(bytes);
      }
    }
  }
}
