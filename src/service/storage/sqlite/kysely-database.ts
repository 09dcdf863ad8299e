import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { SqliteDatabase } from 'kysely';
import { HeddleError } from '../../../core/errors.ts';
import { isStorableText } from '../storable-text.ts';

type Values = readonly unknown[];

/** Number of statements that a connection keeps, to be run again without preparing them. Each holds its last parameters. */
const maxKept = 50;
const maxKeptChars = 1024 * 1024;

/** Adapts a connection of the `node:sqlite` API to the one that Kysely expects. */
export function kyselyDatabase(connection: DatabaseSyncInstance): SqliteDatabase {
  const kept = new Map<string, Statement>();
  return {
    close: () => {
      kept.clear();
      connection.close();
    },
    prepare: (text) => {
      const statement = kept.get(text) ?? prepareStatement(connection, text);
      kept.delete(text);
      const keeping =
        <Result>(execute: (parameters: Values) => Result) =>
        (parameters: Values): Result => {
          const result = execute(parameters);
          if (charsOf(parameters) <= maxKeptChars) kept.set(text, statement);
          if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
          return result;
        };
      return {
        reader: statement.reader,
        all: keeping(statement.all),
        run: keeping(statement.run),
        // Only Kysely's stream() needs it, which would see lists instead of objects.
        iterate: () => {
          throw new Error('rows are not streamed');
        },
      };
    },
  };
}

type Statement = ReturnType<typeof prepareStatement>;

function prepareStatement(connection: DatabaseSyncInstance, text: string) {
  const statement = connection.prepare(text);
  // No statement of this service uses RETURNING.
  const reader = /^\s*(select|with|pragma)\b/i.test(text);
  // Before 22.16, Node returns objects only.
  const hasLists = reader && 'setReturnArrays' in statement;
  return {
    reader,
    all: hasLists ? readObjects(statement) : (parameters: Values) => statement.all(...checkText(parameters)),
    run: (parameters: Values) => statement.run(...checkText(parameters)),
  };
}

function charsOf(parameters: Values): number {
  return parameters.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
}

/** Rejects text that would be stored differently: Node 20's package cuts it at NUL, and UTF-8 has no lone surrogates. */
function checkText(parameters: readonly unknown[]): Parameters<ReturnType<DatabaseSyncInstance['prepare']>['all']> {
  if (parameters.some((value) => typeof value === 'string' && !isStorableText(value))) {
    throw new HeddleError({
      code: 'invalid_arguments',
      status: 400,
      message: 'Text contains a NUL character or an unpaired surrogate, which SQLite cannot store.',
      hint: 'Remove these characters.',
    });
  }
  return parameters as ReturnType<typeof checkText>;
}

/** Reads rows as lists and makes objects of them here, which takes half as long for large pages. */
function readObjects(statement: ReturnType<DatabaseSyncInstance['prepare']>) {
  statement.setReturnArrays(true);
  const names = statement.columns().map(({ name }) => name);
  return (parameters: readonly unknown[]): unknown[] =>
    (statement.all(...checkText(parameters)) as unknown as unknown[][]).map((values) => {
      const row: Record<string, unknown> = {};
      for (let at = 0; at < names.length; at += 1) row[names[at]!] = values[at];
      return row;
    });
}
