import { type Kysely, sql } from 'kysely';
import { HeddleError } from '../../core/errors.ts';
import { digestOf } from './digest.ts';
import { type Tables, tableNames } from './tables.ts';

/** The properties of a database engine that the migrations use. */
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

/** Returns the SQL statements that lead from one schema version to the next. */
export type Migration = (engine: Engine) => string[];

/**
 * Migrations in order; the schema version is their number. A change of one makes data that was stored with it unusable, so a
 * published one must never change. SQL rather than Kysely's builders, whose next version may word a statement differently.
 */
export const migrations: readonly Migration[] = [createTables];

/** Version of the schema that this code reads and writes. */
export const schemaVersion = migrations.length;

/** Returns the digest of the statements that lead to a schema. Their white space does not count. */
function schemaDigest(engine: Engine, list: readonly Migration[]): string {
  const statements = list.flatMap((migration) => migration(engine));
  return digestOf(statements.join(';').replaceAll(/\s+/g, ' '));
}

/** Returns why this code cannot use a stored schema, and what to do about it; undefined if it can. */
export function schemaFault(
  { version, digest }: Tables['schema_version'],
  engine: Engine,
  list = migrations,
): { fault: string; hint: string } | undefined {
  // Early development versions stored no digest, and counted higher.
  if (digest !== undefined && version > list.length) {
    return {
      fault: `has schema version ${version}; this heddle supports versions up to ${list.length}`,
      hint: `Update heddle to the version that wrote it, or ${engine.alternative}.`,
    };
  }
  if (digest !== schemaDigest(engine, list.slice(0, version))) {
    return {
      fault: 'was made by an unreleased version of heddle and has a different schema',
      hint: `Use the version that made it, or ${engine.newBeginning}.`,
    };
  }
  return undefined;
}

/**
 * Reads the schema version of a database; an empty database has version 0.
 * @throws HeddleError `not_configured` for the database of another program, of a newer heddle or of a development version,
 * without changing it.
 */
export async function readSchemaVersion(db: Kysely<Tables>, engine: Engine, list = migrations): Promise<number> {
  const tables = await engine.listTables(db);
  if (tables.length === 0) return 0;
  if (!tables.includes('schema_version')) {
    throw new HeddleError({
      code: 'not_configured',
      message: `The ${engine.container} belongs to another program.`,
      hint: `To keep it untouched, ${engine.alternative}.`,
    });
  }
  // All columns, because those of early development versions lack the digest.
  const stored = await db.selectFrom('schema_version').selectAll().executeTakeFirstOrThrow();
  const refused = schemaFault(stored, engine, list);
  if (refused) {
    const message = `The ${engine.container} ${refused.fault}.`;
    throw new HeddleError({ code: 'not_configured', message, hint: refused.hint });
  }
  return stored.version;
}

/** Returns a fault for each table that a database lacks. */
export async function missingTables(db: Kysely<Tables>, engine: Engine): Promise<string[]> {
  const tables = await engine.listTables(db);
  return tableNames.filter((name) => !tables.includes(name)).map((name) => `table ${name} is missing`);
}

/** Upgrades the schema. Call it in a transaction that keeps other processes from doing the same. */
export async function migrate(db: Kysely<Tables>, engine: Engine, list = migrations): Promise<void> {
  const from = await readSchemaVersion(db, engine, list);
  for (const statement of list.slice(from).flatMap((migration) => migration(engine))) {
    await sql.raw(statement).execute(db);
  }
  await db.deleteFrom('schema_version').execute();
  const stored = { version: list.length, digest: schemaDigest(engine, list) };
  await db.insertInto('schema_version').values(stored).execute();
}

