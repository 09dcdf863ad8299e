import { type Kysely, sql } from 'kysely';
import { HeddleError } from '../../core/errors.ts';
import { type Tables, tables } from './database-tables.ts';
import { digestOf } from './digest.ts';

/** The properties of a database engine that its schema depends on. */
export interface Engine {
  /** The word for the database in error messages. */
  container: 'data file' | 'database';
  /** Tells the user how to choose another container; completes a hint. */
  alternative: string;
  /** Tells the user how to begin without the data that heddle has; completes a hint. */
  newBeginning: string;
  /** Type of text columns, which sort in byte order. */
  textType: string;
  /** Type of columns for bytes. */
  bytesType: string;
  /** Returns the names of the existing tables. */
  listTables(db: Kysely<Tables>): Promise<string[]>;
}

/** Returns the SQL statements that create the tables. */
function schemaStatements({ textType, bytesType }: Engine): string[] {
  const typeOf = (type: string): string => (type === 'text' ? textType : type === 'bytes' ? bytesType : type);
  return Object.entries(tables).flatMap(([name, { columns, constraints, indexes }]) => {
    const definitions = Object.entries(columns).map(
      ([column, { type, isRequired }]) => `${column} ${typeOf(type)}${isRequired ? ' not null' : ''}`,
    );
    return [
      `create table ${name} (${[...definitions, ...constraints].join(', ')})`,
      ...Object.entries(indexes).map(([index, definition]) => `create index ${index} on ${name} ${definition}`),
    ];
  });
}

/** Returns the digest of the schema that this code reads and writes. */
function schemaDigest(engine: Engine): string {
  return digestOf(schemaStatements(engine).join(';'));
}

/**
 * Returns whether a database has the tables; false if it is empty.
 * @throws HeddleError `not_configured` for the database of another program or another version of heddle, without changing it.
 */
export async function hasTables(db: Kysely<Tables>, engine: Engine): Promise<boolean> {
  const names = await engine.listTables(db);
  if (names.length === 0) return false;
  const { container, alternative, newBeginning } = engine;
  if (!names.includes('schema_version')) {
    throw new HeddleError({
      code: 'not_configured',
      message: `The ${container} belongs to another program.`,
      hint: `To keep it untouched, ${alternative}.`,
    });
  }
  const stored = await db.selectFrom('schema_version').selectAll().executeTakeFirst();
  if (stored?.digest === schemaDigest(engine)) return true;
  throw new HeddleError({
    code: 'not_configured',
    message: `The ${container} was made by another version of heddle and has a different schema.`,
    hint: `Use the version that made it, or ${newBeginning}.`,
  });
}

/** Creates the tables. Call it in a transaction that keeps other processes from doing the same; it does nothing if they exist. */
export async function createTables(db: Kysely<Tables>, engine: Engine): Promise<void> {
  if (await hasTables(db, engine)) return;
  for (const statement of schemaStatements(engine)) await sql.raw(statement).execute(db);
  await db
    .insertInto('schema_version')
    .values({ digest: schemaDigest(engine) })
    .execute();
}

/** Returns a fault for each table that a database lacks. */
export async function missingTables(db: Kysely<Tables>, engine: Engine): Promise<string[]> {
  const names = await engine.listTables(db);
  return Object.keys(tables)
    .filter((name) => !names.includes(name))
    .map((name) => `table ${name} is missing`);
}
