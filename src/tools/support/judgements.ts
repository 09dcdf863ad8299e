import { annotationFeedbackType, type StoredFeedback } from '../../contract/feedback.ts';
import { splitProjectId } from '../../contract/identifiers.ts';
import { formatReference, parseReference, referenceScheme } from '../../contract/references.ts';
import type { ToolContext } from './tool.ts';

type ServiceAccess = Pick<ToolContext, 'service' | 'signal'>;

/** A judgement of a recorded call: the value that an annotator gave a field. */
export interface Judgement {
  id: string;
  call_id: string;
  field: string;
  value: unknown;
  /** The account, and the author that it named, like the MCP client of an agent. */
  user: string;
  creator: string | undefined;
  /** The account and the author, for display: one annotator. */
  annotator: string;
  /** When it was given, as the service wrote it. */
  at: string;
}

/** A note on a recorded call. */
export interface Note extends Omit<Judgement, 'field' | 'value'> {
  note: string;
}

/** Type of the judgements in a queue without fields, which the service would refuse as annotations. */
export const freeJudgementType = (name: string): string => `heddle.judgement.${name}`;

export const noteType = 'wandb.note.1';

const annotationPrefix = annotationFeedbackType('');
const freePrefix = freeJudgementType('');

/** Feedback that one request asks for; several times as much fits into a response. */
const pageSize = 5000;
/** References that one request names. */
const refsPerRequest = 200;

/** Returns the reference to a recorded call. `projectId` is `entity/project`. */
export function callReference(projectId: string, callId: string): string {
  return formatReference({ scheme: referenceScheme, ...splitProjectId(projectId), kind: 'call', name: callId });
}

/**
 * Reads the feedback that was given in a queue, the oldest first; with `callIds`, only on these calls. Feedback that a
 * service lists twice is returned once.
 */
export async function readFeedback(
  queueId: string,
  project: string,
  access: ServiceAccess,
  callIds?: readonly string[],
): Promise<StoredFeedback[]> {
  const inQueue = equals('queue_id', queueId);
  if (!callIds) return distinct(await readPages(project, inQueue, access));
  const refs = [...new Set(callIds)].map((id) => callReference(project, id));
  const found: StoredFeedback[] = [];
  for (let start = 0; start < refs.length; start += refsPerRequest) {
    const literals = refs.slice(start, start + refsPerRequest).map((ref) => ({ $literal: ref }));
    const onCalls = { $in: [{ $getField: 'weave_ref' }, literals] };
    found.push(...(await readPages(project, { $and: [inQueue, onCalls] }, access)));
  }
  return distinct(found);
}

async function readPages(
  project_id: string,
  $expr: Record<string, unknown>,
  { service, signal }: ServiceAccess,
): Promise<StoredFeedback[]> {
  const found: StoredFeedback[] = [];
  for (;;) {
    const page = { limit: pageSize, offset: found.length, sort_by: oldestFirst };
    const { result } = await service.queryFeedback({ project_id, query: { $expr }, ...page }, { signal });
    found.push(...result);
    if (result.length < pageSize) return found;
  }
}

const oldestFirst = [
  { field: 'created_at', direction: 'asc' as const },
  { field: 'id', direction: 'asc' as const },
];

function equals(field: string, value: string): Record<string, unknown> {
  return { $eq: [{ $getField: field }, { $literal: value }] };
}

/** Feedback that was sent twice stays in a service's lists twice until it merges them. */
function distinct(list: readonly StoredFeedback[]): StoredFeedback[] {
  return [...new Map(list.map((feedback) => [`${feedback.wb_user_id} ${feedback.id}`, feedback])).values()];
}

/** Returns the judgements among feedback, in their order. */
export function judgementsOf(list: readonly StoredFeedback[]): Judgement[] {
  return list.flatMap((feedback) => {
    const prefix = [annotationPrefix, freePrefix].find((candidate) => feedback.feedback_type.startsWith(candidate));
    if (prefix === undefined) return [];
    return [
      { ...authorship(feedback), field: feedback.feedback_type.slice(prefix.length), value: feedback.payload?.value },
    ];
  });
}

/** Returns the notes among feedback, in their order. */
export function notesOf(list: readonly StoredFeedback[]): Note[] {
  return list
    .filter(({ feedback_type }) => feedback_type === noteType)
    .map((feedback) => ({ ...authorship(feedback), note: String(feedback.payload?.note ?? '') }));
}

function authorship({ id, weave_ref, wb_user_id, creator, created_at }: StoredFeedback) {
  const user = wb_user_id ?? '';
  const author = creator ?? undefined;
  return {
    id,
    call_id: parseReference(weave_ref)?.name ?? weave_ref,
    user,
    creator: author,
    annotator: author === undefined || author === user ? user : `${user} (${author})`,
    at: created_at,
  };
}

/** Returns the judgement that counts for each annotator, field and call: the latest. `list` is in order of time. */
export function latestJudgements(list: readonly Judgement[]): Judgement[] {
  const latest = new Map<string, Judgement>();
  for (const judgement of list) {
    const key = JSON.stringify([judgement.annotator, judgement.field, judgement.call_id]);
    latest.delete(key);
    latest.set(key, judgement);
  }
  return [...latest.values()];
}

/** Returns the time of the newest feedback in a queue by the clock of the service; a time before any, if there is none. */
export async function newestFeedbackTime(
  queueId: string,
  project_id: string,
  { service, signal }: ServiceAccess,
): Promise<string> {
  const { result } = await service.queryFeedback(
    {
      project_id,
      query: { $expr: equals('queue_id', queueId) },
      sort_by: [{ field: 'created_at', direction: 'desc' }],
      limit: 1,
    },
    { signal },
  );
  return result[0]?.created_at ?? '1970-01-01T00:00:00Z';
}
