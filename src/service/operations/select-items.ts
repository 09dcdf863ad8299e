import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { BodyOf } from '../../contract/endpoints.ts';
import { judgementTypes } from '../../contract/feedback.ts';
import { annotatorOf, hasJudgementConditions, judgementTest } from '../../contract/judgement-test.ts';
import { inBatches } from '../../core/in-batches.ts';
import { timestampOf } from '../../core/timestamps.ts';
import { queuePath } from '../query/condition.ts';
import { findCallIds } from '../query/find-calls.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { jsonOf } from '../storage/in-chunks.ts';
import { isFinishedBy } from '../storage/queue-rows.ts';
import { type FeedbackPart, readAlikeCalls } from './alike-calls.ts';
import { type JudgementInQueue, type JudgementsOfQueue, readJudgedCalls } from './read-judgements.ts';

type Filter = NonNullable<BodyOf<'queryQueueItems'>['filter']>;

export interface QueueKey {
  project_id: string;
  queue_id: string;
}

/** A filter of queue items in a form that one statement can apply. */
export interface ItemSelection {
  filter: Filter;
  account: string;
  database: Database;
  /** Ids of calls: only their items are wanted, or all others. Ids of items, as SQL, find those to leave out sooner. */
  lists: { isWanted: boolean; calls: readonly string[]; items?: RawBuilder<unknown> }[];
  /** Tells whether a call fulfils the conditions on judgements, if these are left to whoever reads the judgements anyway. */
  passes?: JudgementsTest;
  /** True if the lists have the calls of the first items of a page only, which were enough to fill it. */
  isForPage?: boolean;
}

/** A page for which conditions are prepared. */
export interface PageToFill {
  /** Number of items up to its end. */
  end: number;
  /** Reads the calls of the first items in its order, of those that fulfil conditions. */
  readFirstCalls(conditions: ItemSelection, count: number): Promise<string[]>;
}

type JudgementsTest = (judgements: readonly JudgementInQueue[]) => Promise<boolean>;

/** What a request asks for, and with which means. */
interface FilterRequest {
  filter?: Filter | null | undefined;
  account: string;
  budget: RequestBudget;
  /** The types of the judgements that the caller reads; of all types, it can test them itself. */
  judgement_types?: readonly string[] | null | undefined;
  /** True if the caller counts items that are not wanted, and subtracts them. */
  countsUnwanted?: boolean;
  /** If only a page is wanted: where the first items fill it, no others are searched for a text. */
  page?: PageToFill | undefined;
}

/** Maximum number of calls that are looked up for a text; where more could have it, all calls of the queue are searched. */
const maxLookedUp = 5000;
/** Number of calls that are looked up together. */
const callsPerSearch = 1000;
const bytesPerId = 200;

/**
 * Prepares the conditions of a filter. Those on judgements, and on texts of calls, become lists of calls, because only JavaScript
 * compares JSON and letter case alike on every engine; those on judgements a test, if the caller reads all judgements anyway.
 * @throws Refusal 413 for more than the budget allows.
 */
export async function conditionsFor(
  database: Database,
  queue: QueueKey,
  request: FilterRequest,
): Promise<ItemSelection> {
  const { filter, account, budget, judgement_types, countsUnwanted } = request;
  const conditions: ItemSelection = { filter: filter ?? {}, account, database, lists: [] };
  const { text } = conditions.filter;
  if (hasJudgementConditions(conditions.filter)) {
    // A text is searched only in calls that pass.
    const isRead = text == null && judgement_types?.join() === judgementTypes.join();
    if (isRead) conditions.passes = testOf(conditions, budget);
    else conditions.lists.push(await listJudgedCalls(conditions, queue, budget, countsUnwanted));
  }
  if (text != null) {
    const { ids, isForPage } = await callsWithText(text, conditions, queue, request);
    // SQLite makes an index of the list, of a million ids in no order in 4 s, in their own order in 0.2 s.
    conditions.lists.push({ isWanted: true, calls: ids.sort() });
    conditions.isForPage = isForPage;
  }
  return conditions;
}

/** Returns whether conditions look at judgements of others than the caller. */
function isAboutOthers({ judged_by, field, value, judged_at_least, disagreement, lacks_value_of }: Filter): boolean {
  if ((judged_at_least ?? disagreement ?? lacks_value_of) != null) return true;
  return judged_by == null ? (field ?? value) != null : judged_by.toLowerCase() !== 'me';
}

function testOf({ filter, account }: ItemSelection, budget: RequestBudget): JudgementsTest {
  const ownCreator = filter.own_creator ?? undefined;
  const passes = judgementTest(filter, ({ user, creator }) => user === account && creator === ownCreator);
  return async (judgements) => {
    const tested = [];
    for (const { user, creator, isGold, field, value, bytes } of judgements) {
      if (isGold) continue;
      await budget.scan(bytes, 4);
      const judged = value === undefined ? undefined : JSON.parse(value);
      tested.push({ ...annotatorOf(user, creator ?? undefined), field, value: judged });
    }
    return passes(tested);
  };
}

