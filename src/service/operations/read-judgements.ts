import { type RawBuilder, sql } from 'kysely';
import type { StoredFeedback } from '../../contract/feedback.ts';
import { callIdOf } from '../../contract/references.ts';
import { withoutZone } from '../../core/timestamps.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { selectInProject } from '../storage/in-chunks.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import { type FeedbackKey, feedbackBatches, parsePayload, readFeedbackByKeys } from './feedback.ts';

/** The memory of a row of short texts, and of a judgement without its value, in bytes. */
const bytesPerRow = 500;
const bytesPerChar = 2;
/** Feedback of at most so many bytes is read with its key; a statement for larger ones follows. References take 1,300 of them. */
export const shortBytes = 4096;

export type DatedKey = FeedbackKey &
  Pick<Tables['feedback'], 'created_at' | 'feedback_type' | 'creator'> & { payload?: string | null };

/** A queue, and the beginnings of the types of feedback that are judgements in it; the rest of a type is the field. */
export interface JudgementsOfQueue {
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

/** A judgement that counts: a later one of the same annotator takes the place of an earlier one. */
export interface JudgementInQueue {
  /** Number of the annotator and the field: the same for judgements that replace each other if they are of one call. */
  source: number;
  /** True for a value that settles a dispute. */
  isGold: boolean;
  field: string;
  user: string;
  creator: string | null;
  /** When it was given, in UTC without a zone. */
  at: string;
  /** Orders judgements by the time of the first one of the annotator. */
  firstAt: string;
  /** The value as JSON; undefined if there is none. */
  value: string | undefined;
  /** The memory that it takes. */
  bytes: number;
}

/** A call, and the latest judgement of each annotator in each field. */
export interface CallWithJudgements {
  call_id: string;
  judgements: JudgementInQueue[];
}

/**
 * Yields the calls that were judged in a queue, in the order of their ids, in batches, whose memory the budget holds until the next
 * one.
 * @param keysOfCalls the keys of their feedback, if they have been read.
 * @throws Refusal 413 for a call with more judgements than the budget allows.
 */
export async function* readJudgedCalls(
  database: Database,
  queue: JudgementsOfQueue,
  budget: RequestBudget,
  keysOfCalls: AsyncIterable<DatedKey[]>,
): AsyncGenerator<CallWithJudgements[], void, undefined> {
  const { project_id, types, goldTypes = [], withValues } = queue;
  const allTypes = [...types, ...goldTypes];
  const sources = new Map<string, number>();
  let reference = '';
  let ofCall = new Map<number, JudgementInQueue>();
  let found: CallWithJudgements[] = [];
  let heldBytes = 0;
  const endCall = (): void => {
    if (ofCall.size > 0) found.push({ call_id: callIdOf(reference), judgements: [...ofCall.values()] });
    ofCall = new Map();
  };
  const typeOf = ({ feedback_type }: DatedKey) => allTypes.find((beginning) => feedback_type.startsWith(beginning));
  const add = (key: DatedKey, value: string | undefined): void => {
    const { weave_ref, feedback_type, wb_user_id: user, created_at, id } = key;
    const type = typeOf(key);
    if (type === undefined) return;
    if (weave_ref !== reference) endCall();
    reference = weave_ref;
    // Some clients name the account as the creator of what its user judges.
    const creator = key.creator === user ? null : key.creator;
    const sourceName = JSON.stringify([feedback_type, user, creator]);
    const source = numberOfText(sources, sourceName);
    const bytes = bytesPerRow + (value?.length ?? 0) * bytesPerChar;
    const before = ofCall.get(source);
    budget.hold(bytes, 'ask without conditions on judgements, and count by operation and state only');
    if (before) budget.release(before.bytes);
    heldBytes += bytes - (before?.bytes ?? 0);
    const [at, firstAt] = [withoutZone(created_at), before?.firstAt ?? `${created_at} ${id}`];
    const [isGold, field] = [goldTypes.includes(type), feedback_type.slice(type.length)];
    // A later judgement keeps the place of the first one.
    ofCall.set(source, { source, isGold, field, user, creator, at, firstAt, value, bytes });
  };
  // Most payloads are the same few.
  let [lastPayload, lastValue]: [string?, string?] = [];
  for await (const keys of keysOfCalls) {
    if (!withValues || keys.every(({ payload }) => typeof payload === 'string')) {
      if (withValues) await budget.parse(totalMemoryOf(keys));
      for (const key of keys) {
        const { payload } = key;
        if (withValues && payload !== lastPayload) {
          lastPayload = payload!;
          lastValue = valueIn(parsePayload(payload!));
        }
        add(key, lastValue);
      }
    } else {
      for (const batch of feedbackBatches(keys.filter(typeOf))) {
        const feedback = await readFeedbackByKeys(database, project_id, batch, budget);
        for (const [key, { payload }] of feedback) add(key as DatedKey, valueIn(payload));
        budget.release(totalMemoryOf(batch));
      }
    }
    yield found;
    found = [];
    const keptBytes = [...ofCall.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    budget.release(heldBytes - keptBytes);
    heldBytes = keptBytes;
  }
  endCall();
  yield found;
  budget.release(heldBytes);
}

/** Returns the keys of the judgements of calls with these references, as a query: those of a call side by side, the oldest first. */
export function selectFeedbackKeys(
  transaction: Transaction,
  queue: JudgementsOfQueue,
  references: RawBuilder<unknown>,
) {
  const keys = selectFeedback(transaction, queue)
    .select(['id', 'weave_ref', 'feedback_type', 'created_at', 'creator', 'wb_user_id', 'memory_bytes'])
    .where(isWanted(queue))
    .where(sql<boolean>`weave_ref in ${references}`)
    .orderBy('weave_ref')
    .orderBy('created_at')
    .orderBy('id')
    .orderBy('wb_user_id');
  if (!queue.withValues) return keys;
  return keys.select(sql<string | null>`case when memory_bytes <= ${shortBytes} then payload end`.as('payload'));
}

/** Returns the feedback that was given in the queue, as a query of which the columns are to be selected. */
export function selectFeedback(transaction: Transaction, { project_id, queue_id }: JudgementsOfQueue) {
  return selectInProject(transaction, 'feedback', project_id).where('queue_id', '=', queue_id);
}

/** Returns the condition that feedback is a judgement, or gold, that is wanted. */
export function isWanted({ types, goldTypes = [], field, user }: JudgementsOfQueue): RawBuilder<boolean> {
  const wanted = [...types, ...goldTypes];
  const ofField = sql`feedback_type in (${sql.join(wanted.map((type) => type + field))})`;
  const isOfUser = user === undefined ? sql`true` : sql`wb_user_id = ${user}`;
  return sql`(${field === undefined ? beginsWith(wanted) : ofField} and ${isOfUser})`;
}

/** Returns the condition that feedback is of a type that begins with one of these. */
export function beginsWith(types: readonly string[]) {
  const tests = types.map((type) => sql`substr(feedback_type, 1, length(${type})) = ${type}`);
  return sql<boolean>`(${sql.join(tests, sql` or `)})`;
}

/** Returns the value of a judgement as JSON; undefined if there is none. */
function valueIn(payload: StoredFeedback['payload']): string | undefined {
  return JSON.stringify(payload?.value);
}

/** Returns the number of a text, a new one if it has none. Numbers make shorter keys than the texts that they stand for. */
export function numberOfText(numbers: Map<string, number>, text: string): number {
  const number = numbers.get(text) ?? numbers.size;
  numbers.set(text, number);
  return number;
}
