import { type Kysely, sql } from 'kysely';
import type { Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';

/** Runs work in a transaction that the SQL in `begin` starts. Rolls back, and throws the first error, if anything fails. */
export function runTransaction<T>(
  db: Kysely<Tables>,
  begin: string,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  return db.connection().execute(async (transaction) => {
    try {
      await sql.raw(begin).execute(transaction);
      const result = await work(transaction);
      await sql`commit`.execute(transaction);
      return result;
    } catch (error) {
      // Fails if the connection is lost, or if SQLite has already rolled back, such as on a full disk.
      await sql`rollback`.execute(transaction).catch(() => {});
      throw error;
    }
  });
}
