import { sql } from 'kysely';
import type { StoredFeedback } from '../../contract/feedback.ts';
import { callIdOf } from '../../contract/references.ts';
import { withoutZone } from '../../core/timestamps.ts';
import { nextTurn } from '../../core/turns.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import { type FeedbackKey, feedbackBatches, parsePayload, readFeedbackByKeys } from './feedback.ts';

/** Rows that are read in one turn of the event loop. */
const rowsPerTurn = 5000;
/** The memory of a row of short texts, and of a judgement without its value, in bytes. */
const bytesPerRow = 500;
const bytesPerChar = 2;
/** Feedback of at most so many bytes is read with its key; a statement for larger ones follows. */
const shortBytes = 500;

type DatedKey = FeedbackKey &
  Pick<Tables['feedback'], 'created_at' | 'feedback_type' | 'creator'> & { payload?: string | null };

/** A queue, and the beginnings of the types of feedback that are judgements in it; the rest of a type is the field. */
interface JudgementsOfQueue {
  project_id: string;
  queue_id: string;
  types: readonly string[];
  /** The field alone that is wanted; all of them by default. */
  field?: string | undefined;
  /** The account whose judgements alone are wanted; those of all by default. */
  user?: string | undefined;
  /** False where nobody looks at the values, which take most of the time to read. */
  withValues: boolean;
  /** The beginnings of the types of gold, if it is wanted. */
  goldTypes?: readonly string[];
}

/** A judgement that counts, as far as it is known: a later one of the same annotator takes its place. */
export interface JudgementInQueue {
  call_id: string;
  /** True for a value that settles a dispute. */
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

/** Reads the latest judgement of each annotator in each field of each call, in the order of their first ones. */
export async function readJudgements(
  database: Database,
  queue: JudgementsOfQueue,
  budget: RequestBudget,
): Promise<JudgementInQueue[]> {
  const { project_id, types, goldTypes = [], withValues } = queue;
  const allTypes = [...types, ...goldTypes];
  const latest = new Map<string, JudgementInQueue>();
  const add = (given: Parameters<typeof judgementOf>[0], type: string): void => {
    const judgement = { ...judgementOf(given, type), isGold: goldTypes.includes(type) };
    const { call_id, isGold, field, user, creator, heldBytes } = judgement;
    budget.hold(heldBytes, 'ask without conditions on judgements, and count by operation and state only');
    const place = JSON.stringify([call_id, isGold, field, user, creator]);
    budget.release(latest.get(place)?.heldBytes ?? 0);
    // A later judgement keeps the place of the first one.
    latest.set(place, judgement);
  };
  for await (const keys of readFeedbackKeys(database, queue, budget)) {
    const typesOfKeys = new Map<DatedKey, string>();
    for (const key of keys) {
      const type = allTypes.find((beginning) => key.feedback_type.startsWith(beginning));
      if (type !== undefined) typesOfKeys.set(key, type);
    }
    if (!withValues || keys.every(({ payload }) => typeof payload === 'string')) {
      for (const [{ payload: json, ...key }, type] of typesOfKeys) {
        if (withValues) await budget.parse(key.memory_bytes);
        const payload = withValues ? parsePayload(json!) : undefined;
        add({ ...key, payload, created_at: withoutZone(key.created_at) }, type);
      }
      continue;
    }
    for (const batch of feedbackBatches([...typesOfKeys.keys()])) {
      const feedback = await readFeedbackByKeys(database, project_id, batch, budget);
      for (const [key, found] of feedback) add(found, typesOfKeys.get(key as DatedKey)!);
      budget.release(totalMemoryOf(batch));
    }
  }
  return [...latest.values()];
}

/** Reads the keys of the feedback that was given in the queue, the oldest first. */
async function* readFeedbackKeys(
  database: Database,
  { project_id, queue_id, types, field, user, withValues }: JudgementsOfQueue,
  budget: RequestBudget,
): AsyncGenerator<DatedKey[]> {
  const bytes = rowsPerTurn * (bytesPerRow + (withValues ? shortBytes : 0));
  const typesOfField = field === undefined ? [] : types.map((type) => type + field);
  await budget.reserve(bytes);
  let last: DatedKey | undefined;
  do {
    await nextTurn();
    const keys = await database.read((transaction) => {
      let page = transaction
        .selectFrom('feedback')
        .select(['id', 'weave_ref', 'feedback_type', 'created_at', 'creator', 'wb_user_id', 'memory_bytes'])
        .where('project_id', '=', project_id)
        .where('queue_id', '=', queue_id)
        .orderBy('created_at')
        .orderBy('id')
        .orderBy('wb_user_id')
        .limit(rowsPerTurn);
      if (withValues)
        page = page.select(sql<string | null>`case when memory_bytes <= ${shortBytes} then payload end`.as('payload'));
      if (typesOfField.length > 0) page = page.where('feedback_type', 'in', typesOfField);
      if (user !== undefined) page = page.where('wb_user_id', '=', user);
      if (!last) return page.execute();
      const { created_at, id, wb_user_id } = last;
      const isAfter = sql<boolean>`(created_at, id, wb_user_id) > (${created_at}, ${id}, ${wb_user_id})`;
      return page.where(isAfter).execute();
    });
    yield keys;
    last = keys.length < rowsPerTurn ? undefined : keys.at(-1);
  } while (last);
  budget.release(bytes);
}

function judgementOf(
  {
    weave_ref,
    feedback_type,
    payload,
    wb_user_id,
    creator,
    created_at,
  }: Pick<StoredFeedback, 'weave_ref' | 'feedback_type' | 'payload' | 'wb_user_id' | 'creator' | 'created_at'>,
  type: string,
): Omit<JudgementInQueue, 'isGold'> {
  const value = JSON.stringify(payload?.value);
  return {
    call_id: callIdOf(weave_ref),
    field: feedback_type.slice(type.length),
    at: created_at,
    user: wb_user_id ?? '',
    // Some clients name the account as the creator of what its user judges.
    creator: creator === wb_user_id ? null : (creator ?? null),
    value,
    heldBytes: bytesPerRow + (value?.length ?? 0) * bytesPerChar,
  };
}