async function listJudgedCalls(
  conditions: ItemSelection,
  queue: QueueKey,
  budget: RequestBudget,
  countsUnwanted = false,
): Promise<ItemSelection['lists'][number]> {
  const { filter, account, database } = conditions;
  const { field, value, disagreement, unjudged_by_me, lacks_value_of } = filter;
  // All that the conditions do not look at is left unread.
  const wanted = {
    field: (unjudged_by_me ?? lacks_value_of) == null ? (field ?? undefined) : undefined,
    user: isAboutOthers(filter) ? undefined : account,
    withValues: (value ?? disagreement) != null,
  };
  const passes = testOf(conditions, budget);
  // A call without judgements passes only negative conditions: then the list names those that do not pass.
  const isWanted = !(await passes([]));
  const ids: string[] = [];
  const ofQueue = { ...queue, ...wanted, types: judgementTypes };
  const alike = new Map<string, string[]>();
  const keys = readFirstKeys(database, ofQueue, budget, alike);
  for await (const judged of readJudgedCalls(database, ofQueue, budget, keys)) {
    for (const { call_id, judgements } of judged) {
      const calls = alike.get(call_id)!;
      alike.delete(call_id);
      if ((await passes(judgements)) !== isWanted) continue;
      budget.hold(calls.length * bytesPerId);
      ids.push(...calls);
    }
  }
  const list = { isWanted, calls: ids };
  if (isWanted || countsUnwanted) return list;
  // The indexes of orders have the ids of items, but not of calls, for which each item would be read.
  const [found] = await database.read((transaction) =>
    selectItems(transaction, queue)
      .where(sql<boolean>`call_id in ${database.textsOf(JSON.stringify(ids))}`)
      .select(jsonOf('id', transaction).as('ids'))
      .execute(),
  );
  return { ...list, items: database.textsOf(found?.ids ?? '[]') };
}

/** Yields the keys of the feedback on one of the calls that were judged alike. `alike` receives all of these calls, by that one. */
async function* readFirstKeys(
  database: Database,
  ofQueue: JudgementsOfQueue,
  budget: RequestBudget,
  alike: Map<string, string[]>,
) {
  const read = async ({ transaction, calls }: FeedbackPart) => {
    const found = await transaction
      .selectFrom(calls)
      .select(({ fn }) => [fn.min('judged_call').as('first'), jsonOf('judged_call', transaction).as('ids')])
      .groupBy('judgements')
      .execute();
    return { found, firstCalls: found.map(({ first }) => first) };
  };
  for await (const { found, keys } of readAlikeCalls(database, ofQueue, { withDays: false, budget, read })) {
    for (const { first, ids } of found) alike.set(first, JSON.parse(ids!));
    yield keys;
  }
}

/**
 * Finds the calls whose inputs or output contain a text: those of the items that fulfil all other conditions, and perhaps more; or only
 * those of the first items of a page, if these fill it.
 */
async function callsWithText(
  text: string,
  conditions: ItemSelection,
  queue: QueueKey,
  { budget, page }: FilterRequest,
): Promise<{ ids: string[]; isForPage: boolean }> {
  const { database } = conditions;
  const forms = [...new Set([text, JSON.stringify(text).slice(1, -1)])];
  const contains = ['inputs', 'output'].flatMap((name) =>
    forms.map((form) => {
      const substr = { $literal: form };
      return { $contains: { input: { $getField: name }, substr, case_insensitive: true } };
    }),
  );
  const hasText = { $or: contains };
  const isInQueue = { $eq: [{ $getField: queuePath }, { $literal: queue.queue_id }] };
  const search = async (selections: Pick<BodyOf<'queryCalls'>, 'filter' | 'query'>[]) => {
    const ids: string[] = [];
    for (const selection of selections) {
      const inProject = { project_id: queue.project_id, ...selection };
      for await (const found of findCallIds(database, inProject, { budget })) {
        budget.hold(found.length * bytesPerId);
        ids.push(...found);
      }
    }
    return ids;
  };
  const lookUp = (calls: string[]) =>
    search(inBatches(calls, callsPerSearch).map((call_ids) => ({ filter: { call_ids }, query: { $expr: hasText } })));
  await budget.reserve(maxLookedUp * bytesPerId);
  try {
    // The share of the first items that have the text tells whether more of them are likely to fill the page.
    let share = 1;
    for (const count of [callsPerSearch, maxLookedUp]) {
      if (!page || share * count < page.end) continue;
      const first = await page.readFirstCalls(conditions, count);
      const ids = await lookUp(first);
      const isForPage = first.length === count;
      if (!isForPage || ids.length >= page.end) return { ids, isForPage };
      share = ids.length / count;
    }
    const items = await database.read((transaction) => {
      const selected = selectItems(transaction, queue, conditions).select('call_id');
      // Without an order, SQLite would search its smallest index, and read every row for the filter.
      const inOrder = findsByIndex(conditions) ? selected : selected.orderBy('created_at');
      return inOrder.limit(maxLookedUp + 1).execute();
    });
    const isMany = items.length > maxLookedUp;
    const ids = isMany
      ? await search([{ query: { $expr: { $and: [isInQueue, hasText] } } }])
      : await lookUp(items.map(({ call_id }) => call_id));
    return { ids, isForPage: false };
  } finally {
    budget.release(maxLookedUp * bytesPerId);
  }
}

