import type { AnnotatorKind } from '../../contract/claims.ts';
import type { AnnotationState } from '../../contract/queue-items.ts';

/** A column. `Value` is the type of its values in rows. */
interface Column<Value> {
  type: 'text' | 'bytes' | 'integer' | 'double precision';
  isRequired: boolean;
  /** Never set; it carries the type. */
  value?: Value;
}

const text: Column<string> = { type: 'text', isRequired: true };
const optionalText: Column<string | null> = { type: 'text', isRequired: false };
const state: Column<AnnotationState> = { type: 'text', isRequired: true };
const kind: Column<'object' | 'op'> = { type: 'text', isRequired: true };
const annotatorKind: Column<AnnotatorKind> = { type: 'text', isRequired: true };
const integer: Column<number> = { type: 'integer', isRequired: true };
const double: Column<number> = { type: 'double precision', isRequired: true };
const optionalInteger: Column<number | null> = { type: 'integer', isRequired: false };
const optionalDouble: Column<number | null> = { type: 'double precision', isRequired: false };
const bytes: Column<Uint8Array> = { type: 'bytes', isRequired: true };

/** The estimated memory that the row takes, so that large ones are read in small batches; before the columns that are large. */
const memoryBytes = integer;

/** An engine's names for the types of columns that have other names in other engines. */
export interface ColumnTypes {
  /** Type of text columns, which sort in byte order. */
  textType: string;
  bytesType: string;
}

/** Columns that tell when a row was made, and which account made it. */
const origin = { created_at: text, created_by: text };

interface TableOptions {
  /** Constraints besides the primary key, in SQL. */
  constraints?: readonly string[];
  /** The columns, and the condition, of each index, by its name. */
  indexes?: Readonly<Record<string, string>>;
}

function table<Columns extends Record<string, Column<unknown>>>(
  columns: Columns,
  primaryKey: string,
  { constraints = [], indexes = {} }: TableOptions = {},
) {
  return { columns, constraints: [`primary key (${primaryKey})`, ...constraints], indexes };
}

const itemSortColumns = ['call_started_at', 'call_op_name', 'created_at', 'updated_at', 'latency'];

/** Returns the columns of an index that has the items of a queue in one of their orders. */
function itemIndex(sortColumn: string): string {
  const others = itemSortColumns.filter((other) => other !== sortColumn).join(', ');
  // Covers the order, the tie-break, the filters and the other sort keys, so that only the rows of the page itself are read.
  return `(project_id, queue_id, ${sortColumn}, id, annotation_state, added_by, failed, ${others}) where deleted_at is null`;
}

