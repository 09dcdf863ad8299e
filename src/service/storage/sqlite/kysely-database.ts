import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { SqliteDatabase } from 'kysely';
import { HeddleError } from '../../../core/errors.ts';

/** Adapts a connection of the `node:sqlite` API to the one that Kysely expects. */
export function kyselyDatabase(connection: DatabaseSyncInstance): SqliteDatabase {
  return {
    close: () => connection.close(),
    prepare: (text) => {
      const statement = connection.prepare(text);
      return {
        // No statement of this service uses RETURNING.
        reader: /^\s*(select|with|pragma)\b/i.test(text),
        all: (parameters) => statement.all(...checkText(parameters)),
        run: (parameters) => statement.run(...checkText(parameters)),
        iterate: (parameters) => statement.iterate(...checkText(parameters)),
      };
    },
  };
}

/** Rejects text that would be stored differently: Node 20's package cuts it at NUL, and UTF-8 has no lone surrogates. */
function checkText(parameters: readonly unknown[]): Parameters<ReturnType<DatabaseSyncInstance['prepare']>['all']> {
  if (parameters.some((value) => typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))) {
    throw new HeddleError({
      code: 'invalid_arguments',
      status: 400,
      message: 'Text contains a NUL character or an unpaired surrogate, which SQLite cannot store.',
      hint: 'Remove these characters.',
    });
  }
  return parameters as ReturnType<typeof checkText>;
}
