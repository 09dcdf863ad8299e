import type { ListProjectsResponse } from '../../contract/projects.ts';
import type { Transaction } from '../storage/database.ts';

/** Lists the projects that have queues, with the number of them. */
export async function listProjects(transaction: Transaction): Promise<ListProjectsResponse> {
  const rows = await transaction
    .selectFrom('queues')
    .select(({ fn }) => ['project_id', fn.countAll<number>().as('queues')])
    .where('deleted_at', 'is', null)
    .groupBy('project_id')
    .orderBy('project_id')
    .execute();
  // PostgreSQL's driver returns counts as strings.
  return { projects: rows.map(({ project_id, queues }) => ({ project_id, queues: Number(queues) })) };
}
