import { type Expression, PostgresAdapter, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { inBatches } from '../../core/in-batches.ts';
import type { Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';

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

/** Returns true if the database of a transaction is PostgreSQL. */
export function isPostgres(transaction: Transaction): boolean {
  return transaction.getExecutor().adapter instanceof PostgresAdapter;
}

/** Returns SQL of the JSON list of a column's texts, of all rows or of those that satisfy a condition. */
export function jsonOf(
  column: string,
  transaction: Transaction,
  condition: Expression<unknown> = sql`true`,
): RawBuilder<string | null> {
  const texts = sql.ref(column);
  const filter = sql`filter (where ${condition})`;
  return isPostgres(transaction)
    ? sql`(json_agg(${texts}) ${filter})::text`
    : sql`json_group_array(${texts}) ${filter}`;
}

/** The tables whose rows belong to projects. */
type ProjectTable = {
  [Table in keyof Tables]: 'project_id' extends keyof Tables[Table] ? Table : never;
}[keyof Tables];

/** Selects the rows of a project in a table. */
export function selectInProject<Table extends ProjectTable>(
  transaction: Transaction,
  table: Table,
  project_id: string,
): SelectQueryBuilder<Tables, Table, object> {
  const rows = transaction.selectFrom(table as 'calls').where(sql.ref(`${table}.project_id`), '=', project_id);
  return rows as unknown as SelectQueryBuilder<Tables, Table, object>;
}

/**
 * Selects the rows of a project with some ids. PostgreSQL is made to look up each id: its statistics know too little of a new
 * project, so it would read the whole project for a list of ids.
 */
export function selectByIds<Table extends 'calls' | 'early_call_ends' | 'deleted_calls'>(
  transaction: Transaction,
  table: Table,
  project_id: string,
  ids: readonly string[],
): SelectQueryBuilder<Tables, Table, object> {
  const ofTable = table as 'deleted_calls';
  const wanted = sql`unnest(${ids}::text[]) as wanted(wanted_id)`;
  const row = sql`select * from ${sql.table(table)} where project_id = ${project_id} and id = wanted_id limit 1`;
  const rows = isPostgres(transaction)
    ? transaction.selectFrom(
        sql<
          Tables['deleted_calls']
        >`(select ${sql.ref(table)}.* from ${wanted} cross join lateral (${row}) as ${sql.ref(table)})`.as(ofTable),
      )
    : selectInProject(transaction, ofTable, project_id).where(
        'id',
        'in',
        sql<string>`(select value from json_each(${JSON.stringify(ids)}))`,
      );
  return rows as unknown as SelectQueryBuilder<Tables, Table, object>;
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
