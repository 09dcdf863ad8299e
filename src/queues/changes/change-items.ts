import * as z from 'zod';
import { asServiceFailure } from '../../client/as-service-failure.ts';
import { isFinished, type QueueItem } from '../../contract/queue-items.ts';
import { HeddleError, invalidArgument } from '../../core/errors.ts';
import { inBatches } from '../../core/in-batches.ts';
import { countEach } from '../../core/statistics/count-each.ts';
import { errorMember } from '../../records/error-member.ts';
import { pluralize } from '../../text/page.ts';
import { creatorOf, isOwn, meansCaller } from '../authorship.ts';
import type { ItemsFilter } from '../items-filter.ts';
import { byCall, judgementsOf, type Note, readNotes } from '../judgements.ts';
import { nearestItems } from '../known-names.ts';
import { matchingItems } from '../matching-items.ts';
import type { QueueAccess } from '../queue-access.ts';
import { notes } from '../queue-fields.ts';
import { type ItemForm, type ItemsWithFeedback, readItemsBy } from '../read-items.ts';
import { requireQueue } from '../require-queue.ts';
import { stateAndAnnotator } from '../shown-items.ts';
import {
  type Change,
  dependsOnFeedback,
  everything,
  type ItemConditions,
  isOwnMove,
  judgementText,
  type LocatedChange,
  moveText,
  planUpdates,
  rulesForChanges,
  type Update,
} from './plan-updates.ts';
import { checkAssignees, serviceFailureOf, writeUpdates } from './write-updates.ts';

/** The change of one item, which is named by its id or by that of its call. */
export type ListedChange = Change & { item_id?: string | undefined; call_id?: string | undefined };

/** The items to change: single items, each with its own change, or all that match a filter, with one change. */
export type ChangeTarget = { items: readonly ListedChange[] } | { filter: ItemsFilter; change: Change };

export interface ChangeOptions extends ItemConditions {
  /** Plans the changes without carrying them out. */
  isDryRun: boolean;
  /** Throws unless the user agrees to change this many items. */
  requireConsent: (count: number) => Promise<void>;
  onProgress: (finished: number, total: number) => void;
}

export const itemResult = z.object({
  item_id: z.string(),
  // `would_send` only in a dry run: only the service knows whether a change of state is allowed.
  result: z.enum(['done', 'would_send', 'unchanged', 'refused']),
  annotation_state: z.string().optional().describe('State that the item shows now.'),
  meanwhile: z
    .string()
    .optional()
    .describe('What others did to it during this call; only with as_of or expected_state.'),
  stays: z.string().optional().describe('Your own judgements that differ from those of the user, and still count.'),
  error: errorMember.optional(),
});
export type ItemResult = z.output<typeof itemResult>;

export interface ChangedItems {
  /** The outcomes, in the order of the items. An item of a filter that a failure of the service kept from being changed has none. */
  results: ItemResult[];
  /** The items as they were before. */
  items: QueueItem[];
  /** The failure of the service that stopped the change. */
  stoppedBy?: HeddleError | undefined;
  /** Says what of the changes is not as one may think. */
  hint?: string | undefined;
  /** Says how much the changes leave of what the other side gave, the user or this client, and how to take that back. */
  stays?: string | undefined;
}

/** Items that are written together; after a failure of the service no more of them are. */
const itemsPerRound = 250;

/**
 * Changes items of a queue: reads them, writes what differs, and with conditions reads them again to see what others did at
 * the same time. A refusal is the outcome of its item.
 * @throws HeddleError for an unknown queue, for judgements that it does not take, and for a failure before anything was done.
 */
