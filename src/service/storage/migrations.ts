import { type ColumnDataType, type CreateTableBuilder, type Kysely, type RawBuilder, sql } from 'kysely';
import { HeddleError } from '../../core/errors.ts';
import { tableNames } from './tables.ts';

// A migration sees the tables of its own time, so the type of the current tables does not apply.
// biome-ignore lint/suspicious/noExplicitAny: see above
type AnyTables = Kysely<any>;

/** The properties of a database engine that the migrations use. */
export interface Engine {
  /** The word for the database in error messages. */
  container: 'data file' | 'database';
  /** Tells the user how to choose another container; completes a hint. */
  alternative: string;
  /** Type of text columns, which sort in byte order. */
  textType: ColumnDataType | RawBuilder<unknown>;
  /** Returns the names of the existing tables. */
  listTables(db: AnyTables): Promise<string[]>;
}

/** Migrations in order; the schema version is their number. A released migration must never change. */
const migrations: ((db: AnyTables, engine: Engine) => Promise<void>)[] = [
  createFirstTables,
  addProgressAndFeedback,
  addClassesAndFeedbackReferences,
  extendFeedbackIndex,
  addProjectGrants,
];

/** Version of the schema that this code reads and writes. */
export const schemaVersion = migrations.length;

/**
 * Reads the schema version of a database; an empty database has version 0.
 * @throws HeddleError `not_configured` for the database of another program or of a newer heddle, without changing it.
 */
export async function readSchemaVersion(db: AnyTables, engine: Engine): Promise<number> {
  const tables = await engine.listTables(db);
  if (tables.length === 0) return 0;
  if (!tables.includes('schema_version')) {
    throw new HeddleError({
      code: 'not_configured',
      message: `The ${engine.container} belongs to another program.`,
      hint: `To keep it untouched, ${engine.alternative}.`,
    });
  }
  const { version } = await db.selectFrom('schema_version').select('version').executeTakeFirstOrThrow();
  if (version > schemaVersion) {
    throw new HeddleError({
      code: 'not_configured',
      message: `The ${engine.container} has schema version ${version}; this heddle supports versions up to ${schemaVersion}.`,
      hint: `Update heddle to the version that wrote it, or ${engine.alternative}.`,
    });
  }
  return version;
}

/** Returns a fault for each table that a database lacks. */
export async function missingTables(db: AnyTables, engine: Engine): Promise<string[]> {
  const tables = await engine.listTables(db);
  return tableNames.filter((name) => !tables.includes(name)).map((name) => `table ${name} is missing`);
}

/** Upgrades the schema. Call it in a transaction that keeps other processes from doing the same. */
export async function migrate(db: AnyTables, engine: Engine): Promise<void> {
  const from = await readSchemaVersion(db, engine);
  for (const migration of migrations.slice(from)) await migration(db, engine);
  if (from === 0) await db.insertInto('schema_version').values({ version: schemaVersion }).execute();
  else await db.updateTable('schema_version').set({ version: schemaVersion }).execute();
}

/** Adds text columns to a table, for Kysely's `$call`. A name that ends in `?` makes the column nullable. */
function texts({ textType }: Engine, ...names: string[]) {
  return (table: CreateTableBuilder<string, string>) =>
    names.reduce(
      (columns, name) =>
        name.endsWith('?')
          ? columns.addColumn(name.slice(0, -1), textType)
          : columns.addColumn(name, textType, (column) => column.notNull()),
      table,
    );
}

