import { sql } from 'kysely';
import type { Queue, ReadQueueResponse } from '../../contract/queues.ts';
import { Refusal } from '../../core/http/refusal.ts';
import type { Transaction } from '../storage/database.ts';
import { newIds } from '../storage/ids.ts';
import { inChunks } from '../storage/in-chunks.ts';
import type { Tables } from '../storage/tables.ts';
import { totalOrder } from '../storage/total-order.ts';
import type { OperationInput, TransactionOperation } from './operation.ts';

/** Reads queues of a project, by default the newest first. */
export const queryQueues: TransactionOperation<'queryQueues'> = async (transaction, { body }) => {
  let queues = transaction
    .selectFrom('queues')
    .selectAll()
    .where('project_id', '=', body.project_id)
    .where('deleted_at', 'is', null)
    .limit(body.limit ?? Number.MAX_SAFE_INTEGER)
    .offset(body.offset ?? 0);
  if (body.name) {
    // LIKE ignores case on SQLite and treats % and _ as wildcards; functions that search a string differ by engine.
    queues = queues.where(sql<boolean>`replace(name, ${body.name}, '') <> name`);
  }
  for (const { column, direction } of totalOrder(body.sort_by, { field: 'created_at', direction: 'desc' })) {
    queues = queues.orderBy(column, direction);
  }
  return (await queues.execute()).map(toQueue);
};

/**
 * Reads one queue.
 * @throws Refusal 404 when the project has no queue with this id.
 */
export async function readQueue(
  transaction: Transaction,
  { path, query }: Pick<OperationInput<'readQueue'>, 'path' | 'query'>,
): Promise<ReadQueueResponse> {
  const row = await transaction
    .selectFrom('queues')
    .selectAll()
    .where('project_id', '=', query.project_id)
    .where('id', '=', path.queue_id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw new Refusal(404, `Queue ${path.queue_id} not found`);
  return { queue: toQueue(row) };
}

/** Creates an empty queue; its name need not be unique. */
export const createQueue: TransactionOperation<'createQueue'> = async (transaction, { body, account }) => {
  const [id = ''] = newIds(1);
  const now = new Date().toISOString();
  await transaction
    .insertInto('queues')
    .values({
      ...body,
      id,
      scorer_refs: JSON.stringify(body.scorer_refs),
      created_at: now,
      created_by: account,
      updated_at: now,
      deleted_at: null,
    })
    .execute();
  return { id };
};

/** Counts the items of queues, in the order of the request: skipped items count as completed, unknown queues are empty. */
export const queueStats: TransactionOperation<'queueStats'> = async (transaction, { body }) => {
  const counts = await inChunks(body.queue_ids, (ids) =>
    transaction
      .selectFrom('queue_items')
      .innerJoin('queues', (join) =>
        join.onRef('queues.project_id', '=', 'queue_items.project_id').onRef('queues.id', '=', 'queue_items.queue_id'),
      )
      .where('queues.deleted_at', 'is', null)
      .select(({ fn }) => [
        'queue_id',
        fn.countAll<number>().as('total'),
        fn.countAll<number>().filterWhere('annotation_state', 'in', ['completed', 'skipped']).as('completed'),
      ])
      .where('queue_items.project_id', '=', body.project_id)
      .where('queue_id', 'in', ids)
      .where('queue_items.deleted_at', 'is', null)
      .groupBy('queue_id')
      .execute(),
  );
  const stats = new Map(body.queue_ids.map((queue_id) => [queue_id, { queue_id, total_items: 0, completed_items: 0 }]));
  for (const { queue_id, total, completed } of counts) {
    // PostgreSQL's driver returns counts as strings.
    stats.set(queue_id, { queue_id, total_items: Number(total), completed_items: Number(completed) });
  }
  return { stats: [...stats.values()] };
};

function toQueue(row: Tables['queues']): Queue {
  return { ...row, scorer_refs: JSON.parse(row.scorer_refs) };
}
