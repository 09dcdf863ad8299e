import { withFallback } from '../client/with-fallback.ts';
import type { CallParts } from '../contract/endpoints.ts';
import type { AnnotationState, QueueItem } from '../contract/queue-items.ts';
import { concurrently } from '../core/concurrently.ts';
import { type ErrorCode, type ErrorDetail, HeddleError } from '../core/errors.ts';
import { inBatches } from '../core/in-batches.ts';
import type { CallContext, Judge, ServiceAccess } from '../records/call-context.ts';
import { cutValue } from '../text/call-values.ts';
import { shortName } from '../text/names.ts';
import { contentId, creatorOf, isOwn, isSame, judgementId, learnAccount } from './authorship.ts';
import { callReference, type Judgement, judgementsOf, notesOf, noteType, readFeedback } from './judgements.ts';
import { type JudgementType, judgementType, type QueueField, readQueueFields } from './queue-fields.ts';
import { shownItem, stateAndAnnotator } from './shown-items.ts';

/** A change of an item. */
export interface Change {
  judgements?: Record<string, unknown> | undefined;
  note?: string | undefined;
  annotation_state?: Exclude<AnnotationState, 'unstarted'> | undefined;
  retract?: string[] | undefined;
}

/** The outcome for one item. */
export interface ItemResult {
  item_id: string;
  /** `would_send` only in a dry run: only the service knows whether a change of state is allowed. */
  result: 'done' | 'would_send' | 'unchanged' | 'refused';
  annotation_state?: string;
  /** Changes by others to the item during this call. */
  meanwhile?: string;
  error?: HeddleError;
}

/** Maximum number of items that are changed at the same time. */
export const maxConcurrentItems = 8;

/** A queue, its fields, and the means to reach it. */
export interface QueueAccess extends ServiceAccess, Judge {
  id: string;
  project: string;
  fields: QueueField[];
}

/**
 * Reads the fields that changes need.
 * @throws HeddleError `not_found` for an unknown queue, `invalid_arguments` for judgements that the queue does not take.
 */
export async function openQueue(
  id: string,
  project: string,
  changes: readonly { change: Change; loc: (string | number)[] }[],
  context: CallContext,
): Promise<QueueAccess> {
  const { service, signal, clientName, byUser } = context;
  const needsFields = changes.some(({ change }) => change.judgements || change.retract);
  const fields = needsFields ? await readQueueFields(id, project, context) : [];
  refuseInvalidChanges(changes, fields);
  return { id, project, fields, service, signal, clientName, byUser };
}

