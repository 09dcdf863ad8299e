import { type SelectQueryBuilder, sql } from 'kysely';
import type { ResultOf } from '../../contract/endpoints.ts';
import { isFinished } from '../../contract/queue-items.ts';
import { inBatches } from '../../core/in-batches.ts';
import { medianSeconds } from '../../core/statistics/pace.ts';
import { withoutZone } from '../../core/timestamps.ts';
import { nextTurn } from '../../core/turns.ts';
import { maxSearched } from '../query/search-size.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { isPostgres } from '../storage/in-chunks.ts';
import { findQueue, hasFinished } from '../storage/queue-rows.ts';
import { type FeedbackPart, readAlikeCalls } from './alike-calls.ts';
import type { OperationHandler, OperationInput } from './operation.ts';
import {
  beginsWith,
  type DatedKey,
  type JudgementInQueue,
  type JudgementsOfQueue,
  numberOfText,
  readJudgedCalls,
} from './read-judgements.ts';
import {
  conditionsFor,
  findsByIndex,
  type ItemSelection,
  type QueueKey,
  type SelectedItems,
  selectItems,
  withoutIndex,
} from './select-items.ts';

type Summary = ResultOf<'summarizeQueueItems'>;
type ItemGroup = NonNullable<Summary['groups']>[number];
type SummaryInput = Pick<OperationInput<'summarizeQueueItems'>, 'path' | 'body' | 'budget'> & {
  /** The conditions of the filter. */
  conditions: ItemSelection;
};

/** Limits of a response, beyond which it counts nothing. */
export const summaryLimits = {
  /** Groups by operation and state alone. */
  kinds: 20_000,
  /** Groups by judgements, and items on which annotators differ. */
  groups: 100_000,
  /** Judgements of these groups. */
  judgements: 200_000,
  /** Bytes of values and of names of operations: clients take no more than twice as many. */
  bytes: 16 * 1024 * 1024,
};
/** The memory of a row of short texts, of a group, and of a judgement of a group without its value, in bytes. */
const bytesPerRow = 500;
/** The memory of the time of a judgement, in bytes. */
const bytesPerTime = 60;

/** Counts the items of a queue by operation and state and, if the request names types of judgements, by these. */
export const summarizeQueueItems: OperationHandler<'summarizeQueueItems'> = async (
  { path, body, account, budget },
  { database },
) => {
  const target = { project_id: body.project_id, queue_id: path.queue_id };
  if (!(await hasQueue(database, target))) return { groups: [], judgements: [] };
  await budget.reserve(summaryLimits.kinds * bytesPerRow);
  const conditions = await conditionsFor(database, target, { ...body, account, budget, countsUnwanted: true });
  if (body.judgement_types?.length) return groupByJudgements(database, { path, body, budget, conditions });
  const groups = await readGroups(database, target, conditions);
  return groups.length > summaryLimits.kinds ? {} : { groups };
};

/** Counts the items of a queue that fulfil conditions; undefined where they are of too many operations. An unknown queue has none. */
export async function countSelectedItems(
  database: Database,
  target: QueueKey,
  conditions: ItemSelection,
): Promise<number | undefined> {
  if (!(await hasQueue(database, target))) return 0;
  const groups = await readGroups(database, target, conditions);
  return groups.length > summaryLimits.kinds ? undefined : groups.reduce((sum, { count }) => sum + count, 0);
}

function hasQueue(database: Database, { project_id, queue_id }: QueueKey): Promise<boolean> {
  return database.read(async (transaction) => (await findQueue(transaction, project_id, queue_id)) !== undefined);
}

