import type { ServiceClient } from '../client/service-client.ts';
import { scoreFeedbackType } from '../contract/feedback.ts';
import { callIdOf, parseReference } from '../contract/references.ts';
import { inBatches } from '../core/in-batches.ts';
import { isOnCalls } from '../queues/judgements.ts';
import { readPages } from '../records/read-pages.ts';

/** Calls that one request names. */
const callsPerRequest = 500;

/**
 * Reads the scores that one version of a scorer has given recorded calls: the latest of each, by the ids of the calls. Each score is
 * feedback on its call, whatever program had the call scored.
 * @param scorer reference with a digest.
 * @throws HeddleError `unsupported` at a service that cannot list feedback.
 */
export async function readJudgeScores(
  scorer: string,
  callIds: readonly string[],
  project_id: string,
  service: ServiceClient,
): Promise<Map<string, unknown>> {
  const scores = new Map<string, unknown>();
  const type = scoreFeedbackType(parseReference(scorer)!.name);
  const isScore = { $eq: [{ $getField: 'feedback_type' }, { $literal: type }] };
  for (const batch of inBatches(callIds, callsPerRequest)) {
    const query = {
      project_id,
      query: { $expr: { $and: [isScore, isOnCalls(project_id, batch)] } },
      fields: ['id', 'weave_ref', 'feedback_type', 'payload', 'created_at', 'runnable_ref'],
      sort_by: [{ field: 'created_at', direction: 'asc' as const }],
    };
    const pages = readPages(
      async (page) => (await service.call('queryFeedback', { body: { ...query, ...page } })).result,
    );
    for await (const page of pages) {
      for (const { weave_ref, payload, runnable_ref } of page) {
        const output = payload?.output;
        if (runnable_ref !== scorer || output === undefined || output === null) continue;
        scores.set(callIdOf(weave_ref), output);
      }
    }
  }
  return scores;
}