function refuseInvalidChanges(
  changes: readonly { change: Change; loc: (string | number)[] }[],
  fields: readonly QueueField[],
): void {
  const detail: ErrorDetail[] = [];
  for (const { change, loc } of changes) {
    for (const [name, value] of Object.entries(change.judgements ?? {})) {
      const typeOrProblem = judgementType(name, value, fields);
      if (typeof typeOrProblem === 'string')
        detail.push({ loc: [...loc, 'judgements', name], msg: typeOrProblem, type: 'value_error' });
      else if (change.retract?.includes(name)) {
        detail.push({ loc: [...loc, 'retract'], msg: `${name} is also judged`, type: 'value_error' });
      }
    }
    const unknown =
      fields.length > 0 ? change.retract?.find((name) => !fields.some((field) => field.name === name)) : undefined;
    if (unknown !== undefined) {
      const msg = `The queue has no field ${unknown}; its fields are ${fields.map(({ name }) => name).join(', ')}`;
      detail.push({ loc: [...loc, 'retract'], msg, type: 'value_error' });
    }
  }
  if (detail.length === 0) return;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was changed. ${detail[0]!.msg}.`,
    hint: 'Use the names and values that the fields of the queue allow, then call again.',
    detail,
    statedDetails: 1,
  });
}

/** An item and its change, with the steps that are left. */
interface Update {
  item: QueueItem;
  change: Change;
  feedback: NewFeedback[];
  /** Ids of one's own judgements to delete. */
  purge: string[];
  wrote: boolean;
  error?: HeddleError;
}

type NewFeedback = CallParts<'createFeedback'>['body'];

/** Conditions that items must meet before they are changed. */
export interface ItemConditions {
  /** Time since which no other annotator may have judged or moved an item. */
  asOf?: string | undefined;
  /** The state that the items were already checked for. */
  expectedState?: string | undefined;
}

/** Changes items, each on its own: a failure becomes the result of its item. The results are in the order of the items. */
export async function changeItems(
  work: readonly { item: QueueItem; change: Change }[],
  queue: QueueAccess,
  conditions: ItemConditions = {},
  onFinished: () => void = () => {},
): Promise<ItemResult[]> {
  const updates = await planUpdates(work, queue, conditions);
  await writeFeedback(updates, queue);
  return concurrently(updates, maxConcurrentItems, async (update) => {
    const result = await finishUpdate(update, queue);
    onFinished();
    return result;
  });
}

/**
 * Returns what would be done, without doing it. States are not predicted, because only the service knows which changes it allows.
 */
export async function previewItems(
  work: readonly { item: QueueItem; change: Change }[],
  queue: QueueAccess,
  conditions: ItemConditions = {},
): Promise<ItemResult[]> {
  const updates = await planUpdates(work, queue, conditions);
  return updates.map(({ item, change, feedback, purge, error }) => {
    if (error) return { item_id: item.id, result: 'refused', error };
    const changes = feedback.length > 0 || purge.length > 0 || change.annotation_state !== undefined;
    return { item_id: item.id, result: changes ? 'would_send' : 'unchanged', annotation_state: item.annotation_state };
  });
}

async function planUpdates(
  work: readonly { item: QueueItem; change: Change }[],
  queue: QueueAccess,
  { asOf, expectedState }: ItemConditions,
): Promise<Update[]> {
  const readsFeedback =
    asOf !== undefined || work.some(({ change }) => change.judgements || change.note !== undefined || change.retract);
  const callIds = work.map(({ item }) => item.call_id);
  const feedback = readsFeedback ? await readFeedback(queue.id, queue.project, queue, callIds) : [];
  const judgements = byCall(judgementsOf(feedback));
  const notes = byCall(notesOf(feedback));
  const tag = await queue.service.accountTag();
  learnAccount(judgementsOf(feedback), tag, queue);
  return work.map(({ item, change }) => {
    const update: Update = { item, change, feedback: [], purge: [], wrote: false };
    const given = judgements.get(item.call_id) ?? [];
    if (asOf !== undefined) {
      const error = changedSince({ asOf, expectedState }, update, given, queue);
      if (error) return { ...update, error };
    }
    const own = given.filter((judgement) => isOwn(judgement, queue));
    for (const [name, value] of Object.entries(change.judgements ?? {})) {
      const latest = own.findLast(({ field }) => field === name);
      if (latest && isSame(latest.value, value)) continue;
      const type = judgementType(name, value, queue.fields) as JudgementType;
      const id = judgementId({ call_id: item.call_id, field: name, value }, latest?.id, tag, queue);
      update.feedback.push({ ...newFeedback(item, queue), ...type, payload: { value }, id });
    }
    for (const name of change.retract ?? []) {
      // All of them are deleted, or an earlier one would count again.
      update.purge.push(...own.filter(({ field }) => field === name).map(({ id }) => id));
    }
    const { note } = change;
    if (note !== undefined) {
      const id = contentId([tag, creatorOf(queue), queue.id, item.call_id, noteType, note]);
      const isStored = (notes.get(item.call_id) ?? []).some(
        (other) => other.id === id || (isOwn(other, queue) && other.note === note),
      );
      const request = { ...newFeedback(item, queue), feedback_type: noteType, payload: { note }, id };
      if (!isStored) update.feedback.push(request);
    }
    return update;
  });
}

function byCall<T extends { call_id: string }>(list: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const entry of list) {
    const group = groups.get(entry.call_id);
    if (group) group.push(entry);
    else groups.set(entry.call_id, [entry]);
  }
  return groups;
}

function newFeedback(item: QueueItem, queue: QueueAccess) {
  return {
    project_id: queue.project,
    weave_ref: callReference(queue.project, item.call_id),
    queue_id: queue.id,
    creator: creatorOf(queue),
  };
}

/** Returns the refusal of an item that another annotator has judged or moved since `asOf`, or may have moved. */
function changedSince(
  { asOf, expectedState }: ItemConditions & { asOf: string },
  { item }: Update,
  given: readonly Judgement[],
  queue: QueueAccess,
): HeddleError | undefined {
  const since = Date.parse(withZone(asOf));
  const judged = given.findLast((judgement) => Date.parse(judgement.at) > since && !isOwn(judgement, queue));
  if (judged) {
    return conflict(`${judgementText(judged)}, after as_of`);
  }
  const { facts } = queue.service;
  const shown = shownItem(queue.service, asOf, item.id);
  const isOwnMove = item.annotator_user_id === (facts.annotatorId ?? facts.userId);
  // No item ever becomes unstarted again, so an item that is still unstarted has not been moved.
  if (item.annotation_state === 'unstarted' || isOwnMove || shown === stateAndAnnotator(item)) return undefined;
  // The service does not record when a state changed.
  if (shown !== undefined) {
    const seen = `${new Date(since).toISOString().slice(0, 19)}Z`;
    return conflict(`${moveText(item)} between ${seen} and ${facts.timeAfter(Date.now())}`);
  }
  if (expectedState !== undefined) return undefined;
  const hint = `Read the item again, or pass expected_state ${item.annotation_state} if that is what you saw.`;
  const reason = 'the service does not record when, and this server has not shown the item with this as_of';
  return conflict(`${moveText(item)}, perhaps after as_of: ${reason}`, hint);
}

function withZone(time: string): string {
  return /(Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time}Z`;
}

