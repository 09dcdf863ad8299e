import type { ColumnTypes } from './database-tables.ts';

/** A change of the schema from that of a published version to the next. */
export interface Migration {
  /** The digest in `schema_version` of the data that it changes. */
  from: string;
  /** The digest of the schema that it leaves. */
  to: string;
  /** Returns the SQL statements. All migrations of a database run in one transaction. */
  statements(types: ColumnTypes): readonly string[];
}

/** Every migration since the first published version, in order: each begins with the schema that the one before it leaves. */
export const migrations: readonly Migration[] = [];