/** Counts items by operation and state. Those of many wanted calls take several statements, so that other requests can proceed. */
async function readGroups(database: Database, target: QueueKey, conditions: ItemSelection): Promise<ItemGroup[]> {
  const wanted = conditions.lists.find(({ isWanted }) => isWanted);
  if (!wanted || wanted.calls.length <= maxSearched) return readGroupsAtOnce(database, target, conditions);
  const others = conditions.lists.filter((list) => list !== wanted);
  const groups = new Map<string, ItemGroup>();
  for (const calls of inBatches(wanted.calls, maxSearched)) {
    await nextTurn();
    const lists = [...others, { ...wanted, calls }];
    for (const group of await readGroupsAtOnce(database, target, { ...conditions, lists })) {
      const known = groups.get(keyOf(group));
      if (known) known.count += group.count;
      else groups.set(keyOf(group), group);
    }
    if (groups.size > summaryLimits.kinds) break;
  }
  return [...groups.values()];
}

const keyOf = ({ call_op_name, annotation_state }: Pick<ItemGroup, 'call_op_name' | 'annotation_state'>): string =>
  `${annotation_state} ${call_op_name}`;

function readGroupsAtOnce(database: Database, target: QueueKey, conditions: ItemSelection): Promise<ItemGroup[]> {
  return database.read(async (transaction) => {
    // PostgreSQL would read the table with several processes, which takes longer than an index does with one.
    if (isPostgres(transaction))
      await sql`select set_config('random_page_cost', '1.1', true), set_config('max_parallel_workers_per_gather', '0', true)`.execute(
        transaction,
      );
    return countGroups(transaction, target, conditions);
  });
}

/**
 * Counts items by operation and state. With calls that are excluded, or without those that the account has finished, each item would
 * be looked at: instead, these are subtracted from all.
 */
async function countGroups(
  transaction: Transaction,
  target: QueueKey,
  conditions: ItemSelection,
): Promise<ItemGroup[]> {
  const exclusion = exclusionIn(conditions);
  if (exclusion) {
    const all = await countGroups(transaction, target, exclusion.all);
    if (all.length > summaryLimits.kinds) return all;
    const left = new Map(all.map((group) => [keyOf(group), group]));
    for (const group of await countGroups(transaction, target, exclusion.excluded))
      left.get(keyOf(group))!.count -= group.count;
    return all.filter(({ count }) => count > 0);
  }
  if (conditions.filter.unfinished_by_me) {
    const others = { ...conditions, filter: { ...conditions.filter, unfinished_by_me: null } };
    const all = await countGroups(transaction, target, others);
    if (all.length > summaryLimits.kinds) return all;
    // With the index of operations, SQLite would read all items.
    const operation = withoutIndex('call_op_name');
    // Only these have progress: all others are finished or not as their state says.
    const annotated = await selectItems(transaction, target, others)
      .where('annotator_user_id', 'is not', null)
      .select(({ fn }) => [
        operation.as('call_op_name'),
        'annotation_state',
        fn.countAll().as('total'),
        fn
          .countAll()
          .filterWhere((builder) => hasFinished(conditions.account, builder))
          .as('own'),
      ])
      .groupBy([operation, 'annotation_state'])
      .execute();
    const left = new Map(
      all.map((group) => [keyOf(group), { ...group, count: isFinished(group.annotation_state) ? 0 : group.count }]),
    );
    for (const { total, own, ...group } of annotated) {
      // PostgreSQL's driver returns counts as strings.
      left.get(keyOf(group))!.count += (isFinished(group.annotation_state) ? Number(total) : 0) - Number(own);
    }
    return [...left.values()].filter(({ count }) => count > 0);
  }
  const items = selectItems(transaction, target, conditions).select(['call_op_name', 'annotation_state']);
  // Without a limit, SQLite would read the whole queue in the order of the operation.
  const counted = findsByIndex(conditions) ? items.limit(Number.MAX_SAFE_INTEGER) : items;
  const groups = await transaction
    .selectFrom(counted.as('items'))
    .select(({ fn }) => ['call_op_name', 'annotation_state', fn.countAll().as('count')])
    .groupBy(['call_op_name', 'annotation_state'])
    .limit(summaryLimits.kinds + 1)
    .execute();
  // PostgreSQL's driver returns counts as strings.
  return groups.map((group) => ({ ...group, count: Number(group.count) }));
}

