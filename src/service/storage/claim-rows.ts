import { sql } from 'kysely';
import type { AnnotatorKind } from '../../contract/claims.ts';
import type { Transaction } from './database.ts';

/**
 * Returns the time by the clock of the database, at the beginning of the transaction or up to a second earlier. Processes with
 * clocks of their own agree on it about what has ended.
 */
export async function databaseTime(transaction: Transaction): Promise<Date> {
  const { rows } = await sql<{ now: Date | string }>`select current_timestamp as now`.execute(transaction);
  const { now } = rows[0]!;
  // SQLite sends text in UTC, without saying so.
  return typeof now === 'string' ? new Date(`${now.replace(' ', 'T')}Z`) : now;
}

/**
 * Ends the claim of an account on an item, in a write transaction.
 * @returns what the account was when it claimed; undefined if it has not claimed the item.
 */
export async function endClaim(
  transaction: Transaction,
  item_id: string,
  account: string,
): Promise<AnnotatorKind | undefined> {
  const claim = await transaction
    .selectFrom('item_claims')
    .select('annotator_kind')
    .where('item_id', '=', item_id)
    .where('account', '=', account)
    .executeTakeFirst();
  if (!claim) return undefined;
  await transaction.deleteFrom('item_claims').where('item_id', '=', item_id).where('account', '=', account).execute();
  return claim.annotator_kind;
}
