import type { ResultOf } from '../../contract/endpoints.ts';
import { appendTo } from '../../core/append-to.ts';
import { secondsPerItem } from '../../core/statistics/pace.ts';
import type { Database } from '../storage/database.ts';
import { findQueue } from '../storage/queue-rows.ts';
import type { OperationHandler, OperationInput } from './operation.ts';
import { type JudgementInQueue, readJudgements } from './read-judgements.ts';
import { conditionsFor, type ItemSelection, readItemRows, selectItems } from './select-items.ts';

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
  const groups = await database.read((transaction) =>
    selectItems(transaction, target, conditions)
      .select(({ fn }) => ['call_op_name', 'annotation_state', fn.countAll<number>().as('count')])
      .groupBy(['call_op_name', 'annotation_state'])
      .limit(maxListed + 1)
      .execute(),
  );
  // PostgreSQL's driver returns counts as strings.
  return groups.length > maxListed ? {} : { groups: groups.map((group) => ({ ...group, count: Number(group.count) })) };
};

async function groupByJudgements(database: Database, input: SummaryInput): Promise<Summary> {
  const { path, body, budget, conditions } = input;
  const ofQueue = {
    project_id: body.project_id,
    queue_id: path.queue_id,
    types: body.judgement_types!,
    withValues: true,
    goldTypes: body.gold_types ?? [],
  };
  const judgements = await readJudgements(database, ofQueue, budget);
  const { numbersOfCalls, disputed } = await compareJudgements(judgements, input);
  const groups: ItemGroup[] = [];
  const places = new Map<string, number>();
  const placesOfFirstCalls = new Map<string, number>();
  const columns = ['id', 'call_id', 'call_op_name', 'annotation_state'] as const;
  for await (const rows of readItemRows(database, ofQueue, conditions, columns, budget)) {
    for (const { id, call_id, call_op_name, annotation_state } of rows) {
      const isDisputed = disputed.has(call_id);
      const key = isDisputed ? id : JSON.stringify([call_op_name, annotation_state, numbersOfCalls.get(call_id) ?? []]);
      const place = places.get(key);
      if (place !== undefined) {
        groups[place]!.count += 1;
        continue;
      }
      if (groups.length === maxListed) return {};
      places.set(key, groups.length);
      placesOfFirstCalls.set(call_id, groups.length);
      groups.push({ call_op_name, annotation_state, count: 1, ...(isDisputed && { id }) });
    }
  }
  const listed = judgements.filter(({ call_id }) => placesOfFirstCalls.has(call_id));
  if (listed.length > maxListed) return {};
  return {
    groups,
    judgements: listed.map(({ call_id, isGold, field, user, creator, value, at }) => {
      return {
        group: placesOfFirstCalls.get(call_id)!,
        field,
        user,
        creator,
        ...(isGold && { is_gold: true }),
        ...(value !== undefined && { value: JSON.parse(value) }),
        ...(input.body.include_times && { day: dayOf(at) }),
      };
    }),
    ...(input.body.include_times && { paces: pacesOf(judgements.filter(({ isGold }) => !isGold)) }),
  };
}

function dayOf(at: string): string {
  return at.slice(0, 10);
}

/** Returns how long each annotator takes for an item. */
function pacesOf(judgements: readonly JudgementInQueue[]): NonNullable<Summary['paces']> {
  const annotators = new Map(
    judgements.map(({ user, creator }) => [JSON.stringify([user, creator]), { user, creator }]),
  );
  const timed = judgements.map(({ user, creator, call_id, at }) => {
    return { by: JSON.stringify([user, creator]), item: call_id, atMs: Date.parse(`${at}Z`) };
  });
  return [...secondsPerItem(timed)].map(([by, seconds]) => ({ ...annotators.get(by)!, seconds }));
}

/**
 * Numbers judgements, equal ones alike, and returns the numbers for each call in ascending order, and the calls on which annotators
 * differ.
 */
async function compareJudgements(judgements: readonly JudgementInQueue[], { body, budget }: SummaryInput) {
  const numbers = new Map<string, number>();
  const numbersOfCalls = new Map<string, number[]>();
  const values = new Map<string, string | undefined>();
  const disputed = new Set<string>();
  for (const { call_id, isGold, field, user, creator, value, at, heldBytes } of judgements) {
    await budget.scan(heldBytes, 1);
    const content = JSON.stringify([isGold, field, user, creator, value, body.include_times && dayOf(at)]);
    const number = numbers.get(content) ?? numbers.size;
    numbers.set(content, number);
    appendTo(numbersOfCalls, call_id, number);
    if (isGold) continue;
    const judgedField = JSON.stringify([call_id, field]);
    if (values.has(judgedField) && values.get(judgedField) !== value) disputed.add(call_id);
    values.set(judgedField, value);
  }
  for (const ofCall of numbersOfCalls.values()) ofCall.sort((a, b) => a - b);
  return { numbersOfCalls, disputed };
}
