import { withFallback } from '../client/with-fallback.ts';
import { judgementTypes } from '../contract/feedback.ts';
import { annotatorOf } from '../contract/judgement-test.ts';
import { HeddleError } from '../core/errors.ts';
import { readPages } from '../records/read-pages.ts';
import { fulfillingItems } from './call-conditions.ts';
import { type ItemsFilter, namesCaller, serviceFilter } from './items-filter.ts';
import { type Judgement, judgementsOf, readFeedback } from './judgements.ts';
import type { QueueAccess } from './queue-access.ts';
import type { SummarizedItem } from './queue-summary.ts';
import { isIgnored, readItems } from './read-items.ts';

interface Summarized {
  items: SummarizedItem[];
  /** The judgements of the items, and perhaps others, the oldest first. */
  judgements: Judgement[];
}

/**
 * Reads what a summary counts: the items that fit the conditions that the service applies and, if wanted, the judgements. A service
 * that counts by itself sends them in groups; others send all of them in pages.
 * @throws HeddleError `unsupported` at a service that cannot list feedback.
 */
export async function readSummarized(
  queue: QueueAccess,
  filter: ItemsFilter,
  withJudgements: boolean,
): Promise<Summarized> {
  const { unsupportedOperations } = queue.service.facts;
  const counted =
    !unsupportedOperations.has('summarizeQueueItems') &&
    (await withFallback(
      () => readGroups(queue, filter, withJudgements),
      async () => void unsupportedOperations.add('summarizeQueueItems'),
    ));
  if (counted) return counted;
  const judgements = withJudgements ? await readAllJudgements(queue) : [];
  return { items: await readItemPages(queue, filter, judgements.length), judgements };
}

/** Items, and judgements, that groups may stand for; more are read in pages. */
const maxExpanded = 2_000_000;

const totalOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

/** Reads groups of equal items. Returns undefined if there are too many of them, or if they do not tell enough. */
async function readGroups(
  queue: QueueAccess,
  filter: ItemsFilter,
  withJudgements: boolean,
): Promise<Summarized | undefined> {
  // Only the ids of judgements tell which of them are by this account.
  if (namesCaller(filter)) return undefined;
  const { id: queue_id, project: project_id, service } = queue;
  const judgement_types = withJudgements ? [...judgementTypes] : null;
  const summary = await service
    .call('summarizeQueueItems', {
      path: { queue_id },
      body: { project_id, filter: serviceFilter(filter), judgement_types },
    })
    .catch(whereTooLarge);
  const { groups, judgements = [] } = summary ?? {};
  // The field may be one that only other items have.
  const isFieldKnown = filter.field === undefined || judgements.some(({ field }) => field === filter.field);
  if (!groups?.every(({ count }) => count > 0) || !isFieldKnown) return undefined;
  const judged = judgements.map(({ group }) => groups[group]?.count ?? 0);
  if (totalOf(groups.map(({ count }) => count)) > maxExpanded || totalOf(judged) > maxExpanded) return undefined;
  const itemsOfGroups = groups.map(({ id, count, call_op_name, annotation_state }, group) =>
    Array.from({ length: count }, (_, place): SummarizedItem => {
      const call_id = `${group}/${place}`;
      return { id: id ?? call_id, call_id, call_op_name, annotation_state };
    }),
  );
  const items = itemsOfGroups.flat();
  queue.progress?.({ done: items.length, unit: 'items' });
  return {
    items,
    judgements: judgements.flatMap(({ group, field, user, creator, value }) => {
      const members = { id: '', at: '', field, value, ...annotatorOf(user, creator ?? undefined) };
      return (itemsOfGroups[group] ?? []).map(({ call_id }) => ({ ...members, call_id }));
    }),
  };
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
      items.set(id, { id, call_id, call_op_name, annotation_state });
    }
    queue.progress?.({ done: doneBefore + items.size, unit: doneBefore > 0 ? 'judgements and items' : 'items' });
  }
  return [...items.values()];
}

function readAllJudgements(queue: QueueAccess): Promise<Judgement[]> {
  return withFallback(
    async () => judgementsOf(await readFeedback(queue)),
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
