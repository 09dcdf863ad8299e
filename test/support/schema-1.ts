/** Schema version 1 as SQLite keeps it: users have such files. */
export const schema1 = `
CREATE TABLE "schema_version" (
  "version" integer not null);
CREATE TABLE "accounts" (
  "name" text primary key,
  "password_hash" text not null,
  "token_hash" text not null unique,
  "created_at" text not null);
CREATE TABLE "queues" (
  "project_id" text not null,
  "id" text not null,
  "name" text not null,
  "description" text,
  "scorer_refs" text not null,
  "created_at" text not null,
  "created_by" text not null,
  "updated_at" text not null,
  "deleted_at" text, constraint "queues_key" primary key ("project_id",
  "id"));
CREATE TABLE "calls" (
  "project_id" text not null,
  "id" text not null,
  "op_name" text not null,
  "trace_id" text not null,
  "started_at" text not null,
  "ended_at" text,
  "data" text not null, constraint "calls_key" primary key ("project_id",
  "id"));
CREATE TABLE "queue_items" (
  "id" text primary key,
  "project_id" text not null,
  "queue_id" text not null,
  "call_id" text not null,
  "call_started_at" text not null,
  "call_ended_at" text,
  "call_op_name" text not null,
  "call_trace_id" text not null,
  "display_fields" text not null,
  "annotation_state" text not null,
  "added_by" text,
  "annotator_user_id" text,
  "created_at" text not null,
  "created_by" text not null,
  "updated_at" text not null,
  "deleted_at" text, constraint "queue_items_call" unique ("project_id",
  "queue_id",
  "call_id"), constraint "queue_items_queue" foreign key ("project_id",
  "queue_id") references "queues" ("project_id",
  "id"));
CREATE INDEX "queue_items_by_call_started_at" on "queue_items" ("project_id",
  "queue_id",
  "call_started_at",
  "id",
  "annotation_state",
  "added_by",
  "call_op_name",
  "created_at",
  "updated_at") where "deleted_at" is null;
CREATE INDEX "queue_items_by_call_op_name" on "queue_items" ("project_id",
  "queue_id",
  "call_op_name",
  "id",
  "annotation_state",
  "added_by",
  "call_started_at",
  "created_at",
  "updated_at") where "deleted_at" is null;
CREATE INDEX "queue_items_by_created_at" on "queue_items" ("project_id",
  "queue_id",
  "created_at",
  "id",
  "annotation_state",
  "added_by",
  "call_started_at",
  "call_op_name",
  "updated_at") where "deleted_at" is null;
CREATE INDEX "queue_items_by_updated_at" on "queue_items" ("project_id",
  "queue_id",
  "updated_at",
  "id",
  "annotation_state",
  "added_by",
  "call_started_at",
  "call_op_name",
  "created_at") where "deleted_at" is null;
CREATE INDEX "queue_items_by_trace" on "queue_items" ("project_id",
  "queue_id",
  "call_trace_id");
CREATE TABLE "objects" (
  "project_id" text not null,
  "object_id" text not null,
  "digest" text not null,
  "version_index" integer not null,
  "kind" text not null,
  "content" text not null,
  "created_at" text not null,
  "created_by" text not null, constraint "objects_key" primary key ("project_id",
  "object_id",
  "digest"), constraint "objects_version" unique ("project_id",
  "object_id",
  "version_index"));
insert into schema_version values (1);
`;
