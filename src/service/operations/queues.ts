import type { ResultOf } from '../../contract/endpoints.ts';
import { finishedStates } from '../../contract/queue-items.ts';
import { type Queue, queueSortFields } from '../../contract/queues.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { accountsOfProject } from '../admin/accounts.ts';
import type { Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { newIds } from '../storage/ids.ts';
import { inChunks, selectInProject } from '../storage/in-chunks.ts';
import { findQueue, hasFinished, newQueue, storedMembers } from '../storage/queue-rows.ts';
import { totalOrder } from '../storage/total-order.ts';
import { inTransaction } from './operation.ts';

/** Reads queues of a project, by default the newest first. */
export const queryQueues = inTransaction('queryQueues', async (transaction, { body }) => {
  let queues = selectInProject(transaction, 'queues', body.project_id).selectAll().where('deleted_at', 'is', null);
  const order = totalOrder(body.sort_by, queueSortFields, { field: 'created_at', direction: 'desc' });
  for (const { column, direction } of order) queues = queues.orderBy(column, direction);
  // Compared here, because the database engines fold the case of different letters.
  const name = body.name?.toLowerCase() ?? '';
  const found = (await queues.execute()).filter((queue) => queue.name.toLowerCase().includes(name));
  const offset = body.offset ?? 0;
  return found.slice(offset, offset + (body.limit ?? found.length)).map(toQueue);
});

/**
 * Reads one queue.
 * @throws Refusal 404 when the project has no queue with this id.
 */
export const readQueue = inTransaction('readQueue', async (transaction, { path, query, account }) => {
  const { project_id, include_stats } = query;
  const queue = toQueue(await requireQueueRow(transaction, project_id, path.queue_id));
  if (!include_stats) return { queue };
  const [stats] = await countItems(transaction, project_id, [queue.id], account);
  return { queue, ...(stats && { stats }) };
});

/** Returns the row of a queue. @throws Refusal 404 when the project has no queue with this id. */
export async function requireQueueRow(
  transaction: Transaction,
  projectId: string,
  queueId: string,
): Promise<Tables['queues']> {
  const row = await findQueue(transaction, projectId, queueId);
  if (!row) throw new Refusal(404, `Queue ${queueId} not found`);
  return row;
}

/** Maximum number of accounts that a refusal names. */
const maxNamed = 20;

/**
 * Checks that everybody who is to be assigned something can claim it. `account` asks for it.
 * @throws Refusal 400 for who is no account of a project that has accounts.
 */
export async function requireAssignable(
  transaction: Transaction,
  projectId: string,
  assignees: readonly string[] | null | undefined,
  account: string,
): Promise<void> {
  if (!assignees?.length) return;
  const accounts = await accountsOfProject(transaction, projectId);
  const unknown = assignees.find((name) => name !== account && !accounts.includes(name));
  if (accounts.length === 0 || unknown === undefined) return;
  const rest = accounts.length - maxNamed;
  const names = `${accounts.slice(0, maxNamed).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  throw new Refusal(
    400,
    `The project has no account ${JSON.stringify(unknown)} that could claim items; its accounts are ${names}`,
  );
}

/** Creates an empty queue; its name need not be unique. @throws Refusal 400 as {@link requireAssignable} does. */
export const createQueue = inTransaction('createQueue', async (transaction, { body, account }) => {
  const [id = ''] = newIds(1);
  const { project_id, name, scorer_refs, reviewers_per_item, assignees } = body;
  await requireAssignable(transaction, project_id, assignees, account);
  const queue = newQueue({
    project_id,
    id,
    name,
    description: body.description ?? '',
    scorer_refs,
    reviewers_per_item,
    assignees,
    created_by: account,
  });
  await transaction.insertInto('queues').values(queue).execute();
  return { id };
});

/**
 * Changes the members of a queue that the request has, and returns the queue. Needs a write transaction.
 * @throws Refusal 404 when the project has no queue with this id, 400 as {@link requireAssignable} does.
 */
export const updateQueue = inTransaction('updateQueue', async (transaction, { path, body, account }) => {
  const { project_id, name, description, scorer_refs, reviewers_per_item, assignees } = body;
  await requireAssignable(transaction, project_id, assignees, account);
  return changeQueue(transaction, path.queue_id, project_id, {
    ...(name != null && { name }),
    ...(description != null && { description }),
    ...storedMembers({ scorer_refs, reviewers_per_item, assignees }),
  });
});

/**
 * Marks a queue as deleted, so that neither it nor its items are found any more. Needs a write transaction.
 * @throws Refusal 404 when the project has no queue with this id.
 */
export const deleteQueue = inTransaction('deleteQueue', (transaction, { path, query }) =>
  changeQueue(transaction, path.queue_id, query.project_id, { deleted_at: new Date().toISOString() }),
);

async function changeQueue(
  transaction: Transaction,
  queue_id: string,
  project_id: string,
  members: Partial<Tables['queues']>,
): Promise<ResultOf<'readQueue'>> {
  const row = await requireQueueRow(transaction, project_id, queue_id);
  const change = { ...members, updated_at: new Date().toISOString() };
  await transaction
    .updateTable('queues')
    .set(change)
    .where('project_id', '=', project_id)
    .where('id', '=', queue_id)
    .execute();
  return { queue: toQueue({ ...row, ...change }) };
}

/**
 * Counts the items of queues, in the order of the request. An item counts as completed once any annotator has completed
 * or skipped it; unknown queues are empty.
 */
export const queueStats = inTransaction('queueStats', async (transaction, { body, account }) => ({
  stats: await countItems(transaction, body.project_id, body.queue_ids, body.include_own_state ? account : undefined),
}));

/** Counts the items of queues, and those that an annotator has finished if one is given. */
async function countItems(
  transaction: Transaction,
  project_id: string,
  queueIds: readonly string[],
  annotator: string | undefined,
): Promise<ResultOf<'queueStats'>['stats']> {
  const counts = await inChunks(queueIds, async (ids) => {
    const queues = selectInProject(transaction, 'queues', project_id).select('id').where('deleted_at', 'is', null);
    const items = selectInProject(transaction, 'queue_items', project_id)
      .where('queue_id', 'in', queues.where('id', 'in', ids))
      .where('deleted_at', 'is', null)
      .groupBy('queue_id')
      .select(({ fn }) => [
        'queue_id',
        fn.countAll<number>().as('total'),
        fn.countAll<number>().filterWhere('annotation_state', 'in', finishedStates).as('finished'),
      ]);
    // Without the operation, SQLite would take an index that has no states, and read every item.
    const byOperation = items.groupBy('call_op_name').as('by_operation');
    const all = await transaction
      .selectFrom(byOperation)
      .select(({ fn }) => ['queue_id', fn.sum('total').as('total'), fn.sum('finished').as('finished')])
      .groupBy('queue_id')
      .execute();
    // Only these have progress: all others are finished or not as the index says.
    const annotated = await items
      .where('annotator_user_id', 'is not', null)
      .select(({ fn }) => [
        fn
          .countAll()
          .filterWhere((builder) =>
            builder.or([builder('annotation_state', 'in', finishedStates), hasFinished(undefined, builder)]),
          )
          .as('completed'),
        fn
          .countAll()
          .filterWhere((builder) => hasFinished(annotator, builder))
          .as('own'),
      ])
      .execute();
    const progress = new Map(annotated.map((count) => [count.queue_id, count]));
    return all.map(({ queue_id, total, finished }) => {
      const { completed, own, finished: shown } = progress.get(queue_id) ?? { completed: 0, own: 0, finished: 0 };
      // PostgreSQL's driver returns counts as strings.
      const imported = Number(finished) - Number(shown);
      return { queue_id, total: Number(total), completed: imported + Number(completed), own: imported + Number(own) };
    });
  });
  const stats = new Map(counts.map((count) => [count.queue_id, count]));
  return queueIds.map((queue_id) => {
    const { total = 0, completed = 0, own = 0 } = stats.get(queue_id) ?? {};
    const counted = { total_items: total, completed_items: completed };
    const ownCounted = annotator !== undefined && { own_completed_items: own, annotator_user_id: annotator };
    return { queue_id, ...counted, ...ownCounted };
  });
}

function toQueue({ reviewers_per_item, assignees, ...row }: Tables['queues']): Queue {
  return {
    ...row,
    scorer_refs: JSON.parse(row.scorer_refs),
    reviewers_per_item: JSON.parse(reviewers_per_item ?? 'null'),
    assignees: JSON.parse(assignees ?? 'null'),
  };
}