/** All tables, in an order in which they can be created. Times are UTC text with milliseconds, those of calls with microseconds, structured values JSON. */
export const tables = {
  /** One row: the digest of these tables. */
  schema_version: table({ digest: text }, 'digest'),
  accounts: table({ name: text, password_hash: text, token_hash: text, created_at: text }, 'name', {
    constraints: ['unique (token_hash)'],
    indexes: { accounts_by_password: '(password_hash)' },
  }),
  /** The projects that each account may see; `*` stands for all of them. */
  project_grants: table({ account: text, project_id: text }, 'account, project_id', {
    constraints: ['foreign key (account) references accounts (name)'],
  }),
  /** The links to the board that were given to people, each for one account and one use, by the hash of their secret. */
  board_invitations: table(
    {
      token_hash: text,
      account: text,
      project_id: text,
      queue_id: optionalText,
      created_at: text,
      expires_at: text,
      used_at: optionalText,
    },
    'token_hash',
    { constraints: ['foreign key (account) references accounts (name)'] },
  ),
  /** The browsers that are logged in to the board, by the hash of their cookie. */
  board_sessions: table({ token_hash: text, account: text, created_at: text, expires_at: text }, 'token_hash', {
    constraints: ['foreign key (account) references accounts (name)'],
    indexes: { board_sessions_by_account: '(account)' },
  }),
  queues: table(
    {
      project_id: text,
      id: text,
      name: text,
      description: optionalText,
      scorer_refs: text,
      reviewers_per_item: optionalText,
      assignees: optionalText,
      ...origin,
      updated_at: text,
      deleted_at: optionalText,
    },
    'project_id, id',
  ),
  queue_items: table(
    {
      id: text,
      project_id: text,
      queue_id: text,
      call_id: text,
      call_started_at: text,
      call_ended_at: optionalText,
      /** The milliseconds that the call took; -1 until it has ended. */
      latency: double,
      /** 1 if the call failed, 0 if not; null once the call was deleted. */
      failed: optionalInteger,
      call_op_name: text,
      call_trace_id: text,
      display_fields: text,
      annotation_state: state,
      added_by: optionalText,
      annotator_user_id: optionalText,
      ...origin,
      updated_at: text,
      deleted_at: optionalText,
    },
    'id',
    {
      constraints: [
        'unique (project_id, queue_id, call_id)',
        'foreign key (project_id, queue_id) references queues (project_id, id)',
      ],
      indexes: {
        ...Object.fromEntries(itemSortColumns.map((column) => [`queue_items_by_${column}`, itemIndex(column)])),
        // Without statistics, PostgreSQL could prefer it to the key of calls if it had all items.
        queue_items_by_trace: '(project_id, queue_id, call_trace_id) where deleted_at is null',
        // For counts: it takes a fraction of the room of the others.
        queue_items_by_state:
          '(project_id, queue_id, call_op_name, annotation_state, failed, added_by) where deleted_at is null',
        queue_items_running: '(project_id, call_id) where call_ended_at is null',
        queue_items_failed: '(project_id, queue_id, call_id, id) where deleted_at is null and failed = 1',
        // Has only the items that have progress of annotators, whose finished ones are counted.
        queue_items_annotated:
          '(project_id, queue_id, annotator_user_id, id, annotation_state) where deleted_at is null and annotator_user_id is not null',
      },
    },
  ),
  calls: table(
    {
      project_id: text,
      id: text,
      op_name: text,
      trace_id: text,
      parent_id: optionalText,
      thread_id: optionalText,
      turn_id: optionalText,
      started_at: text,
      ended_at: optionalText,
      display_name: optionalText,
      exception: optionalText,
      wb_user_id: optionalText,
      wb_run_id: optionalText,
      memory_bytes: memoryBytes,
      /** The milliseconds that the call took; null until it has ended, and for a summary that is no object. */
      latency: optionalDouble,
      attributes: optionalText,
      inputs: optionalText,
      output: optionalText,
      summary: optionalText,
      /** The recorded members that have no column, which only imports have. */
      data: text,
    },
    'project_id, id',
    {
      indexes: {
        calls_by_op_name: '(project_id, op_name, started_at, id)',
        calls_by_trace_id: '(project_id, trace_id, started_at, id)',
        calls_by_parent_id: '(project_id, parent_id, started_at, id)',
        calls_by_thread_id: '(project_id, thread_id, started_at, id) where thread_id is not null',
        // Has only the turns of threads, which are read for a list of threads.
        calls_by_turn: '(project_id, thread_id, started_at, id) where turn_id = id',
        // Those whose summary is no object: their items have a latency all the same.
        calls_without_latency: '(project_id, id) where latency is null and ended_at is not null',
        calls_with_exception: '(project_id, started_at, id) where exception is not null',
        // With the name of the operation, a page of one that is seldom called is found without reading the other calls.
        calls_by_start: '(project_id, started_at, id, op_name)',
      },
    },
  ),
  /** The ends and names of calls whose start has not arrived. */
  early_call_ends: table(
    {
      project_id: text,
      id: text,
      ended_at: optionalText,
      display_name: optionalText,
      memory_bytes: memoryBytes,
      exception: optionalText,
      output: optionalText,
      summary: optionalText,
    },
    'project_id, id',
  ),
  /** The ids of deleted calls, so that a start that is sent again does not bring them back. */
  deleted_calls: table({ project_id: text, id: text }, 'project_id, id'),
  /** Prices of the tokens of models. */
  costs: table(
    {
      project_id: text,
      id: text,
      llm_id: text,
      provider_id: text,
      prompt_token_cost: double,
      completion_token_cost: double,
      prompt_token_cost_unit: text,
      completion_token_cost_unit: text,
      effective_date: text,
      ...origin,
    },
    'project_id, id',
  ),
  objects: table(
    {
      project_id: text,
      object_id: text,
      digest: text,
      version_index: integer,
      kind,
      /** The class of the SDK that the object extends, and its own; null for a value without a class. */
      base_object_class: optionalText,
      leaf_object_class: optionalText,
      memory_bytes: memoryBytes,
      content: text,
      ...origin,
    },
    'project_id, object_id, digest',
    {
      constraints: ['unique (project_id, object_id, version_index)'],
      // The default order of a query of objects.
      indexes: { objects_by_created_at: '(project_id, created_at, object_id, version_index)' },
    },
  ),
  /** When versions of objects were deleted, which a client that asks for one learns. */
  deleted_versions: table(
    { project_id: text, object_id: text, digest: text, deleted_at: text },
    'project_id, object_id, digest',
  ),
  /** Files by the digest of their bytes. */
  files: table({ project_id: text, digest: text, size_bytes: integer, ...origin }, 'project_id, digest'),
  file_chunks: table(
    { project_id: text, digest: text, chunk_index: integer, bytes },
    'project_id, digest, chunk_index',
    { constraints: ['foreign key (project_id, digest) references files (project_id, digest)'] },
  ),
  /** Lists of rows, such as those of datasets, by the digest of the list. */
  row_tables: table({ project_id: text, digest: text, row_count: integer, ...origin }, 'project_id, digest'),
  /** The rows of all lists by the digest of their content. */
  row_contents: table(
    { project_id: text, digest: text, memory_bytes: memoryBytes, content: text },
    'project_id, digest',
  ),
  /** The places of the rows in their lists. */
  table_rows: table(
    { project_id: text, table_digest: text, row_index: integer, row_digest: text },
    'project_id, table_digest, row_index',
    { constraints: ['foreign key (project_id, table_digest) references row_tables (project_id, digest)'] },
  ),
  /** Each annotator's progress with each item. */
  annotator_progress: table(
    {
      item_id: text,
      annotator_user_id: text,
      annotator_kind: annotatorKind,
      annotation_state: state,
      created_at: text,
      updated_at: text,
    },
    'item_id, annotator_user_id',
    { constraints: ['foreign key (item_id) references queue_items (id)'] },
  ),
  /** Who has which item, and until when. Claims that have ended are kept until someone else claims the item. */
  item_claims: table(
    { item_id: text, account: text, annotator_kind: annotatorKind, annotator: text, held_until: text },
    'item_id, account',
    { constraints: ['foreign key (item_id) references queue_items (id)'] },
  ),
  /** The annotators who alone may claim an item. */
  item_assignees: table({ item_id: text, annotator: text }, 'item_id, annotator', {
    constraints: ['foreign key (item_id) references queue_items (id)'],
  }),
  feedback: table(
    {
      project_id: text,
      id: text,
      weave_ref: text,
      feedback_type: text,
      payload: text,
      annotation_ref: optionalText,
      runnable_ref: optionalText,
      call_ref: optionalText,
      trigger_ref: optionalText,
      queue_id: optionalText,
      creator: optionalText,
      created_at: text,
      wb_user_id: text,
      memory_bytes: memoryBytes,
    },
    'project_id, id, wb_user_id',
    {
      indexes: {
        feedback_by_call: '(project_id, weave_ref, created_at, id)',
        // Holds the whole order, so that a page of the feedback of a queue is read without sorting all of it.
        feedback_by_queue: '(project_id, queue_id, created_at, id, wb_user_id)',
        // Have the feedback of a call side by side: for queries of calls by feedback of a type, and for summaries of queues.
        feedback_by_queue_and_call: '(project_id, queue_id, weave_ref, created_at, id, wb_user_id)',
        feedback_by_type: '(project_id, feedback_type, weave_ref, created_at, id, wb_user_id)',
      },
    },
  ),
  /** The recorded calls with scores that later runs use again, by the digest of scorer, row and output. */
  kept_scores: table({ project_id: text, content_digest: text, call_id: text }, 'project_id, content_digest'),
  /** The runs of evaluations that this service has yet to finish. */
  evaluation_jobs: table(
    {
      project_id: text,
      /** Id of the run, which is that of its recorded call. */
      call_id: text,
      /** The account that started the run. */
      account: text,
      /** The model provider; only processes with the same one work on the run. */
      provider: text,
      concurrency: integer,
      trial_count: integer,
      created_at: text,
      /** The process that works on the run; null if none does. */
      owner: optionalText,
      /** The heartbeat of the owner: a counter that it keeps raising while it is alive. */
      beat: integer,
      /** The first trial that has not begun, and the JSON list of those that have begun and not ended. */
      next_trial: integer,
      open_trials: text,
      /** What the run has taken of its budget, as JSON. */
      spent: text,
      /** The plan of the run, as it was when the run began; last, so that the other columns are read without it. */
      definition: text,
    },
    'project_id, call_id',
  ),
};

type Row<Columns> = { [Name in keyof Columns]: Columns[Name] extends Column<infer Value> ? Value : never };

/** The rows of the tables. */
export type Tables = { [Name in keyof typeof tables]: Row<(typeof tables)[Name]['columns']> };
