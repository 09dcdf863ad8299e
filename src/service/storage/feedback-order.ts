import { type SqlBool, sql } from 'kysely';
import type { Tables } from './database-tables.ts';

/** The columns that order feedback so that that of a call is side by side, the oldest first. Indexes have them at their end. */
export const feedbackOrder = ['weave_ref', 'created_at', 'id', 'wb_user_id'] as const;
export type FeedbackPosition = Pick<Tables['feedback'], (typeof feedbackOrder)[number]>;

/** Returns the condition that feedback comes after some in that order. */
export function isAfterFeedback(position: FeedbackPosition) {
  const columns = sql.join(feedbackOrder.map((column) => sql.ref(column)));
  return sql<SqlBool>`(${columns}) > (${sql.join(feedbackOrder.map((column) => position[column]))})`;
}
