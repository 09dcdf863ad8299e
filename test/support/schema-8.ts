/** Schema version 8 as SQLite keeps it: users have such files. */
export const schema8 = `
CREATE TABLE "schema_version" (
  "version" integer not null);
CREATE TABLE "accounts" (
  "name" text primary key, "password_hash" text not null, "token_hash" text not null unique,
  "created_at" text not null);
CREATE TABLE "queues" (
  "project_id" text not null, "id" text not null, "name" text not null, "description" text,
  "scorer_refs" text not null, "created_at" text not null, "created_by" text not null, "updated_at" text not null,
  "deleted_at" text, constraint "queues_key" primary key ("project_id", "id"));
CREATE TABLE "queue_items" (
  "id" text primary key, "project_id" text not null, "queue_id" text not null, "call_id" text not null,
  "call_started_at" text not null, "call_ended_at" text, "call_op_name" text not null,
  "call_trace_id" text not null, "display_fields" text not null, "annotation_state" text not null, "added_by" text,
  "annotator_user_id" text, "created_at" text not null, "created_by" text not null, "updated_at" text not null,
  "deleted_at" text, constraint "queue_items_call" unique ("project_id", "queue_id", "call_id"),
  constraint "queue_items_queue" foreign key ("project_id", "queue_id") references "queues" ("project_id", "id"));
CREATE INDEX "queue_items_by_call_started_at" on "queue_items" ("project_id", "queue_id", "call_started_at", "id",
  "annotation_state", "added_by", "call_op_name", "created_at", "updated_at") where "deleted_at" is null;
CREATE INDEX "queue_items_by_call_op_name" on "queue_items" ("project_id", "queue_id", "call_op_name", "id",
  "annotation_state", "added_by", "call_started_at", "created_at", "updated_at") where "deleted_at" is null;
CREATE INDEX "queue_items_by_created_at" on "queue_items" ("project_id", "queue_id", "created_at", "id",
  "annotation_state", "added_by", "call_started_at", "call_op_name", "updated_at") where "deleted_at" is null;
CREATE INDEX "queue_items_by_updated_at" on "queue_items" ("project_id", "queue_id", "updated_at", "id",
  "annotation_state", "added_by", "call_started_at", "call_op_name", "created_at") where "deleted_at" is null;
CREATE INDEX "queue_items_by_trace" on "queue_items" ("project_id", "queue_id", "call_trace_id");
CREATE TABLE "objects" (
  "project_id" text not null, "object_id" text not null, "digest" text not null, "version_index" integer not null,
  "kind" text not null, "content" text not null, "created_at" text not null, "created_by" text not null,
  "base_object_class" text, "leaf_object_class" text, constraint "objects_key" primary key ("project_id",
  "object_id", "digest"), constraint "objects_version" unique ("project_id", "object_id", "version_index"));
CREATE TABLE "annotator_progress" (
  "item_id" text not null references "queue_items" ("id"), "annotator_user_id" text not null,
  "annotation_state" text not null, "created_at" text not null, "updated_at" text not null,
  constraint "annotator_progress_key" primary key ("item_id", "annotator_user_id"));
CREATE TABLE "feedback" (
  "project_id" text not null, "id" text not null, "wb_user_id" text not null, "weave_ref" text not null,
  "feedback_type" text not null, "payload" text not null, "annotation_ref" text, "runnable_ref" text,
  "call_ref" text, "trigger_ref" text, "queue_id" text, "creator" text, "created_at" text not null,
  constraint "feedback_by_account" primary key ("project_id", "id", "wb_user_id"));
CREATE INDEX "feedback_by_call" on "feedback" ("project_id", "weave_ref", "created_at", "id");
CREATE INDEX "feedback_by_queue" on "feedback" ("project_id", "queue_id", "created_at", "id", "wb_user_id");
CREATE TABLE "project_grants" (
  "account" text not null references "accounts" ("name"), "project_id" text not null,
  constraint "project_grants_key" primary key ("account", "project_id"));
CREATE TABLE "files" (
  "project_id" text not null, "digest" text not null, "size_bytes" integer not null, "created_at" text not null,
  "created_by" text not null, constraint "files_key" primary key ("project_id", "digest"));
CREATE TABLE "file_chunks" (
  "project_id" text not null, "digest" text not null, "chunk_index" integer not null, "bytes" blob not null,
  constraint "file_chunks_key" primary key ("project_id", "digest", "chunk_index"),
  constraint "file_chunks_file" foreign key ("project_id", "digest") references "files" ("project_id", "digest"));
CREATE TABLE "row_tables" (
  "project_id" text not null, "digest" text not null, "row_count" integer not null, "created_at" text not null,
  "created_by" text not null, constraint "row_tables_key" primary key ("project_id", "digest"));
CREATE TABLE "row_contents" (
  "project_id" text not null, "digest" text not null, "content" text not null,
  constraint "row_contents_key" primary key ("project_id", "digest"));
CREATE TABLE "table_rows" (
  "project_id" text not null, "table_digest" text not null, "row_index" integer not null,
  "row_digest" text not null, constraint "table_rows_key" primary key ("project_id", "table_digest", "row_index"),
  constraint "table_rows_table" foreign key ("project_id", "table_digest") references "row_tables" ("project_id",
  "digest"));
CREATE INDEX "objects_by_created_at" on "objects" ("project_id", "created_at", "object_id", "version_index");
CREATE TABLE "calls" (
  "project_id" text not null, "id" text not null, "op_name" text not null, "trace_id" text not null,
  "parent_id" text, "thread_id" text, "turn_id" text, "started_at" text not null, "ended_at" text,
  "display_name" text, "exception" text, "wb_user_id" text, "wb_run_id" text, "chars" integer not null,
  "attributes" text, "inputs" text, "output" text, "summary" text, "data" text not null,
  constraint "calls_by_id" primary key ("project_id", "id"));
CREATE INDEX "calls_by_op_name" on "calls" ("project_id", "op_name", "started_at", "id");
CREATE INDEX "calls_by_trace_id" on "calls" ("project_id", "trace_id", "started_at", "id");
CREATE INDEX "calls_by_parent_id" on "calls" ("project_id", "parent_id", "started_at", "id");
CREATE INDEX "calls_by_thread_id" on "calls" ("project_id", "thread_id", "started_at",
  "id") where "thread_id" is not null;
CREATE INDEX "calls_with_exception" on "calls" ("project_id", "started_at", "id") where "exception" is not null;
CREATE TABLE "early_call_ends" (
  "project_id" text not null, "id" text not null, "ended_at" text, "display_name" text, "exception" text,
  "output" text, "summary" text, constraint "early_call_ends_key" primary key ("project_id", "id"));
CREATE TABLE "costs" (
  "project_id" text not null, "id" text not null, "llm_id" text not null, "provider_id" text not null,
  "prompt_token_cost" double precision not null, "completion_token_cost" double precision not null,
  "prompt_token_cost_unit" text not null, "completion_token_cost_unit" text not null,
  "effective_date" text not null, "created_at" text not null, "created_by" text not null,
  constraint "costs_key" primary key ("project_id", "id"));
CREATE TABLE "deleted_calls" (
  "project_id" text not null, "id" text not null, constraint "deleted_calls_key" primary key ("project_id", "id"));
CREATE INDEX "calls_by_start" on "calls" ("project_id", "started_at", "id", "op_name");
CREATE INDEX "accounts_by_password" on "accounts" ("password_hash");
insert into schema_version values (8);
`;
