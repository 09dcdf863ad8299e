import { sql } from 'kysely';
import type { ResultOf } from '../../contract/endpoints.ts';
import { annotationStates } from '../../contract/queue-items.ts';
import { secondsPerItem, type TimedJudgement } from '../../core/statistics/pace.ts';
import { inByteOrder } from '../query/sort-records.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { findQueue } from '../storage/queue-rows.ts';
import type { OperationHandler, OperationInput } from './operation.ts';
import {
  type CallWithJudgements,
  type JudgementInQueue,
  type JudgementsOfQueue,
  numberOfText,
  readJudgedCalls,
} from './read-judgements.ts';
import { conditionsFor, findsByIndex, type ItemSelection, readItemRows, selectItems } from './select-items.ts';

type Summary = ResultOf<'summarizeQueueItems'>;
type ItemGroup = NonNullable<Summary['groups']>[number];
type SummaryInput = Pick<OperationInput<'summarizeQueueItems'>, 'path' | 'body' | 'budget'> & {
  /** The conditions of the filter. */
  conditions: ItemSelection;
};

/** Maximum number of groups, and of judgements of groups, in a response. */
const maxListed = 20_000;
/** The memory of a row of short texts, and of a group, in bytes. */
const bytesPerRow = 500;

/** Counts the items of a queue by operation and state and, if the request names types of judgements, by these. */
export const summarizeQueueItems: OperationHandler<'summarizeQueueItems'> = async (
  { path, body, account, budget },
  { database },
) => {
  const queue = await database.read((transaction) => findQueue(transaction, body.project_id, path.queue_id));
  if (!queue) return { groups: [], judgements: [] };
  await budget.reserve(maxListed * bytesPerRow);
  const target = { project_id: body.project_id, queue_id: path.queue_id };
  const conditions = await conditionsFor(database, target, { filter: body.filter, account, budget });
  if (body.judgement_types?.length) return groupByJudgements(database, { path, body, budget, conditions });
  const groups = await database.read((transaction) => countGroups(transaction, target, conditions));
  return groups.length > maxListed ? {} : { groups };
};

/**
 * Counts items by operation and state. With calls that are excluded, each item would be looked at: instead, the items of these calls
 * are subtracted from all.
 */
async function countGroups(
  transaction: Transaction,
  target: { project_id: string; queue_id: string },
  conditions: ItemSelection,
): Promise<ItemGroup[]> {
  const exclusion = exclusionIn(conditions, target.project_id);
  if (exclusion) {
    const keyOf = ({ call_op_name, annotation_state }: ItemGroup) => `${annotation_state} ${call_op_name}`;
    const all = await countGroups(transaction, target, exclusion.all);
    if (all.length > maxListed) return all;
    const left = new Map(all.map((group) => [keyOf(group), group]));
    for (const group of await countGroups(transaction, target, exclusion.excluded))
      left.get(keyOf(group))!.count -= group.count;
    return all.filter(({ count }) => count > 0);
  }
  const items = selectItems(transaction, target, conditions).select(['call_op_name', 'annotation_state']);
  // Without a limit, SQLite would read the whole queue in the order of the operation.
  const counted = findsByIndex(conditions) ? items.limit(Number.MAX_SAFE_INTEGER) : items;
  const operations = await transaction
    .selectFrom(counted.as('items'))
    .select('call_op_name')
    // The index has the operations in order, so that only groups by state, too, would take sorting.
    .select(({ fn }) =>
      annotationStates.map((state) => fn.countAll<number>().filterWhere('annotation_state', '=', state).as(state)),
    )
    .groupBy('call_op_name')
    .limit(maxListed + 1)
    .execute();
  return operations.flatMap(({ call_op_name, ...counts }) =>
    annotationStates
      // PostgreSQL's driver returns counts as strings.
      .map((annotation_state) => ({ call_op_name, annotation_state, count: Number(counts[annotation_state]) }))
      .filter(({ count }) => count > 0),
  );
}

