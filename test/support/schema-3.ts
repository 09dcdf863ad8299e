import { schema2 } from './schema-2.ts';

/** Schema version 3 as SQLite keeps it: users have such files. */
export const schema3 = `${schema2}
alter table "objects" add column "base_object_class" text;
alter table "objects" add column "leaf_object_class" text;
drop table "feedback";
CREATE TABLE "feedback" (
  "project_id" text not null,
  "id" text not null,
  "wb_user_id" text not null,
  "weave_ref" text not null,
  "feedback_type" text not null,
  "payload" text not null,
  "annotation_ref" text,
  "runnable_ref" text,
  "call_ref" text,
  "trigger_ref" text,
  "queue_id" text,
  "creator" text,
  "created_at" text not null, constraint "feedback_by_account" primary key ("project_id",
  "id",
  "wb_user_id"));
CREATE INDEX "feedback_by_call" on "feedback" ("project_id", "weave_ref", "created_at", "id");
CREATE INDEX "feedback_by_queue" on "feedback" ("project_id", "queue_id", "created_at", "id");
update schema_version set version = 3;
`;
