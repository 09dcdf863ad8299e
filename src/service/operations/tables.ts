import type { TableRow } from '../../contract/tables.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { inBatchesBySize } from '../../core/in-batches.ts';
import { parseStoredJson } from '../../core/json/exact-number.ts';
import { nextTurn, Pacer } from '../../core/turns.ts';
import { sortRecords } from '../query/sort-records.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database } from '../storage/database.ts';
import { contentDigest, tableDigest } from '../storage/digest.ts';
import { inChunks } from '../storage/in-chunks.ts';
import { totalMemoryOf } from '../storage/memory-bytes.ts';
import {
  findTable,
  findTables,
  findUnknownRow,
  putRows,
  putTable,
  rowDigestsOf,
  selectPlaces,
  selectRows,
  type TableKey,
} from '../storage/row-tables.ts';
import { inTransaction, type OperationHandler, type OperationInput } from './operation.ts';

/** Maximum number of rows of a list; updates can make it longer than one request. */
const maxRows = 1_000_000;
/** Maximum number of changes inside a list in one request; each of them moves the rows after it. */
const maxMoves = 1000;
/** Maximum number of rows in one transaction, so that other changes need not wait for a whole list. */
const rowsPerTransaction = 1000;

/** Stores a list of rows; the same rows again are the same list. */
export const createTable: OperationHandler<'createTable'> = async ({ body: { table }, account }, { database }) =>
  storeRows(database, { project_id: table.project_id, created_by: account }, table.rows);

/** Stores a list of rows in several transactions, so that other requests can proceed. Returns its digest and those of the rows. */
export async function storeRows(
  database: Database,
  { project_id, created_by }: { project_id: string; created_by: string },
  rows: readonly object[],
): Promise<{ digest: string; row_digests: string[] }> {
  // Computed before the transactions, which keep others from writing.
  const row_digests: string[] = [];
  const pacer = new Pacer();
  for (const row of rows) {
    await pacer.pause();
    row_digests.push(contentDigest(row));
  }
  const digest = tableDigest(row_digests);
  const isKnown = await database.read((transaction) => findTable(transaction, { project_id, table_digest: digest }));
  if (isKnown) return { digest, row_digests };
  // Rows that a failure leaves without a list are found by the next attempt.
  for (let at = 0; at < rows.length; at += rowsPerTransaction) {
    await nextTurn();
    const end = at + rowsPerTransaction;
    await database.write((transaction) =>
      putRows(transaction, project_id, rows.slice(at, end), row_digests.slice(at, end)),
    );
  }
  await database.write((transaction) => putTable(transaction, { project_id, digest, created_by }, row_digests));
  return { digest, row_digests };
}

/**
 * Stores the list that results from changes of a stored one, which stays as it is.
 * @throws Refusal 404 for an unknown list, 400 for an index outside of it, 413 for too many rows or changes.
 */
export const updateTable = inTransaction('updateTable', async (transaction, { body, account }) => {
  const { project_id, base_digest, updates } = body;
  const digests = await rowDigestsOf(transaction, { project_id, table_digest: base_digest });
  if (!digests) throw new Refusal(404, `Table ${base_digest} not found`);
  const additions = updates.filter((update) => !('pop' in update)).length;
  const moves = updates.filter((update) => !('append' in update)).length;
  if (moves > maxMoves)
    throw new Refusal(413, `More than ${maxMoves} rows are inserted or removed: send fewer at once`);
  if (digests.length + additions > maxRows) throw new Refusal(413, `A table has at most ${maxRows} rows`);
  const added: object[] = [];
  const addedDigests: string[] = [];
  const updated_row_digests: string[] = [];
  for (const update of updates) {
    if ('pop' in update) {
      checkIndex(update.pop.index, digests.length - 1);
      updated_row_digests.push(...digests.splice(update.pop.index, 1));
      continue;
    }
    const { row, index } = 'append' in update ? { ...update.append, index: digests.length } : update.insert;
    checkIndex(index, digests.length);
    const rowDigest = contentDigest(row);
    added.push(row);
    addedDigests.push(rowDigest);
    digests.splice(index, 0, rowDigest);
    updated_row_digests.push(rowDigest);
  }
  await putRows(transaction, project_id, added, addedDigests);
  const digest = tableDigest(digests);
  await putTable(transaction, { project_id, digest, created_by: account }, digests);
  return { digest, updated_row_digests };
});

function checkIndex(index: number, last: number): void {
  if (index < 0 || index > last) throw new Refusal(400, `Index out of range: ${index}`);
}

