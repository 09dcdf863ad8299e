import type { CreateFeedbackRequest, CreateFeedbackResponse } from '../../contract/feedback.ts';
import { refusal } from '../http/refusal.ts';
import type { Transaction } from '../storage/database.ts';
import { canonicalJson } from '../storage/digest.ts';
import { newIds } from '../storage/ids.ts';

const content = ['weave_ref', 'feedback_type', 'payload', 'annotation_ref', 'queue_id'] as const;

/**
 * Keeps feedback, in a write transaction (design §7; `POST /feedback/create`). An id that the project has already answers what
 * is stored, whoever sent it; with other content it is refused with 409.
 */
export async function createFeedback(
  transaction: Transaction,
  account: string,
  request: CreateFeedbackRequest,
): Promise<CreateFeedbackResponse> {
  const [newId = ''] = newIds(1);
  const feedback = {
    project_id: request.project_id,
    id: request.id ?? newId,
    weave_ref: request.weave_ref,
    feedback_type: request.feedback_type,
    payload: canonicalJson(request.payload),
    annotation_ref: request.annotation_ref ?? null,
    queue_id: request.queue_id ?? null,
    created_at: new Date().toISOString(),
    wb_user_id: account,
  };
  const known = await transaction
    .selectFrom('feedback')
    .selectAll()
    .where('project_id', '=', feedback.project_id)
    .where('id', '=', feedback.id)
    .executeTakeFirst();
  if (known && content.some((member) => known[member] !== feedback[member])) {
    throw refusal(409, `Feedback ${feedback.id} exists with other content`);
  }
  if (!known) await transaction.insertInto('feedback').values(feedback).execute();
  const { id, created_at, wb_user_id, payload } = known ?? feedback;
  return { id, created_at, wb_user_id, payload: JSON.parse(payload) };
}
