import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database, TextIndex, TextPattern, Transaction } from '../database.ts';
import type { Tables } from '../database-tables.ts';
import { maxMatchedBytes, runsOf } from '../text-patterns.ts';

const isLarge = sql<SqlBool>`memory_bytes > ${sql.lit(maxMatchedBytes)}`;
const isSmall = sql<SqlBool>`memory_bytes <= ${sql.lit(maxMatchedBytes)}`;

/** What follows `on calls` for each index, by its name. */
const definitions: readonly (readonly [name: string, definition: RawBuilder<unknown>])[] = [
  ['calls_text_large', sql`(id) where ${isLarge}`],
  ['calls_text_inputs', sql`using gin (inputs gin_trgm_ops) where ${isSmall}`],
  ['calls_text_output', sql`using gin (output gin_trgm_ops) where ${isSmall}`],
];
const columns = ['inputs', 'output'];

/** The extension finds a pattern by three letters or digits in a row; without them, it would read every call. */
const indexedRun = /[A-Za-z0-9]{3}/;

/** Returns the index of texts in a database. It is built beside the writers, which do not wait. */
export function postgresTextIndex(db: Kysely<Tables>, read: Database['read']): TextIndex {
  const ready = async (executor: Kysely<Tables>): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`
      select c.relname as name from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
      where i.indrelid = 'calls'::regclass and i.indisvalid and starts_with(c.relname, 'calls_text_')`.execute(
      executor,
    );
    return rows.map(({ name }) => name);
  };
  return {
    build: (signal) =>
      db.connection().execute(async (connection) => {
        await sql`create extension if not exists pg_trgm`.execute(connection);
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(connection);
        const cancel = () => void sql`select pg_cancel_backend(${rows[0]!.pid})`.execute(db).catch(() => {});
        signal.addEventListener('abort', cancel);
        try {
          const names = await ready(connection);
          for (const [name, definition] of definitions) {
            if (names.includes(name) || signal.aborted) continue;
            // An attempt that was interrupted leaves an index that is not valid.
            await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(connection);
            await sql`create index concurrently ${sql.ref(name)} on calls ${definition}`.execute(connection);
          }
        } catch (error) {
          if (!signal.aborted) throw error;
        } finally {
          signal.removeEventListener('abort', cancel);
        }
      }),
    drop: async () => {
      for (const [name] of definitions) await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db);
    },
    find: (project_id, patterns, maxCalls) =>
      read(async (transaction) => {
        const canFind = patterns.every(
          ({ column, pattern }) => columns.includes(column) && runsOf(pattern).some((run) => indexedRun.test(run)),
        );
        if (!canFind || (await ready(transaction)).length < definitions.length) return undefined;
        const found = await callsThatFit(transaction, patterns, maxCalls + 1);
        if (found.length > maxCalls) return undefined;
        return found.filter((call) => call.project_id === project_id).map(({ id }) => id);
      }),
  };
}

type Found = Pick<Tables['calls'], 'project_id' | 'id'>;

/** Returns the calls, of all projects, that fit one of some patterns or are so large that they are not compared. */
async function callsThatFit(
  transaction: Transaction,
  patterns: readonly TextPattern[],
  limit: number,
): Promise<Found[]> {
  // The planner takes a rare text for a frequent one, for which it would read the table.
  await sql`set local enable_seqscan = off; set local enable_indexscan = off; set local enable_indexonlyscan = off`.execute(
    transaction,
  );
  const fitting = patterns.map(({ column, pattern, ignoresCase }) => {
    const like = ignoresCase ? sql`ilike` : sql`like`;
    return sql`(select project_id, id from calls where ${isSmall} and ${sql.ref(column)} ${like} ${pattern} limit ${limit})`;
  });
  const { rows } = await sql<Found>`
    ${sql.join(fitting, sql` union `)} union (select project_id, id from calls where ${isLarge} limit ${limit}) limit ${limit}`.execute(
    transaction,
  );
  return rows;
}
