import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database, TextIndex, TextPattern, Transaction } from '../database.ts';
import { maxMatchedBytes, runsOf } from '../text-patterns.ts';

/** Memory of the calls that one transaction adds to the index, in bytes, and their number. Each KiB takes about 0.3 ms. */
const maxBytesAtOnce = 64 * 1024;
const maxCallsAtOnce = 100;

/** Trigrams of a pattern that are looked up: more of them find hardly fewer calls, and each takes time. */
const maxTrigrams = 12;

/** Stands in the index for the texts of a large call. JSON has no such characters. */
const markOfLarge = '\u0001\u0001\u0001';

/** The columns of the index, whose rows have these numbers among those of a call. */
const columns = ['inputs', 'output'];

/**
 * Returns SQL that adds the texts of some calls to the index, which has none of them. Rows are numbered by those of the calls; what is
 * no text of a call that can be found is not in it.
 */
const adding = (column: string, row: string, condition: string): string => `
  insert into calls_text (rowid, part)
  select ${row}rowid * 2 + ${columns.indexOf(column)},
    case when ${row}memory_bytes > ${maxMatchedBytes} then '${markOfLarge}' else ${row}${column} end
  ${condition} ${row}${column} is not null;`;

const removing = (column: string): string =>
  `delete from calls_text where rowid = old.rowid * 2 + ${columns.indexOf(column)};`;

/** Keeps the index up, whichever process changes calls. The numbers of rows stay: the table has indexes, so VACUUM keeps them. */
const creation = [
  // Trigrams without their places take a third of the space. They find more calls than fit, which the query tests anyway.
  "create virtual table calls_text using fts5 (part, tokenize = 'trigram', detail = none, content = '', contentless_delete = 1)",
  // Its row has the number of the row from which those below are still to be added.
  'create table calls_text_building as select coalesce(max(rowid), 0) + 1 as below from calls',
  `create trigger calls_text_insert after insert on calls begin ${columns.map((column) => adding(column, 'new.', 'where')).join('')} end`,
  `create trigger calls_text_delete after delete on calls begin ${columns.map(removing).join('')} end`,
  ...columns.map(
    (column) => `create trigger calls_text_${column} after update of ${column} on calls
      when new.${column} is not old.${column} begin ${removing(column)} ${adding(column, 'new.', 'where')} end`,
  ),
];

/** Statements that remove the index and all that keeps it up, if they are there. */
export const textIndexRemoval = [
  ...['insert', 'delete', ...columns].map((name) => `drop trigger if exists calls_text_${name}`),
  'drop table if exists calls_text_building',
  'drop table if exists calls_text',
];

/** Returns the index of texts in a data file. It is built in small steps, with as much time between them as they take. */
export function sqliteTextIndex({ read, write }: Pick<Database, 'read' | 'write'>): TextIndex {
  return {
    build: async (signal) => {
      await write(async (transaction) => {
        if ((await stateOf(transaction)) === 'none') await run(transaction, creation);
      });
      for (let hasMore = true; hasMore && !signal.aborted; ) {
        const startedAt = performance.now();
        hasMore = await write(addMore);
        if (hasMore) await setTimeout(performance.now() - startedAt, undefined, { ref: false });
      }
    },
    drop: () => write((transaction) => run(transaction, textIndexRemoval)),
    find: (project_id, patterns, maxCalls) =>
      read(async (transaction) => {
        if ((await stateOf(transaction)) !== 'complete') return undefined;
        const found = new Set<number>();
        for (const pattern of patterns) {
          const rows = await rowsThatMayFit(transaction, pattern, maxCalls + 1);
          for (const row of rows ?? []) found.add(row);
          if (rows === undefined || found.size > maxCalls) return undefined;
        }
        const rowids = sql`(select value from json_each(${JSON.stringify([...found])}))`;
        const { rows } = await sql<{ id: string }>`
          select id from calls where rowid in ${rowids} and project_id = ${project_id}`.execute(transaction);
        return rows.map(({ id }) => id);
      }),
  };
}

async function run(transaction: Transaction, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(transaction);
}

async function stateOf(transaction: Transaction): Promise<'none' | 'building' | 'complete'> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_schema where name in ('calls_text', 'calls_text_building')`.execute(transaction);
  return rows.length === 0 ? 'none' : rows.length === 1 ? 'complete' : 'building';
}

/** Adds the texts of some calls that were recorded before the index was created. Returns whether there are more. */
async function addMore(transaction: Transaction): Promise<boolean> {
  // Another process may have finished or dropped the index.
  if ((await stateOf(transaction)) !== 'building') return false;
  const { rows } = await sql<{ row: number; memory_bytes: number }>`
    select rowid as row, memory_bytes from calls where rowid < (select below from calls_text_building)
    order by rowid desc limit ${maxCallsAtOnce}`.execute(transaction);
  let bytes = 0;
  const large = rows.findIndex(({ memory_bytes }) => {
    bytes += Math.min(memory_bytes, maxMatchedBytes);
    return bytes > maxBytesAtOnce;
  });
  const first = rows[large < 0 ? rows.length - 1 : large]?.row;
  if (first === undefined) {
    await run(transaction, ['drop table calls_text_building']);
    return false;
  }
  const some = `from calls where rowid >= ${first} and rowid < (select below from calls_text_building) and`;
  await run(transaction, [
    ...columns.map(
      (column) => `delete from calls_text where rowid in (select rowid * 2 + ${columns.indexOf(column)} ${some} true)`,
    ),
    ...columns.map((column) => adding(column, '', some)),
    `update calls_text_building set below = ${first}`,
  ]);
  return true;
}

/** Returns the numbers of rows of calls that have all trigrams of a pattern; undefined if it has none. */
async function rowsThatMayFit(
  transaction: Transaction,
  { column, pattern }: TextPattern,
  limit: number,
): Promise<number[] | undefined> {
  const trigrams = [...new Set(runsOf(pattern).flatMap(trigramsOf))];
  if (trigrams.length === 0 || !columns.includes(column)) return undefined;
  const step = Math.ceil(trigrams.length / maxTrigrams);
  const some = trigrams.filter((_, index) => index % step === 0);
  const match = `(${some.map(quoted).join(' AND ')}) OR ${quoted(markOfLarge)}`;
  const { rows } = await sql<{ row: number }>`
    select rowid >> 1 as row from calls_text
    where calls_text match ${match} and rowid & 1 = ${sql.lit(columns.indexOf(column))} limit ${limit}`.execute(
    transaction,
  );
  return rows.map(({ row }) => row);
}

function trigramsOf(run: string): string[] {
  const signs = [...run];
  return signs.slice(2).map((_, index) => signs.slice(index, index + 3).join(''));
}

/** Quotes a text for the index; none has a quotation mark. */
const quoted = (text: string): string => `"${text}"`;
