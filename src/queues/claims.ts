import type { CallParts } from '../contract/endpoints.ts';
import { isFinished, type QueueItem } from '../contract/queue-items.ts';
import type { ReviewersPerItem } from '../contract/queues.ts';
import { HeddleError } from '../core/errors.ts';
import { isOwn } from './authorship.ts';
import type { Update } from './changes/plan-updates.ts';
import { serviceFailureOf, writeUpdates } from './changes/write-updates.ts';
import { type ItemsFilter, wholeFilter } from './items-filter.ts';
import { byCall, type Judgement, judgementsOf } from './judgements.ts';
import { requireKnownIds, requireKnownNames, withWholeNames } from './known-names.ts';
import { matchingItems } from './matching-items.ts';
import { unfinishedOf } from './own-progress.ts';
import { isByPerson } from './peoples-values.ts';
import type { QueueAccess } from './queue-access.ts';
import { requireQueue } from './require-queue.ts';

type ClaimBody = CallParts<'claimQueueItems'>['body'];

/** What an annotator asks for. */
export interface ClaimRequest extends Pick<ClaimBody, 'n' | 'minutes'> {
  annotator?: string | undefined;
  filter: ItemsFilter;
  order?: NonNullable<ClaimBody['order']> | undefined;
  reviewers_per_item?: ReviewersPerItem | undefined;
  release: readonly string[];
  /** Keeps what the annotator holds; then `n` counts all that it holds. */
  prolong: boolean;
}

/** The items that an annotator got. */
export interface ClaimedItems {
  items: QueueItem[];
  /** When the claims end; absent at a service without claims. */
  held_until?: string;
  /** When the first claim of another annotator ends, if fewer items were free than asked for. */
  free_at?: string | null | undefined;
  /** Number of items that were given back, if some were to be. */
  released?: number | undefined;
  /** Says what is not certain. */
  hint?: string;
}

/**
 * Claims items of a queue for the account: as a person if the user acts, otherwise as an agent. At a service without claims it marks
 * items as in progress and leaves out those of others.
 * @throws HeddleError `not_found` for an unknown queue, `unsupported` for what a service without claims cannot do.
 */
export async function claimItems(request: ClaimRequest, queue: QueueAccess): Promise<ClaimedItems> {
  const { unsupportedOperations } = queue.service.facts;
  // A board asks again and again; others ask seldom, and the service may have been replaced.
  if (request.prolong && unsupportedOperations.has('claimQueueItems')) return markItems(request, queue);
  try {
    return await claimAtService(request, queue);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    if (error.code === 'not_found') await requireQueue(queue.id, queue.project, queue.service);
    if (error.code !== 'unsupported') throw error;
    unsupportedOperations.add('claimQueueItems');
    return markItems(request, queue);
  }
}

async function claimAtService(
  { filter: given, release, ...request }: ClaimRequest,
  queue: QueueAccess,
): Promise<ClaimedItems> {
  const { id: queue_id, project: project_id, service } = queue;
  const filter = await withWholeNames(given, queue);
  // Once items are claimed, it is too late for an error.
  if (filter.ids) await requireKnownIds(filter.ids, queue);
  if (request.n === 0) await requireKnownNames(filter, queue);
  const claimed = await service.call('claimQueueItems', {
    path: { queue_id },
    body: {
      project_id,
      as: queue.byUser ? 'person' : 'agent',
      ...request,
      filter: wholeFilter(filter, queue),
      ...(release.length > 0 && {
        release: (await requireKnownIds(release, queue, 'release', 'Nothing was released or claimed')).map(
          ({ id }) => id,
        ),
      }),
    },
  });
  if (claimed.items.length === 0 && request.n > 0) await requireKnownNames(filter, queue);
  return claimed;
}

/**
 * Marks items as in progress that neither the account has finished or begun nor enough others have judged or begun. Another client
 * that looks at the same moment may find the same items.
 */
async function markItems(request: ClaimRequest, queue: QueueAccess): Promise<ClaimedItems> {
  const { n, filter, order = 'oldest', release, prolong, annotator, reviewers_per_item = 1 } = request;
  if (prolong || release.length > 0 || annotator !== undefined) {
    throw new HeddleError({
      code: 'unsupported',
      message: 'This service has no claims: nothing can be prolonged, released or claimed for another annotator.',
      hint: 'Claim without prolong, release and annotator: items are then marked as in progress.',
    });
  }
  await requireQueue(queue.id, queue.project, queue.service);
  const sort_by = [{ field: 'created_at', direction: order === 'newest' ? ('desc' as const) : ('asc' as const) }];
  const read = await matchingItems(queue, filter, { sort_by, include_feedback: true });
  const given = byCall(judgementsOf(read.feedback));
  const unfinished = await unfinishedOf(read, queue);
  const free = unfinished.filter((item) =>
    wantsOpinion(item, given.get(item.call_id) ?? [], reviewers_per_item, queue),
  );
  const change = { annotation_state: 'in_progress' } as const;
  const none = { feedback: [], purge: [], stays: [], ofOther: [], unjudged: [] };
  const updates = free.slice(0, n).map((item): Update => ({ item, change, ...none, wrote: false }));
  await writeUpdates(updates, queue, () => {});
  const failure = updates.map(serviceFailureOf).find((each) => each !== undefined);
  const marked = updates.filter(({ error }) => !error);
  if (failure && marked.length === 0) throw failure;
  return {
    items: marked.map(({ item }) => ({ ...item, annotation_state: 'in_progress' })),
    ...(marked.length > 0 && { hint: markingHint }),
  };
}

const markingHint =
  'This service has no claims: the items are marked as in progress, and those that others have begun are left out. An annotator who asks at the same moment may get the same items, and the mark never ends by itself.';

/** Returns whether an item has fewer judges, and others who have begun, than it wants, and is not begun by the account. */
function wantsOpinion(
  { annotation_state, annotator_user_id }: QueueItem,
  judgements: readonly Judgement[],
  wanted: ReviewersPerItem,
  queue: QueueAccess,
): boolean {
  const { facts } = queue.service;
  const own = facts.annotatorId ?? facts.userId;
  const isBegun = annotation_state === 'in_progress' || isFinished(annotation_state);
  if (isBegun && annotator_user_id === own) return false;
  if (judgements.some((judgement) => isOwn(judgement, queue))) return false;
  const kinds = new Map(judgements.map((judgement) => [judgement.user, isByPerson(judgement) ? 'person' : 'agent']));
  if (isBegun && !kinds.has(annotator_user_id ?? '')) kinds.set(annotator_user_id ?? '', 'person');
  if (typeof wanted === 'number') return kinds.size < wanted;
  const kind = queue.byUser ? 'person' : 'agent';
  const count = [...kinds.values()].filter((each) => each === kind).length;
  return count < (kind === 'agent' ? wanted.agents : wanted.people);
}
