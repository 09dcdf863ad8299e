import { callReference } from '../../contract/references.ts';
import { inBatchesBySize } from '../../core/in-batches.ts';
import { parseStoredJson } from '../../core/json/exact-number.ts';
import { nextTurn } from '../../core/turns.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { type Tables, tables } from '../storage/database-tables.ts';
import { type FeedbackPosition, feedbackOrder, isAfterFeedback } from '../storage/feedback-order.ts';
import { inChunks, selectInProject } from '../storage/in-chunks.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import { selectQueueIds } from '../storage/queue-rows.ts';
import { ComparedRecord, feedbackPath, queuePath, type Related } from './condition.ts';

/** Reads what conditions and sort keys look for beside a call: the feedback on it, and the queues that hold it. */
export interface RelatedValues {
  /** Reads what belongs to some calls, and forgets what belonged to those before. */
  load(ids: readonly string[]): Promise<void>;
  /** Returns what belongs to a call of the last load. */
  of(id: string): Related;
}

/** Returns the reader for the paths of conditions and sort keys; undefined if they need nothing beside the call. */
export function relatedValues(
  database: Database,
  project_id: string,
  paths: readonly string[],
  budget: RequestBudget,
): RelatedValues | undefined {
  const types = new Set(paths.flatMap((path) => feedbackPath(path)?.type ?? []));
  const needsQueues = paths.includes(queuePath);
  if (types.size === 0 && !needsQueues) return undefined;
  let related = new Map<string, Related>();
  let heldBytes = 0;

  const ofCall = (id: string): Related => {
    const known = related.get(id) ?? { feedback: [], queueIds: [] };
    related.set(id, known);
    return known;
  };

  async function loadFeedback(ids: readonly string[]): Promise<void> {
    const idsByReference = new Map(ids.map((id) => [callReference(project_id, id), id]));
    const rows = await inChunks([...idsByReference.keys()], (chunk) =>
      database.read((transaction) => {
        const onCalls = selectInProject(transaction, 'feedback', project_id)
          .selectAll()
          .where('weave_ref', 'in', chunk)
          // The latest feedback of a type counts.
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc');
        return (types.has('*') ? onCalls : onCalls.where('feedback_type', 'in', [...types])).execute();
      }),
    );
    heldBytes = totalMemoryOf(rows);
    await budget.reserve(heldBytes);
    await budget.parse(heldBytes);
    for (const { memory_bytes: _, payload, ...row } of rows) {
      const id = idsByReference.get(row.weave_ref);
      if (id !== undefined) ofCall(id).feedback.push({ ...row, payload: parseStoredJson(payload) });
    }
  }

  async function loadQueues(ids: readonly string[]): Promise<void> {
    const rows = await inChunks([...ids], (chunk) =>
      database.read((transaction) =>
        selectInProject(transaction, 'queue_items', project_id)
          .select(['call_id', 'queue_id'])
          .where('queue_id', 'in', selectQueueIds(transaction, project_id).where('deleted_at', 'is', null))
          .where('call_id', 'in', chunk)
          .where('deleted_at', 'is', null)
          .execute(),
      ),
    );
    for (const { call_id, queue_id } of rows) ofCall(call_id).queueIds.push(queue_id);
  }

  return {
    async load(ids) {
      budget.release(heldBytes);
      heldBytes = 0;
      related = new Map();
      if (types.size > 0) await loadFeedback(ids);
      if (needsQueues) await loadQueues(ids);
    },
    of: ofCall,
  };
}

/** Returns whether a project has more than `max` feedbacks of a type; `*` stands for any. */
export async function hasMuchFeedback(
  database: Database,
  project_id: string,
  type: string,
  max: number,
): Promise<boolean> {
  const row = await database.read((transaction) =>
    onCalls(transaction, project_id, type).select('id').limit(1).offset(max).executeTakeFirst(),
  );
  return row !== undefined;
}

/** Number of feedbacks that are read at once, and of the bytes up to which a payload is read with the others. */
const feedbackPerRead = 2000;
const maxSmallBytes = 8 * 1024;
/** Maximum memory of the feedback that is parsed at once, in bytes. */
const maxParsedBytes = 16 * 1024 * 1024;

type FeedbackRow = Tables['feedback'];

/** A call, a record of its feedback of a type alone, and the memory of that, in bytes. */
interface FeedbackOnCall {
  call_id: string;
  record: ComparedRecord;
  bytes: number;
}

