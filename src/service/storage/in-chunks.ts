import { inBatches } from '../../core/in-batches.ts';
import type { Transaction } from './database.ts';

/** Values in one `in (…)` list, far below the database engines' limits on parameters. */
const chunkSize = 500;

/** Runs a query for a list of values of any length, in chunks and without duplicates, and returns all rows. */
export async function inChunks<Row>(
  values: readonly string[],
  query: (chunk: string[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const chunk of inBatches([...new Set(values)], chunkSize)) rows.push(...(await query(chunk)));
  return rows;
}

/** Deletes rows of a project by their ids, in a write transaction. */
export async function deleteByIds(
  transaction: Transaction,
  table: 'calls' | 'early_call_ends' | 'costs' | 'feedback',
  project_id: string,
  ids: readonly string[],
): Promise<void> {
  await inChunks(ids, (chunk) =>
    transaction.deleteFrom(table).where('project_id', '=', project_id).where('id', 'in', chunk).execute(),
  );
}
