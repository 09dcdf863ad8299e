import type { Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';

/** Returns the row of a queue that is created now. */
export function newQueue({
  scorer_refs,
  ...queue
}: Pick<Tables['queues'], 'project_id' | 'id' | 'name' | 'description' | 'created_by'> & {
  scorer_refs: readonly string[];
}): Tables['queues'] {
  const now = new Date().toISOString();
  return { ...queue, scorer_refs: JSON.stringify(scorer_refs), created_at: now, updated_at: now, deleted_at: null };
}

/** Returns the row of a queue that is not deleted; undefined if there is none. */
export async function findQueue(
  transaction: Transaction,
  projectId: string,
  queueId: string,
): Promise<Tables['queues'] | undefined> {
  return transaction
    .selectFrom('queues')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', queueId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
}