/** A query of items of which the columns are to be selected. */
export type SelectedItems = SelectQueryBuilder<Tables, 'queue_items', object>;

/** Returns the items of a queue that fulfil conditions, as a query of which the columns are to be selected; `from` has only some items. */
export function selectItems(
  transaction: Transaction,
  { project_id, queue_id }: QueueKey,
  conditions?: ItemSelection,
  from?: SelectedItems,
): SelectedItems {
  let items = (from ?? transaction.selectFrom('queue_items'))
    .where('project_id', '=', project_id)
    .where('queue_id', '=', queue_id)
    .where('deleted_at', 'is', null);
  if (!conditions) return items;
  const { filter, account, database, lists } = conditions;
  for (const column of commonColumns) {
    const value = filter[column];
    if (value != null) items = items.where(column, '=', value);
  }
  // PostgreSQL would join the list with the items that are looked up, and search it again for each. It joins no condition inside a function.
  const isIn = (calls: RawBuilder<unknown>) => {
    const isInList = sql<boolean>`queue_items.call_id in ${calls}`;
    return from ? sql<boolean>`coalesce(${isInList}, false)` : isInList;
  };
  const { annotation_states, ids, call_ids, has_error, started_after, started_before, latency_above } = filter;
  if (annotation_states?.length) items = items.where('annotation_state', 'in', [...new Set(annotation_states)]);
  if (ids?.length) {
    const named = database.textsOf(JSON.stringify(ids));
    // SQLite would look for neither items nor calls in their index if each item could match by either. PostgreSQL would search the
    // named ones again for each item of a queue that is so new that it has no statistics of it.
    items = items.where(
      isIn(sql`(with named_calls as materialized (
      select * from ${named} as named union all
      select call_id from queue_items where id in ${named}
      and project_id || '' = ${project_id} and queue_id || '' = ${queue_id}) select * from named_calls)`),
    );
  }
  if (call_ids?.length) items = items.where('call_id', 'in', call_ids);
  if (filter.unfinished_by_me) items = items.where((builder) => builder.not(isFinishedBy(account, builder)));
  // With the index of start or latency, SQLite would sort all that it finds.
  const start = withoutIndex('call_started_at');
  if (started_after != null) items = items.where(start, '>=', timeOf(started_after));
  if (started_before != null) items = items.where(start, '<', timeOf(started_before));
  if (latency_above != null) items = items.where(withoutIndex('latency'), '>', latency_above * 1000);
  // An index has only those that failed; a parameter would hide that from the planner.
  if (has_error != null) items = items.where('failed', '=', sql.lit(has_error ? 1 : 0));
  for (const { isWanted, calls, items: unwanted } of lists) {
    const isListed = unwanted
      ? sql<boolean>`queue_items.id in ${unwanted}`
      : isIn(database.textsOf(JSON.stringify(calls)));
    items = items.where(isWanted ? isListed : sql<boolean>`not (${isListed})`);
  }
  return items;
}

/** Returns whether an index besides those of orders finds the items that fulfil conditions. */
export function findsByIndex({ filter, lists }: ItemSelection): boolean {
  const { id, call_id, call_trace_id, ids, call_ids, has_error } = filter;
  const isNamed = (id ?? call_id ?? call_trace_id) != null || [ids, call_ids].some((list) => list?.length);
  return isNamed || has_error === true || lists.some(({ isWanted }) => isWanted);
}

/** Returns the maximum number of items that fulfil conditions, where these list them or their calls; otherwise infinity. */
export function maxItemsOf({ lists }: ItemSelection): number {
  return Math.min(...lists.map(({ isWanted, calls }) => (isWanted ? calls.length : Infinity)));
}

const commonColumns = ['id', 'call_id', 'call_op_name', 'call_trace_id', 'added_by'] as const;

function timeOf(seconds: number): string {
  return timestampOf(Math.round(seconds * 1_000_000));
}

/** Returns SQL of a column for conditions that no index of it is to serve. */
export function withoutIndex<Column extends keyof Tables['queue_items']>(
  column: Column,
): RawBuilder<Tables['queue_items'][Column]> {
  const value = sql.ref(`queue_items.${column}`);
  return sql`coalesce(${value}, ${value})`;
}
