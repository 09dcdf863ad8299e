import type { ServiceClient } from '../../../../client/service-client.ts';
import { withFallback } from '../../../../client/with-fallback.ts';
import type { BodyOf } from '../../../../contract/endpoints.ts';
import type { QueueItem } from '../../../../contract/queue-items.ts';
import type { Queue } from '../../../../contract/queues.ts';
import { groupBy } from '../../../../core/append-to.ts';
import { concurrently } from '../../../../core/concurrently.ts';
import { HeddleError } from '../../../../core/errors.ts';
import { inBatches } from '../../../../core/in-batches.ts';
import { isJsonObject } from '../../../../core/json/json-object.ts';
import { readPages } from '../../../../records/read-pages.ts';
import type { ProjectReader, StoredItem } from '../../../../service/start-service.ts';
import { inRounds, type ProjectCopy, sendInHalves } from './project-copy.ts';

type StoredQueue = Awaited<ReturnType<ProjectReader['queues']>>[number];

/** Copies the queues with their items and the states of these. A queue that the target has under the same name is the same. */
export async function copyQueues(copy: ProjectCopy): Promise<void> {
  const { reader, target, names, tally, isDryRun } = copy;
  const project_id = names.target_id;
  const known = (await target.call('queryQueues', { body: { project_id } })).toReversed();
  for (const queue of await reader.queues()) {
    const body = {
      project_id,
      name: queue.name,
      description: queue.description ?? '',
      scorer_refs: queue.scorer_refs.map((reference) => names.reference(reference)),
      ...(queue.reviewers_per_item && { reviewers_per_item: JSON.parse(queue.reviewers_per_item) }),
    };
    const same = takeSame(known, body);
    if (same) {
      tally.count('queues', { there: 1 });
      if (differenceOf(same, body) > 0)
        tally.change('queues', 'other guidelines or fields, which stay as they are', queue.id);
    } else if (isDryRun) continue;
    else tally.count('queues', { copied: 1 });
    const id = same?.id ?? (await createQueue(copy, queue, body));
    names.queues.set(queue.id, id);
    await copyItems(copy, queue, id);
  }
}

/** Creates a queue at the target, for everybody if the target has accounts and not all of its assignees. */
async function createQueue(
  { target, tally }: ProjectCopy,
  { id, assignees }: StoredQueue,
  body: BodyOf<'createQueue'>,
): Promise<string> {
  if (assignees === null) return (await target.call('createQueue', { body })).id;
  const assigned = { ...body, assignees: JSON.parse(assignees) };
  try {
    return (await target.call('createQueue', { body: assigned })).id;
  } catch (error) {
    if (!(error instanceof HeddleError) || error.status !== 400) throw error;
    tally.change('queues', 'without their assignees, not all of whom have an account there', id);
    return (await target.call('createQueue', { body })).id;
  }
}

type QueueContent = Pick<Queue, 'name' | 'description' | 'scorer_refs'>;

function differenceOf(queue: QueueContent, { description, scorer_refs }: QueueContent): number {
  const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  return Number(!isSame(queue.description ?? '', description)) + Number(!isSame(queue.scorer_refs ?? [], scorer_refs));
}

/** Takes the queue of this name off a list, of several the one most like it, and then the oldest. */
function takeSame(queues: Queue[], wanted: QueueContent): Queue | undefined {
  const [same] = queues
    .filter(({ name }) => name === wanted.name)
    .sort((a, b) => differenceOf(a, wanted) - differenceOf(b, wanted));
  if (same) queues.splice(queues.indexOf(same), 1);
  return same;
}

type ItemThere = Pick<QueueItem, 'id' | 'annotation_state'>;

async function copyItems(copy: ProjectCopy, { id: queueHere }: StoredQueue, queue_id: string): Promise<void> {
  const { reader, target, names, tally, isDryRun } = copy;
  const before = await itemsAtTarget(copy, queue_id);
  for await (const items of reader.items(queueHere)) {
    const missing = items.filter(({ call_id }) => !before.has(names.call(call_id)));
    tally.count('items', { there: items.length - missing.length });
    if (isDryRun) continue;
    const byFields = groupBy(missing, ({ display_fields }) => JSON.stringify(display_fields));
    for (const [, [first, ...rest]] of byFields) {
      const call_ids = [first!, ...rest].map(({ call_id }) => names.call(call_id));
      const body = { project_id: names.target_id, call_ids, display_fields: first!.display_fields };
      await target.call('addQueueItems', { path: { queue_id }, body });
    }
  }
  if (isDryRun) return;
  // The ids of new items are known once all have been added.
  const there = await itemsAtTarget(copy, queue_id);
  for await (const items of reader.items(queueHere)) {
    for (const { id, call_id } of items) {
      if (!there.has(names.call(call_id))) tally.leave('items', 'the call of the item is not there', id);
      else if (!before.has(names.call(call_id))) tally.count('items', { copied: 1 });
    }
    await copyStates(copy, queue_id, items, there);
  }
}

