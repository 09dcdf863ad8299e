import { type Kysely, sql } from 'kysely';
import { HeddleError } from '../../core/errors.ts';
import { type ColumnTypes, type Tables, tables } from './database-tables.ts';
import { digestOf } from './digest.ts';
import { type Migration, migrations } from './migrations.ts';

/** The properties of a database engine that its schema depends on. */
export interface Engine extends ColumnTypes {
  /** The word for the database in error messages. */
  container: 'data file' | 'database';
  /** Tells the user how to choose another container; completes a hint. */
  alternative: string;
  /** Tells the user how to begin without the data that heddle has; completes a hint. */
  newBeginning: string;
  /** Returns the names of the existing tables. */
  listTables(db: Kysely<Tables>): Promise<string[]>;
  /** Options of every table, in SQL. */
  tableOptions: string;
}

/** Returns the SQL statements that create the tables. */
function schemaStatements({ textType, bytesType, tableOptions }: Engine): string[] {
  const typeOf = (type: string): string => (type === 'text' ? textType : type === 'bytes' ? bytesType : type);
  return Object.entries(tables).flatMap(([name, { columns, constraints, indexes }]) => {
    const definitions = Object.entries(columns).map(
      ([column, { type, isRequired }]) => `${column} ${typeOf(type)}${isRequired ? ' not null' : ''}`,
    );
    return [
      `create table ${name} (${[...definitions, ...constraints].join(', ')}) ${tableOptions}`,
      ...Object.entries(indexes).map(([index, definition]) => `create index ${index} on ${name} ${definition}`),
    ];
  });
}

/** The digest of the schema that this code reads and writes: of the tables, whatever the engine makes of them. */
export const schemaDigest = digestOf(JSON.stringify(tables));

/**
 * Returns which schema a database has: none, if it is empty, this version's, or an earlier one that migrations lead from.
 * @throws HeddleError `not_configured` for the database of another program or another version of heddle, without changing it.
 */
export async function schemaOf(db: Kysely<Tables>, engine: Engine): Promise<'none' | 'earlier' | 'current'> {
  const names = await engine.listTables(db);
  if (names.length === 0) return 'none';
  if (!names.includes('schema_version')) {
    throw new HeddleError({
      code: 'not_configured',
      message: `The ${engine.container} belongs to another program.`,
      hint: `To keep it untouched, ${engine.alternative}.`,
    });
  }
  const digest = await storedDigest(db);
  if (digest === schemaDigest) return 'current';
  if (migrationsFrom(digest) !== undefined) return 'earlier';
  throw new HeddleError({
    code: 'not_configured',
    message: `The ${engine.container} was made by another version of heddle and has a different schema.`,
    hint: `Use the version that made it, or ${engine.newBeginning}.`,
  });
}

/**
 * Runs work in a write transaction if no other version has migrated the data since this process opened it.
 * @throws HeddleError `not_configured`, with status 503, if one has.
 */
export async function withCurrentSchema<T>(
  transaction: Kysely<Tables>,
  { container }: Engine,
  work: (transaction: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  if ((await storedDigest(transaction)) === schemaDigest) return work(transaction);
  throw new HeddleError({
    code: 'not_configured',
    status: 503,
    message: `Another version of heddle has changed the schema of the ${container} since this process started. Nothing was stored.`,
    hint: 'Update this process to that version and start it again.',
  });
}

/** Returns the digest of the schema that a database has. */
export async function storedDigest(db: Kysely<Tables>): Promise<string | undefined> {
  return (await db.selectFrom('schema_version').selectAll().executeTakeFirst())?.digest;
}

/** Returns the migrations that lead from a schema to this version's, in their order; undefined if there are none. */
function migrationsFrom(digest: string | undefined): readonly Migration[] | undefined {
  const first = migrations.findIndex(({ from }) => from === digest);
  return first < 0 || migrations.at(-1)?.to !== schemaDigest ? undefined : migrations.slice(first);
}

/**
 * Gives a database the schema of this version: creates the tables, or migrates those of an earlier version and keeps what is in them.
 * Call it in a transaction that keeps other processes from doing the same; it does nothing if the schema is current.
 */
export async function prepareSchema(db: Kysely<Tables>, engine: Engine): Promise<void> {
  const schema = await schemaOf(db, engine);
  if (schema === 'current') return;
  const statements =
    schema === 'none'
      ? schemaStatements(engine)
      : migrationsFrom(await storedDigest(db))?.flatMap((migration) => migration.statements(engine));
  for (const statement of statements ?? []) await sql.raw(statement).execute(db);
  await db.deleteFrom('schema_version').execute();
  await db.insertInto('schema_version').values({ digest: schemaDigest }).execute();
}

/** Returns a fault for each table that a database lacks. */
export async function missingTables(db: Kysely<Tables>, engine: Engine): Promise<string[]> {
  const names = await engine.listTables(db);
  return Object.keys(tables)
    .filter((name) => !names.includes(name))
    .map((name) => `table ${name} is missing`);
}