/** Returns, for conditions that exclude some calls, those without the exclusion, and those of the items that it excludes. */
function exclusionIn(conditions: ItemSelection) {
  const exclusion = conditions.lists.find(({ isWanted }) => !isWanted);
  if (!exclusion) return undefined;
  const others = conditions.lists.filter((list) => list !== exclusion);
  // By the ids of items, SQLite would look at every item of the queue.
  const excluded = [...others, { calls: exclusion.calls, isWanted: true }];
  return { all: { ...conditions, lists: others }, excluded: { ...conditions, lists: excluded } };
}

async function groupByJudgements(database: Database, input: SummaryInput): Promise<Summary> {
  const { path, body, budget, conditions } = input;
  // If a call without judgements does not fulfil the conditions, only judged calls do.
  const isRead = conditions.passes && !(await conditions.passes([]));
  const ofQueue = {
    project_id: body.project_id,
    queue_id: path.queue_id,
    types: body.judgement_types!,
    withValues: true,
    goldTypes: body.gold_types ?? [],
  };
  const annotators: Annotators | undefined = body.include_paces ? new Map() : undefined;
  const withDays = body.include_days === true;
  const compare = comparison(withDays);
  const groups: ItemGroup[] = [];
  const places = new Map<string, number>();
  const operations = new Map<string, number>();
  const kindOf = ({ call_op_name, annotation_state }: Pick<ItemGroup, 'call_op_name' | 'annotation_state'>) =>
    `${annotation_state} ${numberOfText(operations, call_op_name)}`;
  const judgedItems = new Map<string, number>();
  const listed: { group: number; judgement: JudgementInQueue }[] = [];
  let bytes = 0;
  const alike = new Map<string, AlikeItems>();
  /** The groups of the items on which annotators differ, by the ids of these. */
  const disputed = new Map<string, number>();
  const isTooMuch = () =>
    groups.length > summaryLimits.groups ||
    disputed.size > summaryLimits.groups ||
    listed.length > summaryLimits.judgements ||
    bytes > summaryLimits.bytes;
  /** Adds items to the group with these judgements, or a new group. */
  const addItems = ({ ids, ...ofOperation }: AlikeItems, judgements: readonly JudgementInQueue[]): void => {
    const { numbers, isDisputed } = compare(judgements);
    const key = `${kindOf(ofOperation)} ${numbers}`;
    const group = places.get(key) ?? groups.length;
    if (group === groups.length) {
      places.set(key, group);
      groups.push({ ...ofOperation, count: 0 });
      bytes += Buffer.byteLength(ofOperation.call_op_name);
      for (const judgement of judgements) {
        listed.push({ group, judgement });
        bytes += Buffer.byteLength(judgement.value ?? '');
      }
    }
    if (isDisputed) for (const id of ids) disputed.set(id, group);
    else groups[group]!.count += ids.length;
  };
  /** Adds all judged items unless that makes too many groups. */
  const addJudged = async (judgedCalls: ReturnType<typeof readJudgedCalls>): Promise<boolean> => {
    for await (const batch of judgedCalls) {
      const listedBefore = groups.length + listed.length + disputed.size;
      for (const { call_id, judgements } of batch) {
        const items = alike.get(call_id)!;
        alike.delete(call_id);
        const kind = kindOf(items);
        judgedItems.set(kind, (judgedItems.get(kind) ?? 0) + items.ids.length);
        if (!conditions.passes || (await conditions.passes(judgements))) addItems(items, judgements);
        if (isTooMuch()) return false;
      }
      await budget.reserve((groups.length + listed.length + disputed.size - listedBefore) * bytesPerRow);
    }
    return true;
  };
  const firstKeys = readAlikeItems(database, ofQueue, { conditions, budget, withDays, annotators, alike });
  // PostgreSQL counts all items while it reads the judged ones.
  const [isListed, all] = await Promise.all([
    addJudged(readJudgedCalls(database, ofQueue, budget, firstKeys)),
    isRead ? [] : readGroups(database, ofQueue, conditions),
  ]);
  if (!isListed) return {};
  const disputed_items = await readDisputed(database, disputed);
  for (const group of disputed_items.groups) groups[group]!.count += 1;
  const unread = all.map((group) => ({ ...group, count: group.count - (judgedItems.get(kindOf(group)) ?? 0) }));
  groups.push(...unread.filter(({ count }) => count > 0));
  if (isTooMuch() || all.length > summaryLimits.kinds) return {};
  return {
    groups,
    judgements: bySource(listed, withDays),
    disputed_items,
    ...(annotators && { paces: [...annotators.values()].flatMap(paceOf) }),
  };
}

