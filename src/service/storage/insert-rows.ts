import { CompiledQuery } from 'kysely';
import { inBatches, inBatchesBySize } from '../../core/in-batches.ts';
import type { Transaction } from './database.ts';
import { type Tables, tables } from './database-tables.ts';
import { isPostgres } from './in-chunks.ts';

/** Keeps a statement below the limits of the engines, and from blocking the event loop. */
const maxRows = 128;
const maxChars = 512 * 1024;

/**
 * Inserts rows in a write transaction, with statements whose texts are few, so that the engines prepare them seldom.
 * @param key the columns of a key. A row with a key that is already there is left out.
 * @param change SQL that changes the row that is there instead.
 * @returns the number of inserted and changed rows.
 */
export async function insertRows<Table extends keyof Tables>(
  transaction: Transaction,
  table: Table,
  rows: readonly Tables[Table][],
  key?: readonly (keyof Tables[Table] & string)[],
  change = 'nothing',
): Promise<number> {
  const hasLists = isPostgres(transaction);
  const columns = Object.keys(tables[table].columns) as (keyof Tables[Table] & string)[];
  const valuesOf = hasLists ? valuesOfArrays : valuesOfRows;
  const conflict = key ? ` on conflict (${key.join(', ')}) do ${change}` : '';
  let inserted = 0;
  for (const list of inBatchesBySize(rows, maxChars, charsOf)) {
    for (const batch of hasLists ? inBatches(list, maxRows) : inPowersOfTwo(list)) {
      const text = `insert into ${table} (${columns.join(', ')}) ${valuesOf(table, batch.length)}${conflict}`;
      const parameters = hasLists
        ? columns.map((column) => batch.map((row) => row[column]))
        : batch.flatMap((row) => columns.map((column) => row[column]));
      const { numAffectedRows } = await transaction.executeQuery(CompiledQuery.raw(text, parameters));
      inserted += Number(numAffectedRows);
    }
  }
  return inserted;
}

function charsOf(row: object): number {
  let chars = 0;
  for (const value of Object.values(row)) if (typeof value === 'string') chars += value.length;
  return chars;
}

/** Yields the entries in lists whose lengths are powers of two, so that lists of many lengths need few statements. */
function* inPowersOfTwo<Entry>(entries: readonly Entry[]): Generator<Entry[]> {
  for (let start = 0, size = maxRows; start < entries.length; start += size) {
    while (size > entries.length - start) size /= 2;
    yield entries.slice(start, start + size);
  }
}

function valuesOfRows(table: keyof Tables, count: number): string {
  const row = `(${Object.keys(tables[table].columns).fill('?').join(', ')})`;
  return `values ${new Array(count).fill(row).join(', ')}`;
}

/** PostgreSQL reads a list for each column in a fraction of the time that it takes to read a parameter for each value. */
function valuesOfArrays(table: keyof Tables): string {
  const lists = Object.values(tables[table].columns).map(({ type }, index) => `$${index + 1}::${type}[]`);
  return `select * from unnest(${lists.join(', ')})`;
}