/** Returns, for conditions that exclude some calls, those without the exclusion, and those of the items that it excludes. */
function exclusionIn(conditions: ItemSelection, project_id: string) {
  const { filter, calls } = conditions;
  const exclusion = calls.find(({ isWanted }) => !isWanted);
  if (!exclusion && filter.has_error !== false) return undefined;
  // A call that was deleted has neither failed nor not.
  const ids =
    exclusion?.ids ??
    sql`(select id from calls where project_id = ${project_id} and exception is not null
      union all select id from deleted_calls where project_id = ${project_id}
      and not exists (select 1 from calls where calls.project_id = deleted_calls.project_id and calls.id = deleted_calls.id))`;
  const others = calls.filter((list) => list !== exclusion);
  const all = { ...conditions, filter: exclusion ? filter : { ...filter, has_error: null }, calls: others };
  return { all, excluded: { ...all, calls: [...others, { isWanted: true, ids }] } };
}

async function groupByJudgements(database: Database, input: SummaryInput): Promise<Summary> {
  const { path, body, budget, conditions } = input;
  const ofQueue = {
    project_id: body.project_id,
    queue_id: path.queue_id,
    types: body.judgement_types!,
    withValues: true,
    goldTypes: body.gold_types ?? [],
  };
  const paces = body.include_times ? new Paces(budget) : undefined;
  const compare = comparison(body.include_times === true);
  const groups: ItemGroup[] = [];
  const places = new Map<string, number>();
  const operations = new Map<string, number>();
  const kindOf = ({ call_op_name, annotation_state }: Pick<ItemGroup, 'call_op_name' | 'annotation_state'>) =>
    `${annotation_state} ${numberOfText(operations, call_op_name)}`;
  const judgedItems = new Map<string, number>();
  const listed: { group: number; judgement: JudgementInQueue }[] = [];
  for await (const items of readJudgedItems(database, ofQueue, { conditions, budget, paces })) {
    for (const { id, call_id, call_op_name, annotation_state, judgements } of items) {
      const { numbers, isDisputed } = compare(judgements);
      const kind = kindOf({ call_op_name, annotation_state });
      judgedItems.set(kind, (judgedItems.get(kind) ?? 0) + 1);
      const key = isDisputed ? id : `${kind} ${numbers}`;
      const place = places.get(key);
      if (place !== undefined) {
        groups[place]!.count += 1;
        continue;
      }
      const group = groups.length;
      if (group === maxListed || listed.length + judgements.length > maxListed) return {};
      places.set(key, group);
      groups.push({ call_op_name, annotation_state, count: 1, ...(isDisputed && { id, call_id }) });
      for (const judgement of judgements) listed.push({ group, judgement });
    }
  }
  if (!findsByIndex(conditions)) {
    const all = await database.read((transaction) => countGroups(transaction, ofQueue, conditions));
    const unread = all.map((group) => ({ ...group, count: group.count - (judgedItems.get(kindOf(group)) ?? 0) }));
    groups.push(...unread.filter(({ count }) => count > 0));
    if (groups.length > maxListed) return {};
  }
  // Annotators and fields are listed in the order in which they first appeared.
  listed.sort((a, b) => (a.judgement.firstAt < b.judgement.firstAt ? -1 : 1));
  return {
    groups,
    judgements: listed.map(({ group, judgement: { isGold, field, user, creator, value, at } }) => {
      return {
        group,
        field,
        user,
        creator,
        ...(isGold && { is_gold: true }),
        ...(value !== undefined && { value: JSON.parse(value) }),
        ...(body.include_times && { day: dayOf(at) }),
      };
    }),
    ...(paces && { paces: paces.result() }),
  };
}

/**
 * Reads the items of a summary with their judgements: all of them if an index finds them, and otherwise, where most have no judgement,
 * those that have one.
 */