/** Lists the items on which annotators differ in the order of the queue, with the places of their groups. */
async function readDisputed(database: Database, disputed: ReadonlyMap<string, number>) {
  const items = await database.read((transaction) =>
    transaction
      .selectFrom('queue_items')
      .select(['id', 'call_id'])
      .where('deleted_at', 'is', null)
      .where(sql<boolean>`id in ${database.textsOf(JSON.stringify([...disputed.keys()]))}`)
      .orderBy('created_at')
      .orderBy('id')
      .execute(),
  );
  return {
    ids: items.map(({ id }) => id),
    call_ids: items.map(({ call_id }) => call_id),
    groups: items.map(({ id }) => disputed.get(id)!),
  };
}

/** Lists the judgements of groups by annotator and field. What came first is listed first. */
function bySource(
  listed: { group: number; judgement: JudgementInQueue }[],
  withDays: boolean,
): NonNullable<Summary['judgements']> {
  listed.sort((a, b) => (a.judgement.firstAt < b.judgement.firstAt ? -1 : 1));
  const found = new Map<string, NonNullable<Summary['judgements']>[number]>();
  for (const { group, judgement } of listed) {
    const { source, isGold, field, user, creator, value } = judgement;
    const day = withDays ? dayOf(judgement.at) : undefined;
    const key = `${source} ${value === undefined} ${day}`;
    const same = found.get(key) ?? {
      field,
      user,
      creator,
      ...(isGold && { is_gold: true }),
      ...(day !== undefined && { day }),
      groups: [],
      ...(value !== undefined && { values: [] }),
    };
    found.set(key, same);
    same.groups.push(group);
    if (value !== undefined) same.values!.push(JSON.parse(value));
  }
  return [...found.values()];
}

/** Items of an operation in a state whose calls were judged alike. */
type AlikeItems = Pick<ItemGroup, 'call_op_name' | 'annotation_state'> & { ids: string[] };

/** The annotators of calls, by their names as JSON, with the times at which each last judged a call, in milliseconds. */
type Annotators = Map<string, { user: string; creator: string | null; times: number[] }>;

interface AlikeContext {
  conditions: ItemSelection;
  budget: RequestBudget;
  withDays: boolean;
  /** Receives the annotators of all calls, if they are wanted. */
  annotators: Annotators | undefined;
  /** Receives the items, by the first of their calls. */
  alike: Map<string, AlikeItems>;
}

