import { sql } from 'kysely';
import type { Transaction } from '../database.ts';

/** Returns the faults that an interrupted restore or a manual change left in the tables. */
export async function findFaults(transaction: Transaction): Promise<string[]> {
  const { rows } = await sql<{ fault: string }>`
    select 'the database is a standby, which cannot be written' as fault where pg_is_in_recovery()
    union all
    select 'index ' || c.relname || ' is invalid' from pg_catalog.pg_index i
      join pg_catalog.pg_class c on c.oid = i.indexrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = current_schema() and not i.indisvalid
    union all
    select 'constraint ' || c.conname || ' was never validated' from pg_catalog.pg_constraint c
      join pg_catalog.pg_namespace n on n.oid = c.connamespace
      where n.nspname = current_schema() and not c.convalidated
    union all
    select 'column ' || table_name || '.' || column_name || ' is not in byte order' from information_schema.columns
      where table_schema = current_schema() and data_type = 'text'
      and case when collation_name is null then 'B' > 'a' else collation_name <> 'C' end`.execute(transaction);
  return rows.map(({ fault }) => fault);
}
