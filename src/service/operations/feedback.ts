import { Refusal } from '../../core/http/refusal.ts';
import { canonicalJson } from '../storage/digest.ts';
import { newIds } from '../storage/ids.ts';
import type { TransactionOperation } from './operation.ts';

/** The members that must be equal when feedback is sent again under the same id. */
const contentMembers = ['weave_ref', 'feedback_type', 'payload', 'annotation_ref', 'queue_id'] as const;

/**
 * Stores feedback, in a write transaction. An id that the project has already returns what is stored, whoever sent it.
 * @throws Refusal 409 for an id that is stored with other content.
 */
export const createFeedback: TransactionOperation<'createFeedback'> = async (transaction, { body, account }) => {
  const [newId = ''] = newIds(1);
  const feedback = {
    project_id: body.project_id,
    id: body.id ?? newId,
    weave_ref: body.weave_ref,
    feedback_type: body.feedback_type,
    payload: canonicalJson(body.payload),
    annotation_ref: body.annotation_ref ?? null,
    queue_id: body.queue_id ?? null,
    created_at: new Date().toISOString(),
    wb_user_id: account,
  };
  await transaction
    .insertInto('feedback')
    .values(feedback)
    .onConflict((conflict) => conflict.columns(['project_id', 'id']).doNothing())
    .execute();
  const stored = await transaction
    .selectFrom('feedback')
    .selectAll()
    .where('project_id', '=', feedback.project_id)
    .where('id', '=', feedback.id)
    .executeTakeFirstOrThrow();
  if (contentMembers.some((member) => stored[member] !== feedback[member])) {
    throw new Refusal(409, `Feedback ${feedback.id} exists with other content`);
  }
  const { id, created_at, wb_user_id, payload } = stored;
  return { id, created_at, wb_user_id, payload: JSON.parse(payload) };
};
