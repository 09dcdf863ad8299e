import { asServiceFailure } from '../../client/as-service-failure.ts';
import type { EndpointName } from '../../contract/endpoints.ts';
import type { QueueItem } from '../../contract/queue-items.ts';
import { groupBy } from '../../core/append-to.ts';
import { concurrently } from '../../core/concurrently.ts';
import { type ErrorCode, HeddleError } from '../../core/errors.ts';
import { inBatches } from '../../core/in-batches.ts';
import { cutValue } from '../../text/call-values.ts';
import type { QueueAccess } from '../queue-access.ts';
import { stateAndAnnotator } from '../shown-items.ts';
import { isOwnMove, type Update } from './plan-updates.ts';

/** Requests that are sent at the same time. */
const concurrentRequests = 8;
/** Judgements and notes that one request stores, and items whose judgements it deletes. */
const feedbackPerRequest = 100;
/** Length at which the reason of a refusal is cut. */
const maxReasonChars = 500;

/** Errors that concern a single item rather than the service. */
const itemErrors = new Set<ErrorCode>([
  'not_found',
  'conflict',
  'invalid_request',
  'validation_failed',
  'invalid_arguments',
]);

/** Returns the failure of an update that is the service's, so that other updates would meet it too. */
export function serviceFailureOf({ error }: Update): HeddleError | undefined {
  return error && !itemErrors.has(error.code) ? error : undefined;
}

/**
 * Carries out planned updates. A failure becomes the error of its update, and the others go on. States are set last, because
 * an item must not be finished without its judgement.
 */
export async function writeUpdates(
  updates: readonly Update[],
  queue: QueueAccess,
  onFinished: (count: number) => void,
): Promise<void> {
  const pending = updates.filter(({ error }) => !error);
  await writeBatches('assignQueueItems', assignmentsOf(pending), queue, assignItems);
  const feedback = pending.flatMap((update) =>
    update.error ? [] : update.feedback.map((feedback) => ({ update, feedback })),
  );
  await writeBatches('createFeedbackBatch', inBatches(feedback, feedbackPerRequest), queue, storeFeedback);
  const retracting = pending.filter(({ error, purge }) => !error && purge.length > 0).map((update) => ({ update }));
  await writeBatches('purgeFeedback', inBatches(retracting, feedbackPerRequest), queue, purgeFeedback);
  const moving = pending.filter(({ error, change }) => !error && change.annotation_state).map((update) => ({ update }));
  if (moving.length < updates.length) onFinished(updates.length - moving.length);
  await writeBatches('updateProgressBatch', [moving], queue, setStates, onFinished);
  for (const update of pending) {
    if (update.error && update.wrote) update.error = partlyDone(update.error);
  }
}

/** Adds to the refusal of one step that the earlier steps were carried out. */
function partlyDone(error: HeddleError): HeddleError {
  return new HeddleError({ ...error, message: `Part of the change is stored, the rest is not. ${error.message}` });
}

/**
 * Writes each batch with one request, or its entries one by one if the service lacks the operation or refuses all of them because
 * of one. A failure becomes the error of its update.
 */
async function writeBatches<Entry extends { update: Update }>(
  operation: EndpointName,
  batches: readonly Entry[][],
  queue: QueueAccess,
  write: (entries: readonly Entry[], queue: QueueAccess) => Promise<void>,
  onFinished: (count: number) => void = () => {},
): Promise<void> {
  const { unsupportedOperations } = queue.service.facts;
  // Returns whether there is no need to write the entries one by one.
  const attempt = async (entries: readonly Entry[]): Promise<boolean> => {
    try {
      await write(entries, queue);
    } catch (error) {
      const failure = asServiceFailure(error, queue.service);
      if (entries.length > 1) {
        if (failure.code === 'unsupported') unsupportedOperations.add(operation);
        if (failure.code === 'unsupported' || itemErrors.has(failure.code)) return false;
      }
      for (const { update } of entries) update.error ??= failure;
    }
    onFinished(entries.length);
    return true;
  };
  await concurrently(batches, concurrentRequests, async (batch) => {
    const isTogether = batch.length > 1 && !unsupportedOperations.has(operation);
    if (isTogether && (await attempt(batch))) return;
    await concurrently(batch, concurrentRequests, (entry) => attempt([entry]));
  });
}

/** Groups updates that assign their items to the same annotators. */
function assignmentsOf(updates: readonly Update[]): { update: Update }[][] {
  const assigned = updates.filter(({ change }) => change.assignees).map((update) => ({ update }));
  return [...groupBy(assigned, ({ update }) => JSON.stringify(update.change.assignees)).values()];
}

