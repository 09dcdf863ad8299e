import { type Kysely, sql } from 'kysely';
import type { MemberIndexStore } from '../database.ts';
import type { Tables } from '../database-tables.ts';

/**
 * Matches numbers in the range of float8, so that reading them cannot fail as it does for 1e400 and 1e-400. The last two are the
 * smallest and the largest that JavaScript writes. Counts of digits would take ten times as long.
 */
const readableNumber = [
  String.raw`[^eE ]+(?:[eE][-+]?1?\d?\d)?`,
  String.raw`-?[1-9](?:\.\d+)?[eE](?:[-+]?(?:2\d\d|30[0-7])|-3[01]\d)`,
  String.raw`-?(?:5e-324|1\.7976931348623157e\+308)`,
].join('|');

/** Returns the indexes of members in a database. An index is created beside the writers, which do not wait. */
export function postgresMemberIndexes(db: Kysely<Tables>): MemberIndexStore {
  const prefix = 'calls_sorted_';
  return {
    prefix,
    ordersByNull: true,
    memberOf: (column, names) => {
      // Escaped backslashes are no part of other escapes.
      const rest = `replace(${column}, '\\\\', '')`;
      // NUL characters and half characters.
      const isUnreadable = `strpos(${column}, '\\u') > 0 and (strpos(${rest}, '\\u0000') > 0 or strpos(${rest}, '\\ud') > 0)`;
      const path = names.map((name) => `'${name}'`).join(', ');
      const type = `json_typeof(json_extract_path(${column}::json, ${path}))`;
      const value = `json_extract_path_text(${column}::json, ${path})`;
      return {
        // A space follows all numbers that are not too long.
        number: `case when ${isUnreadable} then 'Infinity' when ${type} = 'number'
          then coalesce(substring(rpad(${value}, 80) from '^(?:${readableNumber}) ')::float8, 'Infinity') end`,
        text: `case when ${isUnreadable} then null when ${type} not in ('number', 'null') then ${value} end collate "C"`,
      };
    },
    isExact: () => sql`true`,
    list: async () => {
      const found = sql<{ name: string }>`
        select c.relname as name from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
        where i.indrelid = 'calls'::regclass and i.indisvalid and starts_with(c.relname, ${prefix})`;
      return (await found.execute(db)).rows.map(({ name }) => name);
    },
    create: (name, definition) =>
      db.connection().execute(async (connection) => {
        // An attempt that was interrupted leaves an index that is not valid.
        await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(connection);
        await sql`create index concurrently ${sql.ref(name)} on ${definition}`.execute(connection);
      }),
    drop: async (name) => {
      await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db);
    },
  };
}