/** Lists the items of a queue at the target by their calls. */
async function itemsAtTarget({ target, names }: ProjectCopy, queue_id: string): Promise<Map<string, ItemThere>> {
  const items = new Map<string, ItemThere>();
  const pages = readPages(async (page) => {
    const body = { project_id: names.target_id, ...page };
    return (await target.call('queryQueueItems', { path: { queue_id }, body })).items;
  });
  for await (const page of pages) {
    for (const { call_id, id, annotation_state } of page) items.set(call_id, { id, annotation_state });
  }
  return items;
}

/** A state that an account sets for an item. */
interface NewState {
  service: ServiceClient;
  item_id: string;
  annotation_state: string;
  /** Id of the item here. */
  here: string;
}

const statesPerRequest = 1000;
const concurrentRequests = 8;

/** Sets the states of items, in the order in which the annotators of an item reached theirs, so that the latest one is shown. */
async function copyStates(
  copy: ProjectCopy,
  queue_id: string,
  items: readonly StoredItem[],
  there: ReadonlyMap<string, ItemThere>,
): Promise<void> {
  const { names, tally } = copy;
  const states = items.flatMap((item): NewState[] => {
    const found = there.get(names.call(item.call_id));
    if (!found) return [];
    return statesOf(item, copy)
      .filter(({ annotation_state }) => copy.ownAccounts.size > 0 || annotation_state !== found.annotation_state)
      .map((state) => ({ ...state, item_id: found.id, here: item.id }));
  });
  const refuse = ({ here }: NewState, reason: string): void => tally.leave('items', `a state: ${reason}`, here);
  for (const round of inRounds(states, ({ item_id }) => item_id)) {
    const byService = groupBy(round, ({ service }) => service);
    for (const [service, own] of byService) await setStates(copy, service, queue_id, own, refuse);
  }
}

/** Returns the states of an item that each account at the target sets; annotators without one share that of the copy. */
function statesOf({ progress, annotation_state, annotator_user_id }: StoredItem, copy: ProjectCopy) {
  const { target, ownAccounts } = copy;
  const own = progress.filter(({ annotator_user_id: user }) => ownAccounts.has(user));
  const others = progress.filter((row) => !own.includes(row));
  const isShownOthers = annotator_user_id === null || !ownAccounts.has(annotator_user_id);
  // An imported state belongs to no annotator.
  const shared = isShownOthers ? annotation_state : others.at(-1)?.annotation_state;
  const states = own.map((row) => ({
    service: ownAccounts.get(row.annotator_user_id)!,
    annotation_state: row.annotation_state,
  }));
  if (shared === undefined || shared === 'unstarted') return states;
  const state = { service: target, annotation_state: shared };
  return isShownOthers ? [...states, state] : [state, ...states];
}

async function setStates(
  { names }: ProjectCopy,
  service: ServiceClient,
  queue_id: string,
  states: readonly NewState[],
  refuse: (state: NewState, reason: string) => void,
): Promise<void> {
  const project_id = names.target_id;
  const together = async (): Promise<void> => {
    for (const batch of inBatches(states, statesPerRequest)) {
      const updates = batch.map(({ item_id, annotation_state }) => ({ item_id, annotation_state }));
      const { results } = await service.call('updateProgressBatch', {
        path: { queue_id },
        body: { project_id, updates },
      });
      for (const [index, state] of batch.entries()) {
        const { item, reason = 'refused' } = results[index] ?? {};
        if (!isJsonObject(item)) refuse(state, reason);
      }
    }
  };
  const oneByOne = () =>
    concurrently(states, concurrentRequests, (state) => {
      const { item_id, annotation_state } = state;
      const parts = { path: { queue_id, item_id }, body: { project_id, annotation_state } };
      return sendInHalves(
        [state],
        () => service.call('updateProgress', parts),
        (_, { message }) => refuse(state, message),
      );
    });
  if (states.length > 0) await withFallback<unknown>(together, oneByOne);
}