export async function changeItems(
  target: ChangeTarget,
  { isDryRun, requireConsent, onProgress, ...conditions }: ChangeOptions,
  queue: QueueAccess,
): Promise<ChangedItems> {
  const changes = locatedChanges(target);
  const rules = await rulesForChanges(changes, queue, conditions.asOf);
  const readsFeedback = conditions.asOf !== undefined || changes.some(({ change }) => dependsOnFeedback(change));
  const { items, feedback } = await readTarget(target, queue, readsFeedback);
  if (items.length === 0) await requireQueue(queue.id, queue.project, queue.service);
  if (!isDryRun) await requireConsent('items' in target ? target.items.length : items.length);
  const listed = 'items' in target ? changesByItem(target.items, items) : undefined;
  const work = items.map((item) => ({ item, change: listed?.get(item.id) ?? changes[0]!.change }));
  const updates = await planUpdates(work, feedback, rules, conditions, queue);
  const unknown = listed ? await refuseUnknown(listed, items, queue) : [];
  const inOrder = (results: ItemResult[]): ItemResult[] => {
    const byId = new Map([...results, ...unknown].map((result) => [result.item_id, result]));
    return listed ? [...listed.keys()].flatMap((id) => byId.get(id) ?? []) : results;
  };
  if (isDryRun) {
    await checkAssignees(updates, queue);
    const hint = describeOutcome(updates, target, queue, true);
    return { items, results: inOrder(updates.map(previewOf)), hint, stays: describeStaying(updates, queue) };
  }

  const startedAtMs = Date.now();
  const settled: Update[] = [];
  let finished = 0;
  let stoppedBy: HeddleError | undefined;
  for (const round of inBatches(updates, itemsPerRound)) {
    await writeUpdates(round, queue, (count) => {
      finished += count;
      onProgress(finished, updates.length);
    });
    settled.push(...round.filter((update) => !serviceFailureOf(update)));
    stoppedBy = round.map(serviceFailureOf).find((failure) => failure !== undefined);
    if (stoppedBy) break;
  }
  // One error says more than a hundred refusals.
  if (stoppedBy && settled.length === 0) throw stoppedBy;
  const isConditional = (conditions.asOf !== undefined && !queue.byUser) || conditions.expectedState !== undefined;
  const done = settled.filter(({ wrote, error }) => wrote && !error);
  const unread = isConditional ? await noteChangesByOthers(done, queue, startedAtMs) : undefined;
  const hint =
    [unread, describeOutcome(settled, target, queue)].filter((text) => text !== undefined).join(' ') || undefined;
  const results = inOrder((listed ? updates : settled).map(resultOf));
  return { items, results, stoppedBy, hint, stays: describeStaying(settled, queue) };
}

function locatedChanges(target: ChangeTarget): LocatedChange[] {
  if ('filter' in target) return [{ change: target.change, loc: ['arguments', 'change'] }];
  return target.items.map((change, index) => ({ change, loc: ['arguments', 'items', index] }));
}

/** Adds to items what was given on them and the account's own state, on which most changes depend. */
const withFeedback: ItemForm = { include_feedback: true, include_own_state: true };

async function readTarget(
  target: ChangeTarget,
  queue: QueueAccess,
  needsFeedback: boolean,
): Promise<ItemsWithFeedback> {
  const form = needsFeedback ? withFeedback : {};
  if ('items' in target) return readListed(target.items, queue, form);
  const judged = await matchingItems(queue, target.filter, form);
  const { judged_by, ...filter } = target.filter;
  const takesNotesBack = target.change.retract?.some((name) => name === notes || name === everything) ?? false;
  if (!takesNotesBack || !meansCaller(judged_by) || filter.field !== undefined) return judged;
  const noted = await readNoted(filter, new Set(judged.items.map(({ call_id }) => call_id)), queue);
  return { items: [...judged.items, ...noted.items], feedback: [...judged.feedback, ...noted.feedback] };
}

/** Reads the items that match a filter and have notes of the caller, but for those of the calls that are `known`. */
async function readNoted(
  filter: ItemsFilter,
  known: ReadonlySet<string>,
  queue: QueueAccess,
): Promise<ItemsWithFeedback> {
  const { userId } = queue.service.facts;
  // While the account is unknown, planning finds out which notes are its own.
  const isMeant = (note: Note) => (userId === undefined ? note.creator === creatorOf(queue) : isOwn(note, queue));
  const own = (await readNotes(queue, userId)).filter(isMeant);
  const ids = [...new Set(own.map(({ call_id }) => call_id))].filter((id) => !known.has(id));
  if (ids.length === 0 || Object.keys(filter).length === 0) return readItemsBy('call_id', ids, queue, withFeedback);
  const { items, feedback } = await matchingItems(queue, filter, withFeedback);
  const wanted = new Set(ids);
  return { items: items.filter(({ call_id }) => wanted.has(call_id)), feedback };
}

async function readListed(
  changes: readonly ListedChange[],
  queue: QueueAccess,
  form: ItemForm,
): Promise<ItemsWithFeedback> {
  const ids = changes.flatMap(({ item_id }) => item_id ?? []);
  const byId = await readItemsBy('id', ids, queue, form);
  const found = new Set(byId.items.map(({ id }) => id));
  // Whoever takes a call for its item means the item.
  const callIds = [...changes.flatMap(({ call_id }) => call_id ?? []), ...ids.filter((id) => !found.has(id))];
  const byCallId = await readItemsBy('call_id', callIds, queue, form);
  return {
    items: [...byId.items, ...byCallId.items.filter(({ id }) => !found.has(id))],
    feedback: [...byId.feedback, ...byCallId.feedback],
  };
}

