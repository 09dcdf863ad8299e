import * as z from 'zod';
import { type StoredFeedback, scoreFeedbackType } from '../contract/feedback.ts';
import { callIdOf } from '../contract/references.ts';
import { fitsSchema } from '../core/json/json-schema.ts';
import { ownMember } from '../core/json/member-at.ts';
import { isOwn, learnAccount } from './authorship.ts';
import { judgementsOf, latestJudgements, notesOf } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import type { QueueField } from './queue-fields.ts';

/** The feedback on an item that its annotator may see before judging: nothing by other annotators. */
export const ownFeedback = z.object({
  judgements: z.record(z.string(), z.unknown()).optional().describe('Their own, by field.'),
  note: z.string().optional(),
  suggestions: z
    .array(z.object({ field: z.string(), value: z.unknown(), by: z.string().describe('Name of the scorer.') }))
    .optional()
    .describe('Values of scorers; only those that someone accepts become judgements.'),
});
export type OwnFeedback = z.output<typeof ownFeedback>;
export type Suggestion = NonNullable<OwnFeedback['suggestions']>[number];

/** Returns what the annotator has judged and noted in the queue, and what scorers suggest, by recorded call. */
export async function ownFeedbackIn(
  feedback: readonly StoredFeedback[],
  callIds: readonly string[],
  queue: QueueAccess,
  fields: readonly QueueField[],
): Promise<Map<string, OwnFeedback>> {
  if (feedback.length === 0) return new Map();
  const inQueue = feedback.filter(({ queue_id }) => queue_id === queue.id);
  const judgements = judgementsOf(inQueue);
  await learnAccount(judgements, queue);
  const found = new Map<string, OwnFeedback>(callIds.map((id) => [id, {}]));
  for (const { call_id, field, value } of latestJudgements(judgements.filter((given) => isOwn(given, queue)))) {
    const own = found.get(call_id);
    if (own) own.judgements = { ...own.judgements, [field]: value };
  }
  for (const given of notesOf(inQueue).filter((note) => isOwn(note, queue))) {
    const own = found.get(given.call_id);
    if (own) own.note = given.note;
  }
  for (const [call_id, suggestions] of suggestionsOf(feedback, fields)) {
    const own = found.get(call_id);
    if (own) own.suggestions = suggestions;
  }
  return found;
}

const scorePrefix = scoreFeedbackType('');

/**
 * Returns what scores suggest, by recorded call: a score whose scorer has the name of a field, or whose output has a member
 * with that name, if the value fits the field. The latest score of a scorer counts.
 */
export function suggestionsOf(
  feedback: readonly StoredFeedback[],
  fields: readonly QueueField[],
): Map<string, Suggestion[]> {
  const latest = new Map<string, Map<string, Suggestion>>();
  for (const { feedback_type, payload, weave_ref } of feedback) {
    if (!feedback_type.startsWith(scorePrefix)) continue;
    const by = feedback_type.slice(scorePrefix.length);
    const callId = callIdOf(weave_ref);
    for (const { name, schema } of fields) {
      const score = ownMember(payload?.output, name);
      const value = score === undefined && by === name ? payload?.output : score;
      if (value === undefined || !fitsSchema(schema, value)) continue;
      const ofCall = latest.get(callId) ?? new Map<string, Suggestion>();
      ofCall.set(JSON.stringify([name, by]), { field: name, value, by });
      latest.set(callId, ofCall);
    }
  }
  return new Map([...latest].map(([callId, suggestions]) => [callId, [...suggestions.values()]]));
}
