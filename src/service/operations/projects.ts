import { sql } from 'kysely';
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
  // Each project is one step in the index of calls.
  const { rows } = await sql<{ project_id: string }>`
    with recursive with_calls(id) as (
      select min(project_id) from calls
      union all
      select (select min(project_id) from calls where project_id > with_calls.id) from with_calls where id is not null
    )
    select id as project_id from with_calls where id is not null
    union select project_id from objects
    union select project_id from queues where deleted_at is null
  `.execute(transaction);
  return rows.map(({ project_id }) => project_id).sort();
}
