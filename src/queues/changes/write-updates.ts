import type { EndpointName } from '../../contract/endpoints.ts';
import type { QueueItem } from '../../contract/queue-items.ts';
import { concurrently } from '../../core/concurrently.ts';
import { type ErrorCode, HeddleError } from '../../core/errors.ts';
import { inBatches } from '../../core/in-batches.ts';
import { cutValue } from '../../text/call-values.ts';
import type { QueueAccess } from '../queue-access.ts';
import { stateAndAnnotator } from '../shown-items.ts';
import type { Update } from './plan-updates.ts';

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
  const entries = pending.flatMap((update) => update.feedback.map((feedback) => ({ update, feedback })));
  await concurrently(inBatches(entries, feedbackPerRequest), concurrentRequests, (batch) =>
    writeFeedback(batch, queue),
  );
  const retracting = pending.filter(({ error, purge }) => !error && purge.length > 0);
  await concurrently(inBatches(retracting, feedbackPerRequest), concurrentRequests, (batch) => purge(batch, queue));
  const moving = pending.filter(({ error, change }) => !error && change.annotation_state !== undefined);
  if (moving.length < updates.length) onFinished(updates.length - moving.length);
  await setStates(moving, queue, onFinished);
  for (const update of pending) {
    if (update.error && update.wrote) update.error = partlyDone(update.error);
  }
}

/** Adds to the refusal of one step that the earlier steps were carried out. */
function partlyDone(error: HeddleError): HeddleError {
  return new HeddleError({ ...error, message: `Part of the change is stored, the rest is not. ${error.message}` });
}

type FeedbackEntry = { update: Update; feedback: Update['feedback'][number] };

/** Stores judgements and notes with one request, or one by one where the service cannot do that or refuses one of them. */
async function writeFeedback(entries: readonly FeedbackEntry[], queue: QueueAccess): Promise<void> {
  const { service, signal } = queue;
  const store = async () => {
    const batch = entries.map(({ feedback }) => feedback);
    const { res } = await service.call('createFeedbackBatch', { body: { batch } }, { signal });
    service.learned.userId = res[0]?.wb_user_id ?? service.learned.userId;
    for (const { update } of entries) update.wrote = true;
  };
  const updates = entries.map(({ update }) => update);
  if (await attemptTogether('createFeedbackBatch', updates, queue, store)) return;
  await concurrently(entries, concurrentRequests, ({ update, feedback }) =>
    attempt(update, queue, async () => {
      const { wb_user_id } = await service.call('createFeedback', { body: feedback }, { signal });
      service.learned.userId = wb_user_id ?? undefined;
      update.wrote = true;
    }),
  );
}

/** Deletes what is retracted with one request, or item by item where the service refuses one of them. */
async function purge(updates: readonly Update[], queue: QueueAccess): Promise<void> {
  const purgeAll = async (retracting: readonly Update[]) => {
    const ids = retracting.flatMap((update) => update.purge);
    const $or = ids.map((id) => ({ $eq: [{ $getField: 'id' }, { $literal: id }] }));
    const body = { project_id: queue.project, query: { $expr: { $or } } };
    await queue.service.call('purgeFeedback', { body }, { signal: queue.signal });
    for (const update of retracting) update.wrote = true;
  };
  if (await attemptTogether('purgeFeedback', updates, queue, () => purgeAll(updates))) return;
  await concurrently(updates, concurrentRequests, (update) => attempt(update, queue, () => purgeAll([update])));
}

/** Sets the annotator's states, which the service may refuse. */
async function setStates(
  updates: readonly Update[],
  queue: QueueAccess,
  onFinished: (count: number) => void,
): Promise<void> {
  const { service, signal, project: project_id, id: queue_id } = queue;
  const setTogether = async () => {
    const states = updates.map(({ item, change }) => ({
      item_id: item.id,
      annotation_state: change.annotation_state!,
    }));
    const parts = { path: { queue_id }, body: { project_id, updates: states } };
    const { results } = await service.call('updateProgressBatch', parts, { signal });
    for (const [index, update] of updates.entries()) {
      const { item, reason = 'no reason' } = results[index] ?? {};
      if (item) noteState(update, item, queue);
      else update.error = refusedState(`The service refused it: ${JSON.stringify(cutValue(reason, maxReasonChars))}.`);
    }
    onFinished(updates.length);
  };
  if (await attemptTogether('updateProgressBatch', updates, queue, setTogether)) return;
  await concurrently(updates, concurrentRequests, async (update) => {
    const path = { queue_id, item_id: update.item.id };
    const body = { project_id, annotation_state: update.change.annotation_state! };
    await attempt(update, queue, async () => {
      noteState(update, (await service.call('updateProgress', { path, body }, { signal })).item, queue);
    });
    if (update.error?.code === 'invalid_request')
      update.error = refusedState(update.error.message, update.error.status);
    onFinished(1);
  });
}

/** Says what a refused state means: the agent has nothing to correct. */
function refusedState(message: string, status?: number): HeddleError {
  const hint = 'Your state for this item is final, or the new state cannot follow it. Leave the item as it is.';
  return new HeddleError({ code: 'invalid_request', message, hint, ...(status !== undefined && { status }) });
}

function noteState(update: Update, after: QueueItem, { service: { learned } }: QueueAccess): void {
  update.after = after;
  // Setting the same state again has no effect: the item keeps showing who changed it last.
  if (stateAndAnnotator(after) === stateAndAnnotator(update.item)) return;
  update.wrote = true;
  if (after.annotation_state === update.change.annotation_state) {
    learned.annotatorId = after.annotator_user_id ?? undefined;
  }
}

/** Runs a step of an update; its failure becomes the error of the update. */
async function attempt(update: Update, queue: QueueAccess, step: () => Promise<void>): Promise<void> {
  const failure = await failureOf(step, queue);
  if (failure) update.error ??= failure;
}

/**
 * Runs one request for several updates. Returns false if each needs a request of its own: the service lacks the operation, or
 * refuses all of them because of one. Another failure becomes the error of all.
 */
async function attemptTogether(
  operation: EndpointName,
  updates: readonly Update[],
  queue: QueueAccess,
  request: () => Promise<void>,
): Promise<boolean> {
  const { unsupportedOperations } = queue.service.learned;
  if (updates.length < 2 || unsupportedOperations.has(operation)) return false;
  const failure = await failureOf(request, queue);
  if (failure?.code === 'unsupported') unsupportedOperations.add(operation);
  if (failure && (failure.code === 'unsupported' || itemErrors.has(failure.code))) return false;
  if (failure) for (const update of updates) update.error ??= failure;
  return true;
}

async function failureOf(step: () => Promise<void>, { signal }: QueueAccess): Promise<HeddleError | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    if (!(error instanceof HeddleError) || signal.aborted) throw error;
    return error;
  }
}
