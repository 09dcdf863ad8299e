import { type ColumnDataType, type CreateTableBuilder, type Kysely, type RawBuilder, sql } from 'kysely';
import { sortFields } from '../../contract/queue-items.ts';
import { HeddleError } from '../../core/errors.ts';

// A migration sees the tables as they were at its time, so it is not typed by today's.
// biome-ignore lint/suspicious/noExplicitAny: see above
type AnyTables = Kysely<any>;

/** What the engines do in ways of their own. */
export interface Engine {
  /** What messages call that which holds the tables. */
  storage: 'data file' | 'database';
  /** How to get away from one that cannot be used. */
  elsewhere: string;
  /** Type of a text column, whose order is that of its bytes. */
  text: ColumnDataType | RawBuilder<unknown>;
  /** Names of the tables that are there. */
  tables(db: AnyTables): Promise<string[]>;
}

/** In order, never changed once released: the position in the list is the schema version it leads to. */
const migrations: ((db: AnyTables, engine: Engine) => Promise<void>)[] = [createFirstTables, addProgressAndFeedback];

/** Version of the schema that this code reads and writes. */
export const schemaVersion = migrations.length;

/**
 * Version of the schema in a storage, 0 for an empty one. Refuses what a newer heddle wrote and a database of something
 * else, without touching either.
 */
export async function readSchemaVersion(db: AnyTables, engine: Engine): Promise<number> {
  const tables = await engine.tables(db);
  if (tables.length === 0) return 0;
  if (!tables.includes('schema_version')) {
    throw new HeddleError({
      code: 'not_configured',
      message: `The ${engine.storage} is one of another program.`,
      hint: `Leave it to that program, and ${engine.elsewhere}.`,
    });
  }
  const { version } = await db.selectFrom('schema_version').select('version').executeTakeFirstOrThrow();
  if (version > schemaVersion) {
    throw new HeddleError({
      code: 'not_configured',
      message: `The ${engine.storage} has schema version ${version}; this heddle knows versions up to ${schemaVersion}.`,
      hint: `Use the heddle that wrote it, or a later one, or ${engine.elsewhere}.`,
    });
  }
  return version;
}

/** Brings the schema up to date; to be called inside a transaction, while no other process can do the same. */
export async function migrate(db: AnyTables, engine: Engine): Promise<void> {
  const from = await readSchemaVersion(db, engine);
  for (const migration of migrations.slice(from)) await migration(db, engine);
  if (from === 0) await db.insertInto('schema_version').values({ version: schemaVersion }).execute();
  else await db.updateTable('schema_version').set({ version: schemaVersion }).execute();
}

/**
 * Adds text columns to a table. The name of one that may be null ends in a question mark here.
 * @returns what Kysely's `$call` takes.
 */
function texts({ text }: Engine, ...columns: string[]) {
  return (table: CreateTableBuilder<string, string>) =>
    columns.reduce((all, column) => {
      const name = column.replace('?', '');
      return name === column ? all.addColumn(name, text, (c) => c.notNull()) : all.addColumn(name, text);
    }, table);
}

async function createFirstTables(db: AnyTables, engine: Engine): Promise<void> {
  const { text } = engine;
  await db.schema
    .createTable('schema_version')
    .addColumn('version', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('accounts')
    .addColumn('name', text, (c) => c.primaryKey())
    .addColumn('password_hash', text, (c) => c.notNull())
    .addColumn('token_hash', text, (c) => c.notNull().unique())
    .addColumn('created_at', text, (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('queues')
    .$call(texts(engine, 'project_id', 'id', 'name', 'description?', 'scorer_refs'))
    .$call(texts(engine, 'created_at', 'created_by', 'updated_at', 'deleted_at?'))
    .addPrimaryKeyConstraint('queues_key', ['project_id', 'id'])
    .execute();
  await db.schema
    .createTable('calls')
    .$call(texts(engine, 'project_id', 'id', 'op_name', 'trace_id', 'started_at', 'ended_at?', 'data'))
    .addPrimaryKeyConstraint('calls_key', ['project_id', 'id'])
    .execute();
  await db.schema
    .createTable('queue_items')
    .addColumn('id', text, (c) => c.primaryKey())
    .$call(texts(engine, 'project_id', 'queue_id', 'call_id', 'call_started_at', 'call_ended_at?', 'call_op_name'))
    .$call(texts(engine, 'call_trace_id', 'display_fields', 'annotation_state', 'added_by?', 'annotator_user_id?'))
    .$call(texts(engine, 'created_at', 'created_by', 'updated_at', 'deleted_at?'))
    .addUniqueConstraint('queue_items_call', ['project_id', 'queue_id', 'call_id'])
    .addForeignKeyConstraint('queue_items_queue', ['project_id', 'queue_id'], 'queues', ['project_id', 'id'])
    .execute();
  // Each covers what a page or a position needs (order, tie-break, filters, the other sort keys), so that only the
  // rows of the page itself are read from the table.
  for (const field of sortFields) {
    const others = sortFields.filter((other) => other !== field);
    await db.schema
      .createIndex(`queue_items_by_${field}`)
      .on('queue_items')
      .columns(['project_id', 'queue_id', field, 'id', 'annotation_state', 'added_by', ...others])
      .where(sql.ref('deleted_at'), 'is', null)
      .execute();
  }
  await db.schema
    .createIndex('queue_items_by_trace')
    .on('queue_items')
    .columns(['project_id', 'queue_id', 'call_trace_id'])
    .execute();
  await db.schema
    .createTable('objects')
    .$call(texts(engine, 'project_id', 'object_id', 'digest'))
    .addColumn('version_index', 'integer', (c) => c.notNull())
    .$call(texts(engine, 'kind', 'content', 'created_at', 'created_by'))
    .addPrimaryKeyConstraint('objects_key', ['project_id', 'object_id', 'digest'])
    .addUniqueConstraint('objects_version', ['project_id', 'object_id', 'version_index'])
    .execute();
}

async function addProgressAndFeedback(db: AnyTables, engine: Engine): Promise<void> {
  await db.schema
    .createTable('annotator_progress')
    .addColumn('item_id', engine.text, (c) => c.notNull().references('queue_items.id'))
    .$call(texts(engine, 'annotator_user_id', 'annotation_state', 'created_at', 'updated_at'))
    .addPrimaryKeyConstraint('annotator_progress_key', ['item_id', 'annotator_user_id'])
    .execute();
  await db.schema
    .createTable('feedback')
    .$call(texts(engine, 'project_id', 'id', 'weave_ref', 'feedback_type', 'payload', 'annotation_ref?', 'queue_id?'))
    .$call(texts(engine, 'created_at', 'wb_user_id'))
    .addPrimaryKeyConstraint('feedback_key', ['project_id', 'id'])
    .execute();
}
