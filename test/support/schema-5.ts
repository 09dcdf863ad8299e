import { schema3 } from './schema-3.ts';

/** Schema version 5 as SQLite keeps it: users have such files. */
export const schema5 = `${schema3}
drop index "feedback_by_queue";
CREATE INDEX "feedback_by_queue" on "feedback" ("project_id", "queue_id", "created_at", "id", "wb_user_id");
CREATE TABLE "project_grants" (
  "account" text not null references "accounts" ("name"),
  "project_id" text not null, constraint "project_grants_key" primary key ("account", "project_id"));
update schema_version set version = 5;
`;
