import type { AnnotationState } from '../../contract/queue-items.ts';

/** The current tables. Timestamps are UTC text with milliseconds, which sorts by time; structured values are JSON text. */
export interface Tables {
  schema_version: { version: number };
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
    started_at: string;
    ended_at: string | null;
    /** The recorded members that have no column, such as inputs and output. */
    data: string;
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
}

/** The names of the current tables. */
export const tableNames = Object.keys({
  schema_version: true,
  accounts: true,
  queues: true,
  queue_items: true,
  calls: true,
  objects: true,
  annotator_progress: true,
  feedback: true,
  project_grants: true,
} satisfies Record<keyof Tables, true>);