function createTables({ textType: text, bytesType: bytes }: Engine): string[] {
  const sortColumns = ['call_started_at', 'call_op_name', 'created_at', 'updated_at'];
  return [
    `create table schema_version (version integer not null, digest ${text} not null)`,
    `create table accounts (
      name ${text} primary key,
      password_hash ${text} not null,
      token_hash ${text} not null unique,
      created_at ${text} not null
    )`,
    'create index accounts_by_password on accounts (password_hash)',
    `create table project_grants (
      account ${text} not null references accounts (name),
      project_id ${text} not null,
      constraint project_grants_key primary key (account, project_id)
    )`,
    `create table queues (
      project_id ${text} not null,
      id ${text} not null,
      name ${text} not null,
      description ${text},
      scorer_refs ${text} not null,
      created_at ${text} not null,
      created_by ${text} not null,
      updated_at ${text} not null,
      deleted_at ${text},
      constraint queues_key primary key (project_id, id)
    )`,
    `create table queue_items (
      id ${text} primary key,
      project_id ${text} not null,
      queue_id ${text} not null,
      call_id ${text} not null,
      call_started_at ${text} not null,
      call_ended_at ${text},
      call_op_name ${text} not null,
      call_trace_id ${text} not null,
      display_fields ${text} not null,
      annotation_state ${text} not null,
      added_by ${text},
      annotator_user_id ${text},
      created_at ${text} not null,
      created_by ${text} not null,
      updated_at ${text} not null,
      deleted_at ${text},
      constraint queue_items_call unique (project_id, queue_id, call_id),
      constraint queue_items_queue foreign key (project_id, queue_id) references queues (project_id, id)
    )`,
    // Each index covers the order, the tie-break, the filters and the other sort keys, so that only the rows of the page
    // itself are read from the table.
    ...sortColumns.map((field) => {
      const others = sortColumns.filter((other) => other !== field);
      const columns = ['project_id', 'queue_id', field, 'id', 'annotation_state', 'added_by', ...others].join(', ');
      return `create index queue_items_by_${field} on queue_items (${columns}) where deleted_at is null`;
    }),
    'create index queue_items_by_trace on queue_items (project_id, queue_id, call_trace_id)',
    `create table calls (
      project_id ${text} not null,
      id ${text} not null,
      op_name ${text} not null,
      trace_id ${text} not null,
      parent_id ${text},
      thread_id ${text},
      turn_id ${text},
      started_at ${text} not null,
      ended_at ${text},
      display_name ${text},
      exception ${text},
      wb_user_id ${text},
      wb_run_id ${text},
      chars integer not null,
      attributes ${text},
      inputs ${text},
      output ${text},
      summary ${text},
      data ${text} not null,
      constraint calls_key primary key (project_id, id)
    )`,
    'create index calls_by_op_name on calls (project_id, op_name, started_at, id)',
    'create index calls_by_trace_id on calls (project_id, trace_id, started_at, id)',
    'create index calls_by_parent_id on calls (project_id, parent_id, started_at, id)',
    'create index calls_by_thread_id on calls (project_id, thread_id, started_at, id) where thread_id is not null',
    'create index calls_with_exception on calls (project_id, started_at, id) where exception is not null',
    // With the name of the operation, a page of one that is seldom called is found without reading the other calls.
    'create index calls_by_start on calls (project_id, started_at, id, op_name)',
    `create table early_call_ends (
      project_id ${text} not null,
      id ${text} not null,
      ended_at ${text},
      display_name ${text},
      exception ${text},
      output ${text},
      summary ${text},
      constraint early_call_ends_key primary key (project_id, id)
    )`,
    `create table deleted_calls (
      project_id ${text} not null,
      id ${text} not null,
      constraint deleted_calls_key primary key (project_id, id)
    )`,
    `create table costs (
      project_id ${text} not null,
      id ${text} not null,
      llm_id ${text} not null,
      provider_id ${text} not null,
      prompt_token_cost double precision not null,
      completion_token_cost double precision not null,
      prompt_token_cost_unit ${text} not null,
      completion_token_cost_unit ${text} not null,
      effective_date ${text} not null,
      created_at ${text} not null,
      created_by ${text} not null,
      constraint costs_key primary key (project_id, id)
    )`,
    `create table objects (
      project_id ${text} not null,
      object_id ${text} not null,
      digest ${text} not null,
      version_index integer not null,
      kind ${text} not null,
      base_object_class ${text},
      leaf_object_class ${text},
      content ${text} not null,
      created_at ${text} not null,
      created_by ${text} not null,
      constraint objects_key primary key (project_id, object_id, digest),
      constraint objects_version unique (project_id, object_id, version_index)
    )`,
    // The default order of a query of objects.
    'create index objects_by_created_at on objects (project_id, created_at, object_id, version_index)',
    `create table files (
      project_id ${text} not null,
      digest ${text} not null,
      size_bytes integer not null,
      created_at ${text} not null,
      created_by ${text} not null,
      constraint files_key primary key (project_id, digest)
    )`,
    `create table file_chunks (
      project_id ${text} not null,
      digest ${text} not null,
      chunk_index integer not null,
      bytes ${bytes} not null,
      constraint file_chunks_key primary key (project_id, digest, chunk_index),
      constraint file_chunks_file foreign key (project_id, digest) references files (project_id, digest)
    )`,
    `create table row_tables (
      project_id ${text} not null,
      digest ${text} not null,
      row_count integer not null,
      created_at ${text} not null,
      created_by ${text} not null,
      constraint row_tables_key primary key (project_id, digest)
    )`,
    `create table row_contents (
      project_id ${text} not null,
      digest ${text} not null,
      content ${text} not null,
      constraint row_contents_key primary key (project_id, digest)
    )`,
    `create table table_rows (
      project_id ${text} not null,
      table_digest ${text} not null,
      row_index integer not null,
      row_digest ${text} not null,
      constraint table_rows_key primary key (project_id, table_digest, row_index),
      constraint table_rows_table foreign key (project_id, table_digest) references row_tables (project_id, digest)
    )`,
    `create table annotator_progress (
      item_id ${text} not null references queue_items (id),
      annotator_user_id ${text} not null,
      annotation_state ${text} not null,
      created_at ${text} not null,
      updated_at ${text} not null,
      constraint annotator_progress_key primary key (item_id, annotator_user_id)
    )`,
    `create table feedback (
      project_id ${text} not null,
      id ${text} not null,
      wb_user_id ${text} not null,
      weave_ref ${text} not null,
      feedback_type ${text} not null,
      payload ${text} not null,
      annotation_ref ${text},
      runnable_ref ${text},
      call_ref ${text},
      trigger_ref ${text},
      queue_id ${text},
      creator ${text},
      created_at ${text} not null,
      constraint feedback_key primary key (project_id, id, wb_user_id)
    )`,
    'create index feedback_by_call on feedback (project_id, weave_ref, created_at, id)',
    // Holds the whole order, so that a page of the feedback of a queue is read without sorting all of it.
    'create index feedback_by_queue on feedback (project_id, queue_id, created_at, id, wb_user_id)',
    `create table evaluation_jobs (
      project_id ${text} not null,
      call_id ${text} not null,
      account ${text} not null,
      provider ${text} not null,
      concurrency integer not null,
      trial_count integer not null,
      created_at ${text} not null,
      owner ${text},
      beat integer not null,
      next_trial integer not null,
      open_trials ${text} not null,
      definition ${text} not null,
      constraint evaluation_jobs_key primary key (project_id, call_id)
    )`,
  ];
}
