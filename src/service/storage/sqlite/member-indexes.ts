import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { type Kysely, sql } from 'kysely';
import type { MemberIndexStore } from '../database.ts';
import type { Tables } from '../database-tables.ts';
import { retryWhileBusy } from './sqlite-connection.ts';

/**
 * Runs a statement on a connection of its own, which waits for other writers. `sqlite` is the path of the module that Node 20 needs.
 * This is text because a thread cannot load a part of the bundle.
 */
const threadCode = `
  const { workerData: { file, statement, sqlite } } = require('node:worker_threads');
  process.emitWarning = () => {};
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite') ?? require(sqlite);
  const connection = new DatabaseSync(file, { timeout: 10_000 });
  connection.exec('pragma cache_size = -32768');
  connection.exec(statement);
  connection.close();`;

/** Returns the indexes of members in a data file. An index is created in a thread; meanwhile, writers wait. */
export function sqliteMemberIndexes(
  file: string,
  reader: Kysely<Tables>,
  writer: Kysely<Tables>,
): MemberIndexStore & { finished(): Promise<void> } {
  const prefix = 'calls_sorted_';
  let running: Promise<void> = Promise.resolve();
  return {
    prefix,
    ordersByNull: false,
    memberOf: (column, names) => {
      const member = `${column}, '$${names.map((name) => `."${name}"`).join('')}'`;
      const type = `json_type(${member})`;
      // Escaped backslashes are no part of other escapes.
      const rest = `replace(${column}, '\\\\', '')`;
      // NUL characters and half characters.
      const isUnreadable = `instr(${column}, '\\u') and (instr(${rest}, '\\u0000') or instr(${rest}, '\\ud'))`;
      return {
        number: `case when ${isUnreadable} then 9e999 when ${type} in ('integer', 'real') then json_extract(${member}) end`,
        text: `case when ${isUnreadable} then null when ${type} in ('integer', 'real', 'null') then null
          when ${type} in ('true', 'false') then ${type} else json_extract(${member}) end`,
      };
    },
    isExact: (number) => sql`(typeof(${number}) = 'integer')`,
    list: async () => {
      const found = sql<{ name: string }>`
        select name from sqlite_schema where type = 'index' and tbl_name = 'calls' and substr(name, 1, 13) = ${prefix}`;
      return (await retryWhileBusy(() => found.execute(reader))).rows.map(({ name }) => name);
    },
    create: (name, definition) => {
      const { sql: statement } = sql`create index if not exists ${sql.ref(name)} on ${definition}`.compile(writer);
      running = runInThread(file, statement);
      return running;
    },
    drop: async (name) => {
      await retryWhileBusy(() => sql`drop index if exists ${sql.ref(name)}`.execute(writer));
    },
    finished: () => running.catch(() => {}),
  };
}

async function runInThread(file: string, statement: string): Promise<void> {
  const isBuiltIn = process.getBuiltinModule('node:sqlite') !== undefined;
  const sqlite = isBuiltIn ? undefined : createRequire(import.meta.url).resolve('@photostructure/sqlite');
  const thread = new Worker(threadCode, { eval: true, workerData: { file, statement, sqlite } });
  await once(thread, 'exit');
}