/** Assigns items to the annotators of the first of them. */
async function assignItems(entries: readonly { update: Update }[], queue: QueueAccess): Promise<void> {
  const { assignees = [] } = entries[0]!.update.change;
  await assign(
    assignees,
    entries.map(({ update }) => update.item.id),
    queue,
  );
  for (const { update } of entries) update.wrote = true;
}

/** Assigns items; with none of them, the service only checks who is named. */
export async function assign(
  assignees: string[],
  item_ids: string[],
  { service, project: project_id, id: queue_id }: QueueAccess,
): Promise<void> {
  await service.call('assignQueueItems', { path: { queue_id }, body: { project_id, item_ids, assignees } });
}

/**
 * Gives updates that would assign items to somebody who cannot claim them the error of the service.
 * @throws HeddleError if the service cannot assign items.
 */
export async function checkAssignees(updates: readonly Update[], queue: QueueAccess): Promise<void> {
  for (const group of assignmentsOf(updates.filter(({ error }) => !error))) {
    try {
      await assign(group[0]!.update.change.assignees!, [], queue);
    } catch (error) {
      const failure = asServiceFailure(error, queue.service);
      if (!itemErrors.has(failure.code)) throw failure;
      for (const { update } of group) update.error = failure;
    }
  }
}

type FeedbackEntry = { update: Update; feedback: Update['feedback'][number] };

async function storeFeedback(entries: readonly FeedbackEntry[], { service }: QueueAccess): Promise<void> {
  const batch = entries.map(({ feedback }) => feedback);
  const stored =
    batch.length === 1
      ? await service.call('createFeedback', { body: batch[0]! })
      : (await service.call('createFeedbackBatch', { body: { batch } })).res[0];
  service.facts.userId = stored?.wb_user_id ?? service.facts.userId;
  for (const { update } of entries) update.wrote = true;
}

/** Deletes what is retracted. */
async function purgeFeedback(entries: readonly { update: Update }[], queue: QueueAccess): Promise<void> {
  const { service, project } = queue;
  const ids = entries.flatMap(({ update }) => update.purge);
  const $or = ids.map((id) => ({ $eq: [{ $getField: 'id' }, { $literal: id }] }));
  const { reopened_items } = await service.call('purgeFeedback', {
    body: { project_id: project, query: { $expr: { $or } } },
  });
  const reopened = new Set(reopened_items);
  for (const { update } of entries) {
    update.wrote = true;
    const { item, change } = update;
    update.reopens = reopened.has(item.id) && change.annotation_state === undefined;
    // An item that another annotator has moved since shows that state.
    if (update.reopens && isOwnMove(item, queue)) update.after = { ...item, annotation_state: 'in_progress' };
  }
}

/** Sets the annotator's states, which the service may refuse. */
async function setStates(entries: readonly { update: Update }[], queue: QueueAccess): Promise<void> {
  const { service, project: project_id, id: queue_id } = queue;
  const updates = entries.map(({ update: { item, change } }) => {
    return { item_id: item.id, annotation_state: change.annotation_state! };
  });
  if (updates.length > 1) {
    const { results } = await service.call('updateProgressBatch', {
      path: { queue_id },
      body: { project_id, updates },
    });
    for (const [index, { update }] of entries.entries()) {
      const { item, reason = 'no reason' } = results[index] ?? {};
      if (item) noteState(update, item, queue);
      else update.error = refusedState(`The service refused it: ${JSON.stringify(cutValue(reason, maxReasonChars))}.`);
    }
    return;
  }
  const { item_id, annotation_state } = updates[0]!;
  const body = { project_id, annotation_state };
  try {
    const { item } = await service.call('updateProgress', { path: { queue_id, item_id }, body });
    noteState(entries[0]!.update, item, queue);
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== 'invalid_request') throw error;
    throw refusedState(error.message, error.status);
  }
}

/** Says what a refused state means: the agent has nothing to correct. */
function refusedState(message: string, status?: number): HeddleError {
  const hint = 'Your state for this item is final, or the new state cannot follow it. Leave the item as it is.';
  return new HeddleError({ code: 'invalid_request', message, hint, ...(status !== undefined && { status }) });
}

function noteState(update: Update, after: QueueItem, { service: { facts } }: QueueAccess): void {
  update.after = after;
  // Setting the same state again has no effect: the item keeps showing who changed it last.
  if (stateAndAnnotator(after) === stateAndAnnotator(update.item)) return;
  update.wrote = true;
  if (after.annotation_state === update.change.annotation_state) {
    facts.annotatorId = after.annotator_user_id ?? undefined;
  }
}
