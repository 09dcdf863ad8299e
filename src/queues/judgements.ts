import { goldFeedbackType, judgementTypes, type StoredFeedback } from '../contract/feedback.ts';
import { type AnnotatorName, annotatorOf } from '../contract/judgement-test.ts';
import { callIdOf, callReference } from '../contract/references.ts';
import { groupBy } from '../core/append-to.ts';
import { readPages } from '../records/read-pages.ts';
import type { QueueAccess } from './queue-access.ts';

/** A judgement of a recorded call: the value that an annotator gave a field. */
export interface Judgement extends AnnotatorName {
  id: string;
  call_id: string;
  field: string;
  value: unknown;
  /** Version of the guidelines that it followed, if that is known. */
  guidelines?: string;
  /** Why this value settles a dispute; only of gold. */
  reason?: string;
  /** When it was given, by the clock of the service, with its zone. */
  at: string;
}

/** A note on a recorded call. */
export interface Note extends Omit<Judgement, 'field' | 'value'> {
  note: string;
}

export const noteType = 'wandb.note.1';

/** Calls that one request names. */
const callsPerRequest = 500;

/**
 * Reads the feedback that was given in a queue, the oldest first. With `callIds`, only on these calls, unless they are so
 * many that it takes fewer requests to read everything. Feedback that a service lists twice is returned once.
 * @throws HeddleError `unsupported` at a service that cannot list feedback.
 */
export async function readFeedback(queue: QueueAccess, callIds?: readonly string[]): Promise<StoredFeedback[]> {
  if (callIds?.length === 0) return [];
  const isInQueue = { $eq: [{ $getField: 'queue_id' }, { $literal: queue.id }] };
  if (callIds === undefined || callIds.length > callsPerRequest) return readMatching(isInQueue, queue);
  return readMatching({ $and: [isInQueue, isOnCalls(queue.project, callIds)] }, queue);
}

/** Reads the notes that were written in a queue, of one account if it is given. */
export async function readNotes(queue: QueueAccess, account: string | undefined): Promise<Note[]> {
  const members = {
    queue_id: queue.id,
    feedback_type: noteType,
    ...(account !== undefined && { wb_user_id: account }),
  };
  const $and = Object.entries(members).map(([name, value]) => ({ $eq: [{ $getField: name }, { $literal: value }] }));
  return notesOf(await readMatching({ $and }, queue));
}

/** Reads the feedback on up to 500 calls, in whichever queue or in none, the oldest first. */
export function readFeedbackOnCalls(queue: QueueAccess, callIds: readonly string[]): Promise<StoredFeedback[]> {
  return readMatching(isOnCalls(queue.project, callIds), queue);
}

async function readMatching(
  $expr: Record<string, unknown>,
  { project, service, progress }: QueueAccess,
): Promise<StoredFeedback[]> {
  // Another account may have used the same id.
  const found = new Map<string, StoredFeedback>();
  const query = { project_id: project, query: { $expr }, fields: readMembers, sort_by: oldestFirst };
  const pages = readPages(
    async (page) => (await service.call('queryFeedback', { body: { ...query, ...page } })).result,
  );
  for await (const page of pages) {
    for (const feedback of page) found.set(`${feedback.wb_user_id} ${feedback.id}`, feedback);
    progress?.({ done: found.size, unit: 'judgements' });
  }
  return [...found.values()];
}

/** Returns the condition on feedback that it is on one of some recorded calls. */
export function isOnCalls(projectId: string, callIds: readonly string[]): Record<string, unknown> {
  const references = [...new Set(callIds)].map((id) => ({ $literal: callReference(projectId, id) }));
  return { $in: [{ $getField: 'weave_ref' }, references] };
}

const readMembers = ['id', 'weave_ref', 'feedback_type', 'payload', 'created_at', 'wb_user_id', 'creator', 'queue_id'];

const oldestFirst = ['created_at', 'id'].map((field) => ({ field, direction: 'asc' as const }));

/** Returns the judgements among feedback, in their order; `types` are the beginnings of their types. */
export function judgementsOf(list: readonly StoredFeedback[], types = judgementTypes): Judgement[] {
  const judgements: Judgement[] = [];
  for (const feedback of list) {
    const prefix = types.find((candidate) => feedback.feedback_type.startsWith(candidate));
    if (prefix === undefined) continue;
    const field = feedback.feedback_type.slice(prefix.length);
    const { value, reason, guidelines } = feedback.payload ?? {};
    judgements.push({
      ...authorship(feedback),
      field,
      value,
      ...(typeof reason === 'string' && { reason }),
      ...(typeof guidelines === 'string' && { guidelines }),
    });
  }
  return judgements;
}

/** Returns all gold judgements among feedback, in their order. They are no annotator's. */
export function goldJudgementsOf(list: readonly StoredFeedback[]): Judgement[] {
  return judgementsOf(list, [goldFeedbackType('')]).map((judgement) => ({ ...judgement, annotator: '' }));
}

/** Returns the gold judgement that counts for each field and call among feedback: the latest, whoever gave it. */
export function goldOf(list: readonly StoredFeedback[]): Judgement[] {
  return latestJudgements(goldJudgementsOf(list));
}

/** Returns the notes among feedback, in their order. */
export function notesOf(list: readonly StoredFeedback[]): Note[] {
  return list
    .filter(({ feedback_type }) => feedback_type === noteType)
    .map((feedback) => ({ ...authorship(feedback), note: String(feedback.payload?.note ?? '') }));
}

function authorship({ id, weave_ref, wb_user_id, creator, created_at }: StoredFeedback) {
  return {
    id,
    call_id: callIdOf(weave_ref),
    ...annotatorOf(wb_user_id ?? '', creator ?? undefined),
    // The public service sends times in UTC without saying so.
    at: /T[\d:.]+$/.test(created_at) ? `${created_at}Z` : created_at,
  };
}

/** Groups what was given on recorded calls by the calls, in the given order. */
export function byCall<T extends { call_id: string }>(list: readonly T[]): Map<string, T[]> {
  return groupBy(list, ({ call_id }) => call_id);
}

/** Returns the judgement that counts for each annotator, field and call: the latest. */
export function latestJudgements(judgements: readonly Judgement[]): Judgement[] {
  const latest = new Map<string, Judgement>();
  for (const judgement of judgements) {
    const place = JSON.stringify([judgement.call_id, judgement.field, judgement.annotator]);
    const other = latest.get(place);
    if (other === undefined || isLater(judgement, other)) latest.set(place, judgement);
  }
  return [...latest.values()];
}

function isLater(a: Judgement, b: Judgement): boolean {
  // Without its zone, a time without a fraction sorts before one of the same second with it.
  const [timeA, timeB] = [a.at.replace('Z', ''), b.at.replace('Z', '')];
  return timeA === timeB ? a.id > b.id : timeA > timeB;
}