/** Finds the items that are judged alike, and yields the keys of the feedback on the first call of each. */
async function* readAlikeItems(
  database: Database,
  ofQueue: JudgementsOfQueue,
  { conditions, budget, withDays, annotators, alike }: AlikeContext,
): AsyncGenerator<DatedKey[]> {
  const read = async ({ transaction, feedback, calls }: FeedbackPart) => {
    const items = await selectItems(transaction, ofQueue, conditions, itemsOf(transaction, ofQueue, calls))
      .select(['call_op_name', 'annotation_state'])
      .select(({ fn }) => [fn.min('call_id').as('first'), sql<string>`string_agg(id, ' ')`.as('ids')])
      .groupBy(['call_op_name', 'annotation_state', sql`judgements`])
      .execute();
    const times = annotators ? await readTimes(feedback.where(beginsWith(ofQueue.types)), transaction) : [];
    return { items, firstCalls: items.map(({ first }) => first), times };
  };
  const parts = readAlikeCalls(database, ofQueue, { withDays, budget, read });
  for await (const { items, keys, times } of parts) {
    for (const { first, ids, ...kind } of items) alike.set(first, { ...kind, ids: ids.split(' ') });
    for (const { user, creator, times: joined } of times) {
      const by = JSON.stringify([user, creator]);
      const judged = joined.split(' ').map((at) => Date.parse(`${withoutZone(at)}Z`));
      budget.hold(judged.length * bytesPerTime);
      annotators!.set(by, { user, creator, times: (annotators!.get(by)?.times ?? []).concat(judged) });
    }
    yield keys;
  }
}

/**
 * Selects the items of the calls of a query. Each call is looked up: PostgreSQL's statistics know too little of a new queue, so it would
 * run the query again for each item, or read all items for each call. SQLite reads the tables of a cross join in their order.
 */
function itemsOf(transaction: Transaction, { project_id, queue_id }: JudgementsOfQueue, calls: FeedbackPart['calls']) {
  const judged = transaction.selectFrom(calls);
  const key = sql`project_id, queue_id, call_id`;
  const found = sql<Tables['queue_items']>`(
    select * from queue_items where (${key}) >= (${project_id}, ${queue_id}, judged_call) order by ${key} limit 1)`;
  const items = isPostgres(transaction)
    ? judged.crossJoinLateral(found.as('queue_items'))
    : judged.crossJoin('queue_items');
  return items.where('call_id', '=', sql.ref<string>('judged_call')) as unknown as SelectedItems;
}

function dayOf(at: string): string {
  return at.slice(0, 10);
}

/** Reads when each annotator last judged each call, the times of an annotator as one text. */
function readTimes(judgements: SelectQueryBuilder<Tables, 'feedback', object>, transaction: Transaction) {
  // Some clients name the account as the creator of what its user judges.
  const creator = sql<string | null>`nullif(creator, wb_user_id)`;
  const latest = judgements
    .select(['weave_ref', 'wb_user_id as user', creator.as('creator')])
    .select(({ fn }) => fn.max('created_at').as('at'))
    .groupBy(['weave_ref', 'wb_user_id', creator]);
  return transaction
    .selectFrom(latest.as('latest'))
    .select(['user', 'creator', sql<string>`string_agg(at, ' ')`.as('times')])
    .groupBy(['user', 'creator'])
    .orderBy(({ fn }) => fn.min('weave_ref'))
    .orderBy(({ fn }) => fn.min('at'))
    .execute();
}

/** Returns how long an annotator takes for an item; nothing if that was only one. */
function paceOf({ times, ...annotator }: { user: string; creator: string | null; times: number[] }) {
  const seconds = medianSeconds(times);
  return seconds === undefined ? [] : [{ ...annotator, seconds }];
}

/**
 * Returns a function that numbers the judgements of a call, equal ones of all calls alike, and tells whether annotators differ in a
 * field.
 */
function comparison(withDays: boolean) {
  const known = new Map<string, number>();
  return (judgements: readonly JudgementInQueue[]): { numbers: string; isDisputed: boolean } => {
    const numbers: number[] = [];
    const values = new Map<string, string | undefined>();
    let isDisputed = false;
    for (const { source, isGold, field, value, at } of judgements) {
      numbers.push(numberOfText(known, `${source} ${withDays ? dayOf(at) : ''} ${value}`));
      if (isGold || judgements.length === 1) continue;
      isDisputed ||= values.has(field) && values.get(field) !== value;
      values.set(field, value);
    }
    return { numbers: numbers.sort((a, b) => a - b).join(), isDisputed };
  };
}
