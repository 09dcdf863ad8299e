import { inTransaction } from './operation.ts';

/** Lists the projects that have queues, objects or recorded calls, with the number of their queues. */
export const listProjects = inTransaction('listProjects', async (transaction, { maySee }) => {
  const counts = await transaction
    .selectFrom('queues')
    .select(({ fn }) => ['project_id', fn.countAll<number>().as('queues')])
    .where('deleted_at', 'is', null)
    .groupBy('project_id')
    .execute();
  const others = await transaction
    .selectFrom('objects')
    .select('project_id')
    .union(transaction.selectFrom('calls').select('project_id'))
    .execute();
  // PostgreSQL's driver returns counts as strings.
  const queues = new Map(counts.map(({ project_id, queues }) => [project_id, Number(queues)]));
  const ids = [...new Set([...queues.keys(), ...others.map(({ project_id }) => project_id)])].filter(maySee).sort();
  return { projects: ids.map((project_id) => ({ project_id, queues: queues.get(project_id) ?? 0 })) };
});