function conflict(reason: string, hint = 'Read the item again.'): HeddleError {
  return new HeddleError({ code: 'conflict', message: `Not changed: ${reason}.`, hint });
}

/** Values and texts of other people are cut here, because the size limit of results does not apply to messages. */
const maxValueChars = 200;
const maxTexts = 3;

/** The results of a change, with what others did to the items. */
export interface CheckedResults {
  results: ItemResult[];
  /** Says that the changes by others could not be read. */
  hint?: string;
}

/**
 * Adds to the results what others did to the changed items since `startedAtMs`, where that can be read. The service cannot
 * make a change depend on the state of an item, so another annotator may change it between the check and the change. `items`
 * are the items as they were found; `readItem` reads one of them again.
 */
export async function noteChangesByOthers(
  results: readonly ItemResult[],
  items: readonly QueueItem[],
  queue: QueueAccess,
  startedAtMs: number,
  readItem: (id: string) => Promise<QueueItem | undefined>,
): Promise<CheckedResults> {
  const before = new Map(items.map((item) => [item.id, item]));
  const changed = results.flatMap(({ item_id, result }) => (result === 'done' ? before.get(item_id)! : []));
  if (changed.length === 0) return { results: [...results] };
  const { facts } = queue.service;
  const callIds = changed.map(({ call_id }) => call_id);
  const reads = async () => {
    const after = await concurrently(changed, maxConcurrentItems, ({ id }) => readItem(id));
    return { after, judgements: judgementsOf(await readFeedback(queue.id, queue.project, queue, callIds)) };
  };
  const read = await reads().catch((error: unknown) => {
    if (!(error instanceof HeddleError) || queue.signal.aborted) throw error;
    return error;
  });
  // The changes are done, whether or not this can be read.
  if (read instanceof HeddleError) {
    const hint = `The changes are done, but what others did to the items meanwhile could not be read: ${read.message}`;
    return { results: [...results], hint };
  }
  const { after, judgements } = read;
  const since = Date.parse(facts.timeBefore(startedAtMs));
  const judged = byCall(judgements.filter((given) => !isOwn(given, queue) && Date.parse(given.at) >= since));
  const meanwhile = changed.map((item, index) => {
    const now = after[index];
    const isMoved =
      now && stateAndAnnotator(now) !== stateAndAnnotator(item) && now.annotator_user_id !== facts.annotatorId;
    const done = [...(isMoved ? [moveText(now)] : []), ...(judged.get(item.call_id) ?? []).map(judgementText)];
    const more = done.length > maxTexts ? [`and ${done.length - maxTexts} more`] : [];
    return [...done.slice(0, maxTexts), ...more].join('; ');
  });
  const texts = new Map(changed.map(({ id }, index) => [id, meanwhile[index]]));
  const checked = results.map((result) => {
    const text = texts.get(result.item_id);
    return text ? { ...result, meanwhile: text } : result;
  });
  return { results: checked };
}

function moveText({ annotation_state, annotator_user_id }: QueueItem): string {
  return `${annotator_user_id || 'someone'} moved it to ${annotation_state}`;
}

function judgementText({ annotator, field, value, at }: Judgement): string {
  const shown = JSON.stringify(cutValue(value, maxValueChars));
  return `${shortName(annotator)} judged ${shortName(field)} as ${shown} at ${at}`;
}

/** Errors that concern a single item rather than the service. */
export const itemErrors = new Set<ErrorCode>([
  'not_found',
  'conflict',
  'invalid_request',
  'validation_failed',
  'invalid_arguments',
]);

/** Maximum number of judgements and notes that one request stores. */
const feedbackPerRequest = 100;

