import type { CallParts } from '../../contract/endpoints.ts';
import { goldFeedbackType, type StoredFeedback } from '../../contract/feedback.ts';
import type { ProgressState, QueueItem } from '../../contract/queue-items.ts';
import { callReference } from '../../contract/references.ts';
import { type ErrorDetail, HeddleError } from '../../core/errors.ts';
import { millisecondsOf } from '../../core/timestamps.ts';
import { cutValue } from '../../text/call-values.ts';
import { shortName } from '../../text/names.ts';
import { contentId, creatorOf, isOwn, isSame, judgementId, learnAccount } from '../authorship.ts';
import {
  byCall,
  goldJudgementsOf,
  type Judgement,
  judgementsOf,
  latestJudgements,
  type Note,
  notesOf,
  noteType,
} from '../judgements.ts';
import type { QueueAccess } from '../queue-access.ts';
import {
  type JudgementType,
  judgementType,
  notes,
  type QueueField,
  type QueueRules,
  readQueueRules,
  unjudgedFields,
} from '../queue-fields.ts';
import { shownItem, shownRules, stateAndAnnotator } from '../shown-items.ts';

/** The name in `retract` that stands for all that one gave. */
export const everything = '*';

export interface Change {
  judgements?: Record<string, unknown> | undefined;
  note?: string | undefined;
  annotation_state?: ProgressState | undefined;
  /** Fields whose judgements are deleted, `note` for notes, and `*` for both. */
  retract?: string[] | undefined;
  /** Values that settle disputes, by field; null removes the gold of a field. */
  gold?: Record<string, unknown> | undefined;
  /** Why the gold is right. */
  reason?: string | undefined;
  /** Names of the accounts that alone may claim the item; none for those of the queue. */
  assignees?: string[] | undefined;
}

/** A change, and where the caller finds it among the arguments. */
export interface LocatedChange {
  change: Change;
  loc: (string | number)[];
}

/** Conditions that items must meet before they are changed. */
export interface ItemConditions {
  /**
   * Time since which no other annotator may have settled a field that the change settles, or judged or moved the item. If the user asks,
   * or several opinions are wanted, others may have judged or moved it.
   */
  asOf?: string | undefined;
  expectedState?: string | undefined;
}

/** An item and its change, with the steps to carry out and their outcome. */
export interface Update {
  item: QueueItem;
  change: Change;
  feedback: NewFeedback[];
  /** Ids of one's own judgements and notes, and of gold, to delete. */
  purge: string[];
  /** True once something was stored or deleted. */
  wrote: boolean;
  /** The item after its state was set. */
  after?: QueueItem;
  /** The changes of the item by others during the call, as text. */
  meanwhile?: string;
  /**
   * Judgements and notes of the other side, which the change leaves: if the user changes the item, those of this client that differ; if the
   * client takes back what only the user has given, those of the user.
   */
  stays: (Judgement | Note)[];
  /** True if taking judgements back opens the item again for its account, which has completed it. */
  reopens?: boolean;
  /** True if the item stays completed for the account, which has other judgements of it. */
  keeps?: boolean;
  /** Fields, but those of text, that nobody has judged on an item which a change completes with other judgements. */
  unjudged: string[];
  error?: HeddleError;
}

type NewFeedback = CallParts<'createFeedback'>['body'];

/** Returns whether a change depends on the judgements, notes and gold that were given before. */
export function dependsOnFeedback({ judgements, note, retract, gold }: Change): boolean {
  return [judgements, note, retract, gold].some((part) => part !== undefined);
}

/**
 * Reads the rules that changes need, as they were shown with `asOf` if that is known.
 * @throws HeddleError `not_found` for an unknown queue, `invalid_arguments` for judgements that the queue does not take.
 */
