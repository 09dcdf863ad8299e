import { schema1 } from './schema-1.ts';

/** Schema version 2 as SQLite keeps it: users have such files. */
export const schema2 = `${schema1}
CREATE TABLE "annotator_progress" (
  "item_id" text not null references "queue_items" ("id"),
  "annotator_user_id" text not null,
  "annotation_state" text not null,
  "created_at" text not null,
  "updated_at" text not null, constraint "annotator_progress_key" primary key ("item_id",
  "annotator_user_id"));
CREATE TABLE "feedback" (
  "project_id" text not null,
  "id" text not null,
  "weave_ref" text not null,
  "feedback_type" text not null,
  "payload" text not null,
  "annotation_ref" text,
  "queue_id" text,
  "created_at" text not null,
  "wb_user_id" text not null, constraint "feedback_key" primary key ("project_id",
  "id"));
update schema_version set version = 2;
`;
