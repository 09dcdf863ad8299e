import { sql } from 'kysely';
import type { ResultOf } from '../../contract/endpoints.ts';
import type { StoredFeedback } from '../../contract/feedback.ts';
import { appendTo } from '../../core/append-to.ts';
import { secondsPerItem } from '../../core/statistics/pace.ts';
import { nextTurn } from '../../core/turns.ts';
import type { Database } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import { findQueue } from '../storage/queue-rows.ts';
import { type FeedbackKey, feedbackBatches, readFeedbackByKeys } from './feedback.ts';
import type { OperationHandler, OperationInput } from './operation.ts';
import { selectItems } from './queue-items.ts';

type Summary = ResultOf<'summarizeQueueItems'>;
type ItemGroup = NonNullable<Summary['groups']>[number];
type SummaryInput = Pick<OperationInput<'summarizeQueueItems'>, 'path' | 'body' | 'account' | 'budget'>;

/** Maximum number of groups, and of judgements of groups, in a response. */
const maxListed = 20_000;
/** Rows that are read in one turn of the event loop. */
const rowsPerTurn = 5000;
/** The memory of a row of short texts, of a group, and of a judgement without its value, in bytes. */
const bytesPerRow = 500;
const bytesPerChar = 2;

/** Counts the items of a queue by operation and state and, if the request names types of judgements, by these. */
export const summarizeQueueItems: OperationHandler<'summarizeQueueItems'> = async (
  { path, body, account, budget },
  { database },
) => {
  const queue = await database.read((transaction) => findQueue(transaction, body.project_id, path.queue_id));
  if (!queue) return { groups: [], judgements: [] };
  await budget.reserve(maxListed * bytesPerRow);
  if (body.judgement_types?.length) return groupByJudgements(database, { path, body, account, budget });
  const groups = await database.read((transaction) =>
    selectItems(transaction, { project_id: body.project_id, queue_id: path.queue_id }, account, body.filter)
      .select(({ fn }) => ['call_op_name', 'annotation_state', fn.countAll<number>().as('count')])
      .groupBy(['call_op_name', 'annotation_state'])
      .limit(maxListed + 1)
      .execute(),
  );
  // PostgreSQL's driver returns counts as strings.
  return groups.length > maxListed ? {} : { groups: groups.map((group) => ({ ...group, count: Number(group.count) })) };
};

type ItemRow = Pick<Tables['queue_items'], 'id' | 'call_id' | 'call_op_name' | 'annotation_state'>;
type DatedKey = FeedbackKey & Pick<Tables['feedback'], 'created_at' | 'feedback_type'>;

/** A judgement that counts, as far as it is known: a later one of the same annotator takes its place. */
interface Judgement {
  call_id: string;
  isGold: boolean;
  field: string;
  user: string;
  creator: string | null;
  /** When it was given, in UTC without a zone. */
  at: string;
  /** The value as JSON; undefined if there is none. */
  value: string | undefined;
  /** The memory that the budget holds for it. */
  heldBytes: number;
}

