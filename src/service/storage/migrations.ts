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
  /** Type of columns for bytes. */
  bytesType: ColumnDataType;
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
  addFilesAndTables,
  splitCalls,
  indexNamesAndKeys,
  addEvaluationJobs,
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

/** Creates the tables for files and for the rows of datasets. */
async function addFilesAndTables(db: AnyTables, engine: Engine): Promise<void> {
  await db.schema
    .createTable('files')
    .$call(texts(engine, 'project_id', 'digest'))
    .addColumn('size_bytes', 'integer', (c) => c.notNull())
    .$call(texts(engine, 'created_at', 'created_by'))
    .addPrimaryKeyConstraint('files_key', ['project_id', 'digest'])
    .execute();
  await db.schema
    .createTable('file_chunks')
    .$call(texts(engine, 'project_id', 'digest'))
    .addColumn('chunk_index', 'integer', (c) => c.notNull())
    .addColumn('bytes', engine.bytesType, (c) => c.notNull())
    .addPrimaryKeyConstraint('file_chunks_key', ['project_id', 'digest', 'chunk_index'])
    .addForeignKeyConstraint('file_chunks_file', ['project_id', 'digest'], 'files', ['project_id', 'digest'])
    .execute();
  await db.schema
    .createTable('row_tables')
    .$call(texts(engine, 'project_id', 'digest'))
    .addColumn('row_count', 'integer', (c) => c.notNull())
    .$call(texts(engine, 'created_at', 'created_by'))
    .addPrimaryKeyConstraint('row_tables_key', ['project_id', 'digest'])
    .execute();
  await db.schema
    .createTable('row_contents')
    .$call(texts(engine, 'project_id', 'digest', 'content'))
    .addPrimaryKeyConstraint('row_contents_key', ['project_id', 'digest'])
    .execute();
  await db.schema
    .createTable('table_rows')
    .$call(texts(engine, 'project_id', 'table_digest'))
    .addColumn('row_index', 'integer', (c) => c.notNull())
    .$call(texts(engine, 'row_digest'))
    .addPrimaryKeyConstraint('table_rows_key', ['project_id', 'table_digest', 'row_index'])
    .addForeignKeyConstraint('table_rows_table', ['project_id', 'table_digest'], 'row_tables', ['project_id', 'digest'])
    .execute();
  // The default order of a query of objects.
  await db.schema
    .createIndex('objects_by_created_at')
    .on('objects')
    .columns(['project_id', 'created_at', 'object_id', 'version_index'])
    .execute();
}

/** Number of calls that are in memory at once while they are split. */
const callsPerBatch = 100;

/** Moves the members of calls to columns of their own, and adds what recorded calls need. */
async function splitCalls(db: AnyTables, engine: Engine): Promise<void> {
  await db.schema.alterTable('calls').renameTo('calls_6').execute();
  await db.schema
    .createTable('calls')
    .$call(texts(engine, 'project_id', 'id', 'op_name', 'trace_id', 'parent_id?', 'thread_id?', 'turn_id?'))
    .$call(texts(engine, 'started_at', 'ended_at?', 'display_name?', 'exception?', 'wb_user_id?', 'wb_run_id?'))
    .addColumn('chars', 'integer', (c) => c.notNull())
    .$call(texts(engine, 'attributes?', 'inputs?', 'output?', 'summary?', 'data'))
    .addPrimaryKeyConstraint('calls_by_id', ['project_id', 'id'])
    .execute();
  let last = { project_id: '', id: '' };
  for (;;) {
    const rows = await db
      .selectFrom('calls_6')
      .selectAll()
      .where(({ eb, refTuple, tuple }) => eb(refTuple('project_id', 'id'), '>', tuple(last.project_id, last.id)))
      .orderBy('project_id')
      .orderBy('id')
      .limit(callsPerBatch)
      .execute();
    if (rows.length === 0) break;
    await db.insertInto('calls').values(rows.map(splitCall)).execute();
    last = rows.at(-1) as typeof last;
  }
  await db.schema.dropTable('calls_6').execute();
  for (const column of ['op_name', 'trace_id', 'parent_id', 'thread_id']) {
    const index = db.schema.createIndex(`calls_by_${column}`).on('calls');
    const columns = index.columns(['project_id', column, 'started_at', 'id']);
    await (column === 'thread_id' ? columns.where(sql.ref(column), 'is not', null) : columns).execute();
  }
  await db.schema.createIndex('calls_by_start').on('calls').columns(['project_id', 'started_at', 'id']).execute();
  await db.schema
    .createIndex('calls_with_exception')
    .on('calls')
    .columns(['project_id', 'started_at', 'id'])
    .where(sql.ref('exception'), 'is not', null)
    .execute();
  await db.schema
    .createTable('early_call_ends')
    .$call(texts(engine, 'project_id', 'id', 'ended_at?', 'display_name?', 'exception?', 'output?', 'summary?'))
    .addPrimaryKeyConstraint('early_call_ends_key', ['project_id', 'id'])
    .execute();
  await db.schema
    .createTable('costs')
    .$call(texts(engine, 'project_id', 'id', 'llm_id', 'provider_id'))
    .addColumn('prompt_token_cost', 'double precision', (c) => c.notNull())
    .addColumn('completion_token_cost', 'double precision', (c) => c.notNull())
    .$call(texts(engine, 'prompt_token_cost_unit', 'completion_token_cost_unit', 'effective_date'))
    .$call(texts(engine, 'created_at', 'created_by'))
    .addPrimaryKeyConstraint('costs_key', ['project_id', 'id'])
    .execute();
  await db.schema
    .createTable('deleted_calls')
    .$call(texts(engine, 'project_id', 'id'))
    .addPrimaryKeyConstraint('deleted_calls_key', ['project_id', 'id'])
    .execute();
}