async function createFirstTables(db: AnyTables, engine: Engine): Promise<void> {
  const { textType } = engine;
  await db.schema
    .createTable('schema_version')
    .addColumn('version', 'integer', (c) => c.notNull())
    .execute();
  await db.schema
    .createTable('accounts')
    .addColumn('name', textType, (c) => c.primaryKey())
    .$call(texts(engine, 'password_hash'))
    .addColumn('token_hash', textType, (c) => c.notNull().unique())
    .$call(texts(engine, 'created_at'))
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
    .addColumn('id', textType, (c) => c.primaryKey())
    .$call(texts(engine, 'project_id', 'queue_id', 'call_id', 'call_started_at', 'call_ended_at?', 'call_op_name'))
    .$call(texts(engine, 'call_trace_id', 'display_fields', 'annotation_state', 'added_by?', 'annotator_user_id?'))
    .$call(texts(engine, 'created_at', 'created_by', 'updated_at', 'deleted_at?'))
    .addUniqueConstraint('queue_items_call', ['project_id', 'queue_id', 'call_id'])
    .addForeignKeyConstraint('queue_items_queue', ['project_id', 'queue_id'], 'queues', ['project_id', 'id'])
    .execute();
  // Each index covers the order, the tie-break, the filters and the other sort keys, so that only the rows of the page
  // itself are read from the table.
  const sortColumns = ['call_started_at', 'call_op_name', 'created_at', 'updated_at'];
  for (const field of sortColumns) {
    const others = sortColumns.filter((other) => other !== field);
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
    .addColumn('item_id', engine.textType, (c) => c.notNull().references('queue_items.id'))
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

async function addClassesAndFeedbackReferences(db: AnyTables, engine: Engine): Promise<void> {
  const { textType } = engine;
  for (const column of ['base_object_class', 'leaf_object_class']) {
    await db.schema.alterTable('objects').addColumn(column, textType).execute();
  }
  const classes = {
    evaluation: ['Evaluation', 'Evaluation'],
    prompt: ['Prompt', 'MessagesPrompt'],
    dataset: ['Dataset', 'Dataset'],
    scorer: ['Scorer', 'Scorer'],
  };
  for (const [kind, [base_object_class, leaf_object_class]] of Object.entries(classes)) {
    const change = { kind: 'object', base_object_class, leaf_object_class };
    await db.updateTable('objects').set(change).where('kind', '=', kind).execute();
  }
  await rebuildFeedback(db, engine);
}

/** Adds the references and the author, and makes an id unique per account instead of per project. */
async function rebuildFeedback(db: AnyTables, engine: Engine): Promise<void> {
  await db.schema.alterTable('feedback').renameTo('feedback_2').execute();
  await db.schema
    .createTable('feedback')
    .$call(texts(engine, 'project_id', 'id', 'wb_user_id', 'weave_ref', 'feedback_type', 'payload', 'annotation_ref?'))
    .$call(texts(engine, 'runnable_ref?', 'call_ref?', 'trigger_ref?', 'queue_id?', 'creator?', 'created_at'))
    .addPrimaryKeyConstraint('feedback_by_account', ['project_id', 'id', 'wb_user_id'])
    .execute();
  const columns = ['project_id', 'id', 'wb_user_id', 'weave_ref', 'feedback_type', 'payload', 'annotation_ref'];
  const copied = [...columns, 'queue_id', 'created_at'];
  await db.insertInto('feedback').columns(copied).expression(db.selectFrom('feedback_2').select(copied)).execute();
  await db.schema.dropTable('feedback_2').execute();
  await db.schema
    .createIndex('feedback_by_call')
    .on('feedback')
    .columns(['project_id', 'weave_ref', 'created_at', 'id'])
    .execute();
  await db.schema
    .createIndex('feedback_by_queue')
    .on('feedback')
    .columns(['project_id', 'queue_id', 'created_at', 'id'])
    .execute();
}

/** Adds the tie-break of the order to the index, so that a page of a queue's feedback is read without sorting all of it. */
async function extendFeedbackIndex(db: AnyTables): Promise<void> {
  await db.schema.dropIndex('feedback_by_queue').execute();
  await db.schema
    .createIndex('feedback_by_queue')
    .on('feedback')
    .columns(['project_id', 'queue_id', 'created_at', 'id', 'wb_user_id'])
    .execute();
}

/** Creates the table of grants; existing accounts keep access to every project. */
async function addProjectGrants(db: AnyTables, engine: Engine): Promise<void> {
  await db.schema
    .createTable('project_grants')
    .addColumn('account', engine.textType, (c) => c.notNull().references('accounts.name'))
    .$call(texts(engine, 'project_id'))
    .addPrimaryKeyConstraint('project_grants_key', ['account', 'project_id'])
    .execute();
  const everything = db.selectFrom('accounts').select(['name', sql.lit('*').as('project_id')]);
  await db.insertInto('project_grants').columns(['account', 'project_id']).expression(everything).execute();
}
