import { type Thread, threadSortFields } from '../../contract/threads.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { floatNumber } from '../../core/json/exact-number.ts';
import { microsecondsOf, normalizeTimestamp, shortTimestamp } from '../../core/timestamps.ts';
import { nextTurn } from '../../core/turns.ts';
import { sortRecords } from '../query/sort-records.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database } from '../storage/database.ts';
import { selectInProject } from '../storage/in-chunks.ts';
import type { OperationHandler, OperationInput } from './operation.ts';

type Body = OperationInput<'queryThreads'>['body'];

/** A turn: a call whose id is its `turn_id`. */
interface Turn {
  thread_id: string | null;
  id: string;
  started_at: string;
  ended_at: string | null;
}

/** A thread whose turns are being read in the order of their start. */
interface OpenThread {
  first: Turn;
  last: Turn;
  count: number;
  updatedAt: string | null;
  durationsMs: number[];
}

/** The memory of a turn and of a thread, in bytes. */
const bytesPerTurn = 16;
const bytesPerThread = 1000;

/**
 * Reads threads of recorded calls, by default the one that was updated last first.
 * @throws Refusal 400 for a field that they cannot be sorted by, 413 for more threads than the budget allows.
 */
export const queryThreads: OperationHandler<'queryThreads'> = async ({ body, budget }, { database }) => {
  const { limit, offset, sort_by } = body;
  const unknown = sort_by?.find(({ field }) => !(threadSortFields as readonly string[]).includes(field));
  if (unknown) {
    const field = unknown.field.slice(0, 200).toWellFormed();
    throw new Refusal(400, `Unsupported sort field: ${field}. Supported fields: ${threadSortFields.join(', ')}`);
  }
  const threads = new Map<string, OpenThread>();
  for await (const turns of readTurns(database, body)) {
    for (const turn of turns) addTurn(threads, turn, budget);
  }
  const keys = sort_by?.length ? sort_by : [{ field: 'last_updated', direction: 'desc' } as const];
  const sorted = await sortRecords([...threads].map(toThread), keys, (thread) => thread, budget);
  return sorted.slice(offset ?? 0, limit == null ? undefined : (offset ?? 0) + limit);
};

/** Number of turns that one statement reads. */
const turnsPerRead = 2000;

async function* readTurns(database: Database, { project_id, filter }: Body): AsyncGenerator<Turn[]> {
  const { thread_ids, after_datetime, before_datetime } = filter ?? {};
  let after: Turn | undefined;
  do {
    await nextTurn();
    const turns = await database.read((transaction) => {
      let rows = selectInProject(transaction, 'calls', project_id)
        .select(['thread_id', 'id', 'started_at', 'ended_at'])
        .where('thread_id', 'is not', null)
        .whereRef('turn_id', '=', 'id')
        .orderBy('thread_id')
        .orderBy('started_at')
        .orderBy('id')
        .limit(turnsPerRead);
      if (thread_ids?.length) rows = rows.where('thread_id', 'in', thread_ids);
      if (after_datetime) rows = rows.where('started_at', '>', normalizeTimestamp(after_datetime)!);
      if (before_datetime) rows = rows.where('started_at', '<', normalizeTimestamp(before_datetime)!);
      if (after) {
        const { thread_id, started_at, id } = after;
        rows = rows.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('thread_id', 'started_at', 'id'), '>', tuple(thread_id, started_at, id)),
        );
      }
      return rows.execute();
    });
    yield turns;
    after = turns.length === turnsPerRead ? turns.at(-1) : undefined;
  } while (after);
}

function addTurn(threads: Map<string, OpenThread>, turn: Turn, budget: RequestBudget): void {
  const id = turn.thread_id!;
  const known = threads.get(id);
  budget.hold(known ? bytesPerTurn : bytesPerThread, 'ask for fewer threads at once');
  const thread = known ?? { first: turn, last: turn, count: 0, updatedAt: null, durationsMs: [] };
  threads.set(id, thread);
  thread.last = turn;
  thread.count += 1;
  if (turn.ended_at === null) return;
  if (thread.updatedAt === null || turn.ended_at > thread.updatedAt) thread.updatedAt = turn.ended_at;
  thread.durationsMs.push(millisecondsOf(turn.ended_at) - millisecondsOf(turn.started_at));
}

function toThread([thread_id, { first, last, count, updatedAt, durationsMs }]: [string, OpenThread]): Thread {
  const sorted = durationsMs.sort((a, b) => a - b);
  return {
    thread_id,
    turn_count: count,
    start_time: shortTimestamp(first.started_at),
    last_updated: shortTimestamp(updatedAt ?? last.started_at),
    first_turn_id: first.id,
    last_turn_id: last.id,
    p50_turn_duration_ms: quantile(sorted, 0.5),
    p99_turn_duration_ms: quantile(sorted, 0.99),
  };
}

/** Returns a quantile of sorted numbers, interpolated between its neighbours; null without numbers. */
function quantile(sorted: readonly number[], part: number): number | null {
  const place = (sorted.length - 1) * part;
  const lower = sorted[Math.floor(place)];
  const upper = sorted[Math.ceil(place)];
  if (lower === undefined || upper === undefined) return null;
  return floatNumber(lower + (upper - lower) * (place - Math.floor(place)));
}

/** Returns the whole milliseconds since 1970, of which the public service takes the difference. */
function millisecondsOf(utc: string): number {
  return Math.floor(microsecondsOf(utc) / 1000);
}