/**
 * Returns changes in their order by the ids of their items; a change of an item that the queue does not have by the id that it names.
 * @throws HeddleError `invalid_arguments` for two changes of one item.
 */
function changesByItem(changes: readonly ListedChange[], items: readonly QueueItem[]): Map<string, ListedChange> {
  const idsByCall = new Map(items.map(({ id, call_id }) => [call_id, id]));
  const known = new Set(items.map(({ id }) => id));
  const found = new Map<string, ListedChange>();
  for (const change of changes) {
    const { item_id, call_id } = change;
    const named = item_id ?? call_id ?? '';
    const id = item_id !== undefined && known.has(item_id) ? item_id : (idsByCall.get(named) ?? named);
    if (found.has(id)) {
      const fault = `item ${id} appears twice, by its id and by its call`;
      throw invalidArgument('items', { consequence: 'Nothing was changed', fault, hint: 'Pass each item once.' });
    }
    found.set(id, change);
  }
  return found;
}

/** Says how much changes leave of what the other side gave, and how to take it back. */
function describeStaying(updates: readonly Update[], { byUser }: QueueAccess): string | undefined {
  const stays = updates.flatMap(({ stays, error }) => (error ? [] : stays));
  if (stays.length === 0) return undefined;
  const judged = countEach(stays.flatMap((given) => ('note' in given ? [] : [given.field])));
  const noted = stays.filter((given) => 'note' in given).length;
  const counts = [
    ...[...judged].map(([field, count]) => `${pluralize(count, 'judgement')} of ${field}`),
    ...(noted > 0 ? [pluralize(noted, 'note')] : []),
  ].join(', ');
  const [who, how] = byUser ? ['you gave yourself', 'retract without by_user'] : ['the user gave', 'pass by_user'];
  return `What ${who} stays: ${counts}. To take it back, ${how}.`;
}

/** Says what stays after one has taken back all that one gave, and what nobody has judged. */
function describeOutcome(
  updates: readonly Update[],
  target: ChangeTarget,
  queue: QueueAccess,
  isDryRun = false,
): string | undefined {
  const notes: string[] = [];
  const undone = updates.filter(
    ({ error, item, change: { retract }, reopens, keeps }) =>
      !error && retract && (retract.includes(everything) || item.annotation_state === 'skipped' || reopens || keeps),
  );
  const isShown = ({ item, reopens }: Update) => reopens && isOwnMove(item, queue);
  if (undone.some(({ item }) => item.annotation_state !== 'unstarted')) {
    const counts = countEach(undone.map((update) => (isShown(update) ? 'again' : update.item.annotation_state)));
    const states = [...counts].map(([state, count]) => {
      const isOne = count === 1;
      if (state === 'again') return `${count} ${isDryRun ? 'would be' : isOne ? 'is' : 'are'} in_progress again`;
      return `${count} ${isDryRun ? 'would stay' : isOne ? 'stays' : 'stay'} ${state}`;
    });
    const hidden = undone.filter((update) => update.reopens && !isShown(update)).length;
    const isFinal = undone.some(({ item, reopens, keeps }) => !reopens && !keeps && isFinished(item.annotation_state));
    const final = isFinal ? ' A finished state is final for its annotator; others can still set their own.' : '';
    notes.push(`States of the items: ${states.join(', ')}; what was begun cannot become unstarted again.${final}`);
    if (undone.some(({ keeps }) => keeps)) {
      notes.push('An item stays completed while the account has other judgements of it.');
    }
    if (hidden > 0) {
      const [is, show] = isDryRun ? ['would be', 'would show'] : ['is', hidden === 1 ? 'shows' : 'show'];
      const [items, they] = hidden === 1 ? ['1 item', `it ${show}`] : [`${hidden} items`, `they ${show}`];
      notes.push(
        `Your own progress with ${items} ${is} in_progress again; ${they} the state that another annotator set.`,
      );
    }
  }
  if ('filter' in target && meansCaller(target.filter.judged_by) && target.change.retract?.includes(everything)) {
    notes.push('Items that you moved without judging them are not among these, and keep their state.');
  }
  const unjudged = countEach(updates.flatMap(({ unjudged, error }) => (error ? [] : unjudged)));
  if (unjudged.size > 0) {
    const fields = [...unjudged].map(([field, count]) => `${field} on ${pluralize(count, 'completed item')}`);
    notes.push(`Nobody has judged ${fields.join(', ')}.`);
  }
  return notes.length > 0 ? notes.join(' ') : undefined;
}