/**
 * Stores the judgements and notes, and deletes what is retracted. This happens before any state is set, because an item must
 * not be finished without its judgement. One request stores several of them if the service supports it.
 */
async function writeFeedback(updates: Update[], queue: QueueAccess): Promise<void> {
  const pending = updates.filter(({ error }) => !error);
  const entries = pending.flatMap((update) => update.feedback.map((feedback) => ({ update, feedback })));
  await concurrently(inBatches(entries, feedbackPerRequest), maxConcurrentItems, (batch) => writeBatch(batch, queue));
  for (const update of pending) {
    if (update.error || update.purge.length === 0) continue;
    await attempt(update, queue, async () => {
      const $or = update.purge.map((id) => ({ $eq: [{ $getField: 'id' }, { $literal: id }] }));
      const body = { project_id: queue.project, query: { $expr: { $or } } };
      await queue.service.call('purgeFeedback', { body }, { signal: queue.signal });
      update.wrote = true;
    });
  }
}

async function writeBatch(
  entries: readonly { update: Update; feedback: NewFeedback }[],
  queue: QueueAccess,
): Promise<void> {
  const { service, signal } = queue;
  const oneByOne = async (): Promise<void> => {
    await concurrently(entries, maxConcurrentItems, async ({ update, feedback }) => {
      await attempt(update, queue, async () => {
        const { wb_user_id } = await service.call('createFeedback', { body: feedback }, { signal });
        service.facts.userId = wb_user_id ?? undefined;
        update.wrote = true;
      });
    });
  };
  if (entries.length === 1) return oneByOne();
  const batch = entries.map(({ feedback }) => feedback);
  try {
    await withFallback(async () => {
      const { res } = await service.call('createFeedbackBatch', { body: { batch } }, { signal });
      service.facts.userId = res[0]?.wb_user_id ?? service.facts.userId;
      for (const { update } of entries) update.wrote = true;
    }, oneByOne);
  } catch (error) {
    if (!(error instanceof HeddleError) || signal.aborted) throw error;
    // One bad entry makes a service refuse the whole batch; sending them one by one shows which.
    if (itemErrors.has(error.code)) await oneByOne();
    else for (const { update } of entries) update.error = error;
  }
}

/** Runs a step of an update. A failure becomes its error, so that the other items are still changed. */
async function attempt(update: Update, { signal }: QueueAccess, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof HeddleError) || signal.aborted) throw error;
    update.error ??= error;
  }
}

/** Sets the annotator's state, which the service may refuse, and returns the result for the item. */
async function finishUpdate(update: Update, queue: QueueAccess): Promise<ItemResult> {
  const { item, change } = update;
  const item_id = item.id;
  if (update.error) return { item_id, result: 'refused', error: partlyDone(update.error, update.wrote) };
  const { annotation_state } = change;
  if (annotation_state === undefined) {
    return { item_id, result: update.wrote ? 'done' : 'unchanged', annotation_state: item.annotation_state };
  }
  let after = item;
  await attempt(update, queue, async () => {
    const body = { project_id: queue.project, annotation_state };
    after = (
      await queue.service.call(
        'updateProgress',
        { path: { queue_id: queue.id, item_id }, body },
        { signal: queue.signal },
      )
    ).item;
    // Setting the same state again has no effect: the item keeps showing who changed it last.
    const isOwnMove =
      stateAndAnnotator(after) !== stateAndAnnotator(item) && after.annotation_state === annotation_state;
    if (isOwnMove) queue.service.facts.annotatorId = after.annotator_user_id ?? undefined;
  });
  if (update.error) return { item_id, result: 'refused', error: partlyDone(refusedState(update.error), update.wrote) };
  // The item shows the state of the annotator who changed it last. If that is the same and nothing was written, nothing has changed.
  const isUnchanged = !update.wrote && stateAndAnnotator(after) === stateAndAnnotator(item);
  return { item_id, result: isUnchanged ? 'unchanged' : 'done', annotation_state: after.annotation_state };
}

/** Says what a refused state means: the agent has nothing to correct. */
function refusedState(error: HeddleError): HeddleError {
  if (error.code !== 'invalid_request') return error;
  const hint = 'Your state for this item is final, or the new state cannot follow it. Leave the item as it is.';
  return new HeddleError({ ...error, message: error.message, hint });
}

/** Adds to the refusal of one step that the earlier steps were carried out. */
function partlyDone(error: HeddleError, wrote: boolean): HeddleError {
  if (!wrote) return error;
  return new HeddleError({ ...error, message: `Part of the change is stored, the rest is not. ${error.message}` });
}
