import { type AliasedExpression, type SelectQueryBuilder, sql } from 'kysely';
import { callReference } from '../../contract/references.ts';
import { nextTurn } from '../../core/turns.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { isPostgres } from '../storage/in-chunks.ts';
import {
  type DatedKey,
  isWanted,
  type JudgementsOfQueue,
  selectFeedback,
  selectFeedbackKeys,
  shortBytes,
} from './read-judgements.ts';

/** Feedback of which the calls are compared together. */
const rowsPerPart = 10_000;
/** The memory of feedback whose payload is compared, in bytes. */
const bytesPerFeedback = 2500;

/** The calls that were judged, each with all its judgements as one text. */
type JudgedCalls = AliasedExpression<{ judged_call: string; judgements: string }, 'judged'>;

/** A part of the feedback of a queue, in a transaction that reads it. */
export interface FeedbackPart {
  transaction: Transaction;
  /** The feedback, as a query of which the columns are to be selected. */
  feedback: SelectQueryBuilder<Tables, 'feedback', object>;
  calls: JudgedCalls;
}

/**
 * Yields what `read` finds of each part of the calls that were judged in a queue, in the order of their ids, with the keys of the
 * feedback on the calls that it names as the first of those that were judged alike. The database compares what was stored: judgements
 * that differ there may still be equal.
 * @param withDays whether judgements that were given on different days differ.
 */
export async function* readAlikeCalls<Found extends { firstCalls: readonly string[] }>(
  database: Database,
  ofQueue: JudgementsOfQueue,
  { withDays, budget, read }: { withDays: boolean; budget: RequestBudget; read(part: FeedbackPart): Promise<Found> },
): AsyncGenerator<Found & { keys: DatedKey[] }> {
  const prefix = callReference(ofQueue.project_id, '');
  const end = `${prefix.slice(0, -1)}0`;
  // Lengths tell where a name ends. Feedback whose payload is long is like no other.
  const named = (column: 'feedback_type' | 'wb_user_id' | 'creator') => {
    const name = sql.ref(column);
    return sql`coalesce(length(${name}) || ' ' || ${name}, '-')`;
  };
  const day = withDays ? sql`substr(created_at, 1, 10)` : sql`''`;
  const value = ofQueue.withValues ? sql`case when memory_bytes <= ${shortBytes} then payload else id end` : sql`''`;
  const judgement = sql`${named('feedback_type')} || ${named('wb_user_id')} || ${named('creator')} || ${day} || ${value}`;
  const partAfter = async (from: string) => {
    const select = (transaction: Transaction) =>
      selectFeedback(transaction, ofQueue).where('weave_ref', '>', from).where('weave_ref', '<', end);
    const { last, count } = await database.read(async (transaction) => {
      const references = select(transaction).select('weave_ref').orderBy('weave_ref');
      const last = (await references.offset(rowsPerPart).limit(1).executeTakeFirst())?.weave_ref;
      // Those that were passed over are not counted again.
      const counted = last === undefined ? select(transaction) : select(transaction).where('weave_ref', '=', last);
      const { count } = await counted.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
      return { last, count: Number(count) + (last === undefined ? 0 : rowsPerPart) };
    });
    const heldBytes = count * bytesPerFeedback;
    await budget.reserve(heldBytes);
    const reading = database.read(async (transaction) => {
      // PostgreSQL would collect all feedback of the part before it sorts it, though an index has the order.
      if (isPostgres(transaction)) await sql`set local random_page_cost = 1.1`.execute(transaction);
      const ofPart = last === undefined ? select(transaction) : select(transaction).where('weave_ref', '<=', last);
      const feedback = ofPart.where(isWanted(ofQueue));
      const inOrder = feedback
        .select(['weave_ref', judgement.as('judgement')])
        // The order decides which judgement of an annotator counts. The index has it, and an aggregate would sort those of each call.
        .orderBy('weave_ref')
        .orderBy('created_at')
        .orderBy('id')
        .orderBy('wb_user_id');
      const calls = transaction
        .selectFrom(inOrder.as('in_order'))
        .select(sql<string>`substr(weave_ref, length(${prefix}) + 1)`.as('judged_call'))
        .select(sql<string>`string_agg(judgement, ' ')`.as('judgements'))
        .groupBy('weave_ref')
        .as('judged');
      const found = await read({ transaction, feedback, calls });
      const ofFirst = found.firstCalls.map((call) => callReference(ofQueue.project_id, call));
      const keys = selectFeedbackKeys(transaction, ofQueue, database.textsOf(JSON.stringify(ofFirst)));
      return { ...found, keys: await keys.execute() };
    });
    // A failure is thrown where the part is awaited, perhaps only after another one.
    reading.catch(() => {});
    return { last, heldBytes, reading };
  };
  let part: Awaited<ReturnType<typeof partAfter>> | undefined = await partAfter(prefix);
  while (part) {
    const { heldBytes, reading } = part;
    const last: string | undefined = part.last;
    await nextTurn();
    // PostgreSQL compares the next part at the same time, with another processor.
    part = last === undefined ? undefined : await partAfter(last);
    yield await reading;
    budget.release(heldBytes);
  }
}