/** Changes of one item that are described. */
const maxTexts = 3;

/**
 * Reads the items of updates again, and notes in each update the changes by others since `startedAtMs`: the service cannot make
 * a change depend on the state of an item, so another annotator may change it after the check. Returns a hint if the items
 * cannot be read.
 */
async function noteChangesByOthers(
  updates: readonly Update[],
  queue: QueueAccess,
  startedAtMs: number,
): Promise<string | undefined> {
  if (updates.length === 0) return undefined;
  const ids = updates.map(({ item }) => item.id);
  const read = await readItemsBy('id', ids, queue, withFeedback).catch((error) =>
    asServiceFailure(error, queue.service),
  );
  // The changes are done, whether or not this can be read.
  if (read instanceof HeddleError) {
    return `The changes are done, but what others did to the items meanwhile could not be read: ${read.message}`;
  }
  const { facts } = queue.service;
  const since = Date.parse(facts.timeBefore(startedAtMs));
  const items = new Map(read.items.map((item) => [item.id, item]));
  const judgements = byCall(
    judgementsOf(read.feedback).filter((judgement) => !isOwn(judgement, queue) && Date.parse(judgement.at) >= since),
  );
  for (const update of updates) {
    const now = items.get(update.item.id);
    const isMovedByOther =
      now && stateAndAnnotator(now) !== stateAndAnnotator(update.item) && now.annotator_user_id !== facts.annotatorId;
    const judged = judgements.get(update.item.call_id) ?? [];
    const texts = [...(isMovedByOther ? [moveText(now)] : []), ...judged.map(judgementText)];
    if (texts.length === 0) continue;
    const more = texts.length > maxTexts ? [`and ${texts.length - maxTexts} more`] : [];
    update.meanwhile = [...texts.slice(0, maxTexts), ...more].join('; ');
  }
  return undefined;
}

function previewOf(update: Update): ItemResult {
  const { item, change, feedback, purge, error } = update;
  if (error) return { item_id: item.id, result: 'refused', error };
  const { annotation_state: state, assignees } = change;
  const changes = feedback.length > 0 || purge.length > 0 || state !== undefined || assignees !== undefined;
  const { annotation_state } = item;
  return {
    item_id: item.id,
    result: changes ? 'would_send' : 'unchanged',
    annotation_state,
    ...staysOf(update),
  };
}

/** Describes the judgements of this client that a change by the user contradicts; the result counts the others. */
function staysOf({ change, stays }: Update): Pick<ItemResult, 'stays'> {
  const isJudged = (field: string): boolean => Object.hasOwn(change.judgements ?? {}, field);
  const texts = stays.flatMap((given) => ('note' in given || !isJudged(given.field) ? [] : [judgementText(given)]));
  return texts.length === 0 ? {} : { stays: texts.join('; ') };
}

function resultOf(update: Update): ItemResult {
  const { item, after = item, wrote, meanwhile, error } = update;
  if (error) return { item_id: item.id, result: 'refused', error };
  const result = wrote ? 'done' : 'unchanged';
  const { annotation_state } = after;
  return {
    item_id: item.id,
    result,
    annotation_state,
    ...(meanwhile !== undefined && { meanwhile }),
    ...staysOf(update),
  };
}

/** Returns the refusals of the items that the queue does not have. */
async function refuseUnknown(
  changes: ReadonlyMap<string, ListedChange>,
  known: readonly QueueItem[],
  queue: QueueAccess,
): Promise<ItemResult[]> {
  const knownIds = new Set(known.map(({ id }) => id));
  const unknownIds = [...changes.keys()].filter((id) => !knownIds.has(id));
  if (unknownIds.length === 0) return [];
  const hint = `Take ids from a page of the queue. ${await nearestItems(unknownIds[0]!, queue)}`;
  return unknownIds.map((item_id) => {
    const named = changes.get(item_id)?.call_id === undefined ? 'item' : 'item of the call';
    // Several unknown ids get the same refusal, which a result states once.
    const missing = unknownIds.length > 1 ? 'item of this id' : `${named} ${item_id}`;
    const message = `Not changed: queue ${queue.id} has no ${missing}.`;
    return { item_id, result: 'refused', error: new HeddleError({ code: 'not_found', message, hint }) };
  });
}
