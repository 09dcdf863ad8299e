import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely';
import type { RecordedCall } from '../../contract/calls.ts';
import type { BodyOf } from '../../contract/endpoints.ts';
import type { SortKey } from '../../contract/sort-keys.ts';
import { inBatches, inBatchesBySize } from '../../core/in-batches.ts';
import { parseStoredJson } from '../../core/json/exact-number.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { normalizeTimestamp } from '../../core/timestamps.ts';
import { nextTurn } from '../../core/turns.ts';
import type { RequestBudget } from '../request-budget.ts';
import {
  type CallRow,
  emptyMembers,
  type JsonColumn,
  jsonColumns,
  smallColumns,
  toCall,
} from '../storage/call-rows.ts';
import type { Database, ProjectFilter, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { selectByIds } from '../storage/in-chunks.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import { callFields } from './call-fields.ts';
import { filterCondition } from './calls-filter.ts';
import {
  allOf,
  ComparedRecord,
  type Condition,
  type ConditionPart,
  compileCondition,
  feedbackPath,
  isOneOf,
  joinParts,
  queuePath,
} from './condition.ts';
import { referenceExpander } from './expand-references.ts';
import { kindsIn, type MemberIndex, MemberIndexes, readIndexedIds } from './member-order.ts';
import { hasMuchFeedback, type RelatedValues, readFeedbackByCall, relatedValues } from './related-values.ts';
import { compareValues, type SortValue, sortValueOf } from './sort-records.ts';

const eb = expressionBuilder<Tables, 'calls'>();

/** Maximum number of calls, and of their memory in bytes, that are read at once. */
const maxBatchCalls = 500;
const maxBatchBytes = 16 * 1024 * 1024;

/** The part of a query that selects calls. */
export type CallsSelection = Pick<BodyOf<'queryCalls'>, 'project_id' | 'filter' | 'query' | 'expand_columns'>;

/** The evaluation of a selection: conditions for the database, and a test for what they leave open. */
interface Plan {
  project_id: string;
  /** The conditions that the database applies. */
  parts: ConditionPart[];
  /** The only calls that can match, a list that the database need not look for; undefined if there is none. */
  ids?: readonly string[] | undefined;
  /** The conditions that the parts leave open. */
  tests: readonly Condition[];
  /** Tests what the conditions leave open; undefined if they leave nothing open. */
  accepts: ((call: ComparedRecord) => boolean) | undefined;
  /** The paths that the tests read. */
  paths: string[];
  /** The members that the calls are sorted by. */
  sortFields: readonly string[];
  /** Maximum number of times that the tests read all characters of a call. */
  scans: number;
  /** Reads what conditions and sort keys need beside the calls; undefined if that is nothing. */
  related: RelatedValues | undefined;
  /** Replaces the references that conditions and sort keys look behind; undefined if there are none. */
  expand: ((call: RecordedCall) => Promise<void>) | undefined;
  budget: RequestBudget;
  searchSize?: SearchSize | undefined;
  /** True if an index finds so few calls that sorting them takes no time. */
  isSmall?: boolean;
}

const timeColumns = ['started_at', 'ended_at'];
const textColumns = smallColumns.filter((column) => !timeColumns.includes(column));

function planOf(
  database: Database,
  { project_id, filter, query, expand_columns }: CallsSelection,
  { budget, searchSize, maySee = () => false, sortFields = [] }: QueryAccess & { sortFields?: readonly string[] },
): Plan {
  const { caseInsensitiveLike, memberIndexes } = database;
  const columns = {
    texts: textColumns,
    times: { started_at: 1, ended_at: 1 },
    numbers: { 'summary.weave.latency_ms': memberIndexes.latency.number },
    json: ['inputs', 'output', 'attributes'],
    elsewhere: expand_columns ?? [],
    caseInsensitiveLike,
    ...callFields,
  };
  const conditions = [isOneOf('project_id', [project_id]), filterCondition(filter ?? {})];
  if (query) conditions.push(compileCondition(query.$expr, columns));
  const open = conditions.filter(({ isExact }) => !isExact);
  const { paths, scans, conjuncts = [] } = allOf(open);
  const fields = [...paths, ...sortFields];
  const expanded = (expand_columns ?? []).filter((column) => fields.some((field) => field.startsWith(`${column}.`)));
  const expand = referenceExpander(database, maySee, budget, Number.MAX_SAFE_INTEGER);
  const tests = conjuncts.filter(({ isExact }) => !isExact);
  return {
    project_id,
    parts: allOf(conditions).parts,
    ...testedBy(database, { project_id, sortFields, budget }, tests),
    sortFields,
    scans,
    expand: expanded.length === 0 ? undefined : (call) => expand([call], expanded),
    budget,
    searchSize,
  };
}

/** Returns the members of a plan that depend on its tests. */
function testedBy(
  database: Database,
  { project_id, sortFields, budget }: Pick<Plan, 'project_id' | 'sortFields' | 'budget'>,
  tests: readonly Condition[],
): Pick<Plan, 'tests' | 'accepts' | 'paths' | 'related'> {
  const { accepts, paths } = allOf(tests);
  const related = relatedValues(database, project_id, [...paths, ...sortFields], budget);
  return { tests, accepts: tests.length > 0 ? accepts : undefined, paths, related };
}

/** The projects and the budget of a request. */
export interface QueryAccess {
  /** Checks the projects that expanded references lead to; without it, none is expanded. */
  maySee?: ProjectFilter;
  budget: RequestBudget;
  /** What earlier searches of the same kind have learned; by default each search begins with few calls. */
  searchSize?: SearchSize;
}

const readsNameOnly = ({ paths }: Condition): boolean => paths.length > 0 && paths.every((path) => path === 'op_name');

/** The conditions on columns that an index serves. */
const indexed = new Map<string, readonly string[]>([
  ['project_id', ['equal']],
  ['id', ['equal', 'one of']],
  ['op_name', ['equal', 'one of']],
  ['trace_id', ['equal', 'one of']],
  ['parent_id', ['equal', 'one of', 'null']],
  ['thread_id', ['equal', 'one of']],
  ['started_at', ['since', 'before']],
  ['exception', ['not null']],
]);

function hasIndex({ about }: ConditionPart): boolean {
  return about !== undefined && indexed.get(about.column)?.includes(about.is) === true;
}

/** Returns whether an index has the calls of a condition in order of start. Those of several operations are in another order. */
function isInOrderOfStart(part: ConditionPart): boolean {
  return hasIndex(part) && !(part.about?.column === 'op_name' && part.about.is === 'one of');
}

/** Returns whether a condition has no index, so that the database tests one call after the other. */
const needsScan = ({ parts }: Plan): boolean => !parts.every(hasIndex);

const isById = ({ parts, ids }: Plan): boolean =>
  ids !== undefined || parts.some(({ about }) => about?.column === 'id');

/** Maximum number of names of operations that are tested by themselves, and of the characters of each. */
const maxTestedNames = 1000;
const maxNameChars = 1000;
/** Maximum number of calls of several operations that are sorted by start. */
const maxSmall = 5000;
/** Maximum number of calls in some queues or with some text, and of feedback of a type, that are listed before the calls are read. */
const maxListed = 200_000;

/** Replaces conditions whose calls the database would look for one by one by lists, unless these are too long. */
async function narrowed(database: Database, plan: Plan, purpose: 'page' | 'count'): Promise<Plan> {
  if (isById(plan)) return plan;
  const listed =
    (await withFeedback(database, plan)) ?? (await withQueues(database, plan)) ?? (await withTexts(database, plan));
  return listed ?? withOperations(database, plan, purpose);
}

/** Replaces conditions on the feedback of one type by the ids of the calls that satisfy them; undefined without one, or if there is much feedback. */
async function withFeedback(database: Database, plan: Plan): Promise<Plan | undefined> {
  const { project_id, budget, tests } = plan;
  const type = tests.map(feedbackTypeOf).find((read) => read !== undefined);
  if (type === undefined || (await hasMuchFeedback(database, project_id, type, maxListed))) return undefined;
  const replaced = tests.filter((test) => feedbackTypeOf(test) === type);
  const { accepts, parts, paths } = allOf(replaced);
  const ids: string[] = [];
  for await (const records of readFeedbackByCall(database, { project_id, type, paths }, budget)) {
    for (const [id, record] of records) if (accepts(record)) ids.push(id);
  }
  const rest = tests.filter((test) => !replaced.includes(test));
  const others = plan.parts.filter((part) => !parts.includes(part));
  return withIds({ ...plan, ...testedBy(database, plan, rest), parts: others }, ids);
}

/** Returns the type of the feedback that a test reads, if it reads nothing else and accepts no call without it. */
function feedbackTypeOf({ parts, paths }: Condition): string | undefined {
  const type = parts.find(({ feedbackType }) => feedbackType !== undefined)?.feedbackType;
  return type !== undefined && paths.every((path) => feedbackPath(path)?.type === type) ? type : undefined;
}

/** Replaces a condition on the queues of calls by the ids of these calls; undefined without one, or if they are many. */
async function withQueues(database: Database, plan: Plan): Promise<Plan | undefined> {
  const { project_id, parts } = plan;
  const part = parts.find(({ callIds }) => callIds);
  if (!part?.callIds) return undefined;
  const related = sql<{ call_id: string }>`${part.callIds(project_id)} limit ${sql.lit(maxListed + 1)}`;
  const { rows } = await database.read((transaction) => related.execute(transaction));
  if (rows.length > maxListed) return undefined;
  const ids = rows.map(({ call_id }) => call_id);
  return withIds({ ...plan, parts: parts.filter((other) => other !== part) }, ids);
}

/** Adds the ids of the calls that the index of texts finds for a comparison with a text; undefined without one, or if they are many. */
async function withTexts(database: Database, plan: Plan): Promise<Plan | undefined> {
  const { project_id, parts } = plan;
  for (const part of parts) {
    const ids = part.patterns && (await database.textIndex.find(project_id, part.patterns, maxSmall));
    if (ids) return withIds({ ...plan, parts: parts.filter((other) => other !== part) }, ids);
  }
  return undefined;
}

/** Returns a plan that reads only some calls. */
function withIds(plan: Plan, ids: readonly string[]): Plan {
  plan.budget.hold(ids.length * bytesPerPlace, 'ask for fewer calls at once');
  return { ...plan, ids: [...new Set(ids)] };
}

/**
 * Replaces tests of the name of the operation by the names that pass, which an index finds: there are few of them and many calls.
 * For a page of several operations, the order of start is better served by the index of start, unless they have few calls.
 */
async function withOperations(database: Database, plan: Plan, purpose: 'page' | 'count'): Promise<Plan> {
  const isTest = ({ about }: ConditionPart): boolean => about?.column === 'op_name' && about.is !== 'equal';
  const tests = plan.parts.filter(isTest);
  if (tests.length === 0 || !isServedByOperations(plan)) return plan;
  const found = await database.read((transaction) => namesThatPass(transaction, plan.project_id, tests));
  const onName = allOf(plan.tests.filter(readsNameOnly));
  const passed = found?.filter((op_name) => onName.accepts(new ComparedRecord({ op_name })));
  const named = passed?.length === 0 ? noOperation : isOneOf('op_name', passed ?? []).parts[0];
  if (passed === undefined || named === undefined) return plan;
  const parts = [...plan.parts.filter((part) => !isTest(part)), named];
  const rest = plan.tests.filter((test) => !readsNameOnly(test));
  const narrowed = { ...plan, parts, ...testedBy(database, plan, rest) };
  if (passed.length < 2 || purpose === 'count') return narrowed;
  const isLarge = await database.read((transaction) =>
    transaction
      .selectFrom('calls')
      .select('id')
      .where('project_id', '=', plan.project_id)
      .where(named.condition)
      .orderBy('op_name')
      .limit(1)
      .offset(maxSmall)
      .executeTakeFirst(),
  );
  return isLarge ? plan : { ...narrowed, isSmall: true };
}

/** Returns the names of a project's operations that pass all tests; undefined if there are too many or too long ones. */
async function namesThatPass(
  transaction: Transaction,
  project_id: string,
  tests: readonly ConditionPart[],
): Promise<string[] | undefined> {
  const next = sql`select op_name from calls where project_id = ${project_id}`;
  const isShort = sql<SqlBool>`length(op_name) <= ${sql.lit(maxNameChars)}`;
  // Each name is one step in the index.
  const { rows } = await sql<{ op_name: string | null; passes: unknown }>`
    with recursive names(name) as (
      select * from (${next} order by op_name limit 1) as first_name
      union all
      select (${next} and op_name > names.name order by op_name limit 1) from names where names.name is not null
    )
    select case when ${isShort} then op_name end as op_name, case when ${isShort} then ${joinParts(tests)} end as passes
    from (select name as op_name from names where name is not null limit ${sql.lit(maxTestedNames + 1)}) as operations
  `.execute(transaction);
  if (rows.length > maxTestedNames) return undefined;
  const passed: string[] = [];
  for (const { op_name, passes } of rows) {
    if (op_name === null) return undefined;
    if (passes) passed.push(op_name);
  }
  return passed;
}

const noOperation: ConditionPart = { condition: sql<SqlBool>`1 = 0`, about: { column: 'op_name', is: 'one of' } };

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
  const plan = await narrowed(database, planOf(database, body, { ...access, sortFields }), 'page');
  const offset = body.offset ?? 0;
  const limit = body.limit ?? Number.MAX_SAFE_INTEGER;
  const read = columns?.length ? jsonColumnsOf([...columns, ...plan.paths]) : jsonColumns;
  yield* inOrder(database, plan, { sortBy: sort_by ?? [], read, offset, limit });
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

async function* inOrder(database: Database, plan: Plan, page: Page): AsyncGenerator<RecordedCall[], void, undefined> {
  const { sortBy, read, offset, limit } = page;
  const [first, ...others] = sortBy;
  if (limit === 0) return;
  if (first === undefined || (first.field === 'started_at' && others.length === 0)) {
    const scan = { direction: first?.direction ?? 'asc', columns: [...smallColumns, ...read], offset, limit };
    yield* inOrderOfStart(database, plan, scan, callIfAccepted(plan));
  } else if (first.field === 'op_name' && isServedByOperations(plan)) {
    const inOperation = others.length > 0 ? others : [{ field: 'id', direction: 'asc' } as const];
    yield* byOperation(database, plan, { ...page, sortBy: [first, ...inOperation] });
  } else {
    yield* byMembers(database, plan, page);
  }
}

/** Number of calls up to which they are sorted in memory although there is an index of the member, or without creating one. */
const maxSorted = 5000;
const maxSortedWithoutIndex = 20_000;

/** Number of calls in the order of an index of which hardly any match, after which all that match are sorted instead. */
const maxInVain = 40_000;

/** The indexes of members in each database. */
const memberIndexesOf = new WeakMap<Database, MemberIndexes>();

/** Yields calls in an order in which they are not stored. */
async function* byMembers(database: Database, plan: Plan, page: Page): AsyncGenerator<RecordedCall[], void, undefined> {
  const indexes = memberIndexesOf.get(database) ?? new MemberIndexes(database);
  memberIndexesOf.set(database, indexes);
  // An index has the values of calls, not those behind references or of feedback.
  const index = plan.expand || plan.related ? undefined : indexes.indexFor(page.sortBy);
  const byFeedback = await sortedFeedback(database, plan, page.sortBy);
  const isReady = byFeedback !== undefined || (index !== undefined && (await indexes.isReady(index, plan.project_id)));
  const isForAll = plan.parts.length === 1 && !plan.accepts && !plan.ids;
  if ((index || byFeedback) && !(isReady && isForAll)) {
    // Few calls that match are faster found and sorted than looked for in another order.
    const maxFound = isReady ? maxSorted : maxSortedWithoutIndex;
    const found = yield* bySortedPlaces(database, plan, page, maxFound);
    if (found <= maxFound) return;
    if (index && !isReady) await indexes.create(index);
  }
  if (byFeedback)
    yield* byIds(database, { ...plan, related: undefined }, page, idsByFeedback(database, plan, byFeedback));
  else if (index && (isReady || (await indexes.isReady(index, plan.project_id))))
    yield* byIds(database, plan, page, idsByIndex(database, plan, page, index));
  else yield* bySortedPlaces(database, plan, page);
}

/** A member of the feedback of a type, and the direction to sort calls in. */
interface SortedFeedback extends SortKey {
  type: string;
}

/** Returns the only sort key if it is a member of feedback, of which there is not much, and no test needs more than the call itself. */
async function sortedFeedback(
  database: Database,
  { project_id, tests, expand }: Plan,
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
  { project_id, budget }: Plan,
  key: SortedFeedback,
): AsyncGenerator<string[], void, undefined> {
  const places: { id: string; values: [SortValue] }[] = [];
  for await (const records of readFeedbackByCall(
    database,
    { project_id, type: key.type, paths: [key.field] },
    budget,
  )) {
    for (const [id, record] of records) {
      const value = sortValueOf(record.valueAt(key.field));
      if (value === undefined) continue;
      budget.hold(bytesPerPlace + (typeof value === 'string' ? value.length : 0), 'sort by a smaller member');
      places.push({ id, values: [value] });
    }
  }
  places.sort((a, b) => compareValues(a.values, b.values, [key]) || (a.id < b.id ? -1 : 1));
  for (const batch of inBatches(places, maxBatchCalls)) yield batch.map(({ id }) => id);
  for (let after = '', hasMore = true; hasMore; ) {
    await nextTurn();
    const rows = await database.read((transaction) =>
      transaction
        .selectFrom('calls')
        .select('id')
        .where('project_id', '=', project_id)
        .where('id', '>', after)
        .orderBy('id')
        .limit(maxSearched)
        .execute(),
    );
    yield rows.map(({ id }) => id);
    after = rows.at(-1)?.id ?? '';
    hasMore = rows.length === maxSearched;
  }
}

/** Yields calls that it sorts in memory; none if there are more than `maxFound`. Returns the number of those that match. */
async function* bySortedPlaces(
  database: Database,
  plan: Plan,
  { sortBy, read, offset, limit }: Page,
  maxFound = Number.MAX_SAFE_INTEGER - 1,
): AsyncGenerator<RecordedCall[], number, undefined> {
  const { places, found } = await sortCalls(database, plan, sortBy, { count: offset + limit, maxFound });
  if (found <= maxFound) yield* readInOrder(database, { ...plan, accepts: undefined }, places.slice(offset), read);
  releasePlaces(plan, places);
  return found;
}

function releasePlaces({ budget }: Plan, places: readonly SortableCall[]): void {
  for (const { heldBytes } of places) budget.release(heldBytes);
}

/** Yields the ids of a project's calls in the order of an index of their member. */
async function* idsByIndex(
  database: Database,
  { project_id }: Plan,
  { sortBy }: Page,
  index: MemberIndex,
): AsyncGenerator<string[], void, undefined> {
  const { direction } = sortBy[0]!;
  for (const kind of kindsIn(direction, index)) {
    let size = maxBatchCalls;
    for (let start = 0, hasMore = true; hasMore; start += size, size = Math.min(2 * size, maxSearched)) {
      await nextTurn();
      const part = { project_id, kind, direction, limit: size, offset: start };
      const ids = await database.read((transaction) => readIndexedIds(transaction, index, part));
      hasMore = ids.length === size;
      yield ids;
    }
  }
}

/** Yields the calls of a plan in the order of the ids of a project's calls. */
async function* byIds(
  database: Database,
  plan: Plan,
  page: Page,
  inOrder: AsyncIterable<string[]>,
): AsyncGenerator<RecordedCall[], void, undefined> {
  const { read, offset, limit } = page;
  const { accepts, budget } = plan;
  const listed = plan.ids && new Set(plan.ids);
  // A call whose value has just been recorded could be met a second time.
  const known = new Set<string>();
  let [toSkip, wanted, matched] = [offset, limit, 0];
  for await (const ids of inOrder) {
    for (const batch of inBatches(ids, maxBatchCalls)) {
      const added = batch.filter((id) => !known.has(id));
      budget.hold(added.length * bytesPerPlace);
      for (const id of added) known.add(id);
      const matching = await readMatching(database, plan, listed ? added.filter((id) => listed.has(id)) : added);
      matched += matching.length;
      // Without a test, the values of calls to skip need not be read.
      const skipped = accepts ? 0 : Math.min(toSkip, matching.length);
      toSkip -= skipped;
      const places = accepts ? matching : matching.slice(skipped, skipped + wanted);
      for await (const calls of readInOrder(database, plan, places, read)) {
        const chosen = calls.slice(toSkip, toSkip + wanted);
        toSkip = Math.max(0, toSkip - calls.length);
        wanted -= chosen.length;
        if (chosen.length > 0) yield chosen;
        if (wanted === 0) return;
      }
    }
    if (known.size > maxInVain && matched < known.size / 100) {
      yield* bySortedPlaces(database, plan, { ...page, offset: offset + limit - wanted, limit: wanted });
      return;
    }
  }
}

/** Returns the places of those of some calls that satisfy the conditions of a plan, in the order of the calls. */
async function readMatching(database: Database, plan: Plan, ids: readonly string[]): Promise<FoundCall[]> {
  if (ids.length === 0) return [];
  const rows = await database.read((transaction) => selectMatching(transaction, plan, ids).select(place).execute());
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Selects those of some calls that satisfy the conditions of a plan. */
function selectMatching(transaction: Transaction, { project_id, parts }: Plan, ids: readonly string[]) {
  const some = selectByIds(transaction, 'calls', project_id, ids);
  const others = parts.filter(({ about }) => about?.column !== 'project_id');
  if (others.length === 0) return some;
  // Its limit keeps the engines from merging the inner query with the conditions, which would bring other indexes into play.
  return transaction.selectFrom(some.selectAll().limit(ids.length).as('calls')).where(joinParts(others));
}

/** Returns whether the index of operations serves a plan best: no condition has another index, which may find few calls. */
function isServedByOperations({ parts, ids }: Plan): boolean {
  const served = ['project_id', 'op_name', 'started_at'];
  return !ids && parts.every((part) => !hasIndex(part) || served.includes(part.about!.column));
}

/** Operations whose calls are read one after the other, before those of all others are sorted together. */
const maxOperations = 100;

/** Yields calls by the name of the operation, the first key of the page, then by its other keys: one operation after the other. */
async function* byOperation(
  database: Database,
  plan: Plan,
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

const withPart = (plan: Plan, part: ConditionPart): Plan => ({ ...plan, parts: [...plan.parts, part] });

/** Returns the first name of an operation that the conditions on the name alone do not exclude; undefined if there is none. */
async function firstOperation(
  transaction: Transaction,
  { parts }: Plan,
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
  return countQuickly(database, await narrowed(database, planOf(database, selection, access), 'count'), limit);
}

/** Maximum number of conditions whose opposites are counted instead: each doubles the number of statements. */
const maxOpposites = 3;

/**
 * Counts the calls of a plan. Calls that have not failed, or that are not in some traces, would be read one by one; an index finds
 * the others, which are subtracted from all.
 */
async function countQuickly(database: Database, plan: Plan, limit: number): Promise<number> {
  const slow = plan.parts.filter((part) => !hasIndex(part) && part.opposite && hasIndex(part.opposite));
  const [first] = slow;
  const isAsFast =
    plan.accepts !== undefined ||
    plan.ids !== undefined ||
    limit < Number.MAX_SAFE_INTEGER ||
    slow.length > maxOpposites;
  if (!first?.opposite || isAsFast) return countPlanned(database, plan, limit);
  const others = plan.parts.filter((part) => part !== first);
  const excluded = await countQuickly(database, { ...plan, parts: [...others, first.opposite] }, limit);
  return Math.max(0, (await countQuickly(database, { ...plan, parts: others }, limit)) - excluded);
}

async function countPlanned(database: Database, plan: Plan, limit: number): Promise<number> {
  let count = 0;
  if (plan.accepts) {
    const columns = [...smallColumns, ...jsonColumnsOf(plan.paths)];
    const scan = { direction: 'asc', columns, offset: 0, limit } as const;
    for await (const calls of inOrderOfStart(database, plan, scan, callIfAccepted(plan))) count += calls.length;
    return count;
  }
  for await (const found of plan.ids ? countListed(database, plan, plan.ids) : countInRanges(database, plan)) {
    count += found;
    if (count >= limit) return limit;
  }
  return count;
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

/** The columns whose text has no limit. */
const unlimitedColumns: readonly string[] = [...jsonColumns, 'exception', 'display_name'];

/** The place of a call in the order of start. */
type Position = Pick<Tables['calls'], 'id' | 'started_at'>;

const minSearched = 1;
/** Few at first: a statement over large calls takes long. */
const firstSearched = 16;
const maxSearched = 20_000;

/**
 * Number of calls that one statement searches. If the database blocks the event loop, the number grows after fast statements
 * and shrinks after slow ones.
 */
export class SearchSize {
  calls: number;
  readonly #isFixed: boolean;

  constructor({ blocksEventLoop }: Database) {
    this.#isFixed = !blocksEventLoop;
    this.calls = blocksEventLoop ? firstSearched : maxSearched;
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
  // The first condition is implied by the others, but it is the one that an index can use.
  return eb.and([
    eb('started_at', orEqual, started_at),
    eb.or([eb('started_at', strictly, started_at), eb('id', side === 'after' ? '>' : '<=', id)]),
  ]);
}

/** Returns what to order calls by. With the index of start, SQLite would walk through all calls to find listed ids. */
function startOf(plan: Plan) {
  return isById(plan) || plan.isSmall ? sql<string>`started_at || ''` : sql<string>`started_at`;
}

/**
 * Returns where a statement must stop that searches `calls` calls of a range, counting those that an index finds in order of start;
 * undefined if fewer are left, or if an index serves all conditions.
 */
async function endOfRange(
  transaction: Transaction,
  plan: Plan,
  range: CallRange,
  calls: number,
): Promise<Position | undefined> {
  if (!needsScan(plan)) return undefined;
  return transaction
    .selectFrom('calls')
    .select(['id', 'started_at'])
    .where(conditionOf(plan.parts.filter(isInOrderOfStart), range))
    .orderBy(startOf(plan), range.direction)
    .orderBy('id')
    .limit(1)
    .offset(calls - 1)
    .executeTakeFirst();
}

/** Counts the calls that match, range by range if not all conditions have an index. */
async function* countInRanges(database: Database, plan: Plan): AsyncGenerator<number, void, undefined> {
  const size = new SearchSize(database);
  let after: Position | undefined;
  do {
    await nextTurn();
    const { count, end } = await database.read((transaction) =>
      size.timed(async () => {
        const end = await endOfRange(transaction, plan, { direction: 'asc', after }, size.calls);
        const { count } = await transaction
          .selectFrom('calls')
          .select(({ fn }) => fn.countAll<number>().as('count'))
          .where(conditionOf(plan.parts, { direction: 'asc', after, upTo: end }))
          .executeTakeFirstOrThrow();
        return { count, end };
      }),
    );
    // PostgreSQL's driver returns counts as strings.
    yield Number(count);
    after = end;
  } while (after);
}

type SizedRow = CallRow & { memory_bytes: number };

/** Returns the call of a row if the test of a plan accepts it. */
function callIfAccepted(plan: Plan): (row: SizedRow) => Promise<RecordedCall | undefined> {
  return async (row) => {
    await plan.budget.parse(row.memory_bytes);
    const call = toCall(row);
    return !plan.accepts || (await comparedIfAccepted(plan, row)) ? call : undefined;
  };
}

/** Returns the record that the test of a plan compares and sort keys are read from, if the test accepts it. */
async function comparedIfAccepted(plan: Plan, row: SizedRow): Promise<ComparedRecord | undefined> {
  const { accepts, scans, budget, related, expand } = plan;
  const call = toCall(row);
  await expand?.(call);
  const record = new ComparedRecord(call, related?.of(row.id));
  if (!accepts) return record;
  await budget.scan(row.memory_bytes, scans);
  return accepts(record) ? record : undefined;
}

/** The place of a call in the order of start, with the values of all columns to read if they are short. */
type FoundCall = Position & Pick<Tables['calls'], 'memory_bytes'>;
const place = ['id', 'started_at', 'memory_bytes'] as const;

/** Converts the rows of a plan, in the order of start. `convert` returns undefined for a row that the plan does not accept. */
async function* inOrderOfStart<T>(
  database: Database,
  plan: Plan,
  scan: ScanOptions,
  convert: (row: SizedRow) => Promise<T | undefined>,
): AsyncGenerator<T[], void, undefined> {
  const { accepts, budget, ids } = plan;
  const { columns, offset, limit } = scan;
  const hasShortOnly = !ids && !columns.some((column) => unlimitedColumns.includes(column));
  // If an index applies every condition, the database skips the first calls.
  const skippedByDatabase = !ids && !accepts && !needsScan(plan) ? offset : 0;
  let toSkip = offset - skippedByDatabase;
  let wanted = limit;
  const batches = ids
    ? listedInOrderOfStart(database, plan, ids, scan)
    : foundInOrderOfStart(database, plan, scan, { columns: hasShortOnly ? columns : [], skippedByDatabase });
  for await (const found of batches) {
    // Without a test, the values of calls to skip need not be read.
    const skipped = accepts ? 0 : Math.min(toSkip, found.length);
    const remaining = accepts ? found : found.slice(skipped, skipped + wanted);
    toSkip -= skipped;
    for (const batch of hasShortOnly ? [remaining] : inBatchesBySize(remaining, maxBatchBytes, memoryOf)) {
      const bytes = hasShortOnly ? 0 : totalMemoryOf(batch);
      await budget.reserve(bytes);
      const rows = hasShortOnly ? (batch as SizedRow[]) : await readRows(database, plan, batch, columns);
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
      budget.release(bytes);
      if (wanted === 0) return;
    }
  }
}

/** Finds the calls that satisfy the conditions of a plan, in the order of start, in batches. */
async function* foundInOrderOfStart(
  database: Database,
  plan: Plan,
  { direction, offset, limit }: ScanOptions,
  { columns, skippedByDatabase }: { columns: readonly CallColumn[]; skippedByDatabase: number },
): AsyncGenerator<FoundCall[], void, undefined> {
  const { parts, accepts, searchSize: size = new SearchSize(database) } = plan;
  let wanted = offset - skippedByDatabase + limit;
  let after: Position | undefined;
  while (wanted > 0) {
    await nextTurn();
    const maxFound = accepts ? maxBatchCalls : Math.min(wanted, maxBatchCalls);
    const { found, end } = await database.read((transaction) =>
      size.timed(async () => {
        const end = await endOfRange(transaction, plan, { direction, after }, size.calls);
        const positions = transaction
          .selectFrom('calls')
          .select(['id', 'started_at', 'memory_bytes', ...columns])
          .where(conditionOf(parts, { direction, after, upTo: end }))
          .orderBy(startOf(plan), direction)
          .orderBy('id')
          .limit(maxFound)
          .offset(after ? 0 : skippedByDatabase);
        return { found: await positions.execute(), end };
      }),
    );
    if (!accepts) wanted -= found.length;
    yield found;
    after = found.length === maxFound ? found.at(-1) : end;
    if (!after) return;
  }
}

/** Number of listed calls that one statement looks up. */
const idsPerLookUp = 5000;

/** Finds the first of some calls that satisfy the conditions of a plan, and yields them in the order of start, in batches. */
async function* listedInOrderOfStart(
  database: Database,
  plan: Plan,
  ids: readonly string[],
  { direction, offset, limit }: ScanOptions,
): AsyncGenerator<FoundCall[], void, undefined> {
  const maxFound = plan.accepts ? Number.MAX_SAFE_INTEGER : offset + limit;
  const found: FoundCall[] = [];
  for (const batch of inBatches(ids, idsPerLookUp)) {
    await nextTurn();
    const first = await database.read((transaction) =>
      selectMatching(transaction, plan, batch)
        .select(place)
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
async function* countListed(
  database: Database,
  plan: Plan,
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

const memoryOf = ({ memory_bytes }: Pick<Tables['calls'], 'memory_bytes'>): number => memory_bytes;

/** Reads the rows of calls, in the order of the calls. One that was deleted since it was found has none. */
async function readRows(
  database: Database,
  { project_id }: Plan,
  calls: readonly { id: string }[],
  columns: readonly CallColumn[],
): Promise<SizedRow[]> {
  const ids = calls.map(({ id }) => id);
  const rows = (await database.read((transaction) =>
    selectByIds(transaction, 'calls', project_id, ids)
      // No index has the last column. Without it, SQLite might look for the ids in the whole index of another order.
      .select([...columns, 'memory_bytes'])
      .execute(),
  )) as SizedRow[];
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** The place of a call in another order than that of start. */
interface SortableCall {
  id: string;
  memory_bytes: number;
  values: SortValue[];
  /** The memory that the budget holds for this place. */
  heldBytes: number;
}

/** The memory of a place without its texts, in bytes. */
const bytesPerPlace = 100;

/**
 * Returns the places of the first `count` calls of a selection in an order in which they are not stored, and the number of all, but
 * no more than one beyond `maxFound`.
 */
async function sortCalls(
  database: Database,
  plan: Plan,
  sortBy: readonly SortKey[],
  { count, maxFound }: { count: number; maxFound: number },
): Promise<{ places: SortableCall[]; found: number }> {
  const fields = sortBy.map(({ field }) => field);
  const { budget } = plan;
  const places: SortableCall[] = [];
  const keepFirst = (): void => {
    places.sort((a, b) => compareValues(a.values, b.values, sortBy) || (a.id < b.id ? -1 : 1));
    releasePlaces(plan, places.splice(count));
  };
  const read = jsonColumnsOf([...plan.paths, ...fields]);
  // Building whole calls would take most of the time.
  const needsCalls = plan.accepts ?? plan.related ?? plan.expand ?? (read.includes('summary') || read.includes('data'));
  const sorted = smallColumns.filter((column) => column === 'id' || fields.includes(column));
  const toPlace = async (row: SizedRow): Promise<SortableCall | undefined> => {
    await budget.parse(row.memory_bytes);
    const record = needsCalls ? await comparedIfAccepted(plan, row) : new ComparedRecord(withValues(row, read));
    if (!record) return undefined;
    const values: SortValue[] = [];
    let heldBytes = bytesPerPlace;
    for (const field of fields) {
      const found = record.valueAt(field);
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
  const scan = { direction: 'asc', columns, offset: 0, limit: maxFound + 1 } as const;
  let found = 0;
  for await (const more of inOrderOfStart(database, plan, scan, toPlace)) {
    places.push(...more);
    found += more.length;
    if (places.length > 2 * count + maxBatchCalls) keepFirst();
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

/** Reads calls in the order of their places, and yields those that the test of the plan accepts. */
async function* readInOrder(
  database: Database,
  plan: Plan,
  places: readonly Pick<SortableCall, 'id' | 'memory_bytes'>[],
  read: readonly JsonColumn[],
): AsyncGenerator<RecordedCall[], void, undefined> {
  const accepted = callIfAccepted(plan);
  for (const sized of inBatchesBySize(places, maxBatchBytes, memoryOf)) {
    for (const batch of inBatches(sized, maxBatchCalls)) {
      await nextTurn();
      const bytes = totalMemoryOf(batch);
      await plan.budget.reserve(bytes);
      const calls: RecordedCall[] = [];
      for (const row of await readRows(database, plan, batch, [...smallColumns, ...read])) {
        const call = await accepted(row);
        if (call) calls.push(call);
      }
      if (calls.length > 0) yield calls;
      plan.budget.release(bytes);
    }
  }
}
