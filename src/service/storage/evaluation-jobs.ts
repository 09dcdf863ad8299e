import { sql } from 'kysely';
import type { Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';
import { inChunks, selectInProject } from './in-chunks.ts';

/** A run in progress, and its work. */
export type EvaluationJob = Tables['evaluation_jobs'];

/** Identifies a run in progress. */
export type RunKey = Pick<EvaluationJob, 'project_id' | 'call_id'>;

/** The lease of a run: only the process that holds it works on the run. */
export type RunLease = RunKey & Pick<EvaluationJob, 'account' | 'owner' | 'beat'>;

/** The first trial that has not begun, those that have begun and not ended, and what the run has taken of its budget. */
export interface RunPosition {
  next_trial: number;
  open_trials: number[];
  spent: object;
}

/** Maximum number of runs among which a process looks for one to work on. */
const maxListedJobs = 1000;

/** Adds a run to those in progress, in a write transaction. */
export async function putJob(
  transaction: Transaction,
  job: Omit<EvaluationJob, 'owner' | 'beat' | 'next_trial' | 'open_trials' | 'spent'>,
): Promise<void> {
  const unstarted = { owner: null, beat: 0, next_trial: 0, open_trials: '[]', spent: '{}' };
  await transaction
    .insertInto('evaluation_jobs')
    .values({ ...job, ...unstarted })
    .execute();
}

/**
 * Returns the leases of the runs that processes with a model provider work on: the oldest run of each account, then the second
 * oldest of each, and so on.
 */
export async function listLeases(transaction: Transaction, provider: string): Promise<RunLease[]> {
  const numbered = transaction
    .selectFrom('evaluation_jobs')
    .select(['project_id', 'call_id', 'account', 'owner', 'beat', 'created_at'])
    .select(sql<number>`row_number() over (partition by account order by created_at, call_id)`.as('number_of_account'))
    .where('provider', '=', provider);
  return transaction
    .selectFrom(numbered.as('numbered'))
    .select(['project_id', 'call_id', 'account', 'owner', 'beat'])
    .orderBy('number_of_account')
    .orderBy('created_at')
    .orderBy('call_id')
    .limit(maxListedJobs)
    .execute();
}

/** Makes a process the owner of a run, in a write transaction. Returns undefined if the lease has changed since it was read. */
export async function takeLease(
  transaction: Transaction,
  { project_id, call_id, beat }: RunKey & Pick<RunLease, 'beat'>,
  owner: string,
): Promise<EvaluationJob | undefined> {
  await transaction
    .updateTable('evaluation_jobs')
    .set({ owner, beat: beat + 1 })
    .where('project_id', '=', project_id)
    .where('call_id', '=', call_id)
    .where('beat', '=', beat)
    .execute();
  return selectInProject(transaction, 'evaluation_jobs', project_id)
    .selectAll()
    .where('call_id', '=', call_id)
    .where('owner', '=', owner)
    .executeTakeFirst();
}

/**
 * Stores the position of a run and raises its heartbeat, in a write transaction.
 * @param nextOwner null to give the lease up.
 * @returns false if the run has ended or the lease belongs to another process.
 */
export async function renewLease(
  transaction: Transaction,
  { project_id, call_id }: RunKey,
  { next_trial, open_trials, spent }: RunPosition,
  owner: string,
  nextOwner: string | null = owner,
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable('evaluation_jobs')
    .set(({ eb }) => ({
      owner: nextOwner,
      beat: eb('beat', '+', 1),
      next_trial,
      open_trials: JSON.stringify(open_trials),
      spent: JSON.stringify(spent),
    }))
    .where('project_id', '=', project_id)
    .where('call_id', '=', call_id)
    .where('owner', '=', owner)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Returns how many trials a run has ended, of how many; undefined if it is not in progress. */
export async function findProgress(
  transaction: Transaction,
  { project_id, call_id }: RunKey,
): Promise<{ completed: number; total: number } | undefined> {
  const job = await selectInProject(transaction, 'evaluation_jobs', project_id)
    .select(['trial_count', 'next_trial', 'open_trials'])
    .where('call_id', '=', call_id)
    .executeTakeFirst();
  return job && { completed: job.next_trial - JSON.parse(job.open_trials).length, total: job.trial_count };
}

/** Removes runs from those in progress, in a write transaction. Returns how many of them were. */
export async function deleteJobs(transaction: Transaction, project_id: string, callIds: string[]): Promise<number> {
  const results = await inChunks(callIds, (chunk) =>
    transaction
      .deleteFrom('evaluation_jobs')
      .where('project_id', '=', project_id)
      .where('call_id', 'in', chunk)
      .execute(),
  );
  return results.reduce((sum, { numDeletedRows }) => sum + Number(numDeletedRows), 0);
}