/**
 * Reads rows of a list, by default in their order; an unknown list has none.
 * @throws Refusal 400 for a sort field that is no path, 413 for rows that are too large together.
 */
export const queryTable: OperationHandler<'queryTable'> = async ({ body, budget }, { database }) => {
  const { sort_by } = body;
  for (const { field } of sort_by ?? []) {
    if (field.split('.').some((name) => name.trim() === '')) throw new Refusal(400, `Invalid sort field: ${field}`);
  }
  const offset = body.offset ?? 0;
  const limit = body.limit ?? Number.MAX_SAFE_INTEGER;
  if (!sort_by?.length) return { rows: await readRows(database, body, { limit, offset }, budget) };
  const rows = await readRows(database, body, { limit: Number.MAX_SAFE_INTEGER, offset: 0 }, budget);
  const sorted = await sortRecords(rows, sort_by, ({ val }) => val as object, budget);
  return { rows: sorted.slice(offset, offset + limit) };
};

/**
 * Stores a list of rows that the project has already; the same rows again are the same list.
 * @throws Refusal 404 for an unknown row, 400 for another digest than the expected one, 413 for too many rows.
 */
export const createTableFromDigests: OperationHandler<'createTableFromDigests'> = async (
  { body: { project_id, row_digests, expected_digest }, account },
  { database },
) => {
  if (row_digests.length > maxRows) throw new Refusal(413, `A table has at most ${maxRows} rows`);
  const digest = tableDigest(row_digests);
  if (expected_digest && expected_digest !== digest) {
    throw new Refusal(400, `These rows have the digest ${digest}, not ${expected_digest}`);
  }
  await database.write(async (transaction) => {
    if (await findTable(transaction, { project_id, table_digest: digest })) return;
    const unknown = await findUnknownRow(transaction, project_id, row_digests);
    if (unknown !== undefined) throw new Refusal(404, `Row ${unknown.slice(0, 100)} not found`);
    await putTable(transaction, { project_id, digest, created_by: account }, row_digests);
  });
  return { digest };
};

/** Counts the rows of lists; unknown lists are skipped. */
export const countRowsOfTables = inTransaction('countRowsOfTables', async (transaction, { body }) => {
  const digests = [...new Set(body.digests ?? [])];
  const found = await inChunks(digests, (chunk) => findTables(transaction, body.project_id, chunk));
  const counts = new Map(found.map(({ digest, row_count }) => [digest, row_count]));
  return {
    tables: digests
      .filter((digest) => counts.has(digest))
      .map((digest) => ({ digest, count: counts.get(digest)!, storage_size_bytes: null })),
  };
});

/** Counts the rows of a list; an unknown list has none. */
export const countTableRows = inTransaction('countTableRows', async (transaction, { body }) => {
  const table = await findTable(transaction, { project_id: body.project_id, table_digest: body.digest });
  return { count: table?.row_count ?? 0 };
});

/** Number of rows, and of their bytes, that are read at once. */
const rowsPerRead = 500;
const bytesPerRead = 16 * 1024 * 1024;

async function readRows(
  database: Database,
  { project_id, digest, filter }: OperationInput<'queryTable'>['body'],
  { limit, offset }: { limit: number; offset: number },
  budget: RequestBudget,
): Promise<TableRow[]> {
  const table: TableKey = { project_id, table_digest: digest };
  const tooLarge = 'ask for fewer rows at once, with limit and offset';
  const rows: TableRow[] = [];
  let last = -1;
  while (rows.length < limit) {
    const count = Math.min(rowsPerRead, limit - rows.length);
    const places = await database.read((transaction) => {
      let found = selectPlaces(transaction, table).orderBy('row_index');
      if (filter?.row_digests?.length) found = found.where('row_digest', 'in', filter.row_digests);
      return found
        .where('row_index', '>', last)
        .limit(count)
        .offset(last === -1 ? offset : 0)
        .execute();
    });
    for (const batch of inBatchesBySize(places, bytesPerRead, ({ memory_bytes }) => memory_bytes)) {
      await budget.reserve(totalMemoryOf(batch), tooLarge);
      const indexes = batch.map(({ row_index }) => row_index);
      const found = await database.read((transaction) =>
        selectRows(transaction, table).where('row_index', 'in', indexes).orderBy('row_index').execute(),
      );
      for (const { row_index, row_digest, content, memory_bytes } of found) {
        await budget.parse(memory_bytes);
        rows.push({ digest: row_digest, val: parseStoredJson(content), original_index: row_index });
      }
    }
    last = places.at(-1)?.row_index ?? last;
    if (places.length < count) break;
  }
  return rows;
}