/**
 * Adds the name of the operation to the order of start, so that a page of an operation that is seldom called is found without
 * reading the other calls, and an index for the keys of accounts.
 */
async function indexNamesAndKeys(db: AnyTables): Promise<void> {
  await db.schema.dropIndex('calls_by_start').execute();
  await db.schema
    .createIndex('calls_by_start')
    .on('calls')
    .columns(['project_id', 'started_at', 'id', 'op_name'])
    .execute();
  await db.schema.createIndex('accounts_by_password').on('accounts').column('password_hash').execute();
}

/** Creates the tables of the runs of evaluations that are under way. */
async function addEvaluationJobs(db: AnyTables, engine: Engine): Promise<void> {
  await db.schema
    .createTable('evaluation_jobs')
    .$call(texts(engine, 'project_id', 'call_id', 'account', 'provider', 'definition'))
    .addColumn('concurrency', 'integer', (c) => c.notNull())
    .addColumn('trial_count', 'integer', (c) => c.notNull())
    .addColumn('next_trial', 'integer', (c) => c.notNull())
    .$call(texts(engine, 'created_at'))
    .addPrimaryKeyConstraint('evaluation_jobs_key', ['project_id', 'call_id'])
    .execute();
  await db.schema
    .createTable('evaluation_leases')
    .$call(texts(engine, 'project_id', 'call_id', 'owner'))
    .addColumn('beat', 'integer', (c) => c.notNull())
    .$call(texts(engine, 'trials'))
    .addPrimaryKeyConstraint('evaluation_leases_key', ['project_id', 'call_id', 'owner'])
    .addForeignKeyConstraint('evaluation_leases_job', ['project_id', 'call_id'], 'evaluation_jobs', [
      'project_id',
      'call_id',
    ])
    .execute();
}

/** Splits a row of schema version 6. */
function splitCall({ data, ...row }: Record<string, unknown>): Record<string, unknown> {
  const members = JSON.parse(String(data)) as Record<string, unknown>;
  for (const name of Object.keys(row)) delete members[name];
  const split: Record<string, unknown> = { ...row };
  let chars = 0;
  for (const name of ['parent_id', 'thread_id', 'turn_id', 'display_name', 'exception', 'wb_user_id', 'wb_run_id']) {
    const value = members[name] ?? null;
    split[name] = value === null || typeof value === 'string' ? value : JSON.stringify(value);
    chars += (split[name] as string | null)?.length ?? 0;
    delete members[name];
  }
  for (const name of ['attributes', 'inputs', 'output', 'summary']) {
    split[name] = Object.hasOwn(members, name) ? JSON.stringify(members[name]) : null;
    chars += (split[name] as string | null)?.length ?? 0;
    delete members[name];
  }
  split.data = JSON.stringify(members);
  return { ...split, chars: chars + (split.data as string).length };
}
