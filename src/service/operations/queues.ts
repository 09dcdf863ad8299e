import type {
  CreateQueueRequest,
  QueryQueuesRequest,
  Queue,
  QueueStatsRequest,
  QueueStatsResponse,
} from '../../contract/queues.ts';
import { refusal } from '../http/refusal.ts';
import type { Transaction } from '../storage/database.ts';
import { newIds } from '../storage/ids.ts';
import { inChunks } from '../storage/in-chunks.ts';
import type { Tables } from '../storage/tables.ts';
import { totalOrder } from '../storage/total-order.ts';

/** Queues of a project, by default the newest first (design §7; `POST /annotation_queues/query`). */
export async function queryQueues(transaction: Transaction, request: QueryQueuesRequest): Promise<Queue[]> {
  let queues = transaction
    .selectFrom('queues')
    .selectAll()
    .where('project_id', '=', request.project_id)
    .where('deleted_at', 'is', null)
    .limit(request.limit ?? Number.MAX_SAFE_INTEGER)
    .offset(request.offset ?? 0);
  if (request.name) {
    const { name } = request;
    // LIKE ignores case on SQLite and gives % and _ a meaning; the functions that search a text differ by engine.
    queues = queues.where(({ eb, fn, ref, val }) =>
      eb(ref('name'), '!=', fn<string>('replace', [ref('name'), val(name), val('')])),
    );
  }
  for (const { column, direction } of totalOrder(request.sort_by, { field: 'created_at', direction: 'desc' })) {
    queues = queues.orderBy(column, direction);
  }
  return (await queues.execute()).map(queueOf);
}

/** One queue. Refuses with 404 where the project has none of this id. */
export async function readQueue(transaction: Transaction, projectId: string, queueId: string): Promise<Queue> {
  const row = await transaction
    .selectFrom('queues')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', queueId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw refusal(404, `Queue ${queueId} not found`);
  return queueOf(row);
}

/** Makes an empty queue; names need not differ. */
export async function createQueue(
  transaction: Transaction,
  account: string,
  request: CreateQueueRequest,
): Promise<string> {
  const [id = ''] = newIds(1);
  const now = new Date().toISOString();
  await transaction
    .insertInto('queues')
    .values({
      ...request,
      id,
      scorer_refs: JSON.stringify(request.scorer_refs),
      created_at: now,
      created_by: account,
      updated_at: now,
      deleted_at: null,
    })
    .execute();
  return id;
}

/** Counts of items by queue, in the order asked for: completed ones include the skipped, unknown queues have none. */
export async function queueStats(
  transaction: Transaction,
  request: QueueStatsRequest,
): Promise<QueueStatsResponse['stats']> {
  const counts = await inChunks(request.queue_ids, (ids) =>
    transaction
      .selectFrom('queue_items')
      .innerJoin('queues', (join) =>
        join
          .onRef('queues.project_id', '=', 'queue_items.project_id')
          .onRef('queues.id', '=', 'queue_items.queue_id')
          .on('queues.deleted_at', 'is', null),
      )
      .select(({ fn }) => ['queue_id', 'annotation_state', fn.countAll<number>().as('items')])
      .where('queue_items.project_id', '=', request.project_id)
      .where('queue_id', 'in', ids)
      .where('queue_items.deleted_at', 'is', null)
      .groupBy(['queue_id', 'annotation_state'])
      .execute(),
  );
  const stats = new Map(
    request.queue_ids.map((queue_id) => [queue_id, { queue_id, total_items: 0, completed_items: 0 }]),
  );
  for (const { queue_id, annotation_state, items } of counts) {
    const stat = stats.get(queue_id)!;
    stat.total_items += Number(items);
    if (annotation_state === 'completed' || annotation_state === 'skipped') stat.completed_items += Number(items);
  }
  return [...stats.values()];
}

function queueOf(row: Tables['queues']): Queue {
  return { ...row, scorer_refs: JSON.parse(row.scorer_refs) };
}
