import { withFallback } from '../client/with-fallback.ts';
import { goldFeedbackType, judgementTypes, type StoredFeedback } from '../contract/feedback.ts';
import { annotatorOf, hasJudgementConditions } from '../contract/judgement-test.ts';
import { groupBy } from '../core/append-to.ts';
import { HeddleError } from '../core/errors.ts';
import { secondsPerItem } from '../core/statistics/pace.ts';
import { readPages } from '../records/read-pages.ts';
import { fulfillingItems } from './call-conditions.ts';
import { type ItemsFilter, judgementCondition, namesCaller, serviceFilter, wholeFilter } from './items-filter.ts';
import { goldOf, type Judgement, judgementsOf, latestJudgements, readFeedback } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import { countItems, type SummarizedItem } from './queue-summary.ts';
import { isIgnored, readItems } from './read-items.ts';
import { requireQueueWithStats } from './require-queue.ts';

interface Summarized {
  /** The items that fit the conditions, but for those on judgements if the judgements are wanted. */
  items: SummarizedItem[];
  /** The judgements of the items, one for all that are alike, and perhaps others, the oldest first. */
  judgements: Judgement[];
  /** Gold, if it is wanted. */
  gold: Judgement[];
  /** The seconds that each annotator takes for an item, if they are wanted. */
  seconds: ReadonlyMap<string, number>;
}

/** What a summary needs besides the items. */
export interface SummarizedParts {
  judgements: boolean;
  gold?: boolean;
  /** Leaves items without judgements out, where the service counts. */
  judgedOnly?: boolean;
  /** The name of the account, which tells the caller's judgements. */
  account?: boolean;
  /** The day of each judgement. */
  days?: boolean;
  /** The seconds that each annotator takes for an item. */
  paces?: boolean;
}

/**
 * Reads what a summary counts: items and, if wanted, judgements. A service that counts by itself sends them in groups; others send all
 * of them in pages.
 * @throws HeddleError `unsupported` at a service that cannot list feedback.
 */
export async function readSummarized(
  queue: QueueAccess,
  filter: ItemsFilter,
  parts: SummarizedParts,
): Promise<Summarized> {
  const counted = await readCounted(queue, filter, parts);
  if (counted) return counted;
  const feedback = parts.judgements || hasJudgementConditions(filter) ? await readAllFeedback(queue) : [];
  const judgements = judgementsOf(feedback);
  const items = await readItemPages(queue, filter, judgements.length);
  if (!parts.judgements) {
    const matches = await judgementCondition(filter, judgements, queue);
    return { items: items.filter(({ call_id }) => matches(call_id)), judgements: [], gold: [], seconds: new Map() };
  }
  const timed = latestJudgements(judgements).map(({ annotator, call_id, at }) => {
    return { by: annotator, item: call_id, atMs: Date.parse(at) };
  });
  return { items, judgements, gold: goldOf(feedback), seconds: parts.paces ? secondsPerItem(timed) : new Map() };
}

/**
 * Reads what a summary counts from a service that counts by itself. Returns undefined if it does not, if there are too many groups of
 * equal items, or if they do not tell enough.
 * @param isUnfinishedOnly leaves out items that the account has completed or skipped.
 */
export async function readCounted(
  queue: QueueAccess,
  filter: ItemsFilter,
  parts: SummarizedParts,
  isUnfinishedOnly = false,
): Promise<Summarized | undefined> {
  const { unsupportedOperations } = queue.service.facts;
  if (unsupportedOperations.has('summarizeQueueItems')) return undefined;
  return withFallback(
    () => readGroups(queue, filter, parts, isUnfinishedOnly),
    async () => void unsupportedOperations.add('summarizeQueueItems'),
  );
}

