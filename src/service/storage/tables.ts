import type { AnnotationState } from '../../contract/queue-items.ts';

/** The current tables. Timestamps are UTC text with milliseconds, which sorts by time; structured values are JSON text. */
export interface Tables {
  /** One row. The digest is that of the statements that created the tables. */
  schema_version: { version: number; digest: string };
  accounts: { name: string; password_hash: string; token_hash: string; created_at: string };
  /** The projects that each account may see; `*` stands for all of them. */
  project_grants: { account: string; project_id: string };
  queues: {
    project_id: string;
    id: string;
    name: string;
    description: string | null;
    scorer_refs: string;
    created_at: string;
    created_by: string;
    updated_at: string;
    deleted_at: string | null;
  };
  queue_items: {
    id: string;
    project_id: string;
    queue_id: string;
    call_id: string;
    call_started_at: string;
    call_ended_at: string | null;
    call_op_name: string;
    call_trace_id: string;
    display_fields: string;
    annotation_state: AnnotationState;
    added_by: string | null;
    annotator_user_id: string | null;
    created_at: string;
    created_by: string;
    updated_at: string;
    deleted_at: string | null;
  };
  calls: {
    project_id: string;
    id: string;
    op_name: string;
    trace_id: string;
    parent_id: string | null;
    thread_id: string | null;
    turn_id: string | null;
    started_at: string;
    ended_at: string | null;
    display_name: string | null;
    exception: string | null;
    wb_user_id: string | null;
    wb_run_id: string | null;
    /** Number of characters of the members that have no limit, so that large calls are read in small batches. */
    chars: number;
    attributes: string | null;
    inputs: string | null;
    output: string | null;
    summary: string | null;
    /** The recorded members that have no column, which only imports have. */
    data: string;
  };
  /** The ends and names of calls whose start has not arrived. */
  early_call_ends: {
    project_id: string;
    id: string;
    ended_at: string | null;
    display_name: string | null;
    exception: string | null;
    output: string | null;
    summary: string | null;
  };
  /** The ids of deleted calls, so that a start that is sent again does not bring them back. */
  deleted_calls: { project_id: string; id: string };
  /** Prices of the tokens of models. */
  costs: {
    project_id: string;
    id: string;
    llm_id: string;
    provider_id: string;
    prompt_token_cost: number;
    completion_token_cost: number;
    prompt_token_cost_unit: string;
    completion_token_cost_unit: string;
    effective_date: string;
    created_at: string;
    created_by: string;
  };
  objects: {
    project_id: string;
    object_id: string;
    digest: string;
    version_index: number;
    kind: 'object' | 'op';
    /** The class of the SDK that the object extends, and its own; null for a value without a class. */
    base_object_class: string | null;
    leaf_object_class: string | null;
    content: string;
    created_at: string;
    created_by: string;
  };
  /** Files by the digest of their bytes. */
  files: { project_id: string; digest: string; size_bytes: number; created_at: string; created_by: string };
  file_chunks: { project_id: string; digest: string; chunk_index: number; bytes: Uint8Array };
  /** Lists of rows, such as those of datasets, by the digest of the list. */
  row_tables: { project_id: string; digest: string; row_count: number; created_at: string; created_by: string };
  /** The rows of all lists by the digest of their content. */
  row_contents: { project_id: string; digest: string; content: string };
  /** The places of the rows in their lists. */
  table_rows: { project_id: string; table_digest: string; row_index: number; row_digest: string };
  /** Each annotator's progress with each item. */
  annotator_progress: {
    item_id: string;
    annotator_user_id: string;
    annotation_state: AnnotationState;
    created_at: string;
    updated_at: string;
  };
  feedback: {
    project_id: string;
    id: string;
    weave_ref: string;
    feedback_type: string;
    payload: string;
    annotation_ref: string | null;
    runnable_ref: string | null;
    call_ref: string | null;
    trigger_ref: string | null;
    queue_id: string | null;
    creator: string | null;
    created_at: string;
    wb_user_id: string;
  };
  /** The runs of evaluations that this service has to go on with. */
  evaluation_jobs: {
    project_id: string;
    /** Id of the run, which is that of its recorded call. */
    call_id: string;
    /** The account that started the run. */
    account: string;
    /** The model provider; only processes with the same one work on the run. */
    provider: string;
    concurrency: number;
    trial_count: number;
    created_at: string;
    /** The process that works on the run; null if none does. */
    owner: string | null;
    /** The heartbeat of the owner: a counter that it keeps raising while it is alive. */
    beat: number;
    /** The first trial that has not begun, and the JSON list of those that have begun and not ended. */
    next_trial: number;
    open_trials: string;
    /** The plan of the run, as it was when the run began; last, so that the other columns are read without it. */
    definition: string;
  };
}

/** The names of the current tables. */
export const tableNames = Object.keys({
  schema_version: true,
  accounts: true,
  queues: true,
  queue_items: true,
  calls: true,
  early_call_ends: true,
  deleted_calls: true,
  costs: true,
  objects: true,
  annotator_progress: true,
  feedback: true,
  project_grants: true,
  files: true,
  file_chunks: true,
  row_tables: true,
  row_contents: true,
  table_rows: true,
  evaluation_jobs: true,
} satisfies Record<keyof Tables, true>);
