import { annotationFeedbackType, type StoredFeedback } from '../../contract/feedback.ts';
import { readPages } from './read-pages.ts';
import type { ToolContext } from './tool.ts';

type ServiceAccess = Pick<ToolContext, 'service' | 'signal'> & Partial<Pick<ToolContext, 'progress'>>;

/** What an annotator has said about a field of a recorded call. */
export interface Judgement {
  field: string;
  value: unknown;
  /** The user, with the program or the name that they judged with if it is another: `ada (claude via heddle)`. */
  annotator: string;
  user: string;
  creator: string | undefined;
  call_id: string;
  /** When it was stored, in UTC with its zone. */
  at: string;
  id: string;
  /** The annotator's latest note on the call. */
  note?: string;
}

/** A judgement of a field and, in a queue without fields, of any name. */
const judgementTypes = [annotationFeedbackType(''), 'heddle.judgement.'];
const noteType = 'wandb.note.1';

/** The members of feedback that are read. */
const fields = ['id', 'weave_ref', 'feedback_type', 'payload', 'created_at', 'wb_user_id', 'creator'];
const sort_by = ['created_at', 'id'].map((field) => ({ field, direction: 'asc' as const }));

/** References in one request: services limit the number of values that a condition may have. */
const refsPerRequest = 500;

/**
 * Reads the judgements of a queue, the oldest first.
 * @param weaveRefs references to calls; only their judgements are read.
 * @throws HeddleError `unsupported` at a service that cannot list feedback.
 */
export async function readJudgements(
  queueId: string,
  project_id: string,
  { service, signal, progress }: ServiceAccess,
  { weaveRefs }: { weaveRefs?: readonly string[] } = {},
): Promise<Judgement[]> {
  // The service may list one twice; two users can have the same id.
  const judgements = new Map<string, Judgement>();
  const notes = new Map<string, string>();
  for (const $expr of conditions(queueId, weaveRefs)) {
    const query = { project_id, query: { $expr }, fields, sort_by };
    const pages = readPages(async (page) => (await service.queryFeedback({ ...query, ...page }, { signal })).result);
    for await (const page of pages) {
      for (const entry of page) {
        const type = judgementTypes.find((prefix) => entry.feedback_type.startsWith(prefix));
        if (type === undefined && entry.feedback_type !== noteType) continue;
        const judgement = toJudgement(entry, entry.feedback_type.slice(type?.length));
        if (type !== undefined) judgements.set(`${judgement.id} ${judgement.user}`, judgement);
        else notes.set(notePlace(judgement), String(entry.payload?.note));
      }
      progress?.(judgements.size, `${judgements.size} judgements read`);
    }
  }
  const all = [...judgements.values()];
  if (notes.size === 0) return all;
  return all.map((judgement) => {
    const note = notes.get(notePlace(judgement));
    return note === undefined ? judgement : { ...judgement, note };
  });
}

function conditions(queueId: string, weaveRefs: readonly string[] | undefined): Record<string, unknown>[] {
  const inQueue = { $eq: [{ $getField: 'queue_id' }, { $literal: queueId }] };
  if (weaveRefs === undefined) return [inQueue];
  const chunks = Array.from({ length: Math.ceil(weaveRefs.length / refsPerRequest) }, (_, chunk) =>
    weaveRefs.slice(chunk * refsPerRequest, (chunk + 1) * refsPerRequest),
  );
  return chunks.map((chunk) => {
    const literals = chunk.map((reference) => ({ $literal: reference }));
    return { $and: [inQueue, { $in: [{ $getField: 'weave_ref' }, literals] }] };
  });
}

const notePlace = ({ call_id, annotator }: Judgement): string => `${call_id} ${annotator}`;

function toJudgement(entry: StoredFeedback, field: string): Judgement {
  const { id, weave_ref, created_at, payload } = entry;
  const user = entry.wb_user_id ?? 'unknown';
  const creator = entry.creator ?? undefined;
  return {
    field,
    value: payload?.value ?? null,
    annotator: creator === undefined || creator === user ? user : `${user} (${creator})`,
    user,
    creator,
    call_id: weave_ref.slice(weave_ref.lastIndexOf('/') + 1),
    // The public service sends times in UTC without saying so.
    at: /T[\d:.]+$/.test(created_at) ? `${created_at}Z` : created_at,
    id,
  };
}

/** Returns the latest judgement of each annotator for each field and call. */
export function latestJudgements(judgements: readonly Judgement[]): Judgement[] {
  const latest = new Map<string, Judgement>();
  for (const judgement of judgements) {
    const place = [judgement.call_id, judgement.field, judgement.annotator].join('\n');
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
