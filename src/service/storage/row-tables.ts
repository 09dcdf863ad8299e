import type { PathStep } from '../../contract/references.ts';
import { inBatches } from '../../core/in-batches.ts';
import { storedJson } from '../../core/json/exact-number.ts';
import { Pacer } from '../../core/turns.ts';
import type { Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';
import { inChunks, selectInProject } from './in-chunks.ts';
import { insertRows } from './insert-rows.ts';
import { memoryBytesOf } from './memory-bytes.ts';

/** JSON, and the memory in bytes that it takes with its value. */
export type StoredValue = Pick<Tables['row_contents'], 'content' | 'memory_bytes'>;

/** Identifies a stored list of rows. */
export interface TableKey {
  project_id: string;
  table_digest: string;
}

/** Stays below the database engines' limits on parameters. */
const rowsPerInsert = 200;
/** Number of rows that are written in one turn of the event loop. */
const rowsWithoutPause = 5000;

/** Stores rows in a write transaction, except those that the project has already. */
export async function putRows(
  transaction: Transaction,
  project_id: string,
  rows: readonly object[],
  digests: readonly string[],
): Promise<void> {
  // Every process inserts in the same order, so that two processes with the same rows never wait for each other.
  const distinct = [...new Map(digests.map((digest, index) => [digest, index]))].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const batch of inBatches(distinct, rowsPerInsert)) {
    const values = batch.map(([digest, index]) => {
      const content = storedJson(rows[index]);
      return { project_id, digest, memory_bytes: memoryBytesOf(content), content };
    });
    await insertRows(transaction, 'row_contents', values, ['project_id', 'digest']);
  }
}

/** Stores a list of stored rows in a write transaction, unless the project has it already. */
export async function putTable(
  transaction: Transaction,
  { project_id, digest, created_by }: { project_id: string; digest: string; created_by: string },
  rowDigests: readonly string[],
): Promise<void> {
  if (await findTable(transaction, { project_id, table_digest: digest })) return;
  const row_count = rowDigests.length;
  await transaction
    .insertInto('row_tables')
    .values({ project_id, digest, row_count, created_at: new Date().toISOString(), created_by })
    .execute();
  const pacer = new Pacer();
  for (let start = 0; start < row_count; start += rowsPerInsert) {
    // Only for long lists: it keeps others from writing for longer.
    if (row_count > rowsWithoutPause) await pacer.pause();
    const places = rowDigests
      .slice(start, start + rowsPerInsert)
      .map((row_digest, index) => ({ project_id, table_digest: digest, row_index: start + index, row_digest }));
    await transaction.insertInto('table_rows').values(places).execute();
  }
}

/** Returns the digests of the rows of a list, in their order; undefined if there is no such list. */
export async function rowDigestsOf(transaction: Transaction, key: TableKey): Promise<string[] | undefined> {
  const table = await findTable(transaction, key);
  if (!table) return undefined;
  const rows = await selectInProject(transaction, 'table_rows', key.project_id)
    .select('row_digest')
    .where('table_digest', '=', key.table_digest)
    .orderBy('row_index')
    .execute();
  return rows.map(({ row_digest }) => row_digest);
}

/** Returns the number of rows of a list; undefined if there is no such list. */
export async function findTable(
  transaction: Transaction,
  { project_id, table_digest }: TableKey,
): Promise<{ row_count: number } | undefined> {
  return (await findTables(transaction, project_id, [table_digest]))[0];
}

/** Returns the numbers of rows of those lists that exist. */
export async function findTables(
  transaction: Transaction,
  project_id: string,
  digests: string[],
): Promise<{ digest: string; row_count: number }[]> {
  return selectInProject(transaction, 'row_tables', project_id)
    .select(['digest', 'row_count'])
    .where('digest', 'in', digests)
    .execute();
}

/** Returns the first of some digests for which the project has no row. */
export async function findUnknownRow(
  transaction: Transaction,
  project_id: string,
  digests: readonly string[],
): Promise<string | undefined> {
  const pacer = new Pacer();
  const found = await inChunks([...digests], async (chunk) => {
    await pacer.pause();
    return selectInProject(transaction, 'row_contents', project_id)
      .select('digest')
      .where('digest', 'in', chunk)
      .execute();
  });
  const known = new Set(found.map(({ digest }) => digest));
  return digests.find((digest) => !known.has(digest));
}

/** Returns the rows of a list with their places and sizes, as a query to be narrowed and ordered. */
export function selectPlaces(transaction: Transaction, { project_id, table_digest }: TableKey) {
  return selectInProject(transaction, 'table_rows', project_id)
    .innerJoin('row_contents', (join) =>
      join
        .onRef('row_contents.project_id', '=', 'table_rows.project_id')
        .onRef('row_contents.digest', '=', 'table_rows.row_digest'),
    )
    .select(['row_index', 'row_digest', 'memory_bytes'])
    .where('table_digest', '=', table_digest);
}

/** Returns the rows of a list as {@link selectPlaces} does, with their contents. */
export function selectRows(transaction: Transaction, key: TableKey) {
  return selectPlaces(transaction, key).select('content');
}

/**
 * Reads the row to which a step from a list leads: by its place in the list, or by its digest, for which any row of the
 * project will do: the digest names its content. Undefined if there is none.
 */
export async function findRow(
  transaction: Transaction,
  table: TableKey,
  { edge, name }: PathStep,
): Promise<StoredValue | undefined> {
  if (edge === 'id') {
    return selectInProject(transaction, 'row_contents', table.project_id)
      .select(['content', 'memory_bytes'])
      .where('digest', '=', name)
      .executeTakeFirst();
  }
  if (edge !== 'index' || !/^\d{1,9}$/.test(name)) return undefined;
  return selectRows(transaction, table).where('row_index', '=', Number(name)).executeTakeFirst();
}
