import type { Transaction } from './database.ts';
import { inChunks } from './in-chunks.ts';
import type { Tables } from './tables.ts';

/** Identifies a run that is under way. */
export type RunKey = Pick<Tables['evaluation_jobs'], 'project_id' | 'call_id'>;

/** The heartbeat of a lease whose owner has given it up; it is taken over at once. */
export const releasedHeartbeat = -1;

/** A lease, with the numbers of its trials. */
export interface EvaluationLease {
  owner: string;
  /** A counter that the owner keeps raising while it is alive. */
  heartbeat: number;
  trials: number[];
}

/** Adds a run to those that are under way, in a write transaction. */
export async function putJob(transaction: Transaction, job: Tables['evaluation_jobs']): Promise<void> {
  await transaction.insertInto('evaluation_jobs').values(job).execute();
}

/** Returns the keys of the runs that processes with a model provider work on, the oldest first. */
export async function listJobs(transaction: Transaction, provider: string, limit: number): Promise<RunKey[]> {
  return transaction
    .selectFrom('evaluation_jobs')
    .select(['project_id', 'call_id'])
    .where('provider', '=', provider)
    .orderBy('created_at')
    .orderBy('call_id')
    .limit(limit)
    .execute();
}

/** Returns a run that is under way, with what is to be done; undefined if it has ended. */
export async function findJob(
  transaction: Transaction,
  { project_id, call_id }: RunKey,
): Promise<Tables['evaluation_jobs'] | undefined> {
  return transaction
    .selectFrom('evaluation_jobs')
    .selectAll()
    .where('project_id', '=', project_id)
    .where('call_id', '=', call_id)
    .executeTakeFirst();
}

/** Returns the counters of a run that is under way; undefined if it has ended. */
export async function findProgress(
  transaction: Transaction,
  { project_id, call_id }: RunKey,
): Promise<Pick<Tables['evaluation_jobs'], 'concurrency' | 'trial_count' | 'next_trial'> | undefined> {
  return transaction
    .selectFrom('evaluation_jobs')
    .select(['concurrency', 'trial_count', 'next_trial'])
    .where('project_id', '=', project_id)
    .where('call_id', '=', call_id)
    .executeTakeFirst();
}

/** Stores the first trial that no process has claimed, in a write transaction. */
export async function setNextTrial(
  transaction: Transaction,
  { project_id, call_id }: RunKey,
  next_trial: number,
): Promise<void> {
  await transaction
    .updateTable('evaluation_jobs')
    .set({ next_trial })
    .where('project_id', '=', project_id)
    .where('call_id', '=', call_id)
    .execute();
}

/** Removes runs from those that are under way, with their leases, in a write transaction. */
export async function deleteJobs(transaction: Transaction, project_id: string, callIds: string[]): Promise<void> {
  await inChunks(callIds, async (chunk) => {
    for (const table of ['evaluation_leases', 'evaluation_jobs'] as const) {
      await transaction.deleteFrom(table).where('project_id', '=', project_id).where('call_id', 'in', chunk).execute();
    }
    return [];
  });
}

/** Returns the leases of a run in the order of their owners. */
export async function listLeases(
  transaction: Transaction,
  { project_id, call_id }: RunKey,
): Promise<EvaluationLease[]> {
  const rows = await transaction
    .selectFrom('evaluation_leases')
    .select(['owner', 'beat as heartbeat', 'trials'])
    .where('project_id', '=', project_id)
    .where('call_id', '=', call_id)
    .orderBy('owner')
    .execute();
  return rows.map(({ trials, ...lease }) => ({ ...lease, trials: JSON.parse(trials) as number[] }));
}

/** Stores a lease, or replaces that of the same owner, in a write transaction. */
export async function putLease(
  transaction: Transaction,
  key: RunKey,
  { owner, heartbeat: beat, trials }: EvaluationLease,
): Promise<void> {
  const text = JSON.stringify(trials);
  await transaction
    .insertInto('evaluation_leases')
    .values({ ...key, owner, beat, trials: text })
    .onConflict((conflict) => conflict.columns(['project_id', 'call_id', 'owner']).doUpdateSet({ beat, trials: text }))
    .execute();
}

/** Deletes the lease of an owner, in a write transaction. */
export async function deleteLease(
  transaction: Transaction,
  { project_id, call_id }: RunKey,
  owner: string,
): Promise<void> {
  await transaction
    .deleteFrom('evaluation_leases')
    .where('project_id', '=', project_id)
    .where('call_id', '=', call_id)
    .where('owner', '=', owner)
    .execute();
}
