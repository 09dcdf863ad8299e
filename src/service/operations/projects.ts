import type { Transaction } from '../storage/database.ts';
import { inTransaction } from './operation.ts';

/** Lists the projects that have queues, objects or recorded calls, with the number of their queues. */
export const listProjects = inTransaction('listProjects', async (transaction, { maySee }) => {
  const counts = await transaction
    .selectFrom('queues')
    .select(({ fn }) => ['project_id', fn.countAll<number>().as('queues')])
    .where('deleted_at', 'is', null)
    .groupBy('project_id')
    .execute();
  // PostgreSQL's driver returns counts as strings.
  const queues = new Map(counts.map(({ project_id, queues }) => [project_id, Number(queues)]));
  const ids = (await projectIds(transaction)).filter(maySee);
  return { projects: ids.map((project_id) => ({ project_id, queues: queues.get(project_id) ?? 0 })) };
});

/** Returns the ids of the projects that have queues, objects or recorded calls, sorted. */
export async function projectIds(transaction: Transaction): Promise<string[]> {
  const rows = await transaction
    .selectFrom('objects')
    .select('project_id')
    .union(transaction.selectFrom('calls').select('project_id'))
    .union(transaction.selectFrom('queues').select('project_id').where('deleted_at', 'is', null))
    .execute();
  return rows.map(({ project_id }) => project_id).sort();
}
