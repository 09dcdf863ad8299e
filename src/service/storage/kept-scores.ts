import type { Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';
import { selectInProject } from './in-chunks.ts';

/** A score that later runs use again, by the digest of the scorer, the row and the output. */
export type KeptScore = Tables['kept_scores'];

/** Keeps a score, in a write transaction; it takes the place of an earlier one with the same digest. */
export async function putKeptScores(transaction: Transaction, scores: readonly KeptScore[]): Promise<void> {
  for (const score of scores) {
    await transaction
      .insertInto('kept_scores')
      .values(score)
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'content_digest']).doUpdateSet({ call_id: score.call_id }),
      )
      .execute();
  }
}

/** Returns the id of the recorded call with a score; undefined if none is kept. */
export async function findKeptScore(
  transaction: Transaction,
  { project_id, content_digest }: Omit<KeptScore, 'call_id'>,
): Promise<string | undefined> {
  const row = await selectInProject(transaction, 'kept_scores', project_id)
    .select('call_id')
    .where('content_digest', '=', content_digest)
    .executeTakeFirst();
  return row?.call_id;
}