/**
 * Yields a project's calls with feedback of a type, in batches, whose memory the budget holds until the next one.
 * @param paths the paths that are read of the records, which need not have other members.
 * @throws Refusal 413 for feedback that takes too much work.
 */
export async function* readFeedbackByCall(
  database: Database,
  { project_id, type, paths }: { project_id: string; type: string; paths: readonly string[] },
  budget: RequestBudget,
): AsyncGenerator<FeedbackOnCall[], void, undefined> {
  const idAt = callReference(project_id, '').length;
  const members = paths.map((path) => feedbackPath(path)?.path.split('.', 1)[0]);
  // Each column that is read takes time.
  const read = otherColumns.filter(
    (column) => members.includes(column) || (type === '*' && column === 'feedback_type'),
  );
  const known = type === '*' ? {} : { feedback_type: type };
  let ofCall: FeedbackWithPayload[] = [];
  let heldBytes = 0;
  for (let after: FeedbackPosition | undefined, hasMore = true; hasMore; ) {
    await nextTurn();
    const rows = await database.read((transaction) => {
      let next = onCalls(transaction, project_id, type, after)
        .select([...feedbackOrder, ...read, 'memory_bytes'])
        .select((eb) =>
          eb.case().when('memory_bytes', '<=', maxSmallBytes).then(eb.ref('payload')).end().as('payload'),
        );
      for (const column of feedbackOrder) next = next.orderBy(column);
      return next.limit(feedbackPerRead).execute();
    });
    hasMore = rows.length === feedbackPerRead;
    after = rows.at(-1);
    for (const batch of inBatchesBySize(rows, maxParsedBytes, ({ memory_bytes }) => memory_bytes)) {
      const bytes = totalMemoryOf(batch);
      await budget.reserve(bytes);
      heldBytes += bytes;
      await budget.parse(bytes);
      const calls: FeedbackOnCall[] = [];
      for (const { payload, ...row } of batch) {
        if (ofCall[0] && ofCall[0].weave_ref !== row.weave_ref) {
          calls.push(onCallOf(ofCall, idAt));
          ofCall = [];
        }
        const whole = payload ?? (await readPayload(database, project_id, row));
        // It may have been deleted meanwhile.
        if (whole !== undefined) ofCall.push(Object.assign(row, known, { payload: whole }));
      }
      yield calls;
      const keptBytes = totalMemoryOf(ofCall);
      budget.release(heldBytes - keptBytes);
      heldBytes = keptBytes;
    }
  }
  if (ofCall[0]) yield [onCallOf(ofCall, idAt)];
}

type FeedbackWithPayload = FeedbackPosition & Pick<FeedbackRow, 'memory_bytes' | 'payload'>;

const otherColumns = Object.keys(tables.feedback.columns).filter(
  (column): column is Exclude<keyof FeedbackRow, keyof FeedbackWithPayload> =>
    ![...feedbackOrder, 'memory_bytes', 'payload'].includes(column),
);

function onCallOf(oldestFirst: readonly FeedbackWithPayload[], idAt: number): FeedbackOnCall {
  const feedback = oldestFirst.map((row) => Object.assign(row, { payload: parseStoredJson(row.payload) }));
  return {
    call_id: oldestFirst[0]!.weave_ref.slice(idAt),
    // The latest feedback counts.
    record: new ComparedRecord({}, { feedback: feedback.reverse(), queueIds: [] }),
    bytes: totalMemoryOf(oldestFirst),
  };
}

/** Selects the feedback of a type on a project's calls, all of it or what comes after some. */
function onCalls(transaction: Transaction, project_id: string, type: string, after?: FeedbackPosition) {
  const prefix = callReference(project_id, '');
  const feedback = selectInProject(transaction, 'feedback', project_id)
    .where('weave_ref', '<', `${prefix.slice(0, -1)}0`)
    // Given both limits, SQLite would use the wider one.
    .where(after ? isAfterFeedback(after) : (eb) => eb('weave_ref', '>', prefix));
  return type === '*' ? feedback : feedback.where('feedback_type', '=', type);
}

async function readPayload(
  database: Database,
  project_id: string,
  { id, wb_user_id }: FeedbackPosition,
): Promise<string | undefined> {
  const row = await database.read((transaction) =>
    selectInProject(transaction, 'feedback', project_id)
      .select('payload')
      .where('id', '=', id)
      .where('wb_user_id', '=', wb_user_id)
      .executeTakeFirst(),
  );
  return row?.payload;
}