async function* readJudgedItems(
  database: Database,
  ofQueue: JudgementsOfQueue,
  { conditions, budget, paces }: { conditions: ItemSelection; budget: RequestBudget; paces: Paces | undefined },
) {
  const columns = ['id', 'call_id', 'call_op_name', 'annotation_state'] as const;
  const read = (selected: ItemSelection) => readItemRows(database, ofQueue, selected, columns, budget);
  const batches = readJudgedCalls(database, ofQueue, budget);
  if (findsByIndex(conditions)) {
    const judgedCalls = new InOrderOfCalls(batches, paces);
    for await (const rows of read(conditions)) {
      const items = [];
      for (const row of rows) {
        const judgements = judgedCalls.tryFind(row.call_id) ?? (await judgedCalls.find(row.call_id));
        items.push({ ...row, judgements });
      }
      yield items;
    }
    if (paces) await judgedCalls.end();
    return;
  }
  for await (const judged of batches) {
    for (const call of judged) paces?.add(call);
    const ofCalls = new Map(judged.map(({ call_id, judgements }) => [call_id, judgements]));
    const ids = database.textsOf(JSON.stringify([...ofCalls.keys()]));
    const selected = { ...conditions, calls: [...conditions.calls, { isWanted: true, ids }] };
    for await (const rows of read(selected))
      yield rows.map((row) => ({ ...row, judgements: ofCalls.get(row.call_id)! }));
  }
}

/** Finds the judgements of calls that are asked for in the order of their ids. */
class InOrderOfCalls {
  readonly #batches: AsyncGenerator<CallWithJudgements[], void, undefined>;
  readonly #paces: Paces | undefined;
  #batch: CallWithJudgements[] = [];
  #at = 0;
  #hasMore = true;

  constructor(batches: AsyncGenerator<CallWithJudgements[], void, undefined>, paces: Paces | undefined) {
    this.#batches = batches;
    this.#paces = paces;
  }

  /** Returns the judgements of a call; undefined if more of them must be read first. */
  tryFind(call_id: string): readonly JudgementInQueue[] | undefined {
    for (; this.#at < this.#batch.length; this.#at += 1) {
      const judged = this.#batch[this.#at]!;
      if (judged.call_id === call_id) return judged.judgements;
      if (inByteOrder(judged.call_id) > inByteOrder(call_id)) return [];
    }
    return this.#hasMore ? undefined : [];
  }

  async find(call_id: string): Promise<readonly JudgementInQueue[]> {
    for (;;) {
      const found = this.tryFind(call_id);
      if (found) return found;
      await this.#readMore();
    }
  }

  /** Reads what is left. */
  async end(): Promise<void> {
    while (this.#hasMore) await this.#readMore();
  }

  async #readMore(): Promise<void> {
    const { value, done } = await this.#batches.next();
    this.#hasMore = !done;
    this.#batch = value ?? [];
    this.#at = 0;
    for (const judged of this.#batch) this.#paces?.add(judged);
  }
}

function dayOf(at: string): string {
  return at.slice(0, 10);
}

/** Collects how long each annotator takes for an item. */
class Paces {
  readonly #budget: RequestBudget;
  readonly #annotators = new Map<string, Pick<JudgementInQueue, 'user' | 'creator'>>();
  readonly #timed: TimedJudgement[] = [];

  constructor(budget: RequestBudget) {
    this.#budget = budget;
  }

  add({ call_id, judgements }: CallWithJudgements): void {
    for (const { isGold, user, creator, at } of judgements) {
      if (isGold) continue;
      this.#budget.hold(bytesPerTime);
      const by = JSON.stringify([user, creator]);
      this.#annotators.set(by, { user, creator });
      this.#timed.push({ by, item: call_id, atMs: Date.parse(`${at}Z`) });
    }
  }

  result(): NonNullable<Summary['paces']> {
    return [...secondsPerItem(this.#timed)].map(([by, seconds]) => ({ ...this.#annotators.get(by)!, seconds }));
  }
}

/** The memory of the time of a judgement, in bytes. */
const bytesPerTime = 200;

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