async function groupByJudgements(database: Database, input: SummaryInput): Promise<Summary> {
  const judgements = await readJudgements(database, input);
  const { numbersOfCalls, disputed } = await compareJudgements(judgements, input);
  const groups: ItemGroup[] = [];
  const places = new Map<string, number>();
  const placesOfFirstCalls = new Map<string, number>();
  for await (const rows of readItemRows(database, input)) {
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
function pacesOf(judgements: readonly Judgement[]): NonNullable<Summary['paces']> {
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
async function compareJudgements(judgements: readonly Judgement[], { body, budget }: SummaryInput) {
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

/** Reads the items that match, in the order of an index. */
async function* readItemRows(
  database: Database,
  { path, body, account, budget }: SummaryInput,
): AsyncGenerator<ItemRow[]> {
  await budget.reserve(rowsPerTurn * bytesPerRow);
  let after = '';
  for (;;) {
    await nextTurn();
    const rows = await database.read((transaction) =>
      selectItems(transaction, { project_id: body.project_id, queue_id: path.queue_id }, account, body.filter)
        .select(['id', 'call_id', 'call_op_name', 'annotation_state'])
        .where('call_id', '>', after)
        .orderBy('call_id')
        .limit(rowsPerTurn)
        .execute(),
    );
    yield rows;
    if (rows.length < rowsPerTurn) break;
    after = rows.at(-1)!.call_id;
  }
  budget.release(rowsPerTurn * bytesPerRow);
}

/** Reads the latest judgement of each annotator in each field of each call, in the order of their first ones. */
async function readJudgements(database: Database, input: SummaryInput): Promise<Judgement[]> {
  const { budget, body } = input;
  const { project_id, judgement_types, gold_types } = body;
  const types = [...(judgement_types ?? []), ...(gold_types ?? [])];
  const latest = new Map<string, Judgement>();
  for await (const keys of readFeedbackKeys(database, input)) {
    const typesOfKeys = new Map<FeedbackKey, string>();
    for (const key of keys) {
      const type = types.find((beginning) => key.feedback_type.startsWith(beginning));
      if (type !== undefined) typesOfKeys.set(key, type);
    }
    for (const batch of feedbackBatches([...typesOfKeys.keys()])) {
      const feedback = await readFeedbackByKeys(database, project_id, batch, budget);
      for (const [key, found] of feedback) {
        const type = typesOfKeys.get(key)!;
        const judgement = { ...judgementOf(found, type), isGold: gold_types?.includes(type) ?? false };
        const { call_id, isGold, field, user, creator, heldBytes } = judgement;
        budget.hold(heldBytes, 'count items by operation and state only, without judgement_types');
        const place = JSON.stringify([call_id, isGold, field, user, creator]);
        budget.release(latest.get(place)?.heldBytes ?? 0);
        // A later judgement keeps the place of the first one.
        latest.set(place, judgement);
      }
      budget.release(totalMemoryOf(batch));
    }
  }
  return [...latest.values()];
}

/** Reads the keys of the feedback that was given in the queue, the oldest first. */
async function* readFeedbackKeys(database: Database, { path, body, budget }: SummaryInput): AsyncGenerator<DatedKey[]> {
  await budget.reserve(rowsPerTurn * bytesPerRow);
  let last: DatedKey | undefined;
  do {
    await nextTurn();
    const keys = await database.read((transaction) => {
      const page = transaction
        .selectFrom('feedback')
        .select(['id', 'weave_ref', 'feedback_type', 'created_at', 'wb_user_id', 'memory_bytes'])
        .where('project_id', '=', body.project_id)
        .where('queue_id', '=', path.queue_id)
        .orderBy('created_at')
        .orderBy('id')
        .orderBy('wb_user_id')
        .limit(rowsPerTurn);
      if (!last) return page.execute();
      const { created_at, id, wb_user_id } = last;
      const isAfter = sql<boolean>`(created_at, id, wb_user_id) > (${created_at}, ${id}, ${wb_user_id})`;
      return page.where(isAfter).execute();
    });
    yield keys;
    last = keys.length < rowsPerTurn ? undefined : keys.at(-1);
  } while (last);
  budget.release(rowsPerTurn * bytesPerRow);
}

function judgementOf(
  { weave_ref, feedback_type, payload, wb_user_id, creator, created_at }: StoredFeedback,
  type: string,
): Omit<Judgement, 'isGold'> {
  const value = JSON.stringify(payload?.value);
  return {
    call_id: weave_ref.slice(weave_ref.lastIndexOf('/') + 1),
    field: feedback_type.slice(type.length),
    at: created_at,
    user: wb_user_id ?? '',
    // Some clients name the account as the creator of what its user judges.
    creator: creator === wb_user_id ? null : (creator ?? null),
    value,
    heldBytes: bytesPerRow + (value?.length ?? 0) * bytesPerChar,
  };
}
