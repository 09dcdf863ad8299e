import type { ServiceClient } from '../../../../client/service-client.ts';
import type { BodyOf } from '../../../../contract/endpoints.ts';
import { appendTo } from '../../../../core/append-to.ts';
import { inBatches } from '../../../../core/in-batches.ts';
import type { StoredJudgement } from '../../../../service/start-service.ts';
import { inRounds, type ProjectCopy, sendInHalves } from './project-copy.ts';

type NewFeedback = BodyOf<'createFeedback'> & { id: string };

const feedbackPerRequest = 100;

/** Copies judgements, notes and other feedback. What the target has under the same id is not sent again. */
export async function copyFeedback(copy: ProjectCopy): Promise<void> {
  const annotators = await copy.reader.annotators();
  const shared = annotators.filter((user) => !copy.ownAccounts.has(user));
  for await (const batch of copy.reader.feedback()) {
    const known = await feedbackAtTarget(copy, batch);
    const missing = batch.filter(({ id }) => !known.has(id));
    copy.tally.count('feedback', { there: batch.length - missing.length });
    if (copy.isDryRun) continue;
    // The latest judgement of a field counts, and the target decides the time: those on one call go one after the other.
    for (const round of inRounds(missing, ({ weave_ref }) => weave_ref)) {
      const byService = new Map<ServiceClient, NewFeedback[]>();
      for (const feedback of round) {
        const service = copy.ownAccounts.get(feedback.wb_user_id) ?? copy.target;
        appendTo(byService, service, copiedFeedback(feedback, copy, shared.length > 1));
      }
      for (const [service, own] of byService) await sendFeedback(copy, service, own);
    }
  }
}

async function sendFeedback({ tally }: ProjectCopy, service: ServiceClient, feedback: NewFeedback[]): Promise<void> {
  for (const batch of inBatches(feedback, feedbackPerRequest)) {
    let refused = 0;
    await sendInHalves(
      batch,
      (part) => service.call('createFeedbackBatch', { body: { batch: [...part] } }),
      ({ id, feedback_type }, { message }) => {
        refused += 1;
        tally.leave('feedback', `${feedback_type}: ${message}`, id);
      },
    );
    tally.count('feedback', { copied: batch.length - refused });
  }
}

/** Returns the ids of that feedback which the target has. */
export async function feedbackAtTarget(
  { target, names }: Pick<ProjectCopy, 'target' | 'names'>,
  feedback: readonly { id: string }[],
): Promise<Set<string>> {
  const ids = feedback.map(({ id }) => ({ $literal: id }));
  const { result } = await target.call('queryFeedback', {
    body: {
      project_id: names.target_id,
      query: { $expr: { $in: [{ $getField: 'id' }, ids] } },
      fields: ['id', 'weave_ref', 'feedback_type', 'created_at'],
    },
  });
  return new Set(result.map(({ id }) => id));
}

/**
 * Returns feedback as the target is to have it.
 * @param namesUser true if the annotators here are one account at the target, so that only the author can tell them apart.
 */
function copiedFeedback(
  feedback: StoredJudgement,
  { names, ownAccounts, tally }: ProjectCopy,
  namesUser: boolean,
): NewFeedback {
  const { id, wb_user_id: user, creator, queue_id } = feedback;
  const reference = (text: string | null): string | null => text && names.reference(text);
  const isOwn = ownAccounts.has(user);
  const author = namesUser && !isOwn ? (creator === null || creator === user ? user : `${user} (${creator})`) : creator;
  const queue = queue_id && names.queues.get(queue_id);
  if (queue_id && !queue) tally.change('feedback', 'no queue, because it was deleted here', id);
  return {
    project_id: names.target_id,
    id,
    weave_ref: names.reference(feedback.weave_ref),
    feedback_type: feedback.feedback_type,
    payload: names.value(feedback.payload),
    annotation_ref: reference(feedback.annotation_ref),
    runnable_ref: reference(feedback.runnable_ref),
    call_ref: reference(feedback.call_ref),
    trigger_ref: reference(feedback.trigger_ref),
    queue_id: queue || null,
    creator: author,
  };
}