export async function rulesForChanges(
  changes: readonly LocatedChange[],
  queue: QueueAccess,
  asOf: string | undefined,
): Promise<QueueRules> {
  const isCompared = asOf !== undefined && !queue.byUser;
  const needsFields = changes.some(({ change }) => change.judgements || change.retract || change.gold);
  if (!isCompared && !needsFields) return { fields: [] };
  const shown = asOf === undefined ? undefined : shownRules(queue, asOf);
  const rules = shown ?? (await readQueueRules(queue.id, queue.project, queue.service));
  const detail = changes.flatMap((change) => faultsOf(change, rules.fields));
  if (detail.length === 0) return rules;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was changed. ${detail[0]!.msg}.`,
    hint: 'Use the names and values that the fields of the queue allow, then call again.',
    detail,
    statedDetails: 1,
  });
}

function faultsOf({ change, loc }: LocatedChange, fields: readonly QueueField[]): ErrorDetail[] {
  const { judgements = {}, retract = [], gold = {} } = change;
  const faults: ErrorDetail[] = [];
  const add = (msg: string, ...path: string[]) => faults.push({ loc: [...loc, ...path], msg, type: 'value_error' });
  for (const [name, value] of Object.entries(judgements)) {
    const typeOrProblem = judgementType(name, value, fields);
    if (typeof typeOrProblem === 'string') add(typeOrProblem, 'judgements', name);
    else if (retract.includes(name) || retract.includes(everything)) add(`${name} is also judged`, 'retract');
  }
  for (const [name, value] of Object.entries(gold)) {
    const typeOrProblem = value === null ? undefined : judgementType(name, value, fields);
    if (typeof typeOrProblem === 'string') add(typeOrProblem, 'gold', name);
  }
  if (change.note !== undefined && (retract.includes(notes) || retract.includes(everything))) {
    add('A note is also written', 'retract');
  }
  const others = [notes, everything, ...fields.map(({ name }) => name)];
  const unknown = retract.find((name) => !others.includes(name));
  if (fields.length > 0 && unknown !== undefined) {
    const names = fields.map(({ name }) => name).join(', ');
    add(`The queue has no field ${unknown}; its fields are ${names}, and note takes back notes`, 'retract');
  }
  return faults;
}

/** Plans the changes of items from the feedback that was given on them. An item that may not be changed gets its error. */
export async function planUpdates(
  work: readonly { item: QueueItem; change: Change }[],
  feedback: readonly StoredFeedback[],
  { fields, guidelines, wantsSeveral = false }: QueueRules,
  { asOf, expectedState }: ItemConditions,
  queue: QueueAccess,
): Promise<Update[]> {
  // People judge independently of each other, without seeing what others have judged; so do all where several opinions are wanted.
  const conditions = { expectedState, ...(!queue.byUser && !wantsSeveral && { asOf }) };
  const judgements = judgementsOf(feedback);
  const judgementsByCall = byCall(judgements);
  const notesByCall = byCall(notesOf(feedback));
  const goldByCall = byCall(goldJudgementsOf(feedback));
  const tag = await queue.service.accountTag();
  const asClient = { ...queue, byUser: false };
  const asOther = { ...queue, byUser: queue.byUser !== true };
  await learnAccount(judgements, queue);
  await learnAccount(judgements, asClient);
  return work.map(({ item, change }) => {
    const update: Update = {
      item,
      change,
      feedback: [],
      purge: [],
      wrote: false,
      stays: [],
      unjudged: [],
    };
    const given = judgementsByCall.get(item.call_id) ?? [];
    const goldGiven = goldByCall.get(item.call_id) ?? [];
    const error =
      unmetCondition(item, given, conditions, queue) ?? settledSince(change, latestJudgements(goldGiven), asOf, queue);
    if (error) return { ...update, error };
    const author = {
      project_id: queue.project,
      weave_ref: callReference(queue.project, item.call_id),
      queue_id: queue.id,
      creator: creatorOf(queue),
    };
    const own = given.filter((judgement) => isOwn(judgement, queue));
    for (const [name, value] of Object.entries(change.judgements ?? {})) {
      const latest = own.findLast(({ field }) => field === name);
      // The same value under other guidelines is a judgement of its own.
      const isOfOtherRules = latest?.guidelines !== undefined && latest.guidelines !== guidelines;
      if (latest && isSame(latest.value, value) && !isOfOtherRules) continue;
      const type = judgementType(name, value, fields) as JudgementType;
      const id = judgementId({ call_id: item.call_id, field: name, value }, latest?.id, tag, queue);
      update.feedback.push({ ...author, ...type, payload: { value, ...(guidelines && { guidelines }) }, id });
    }
    // All judgements of a field are deleted, or an earlier one would count again.
    const { note, retract = [] } = change;
    const takesAll = retract.includes(everything);
    const retracted = own.filter(({ field }) => takesAll || retract.includes(field));
    update.purge.push(...retracted.map(({ id }) => id));
    const { userId } = queue.service.facts;
    if (retracted.length > 0 && item.own_state === 'completed' && change.annotation_state === undefined) {
      update.keeps = given.some((judgement) => judgement.user === userId && !isOwn(judgement, queue));
      update.reopens = !update.keeps;
    }
    for (const [field, value] of Object.entries(change.gold ?? {})) {
      const given = goldGiven.filter((gold) => gold.field === field);
      const [latest] = latestJudgements(given);
      const { reason } = change;
      const isGiven =
        latest !== undefined && isSame(latest.value, value) && (reason ?? latest.reason) === latest.reason;
      if (value === null) update.purge.push(...given.map(({ id }) => id));
      if (value === null || isGiven) continue;
      const feedback_type = goldFeedbackType(field);
      const id = contentId([tag, queue.id, item.call_id, feedback_type, value, reason, latest?.id]);
      update.feedback.push({ ...author, feedback_type, payload: { value, ...(reason && { reason }) }, id });
    }
    const noteId = (text: string, judge: QueueAccess) =>
      contentId([tag, creatorOf(judge), queue.id, item.call_id, noteType, text]);
    const notesOfJudge = (judge: QueueAccess): Note[] =>
      (notesByCall.get(item.call_id) ?? []).filter(
        (given) => isOwn(given, judge) || given.id === noteId(given.note, judge),
      );
    const ownNotes = notesOfJudge(queue);
    const takesNotes = takesAll || retract.includes(notes);
    if (takesNotes) update.purge.push(...ownNotes.map(({ id }) => id));
    if (note !== undefined && !ownNotes.some((given) => given.note === note)) {
      update.feedback.push({ ...author, feedback_type: noteType, payload: { note }, id: noteId(note, queue) });
    }
    if (change.judgements && change.annotation_state === 'completed') {
      const kept = given.filter((judgement) => !retracted.includes(judgement));
      const judged = new Set([...Object.keys(change.judgements), ...kept.map(({ field }) => field)]);
      update.unjudged = unjudgedFields(fields, judged);
    }
    const judgedByOther = latestJudgements(given.filter((judgement) => isOwn(judgement, asOther)));
    const notedByOther = notesOfJudge(asOther);
    const values = new Map(Object.entries(change.judgements ?? {}));
    if (!queue.byUser) {
      const isNamed = ({ field }: Judgement) => takesAll || retract.includes(field);
      if (retracted.length === 0) update.stays.push(...judgedByOther.filter(isNamed));
      if (takesNotes && ownNotes.length === 0) update.stays.push(...notedByOther);
    } else if (change.judgements || note !== undefined || retract.length > 0) {
      // Users may not know what the client has given on their behalf.
      const isLeft = ({ field, value }: Judgement) => !values.has(field) || !isSame(values.get(field), value);
      update.stays.push(...judgedByOther.filter(isLeft), ...notedByOther.filter((given) => given.note !== note));
    }
    return update;
  });
}

/** Returns the refusal of an item in another state than expected, or that another annotator has, or may have, changed. */
function unmetCondition(
  item: QueueItem,
  given: readonly Judgement[],
  { asOf, expectedState }: ItemConditions,
  queue: QueueAccess,
): HeddleError | undefined {
  const { id, annotation_state, annotator_user_id } = item;
  if (expectedState !== undefined && annotation_state !== expectedState) {
    const setter = annotator_user_id ? `, set by ${shortName(annotator_user_id)}` : '';
    return conflict(`the item is ${annotation_state}${setter}, not ${expectedState}`);
  }
  if (asOf === undefined) return undefined;
  const since = millisecondsOf(asOf);
  const judged = given.findLast((judgement) => Date.parse(judgement.at) > since && !isOwn(judgement, queue));
  if (judged) return conflict(`${judgementText(judged)}, after as_of`);
  const { facts } = queue.service;
  const shown = shownItem(queue, asOf, id);
  // No item ever becomes unstarted again, so an item that is still unstarted has not been moved.
  if (annotation_state === 'unstarted' || isOwnMove(item, queue) || shown === stateAndAnnotator(item)) return undefined;
  // The service does not record when a state changed.
  if (shown !== undefined) {
    const seen = `${new Date(since).toISOString().slice(0, 19)}Z`;
    return conflict(`${moveText(item)} between ${seen} and ${facts.timeAfter(Date.now())}`);
  }
  if (expectedState !== undefined) return undefined;
  const hint = `Read the item again, or pass expected_state ${annotation_state} if that is what you saw.`;
  const reason = 'the service does not record when, and this server has not shown the item with this as_of';
  return conflict(`${moveText(item)}, perhaps after as_of: ${reason}`, hint);
}

/** Returns the refusal of gold for a field that another one has settled after `asOf`, since there is only one gold of a field. */
function settledSince(
  { gold = {} }: Change,
  given: readonly Judgement[],
  asOf: string | undefined,
  queue: QueueAccess,
): HeddleError | undefined {
  if (asOf === undefined) return undefined;
  const values = new Map(Object.entries(gold));
  const settled = given.find(
    (judgement) =>
      values.has(judgement.field) &&
      !isSame(judgement.value, values.get(judgement.field)) &&
      Date.parse(judgement.at) > millisecondsOf(asOf) &&
      !isOwn(judgement, queue),
  );
  if (!settled) return undefined;
  const { user, field, value, at } = settled;
  return conflict(`${user} settled ${shortName(field)} as ${shownValue(value)} at ${at}, after as_of`);
}

/** Returns whether an item shows the state that the account has set. */
export function isOwnMove({ annotator_user_id }: QueueItem, { service: { facts } }: QueueAccess): boolean {
  return annotator_user_id === (facts.annotatorId ?? facts.userId);
}

function conflict(reason: string, hint = 'Read the item again.'): HeddleError {
  return new HeddleError({ code: 'conflict', message: `Not changed: ${reason}.`, hint });
}

/** Describes who set the state of an item. */
export function moveText({ annotation_state, annotator_user_id }: QueueItem): string {
  return `${annotator_user_id || 'someone'} moved it to ${annotation_state}`;
}

/** Values of other people are cut here, because the size limit of results does not apply to messages. */
const maxValueChars = 200;

/** Describes who gave a judgement, and when. */
export function judgementText({ annotator, field, value, at }: Judgement): string {
  return `${shortName(annotator)} judged ${shortName(field)} as ${shownValue(value)} at ${at}`;
}

function shownValue(value: unknown): string {
  return JSON.stringify(cutValue(value, maxValueChars));
}
