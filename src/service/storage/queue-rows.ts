import { type ExpressionBuilder, sql } from 'kysely';
import { finishedStates } from '../../contract/queue-items.ts';
import type { Queue } from '../../contract/queues.ts';
import { millisecondsBetween } from './call-rows.ts';
import type { Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';
import { inChunks, selectInProject } from './in-chunks.ts';

/** Returns the row of a queue that is created now. */
export function newQueue({
  scorer_refs,
  reviewers_per_item,
  assignees,
  ...queue
}: Pick<Tables['queues'], 'project_id' | 'id' | 'name' | 'description' | 'created_by'> &
  QueueMembers & { scorer_refs: readonly string[] }): Tables['queues'] {
  const now = new Date().toISOString();
  return {
    ...queue,
    scorer_refs: JSON.stringify(scorer_refs),
    reviewers_per_item: null,
    assignees: null,
    ...storedMembers({ reviewers_per_item, assignees }),
    created_at: now,
    updated_at: now,
    deleted_at: null,
  };
}

/** Members of a queue that are stored as JSON. */
type QueueMembers = Partial<Pick<Queue, 'reviewers_per_item' | 'assignees'>> & {
  scorer_refs?: readonly string[] | null | undefined;
};

/** Returns the columns of those members of a queue that are given and not null. */
export function storedMembers(members: QueueMembers): Partial<Tables['queues']> {
  const given = Object.entries(members).filter(([, value]) => value != null);
  return Object.fromEntries(given.map(([name, value]) => [name, JSON.stringify(value)]));
}

/** Returns the row of a queue that is not deleted; undefined if there is none. */
export async function findQueue(
  transaction: Transaction,
  projectId: string,
  queueId: string,
): Promise<Tables['queues'] | undefined> {
  return selectInProject(transaction, 'queues', projectId)
    .selectAll()
    .where('id', '=', queueId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}

/** The columns of a call that its items copy. */
export const copiedColumns = [
  'op_name as call_op_name',
  'trace_id as call_trace_id',
  'started_at as call_started_at',
  'ended_at as call_ended_at',
  sql<number>`case when exception is null then 0 else 1 end`.as('failed'),
] as const;

type CallTimes = Pick<Tables['queue_items'], 'call_started_at' | 'call_ended_at'>;

/** Returns the column `latency` of an item. */
export function itemLatency({ call_started_at, call_ended_at }: CallTimes): number {
  return call_ended_at ? millisecondsBetween(call_started_at, call_ended_at) : -1;
}

/** Selects the ids of a project's queues, with which an index finds the items of calls. */
export function selectQueueIds(transaction: Transaction, project_id: string) {
  return selectInProject(transaction, 'queues', project_id).select('id');
}

/** Copies calls to all their items, or to those that do not know yet that their call has ended, in a write transaction. */
export async function copyToItems(
  transaction: Transaction,
  project_id: string,
  call_ids: readonly string[],
  items: 'all' | 'running',
): Promise<void> {
  const rows = await inChunks(call_ids, (ids) =>
    selectInProject(transaction, 'queue_items', project_id)
      .innerJoin('calls', (join) =>
        join.onRef('calls.project_id', '=', 'queue_items.project_id').onRef('calls.id', '=', 'call_id'),
      )
      .select(['queue_items.id', ...copiedColumns])
      .where('call_id', 'in', ids)
      .$if(items === 'all', (all) => all.where('queue_id', 'in', selectQueueIds(transaction, project_id)))
      .$if(items === 'running', (all) => all.where('call_ended_at', 'is', null).where('ended_at', 'is not', null))
      .execute(),
  );
  for (const { id, ...call } of rows) {
    const copy = { ...call, latency: itemLatency(call) };
    await transaction.updateTable('queue_items').set(copy).where('id', '=', id).execute();
  }
}

/** Notes on items that their calls were deleted, in a write transaction. Such a call neither failed nor did not. */
export async function forgetCalls(transaction: Transaction, project_id: string, call_ids: string[]): Promise<void> {
  await inChunks(call_ids, (ids) =>
    transaction
      .updateTable('queue_items')
      .set({ failed: null })
      .where('project_id', '=', project_id)
      .where('queue_id', 'in', selectQueueIds(transaction, project_id))
      .where('call_id', 'in', ids)
      .execute(),
  );
}

/** Returns the condition that an annotator has completed or skipped an item, or that it was imported in such a state. */
export function isFinishedBy(account: string, builder: ExpressionBuilder<Tables, 'queue_items'>) {
  const { and, eb, or, selectFrom } = builder;
  // Looked up only for items in such a state: PostgreSQL would read the row of every item, where an index has all that it needs.
  const setBy = selectFrom('queue_items as shown')
    .select('shown.annotator_user_id')
    .whereRef('shown.id', '=', 'queue_items.id');
  return or([
    and([eb('queue_items.annotation_state', 'in', finishedStates), eb(setBy, 'is', null)]),
    hasFinished(account, builder),
  ]);
}

/** Returns the condition that an annotator has set an item to completed or skipped; anyone, if none is given. */
export function hasFinished(
  account: string | undefined,
  { exists, selectFrom }: ExpressionBuilder<Tables, 'queue_items'>,
) {
  const finished = selectFrom('annotator_progress')
    .select('item_id')
    .whereRef('item_id', '=', 'queue_items.id')
    .where('annotator_progress.annotation_state', 'in', finishedStates);
  return exists(
    account === undefined ? finished : finished.where('annotator_progress.annotator_user_id', '=', account),
  );
}