async function readGroups(
  queue: QueueAccess,
  filter: ItemsFilter,
  parts: SummarizedParts,
  isUnfinishedOnly: boolean,
): Promise<Summarized | undefined> {
  const { id: queue_id, project: project_id, service } = queue;
  const judgement_types = parts.judgements ? [...judgementTypes] : null;
  const summary = await service
    .call('summarizeQueueItems', {
      path: { queue_id },
      body: {
        project_id,
        filter: {
          ...(parts.judgements ? serviceFilter : wholeFilter)(filter, queue),
          ...(isUnfinishedOnly && { unfinished_by_me: true }),
          ...(parts.judgedOnly && { judged_at_least: 1 }),
        },
        judgement_types,
        ...(parts.gold && { gold_types: [goldFeedbackType('')] }),
        ...(parts.days && { include_days: true }),
        ...(parts.paces && { include_paces: true }),
      },
    })
    .catch(whereTooLarge);
  const { groups, judgements = [], disputed_items, paces = [] } = summary ?? {};
  if (!groups?.every(({ count }) => count > 0)) return undefined;
  const needsAccount = parts.account || (parts.judgements && namesCaller(filter));
  if (needsAccount && service.facts.userId === undefined) {
    await requireQueueWithStats(queue_id, project_id, service);
    // Only the ids of judgements tell, which groups do not have.
    if (service.facts.userId === undefined) return undefined;
  }
  const named = groupBy(
    (disputed_items?.ids ?? []).map((id, place) => ({ id, call_id: disputed_items!.call_ids[place]!, place })),
    ({ place }) => disputed_items!.groups[place]!,
  );
  const items = groups.map(({ count, call_op_name, annotation_state }, group): SummarizedItem => {
    const name = `(group ${group})`;
    return { id: name, call_id: name, place: 0, call_op_name, annotation_state, count, named: named.get(group) };
  });
  queue.progress?.({ done: countItems(items), unit: 'items' });
  const found: Record<'judgements' | 'gold', Judgement[]> = { judgements: [], gold: [] };
  for (const { groups: places, values, is_gold, field, user, creator, day = '' } of judgements) {
    const list = is_gold ? found.gold : found.judgements;
    const members = { id: '', at: day, field, ...annotatorOf(user, creator ?? undefined) };
    for (const [index, place] of places.entries())
      list.push({ ...members, value: values?.[index], call_id: items[place]!.call_id });
  }
  const seconds = paces.map(
    (pace) => [annotatorOf(pace.user, pace.creator ?? undefined).annotator, pace.seconds] as const,
  );
  return { items, ...found, seconds: new Map(seconds) };
}

/** Returns undefined where the service refuses to count so much with one request; the queue can still be read in pages. */
function whereTooLarge(error: unknown): undefined {
  if (!(error instanceof HeddleError && error.status === 413)) throw error;
}

async function readItemPages(queue: QueueAccess, filter: ItemsFilter, doneBefore: number): Promise<SummarizedItem[]> {
  const conditions = serviceFilter(filter);
  const pages = readPages(async (page) => (await readItems(queue, { filter: conditions, ...page })).items);
  // An item may be on two pages when the queue changes meanwhile.
  const items = new Map<string, SummarizedItem>();
  for await (const page of pages) {
    // Other members are dropped, because there can be many items.
    const fulfilling = isIgnored({ filter: conditions }, queue) ? await fulfillingItems(page, conditions, queue) : page;
    for (const { id, call_id, call_op_name, annotation_state } of fulfilling) {
      items.set(id, { id, call_id, place: items.size, call_op_name, annotation_state });
    }
    queue.progress?.({ done: doneBefore + items.size, unit: doneBefore > 0 ? 'judgements and items' : 'items' });
  }
  return [...items.values()];
}

function readAllFeedback(queue: QueueAccess): Promise<StoredFeedback[]> {
  return withFallback(
    () => readFeedback(queue),
    async () => {
      throw new HeddleError({
        code: 'unsupported',
        message: 'The service cannot list judgements. Count by state and operation only.',
        hint: 'Call again with by ["operation","state"], and without conditions on judgements.',
        endpoint: 'queryFeedback',
      });
    },
  );
}
