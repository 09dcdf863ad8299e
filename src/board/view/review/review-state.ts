import type { GivenFeedback } from '../../../queues/given-feedback.ts';
import type { FieldSummary } from '../../../queues/queue-fields.ts';
import type { QueueSummary } from '../../../tools/list-queues.ts';
import type { Review, ReviewedItem, ReviewFilter } from '../../../tools/review-queue.ts';
import { describeError, type Problem } from '../shared/describe-error.ts';
import { countOf, labelOf } from '../shared/labels.ts';
import type { ViewState } from '../shared/view.ts';
import { plainText } from '../shared/visible-text.ts';
import {
  type Draft,
  draftedChange,
  emptyDraft,
  fieldsOf,
  isComplete,
  isEmpty,
  isFinal,
  isSameDraft,
  isSameValue,
  isWritable,
  lackingFields,
  type TypedText,
  valueIn,
  withValue,
  withWritten,
  writtenItem,
} from './draft.ts';
import { choicesIn } from './field-values.ts';
import { type FilterKind, kindOf } from './filters.ts';

/** Items that one call writes at most. */
const maxWritten = 100;
/** Items that the message to the model lists. */
const maxListedItems = 50;

/** Sentences for errors that concern an item. */
const itemSentences: Record<string, string> = {
  invalid_request: 'You have finished or skipped this item before. Look at it again, then write.',
  conflict: 'Someone has changed this meanwhile. Look at it again, then write.',
  invalid_arguments: 'This was not accepted. Choose or write the value again.',
};

/** A value that was cut, once the person has asked for the whole of it. */
export type Whole = { value: unknown } | 'loading' | 'failed';

/** An item on the board, and what the person decided about it. */
export interface Card {
  item: ReviewedItem;
  /** Time at which the item was read. */
  asOf: string;
  draft: Draft;
  isSelected: boolean;
  /** Position of the field that number keys judge. */
  active: number;
  /** By path. */
  wholes: ReadonlyMap<string, Whole>;
  /** The judgements of all annotators, once the person has asked for them, or a sentence that says why they are not shown. */
  given?: GivenFeedback | string | undefined;
  problem?: Problem | undefined;
  isWritten?: boolean;
  isRereading?: boolean;
}

/** A decision that can be taken back: the state that it replaced. */
interface PastDecision {
  /** Names the decision; typing on in the same box is one decision. */
  what: string;
  /** Id of the item at which the person decided, and the position of its field. */
  id: string;
  active: number;
  /** The drafts before, by item. */
  drafts: ReadonlyMap<string, Draft>;
}

/** The state of the review board. */
export interface ReviewState extends ViewState {
  /** The queues among which the person chooses, until one is open. */
  queues?: readonly QueueSummary[];
  /** The last page that was read. */
  page?: Review;
  fields: readonly FieldSummary[];
  /** The filter with which the board was opened, and the choice of the person. */
  asked: ReviewFilter;
  kind: FilterKind;
  /** Cards in their order, by the id of the item. */
  cards: ReadonlyMap<string, Card>;
  /** Id of the item on which keys act; undefined after the last one. */
  current?: string | undefined;
  /** The decisions that are not written, the last one at the end. */
  history: readonly PastDecision[];
  hasSingleKeys: boolean;
  /** True to show all items below one another, false for one that fills the page. */
  isList: boolean;
  /** True to show text as it is written, without drawing its Markdown. */
  isRaw: boolean;
  /** True if the next press writes more items than a person may expect. */
  isAsking: boolean;
  /** True while the guidelines are open. */
  isGuided: boolean;
  isWriting: boolean;
  /** Changes written since the page was opened, by item, for the model. */
  written: ReadonlyMap<string, string>;
  /** The numbers of items that annotators have judged, by annotator, once they were counted. */
  judged?: ReadonlyMap<string, number>;
  /** The numbers of completed items without a value, by field, once they were counted. */
  lacking?: Record<string, number> | undefined;
  /** The number of skipped items, once they were counted. */
  skipped?: number | undefined;
}

/** The state of a board before its first page. */
export const emptyBoard: Omit<ReviewState, keyof ViewState> = {
  fields: [],
  asked: {},
  kind: 'todo',
  cards: new Map(),
  history: [],
  hasSingleKeys: true,
  isList: false,
  isRaw: false,
  isAsking: false,
  isGuided: false,
  isWriting: false,
  written: new Map(),
};

/** Shows the first page. Cards with decisions stay; others that are not on the page go. */
export function withFirstItems(state: ReviewState, page: Review): ReviewState {
  const ids = new Set(page.items.map(({ id }) => id));
  // Disputes have an order of their own, and what is decided about them is gold.
  const isSameList = !state.page || state.page.filter.disagreement === page.filter.disagreement;
  const kept = [...state.cards].filter(([id, { draft }]) => isSameList && (ids.has(id) || !isEmpty(draft)));
  const { fields = [] } = state.page ? state : page;
  const all = withItems(new Map(kept), page, fields);
  // In the order of the page, after what is decided about others.
  const others = [...all].filter(([id]) => !ids.has(id));
  const cards = new Map([...others, ...page.items.map(({ id }) => [id, all.get(id)!] as const)]);
  const [first] = cards.keys();
  const shown: ReviewState = {
    ...state,
    page,
    kind: kindOf(page.filter),
    fields,
    ...(!state.page && { asked: page.filter }),
    cards,
    // The person may have begun before this page arrived.
    current: isSameList && state.current !== undefined && cards.has(state.current) ? state.current : first,
    isAsking: false,
  };
  return { ...shown, message: page.items.length === 0 ? emptySentence(shown) : countSentence(shown) };
}

/** Adds a further page. */
export function withMoreItems(state: ReviewState, page: Review): ReviewState {
  const { filter = {} } = state.page ?? {};
  const added: ReviewState = { ...state, page: { ...page, filter }, cards: withItems(state.cards, page, state.fields) };
  return { ...added, message: countSentence(added) };
}

/** Says on the cards of items that the person no longer holds that someone else has them. */
export function withHeld(state: ReviewState, held: readonly string[]): ReviewState {
  const problem = { sentence: 'Your time for this item ended, and someone else has it now.' };
  const cards = new Map(state.cards);
  for (const [id, card] of cards) if (!held.includes(id) && !card.isWritten) cards.set(id, { ...card, problem });
  return { ...state, cards };
}

/** Returns the number of items among which a card has its place; undefined while that is not known. */
export function placesOf({ page, kind, cards }: ReviewState): number | undefined {
  const { queue, next_offset, filter = {} } = page ?? {};
  if (!queue || next_offset === undefined) return cards.size;
  const { unfinished_by_me: _mine, ...conditions } = filter;
  if (Object.keys(conditions).length > 0) return undefined;
  if (kind !== 'todo') return queue.total;
  const finishedHere = [...cards.values()].filter(({ item }) => isFinal(item.annotation_state));
  return toDoOf(queue) + finishedHere.length;
}

/** Returns where the next page begins. Items that were finished here no longer match the filter, so others have moved up. */
export function nextOffset(state: ReviewState): number {
  const { cards, page } = state;
  const kind = kindOf(page?.filter ?? {});
  const isGone = (card: Card): boolean =>
    kind !== 'all' && (card.isWritten === true || (kind === 'todo' && !isLeft(state, card)));
  return [...cards.values()].filter((card) => !isGone(card)).length;
}

function withItems(
  cards: ReadonlyMap<string, Card>,
  { items, as_of, filter }: Review,
  fields: ReviewState['fields'],
): Map<string, Card> {
  const all = new Map(cards);
  for (const item of items) {
    const card = withItem(all.get(item.id), item, as_of);
    const [first] = filter.lacks_value ? lackingFields(item, card.draft, fields) : [];
    all.set(item.id, first ? { ...card, active: fields.indexOf(first) } : card);
  }
  return all;
}

/** Returns a card with a newer state of its item, or a new card; what the person has decided stays. */
function withItem(card: Card | undefined, item: ReviewedItem, asOf: string): Card {
  const isSame = isSameValue(item.call_values, card?.item.call_values);
  const decided = card ?? { draft: emptyDraft, isSelected: false, active: 0 };
  return { ...decided, item, asOf, given: undefined, wholes: card && isSame ? card.wholes : new Map() };
}

/** Says why there is nothing to judge although the queue is not done. */
export const takenSentence = 'What is left is judged, or with someone else now.';

function emptySentence(state: ReviewState): string {
  const { kind, page } = state;
  const { total = 0 } = page?.queue ?? {};
  if (total === 0) return 'This queue has no items yet.';
  const isWholeQueue = kind === 'todo' && Object.keys(page?.filter ?? {}).length === 1;
  if (isWholeQueue && toDoOf(page!.queue) > 0) return takenSentence;
  if (!isWholeQueue) return 'No items match.';
  const missing = missingClause(state);
  return `${missing ? '' : 'Nothing is left to do: '}${countOf(total, 'item')} finished${missing}.`;
}

/** Takes the counts of what finished items lack, undefined if they could not be read. */
export function withLacking(state: ReviewState, page?: Pick<Review, 'lacking' | 'skipped'>): ReviewState {
  const counted = { ...state, lacking: page?.lacking, skipped: page?.skipped };
  const isEmptyList = state.message === emptySentence(state);
  return isEmptyList ? { ...counted, message: emptySentence(counted) } : counted;
}

function countSentence({ cards, page, kind }: ReviewState): string {
  const more = page?.next_offset === undefined ? '' : '; more follow';
  if (!page?.can_write) return `${countOf(cards.size, 'item')} to read${more}. This board is read-only.`;
  const purpose = kind === 'disputes' ? 'to settle' : kind === 'todo' ? 'to judge' : 'found';
  return `${countOf(cards.size, 'item')} ${purpose}${more}.`;
}

/** Changes one card. */
export function withCard(state: ReviewState, id: string, change: (card: Card) => Card): ReviewState {
  const card = state.cards.get(id);
  return card ? { ...state, cards: new Map([...state.cards, [id, change(card)]]), isAsking: false } : state;
}

/** Changes the draft of one item; `what` names the decision, and the same one again is taken back with it. */
export function withDraft(
  state: ReviewState,
  id: string,
  what: string,
  change: (draft: Draft, item: ReviewedItem) => Draft,
): ReviewState {
  const changed = withCard(state, id, (card) => ({ ...card, draft: change(card.draft, card.item) }));
  const { draft = emptyDraft } = changed.cards.get(id) ?? {};
  const message = `Item ${placeOf(state, id)}: ${isEmpty(draft) ? 'nothing changed' : what}`;
  return remembering(state, { ...changed, message }, id, what);
}

/** Drops what was decided about an item and not written. */
export function withoutDecision(state: ReviewState, id: string): ReviewState {
  const dropped = withDraft(state, id, 'dropping what you decided', () => emptyDraft);
  const message = `Item ${placeOf(state, id)}: taken back`;
  return { ...withCard(dropped, id, (card) => ({ ...card, problem: undefined })), message };
}

/** Adds to the history the drafts that differ from those before; the same decision about the same item again continues it. */
function remembering(before: ReviewState, after: ReviewState, id: string, what: string): ReviewState {
  const changed = [...before.cards].flatMap(([each, { draft }]) => {
    const now = after.cards.get(each)?.draft;
    return now === undefined || now === draft || isSameDraft(now, draft) ? [] : [[each, draft] as const];
  });
  const last = before.history.at(-1);
  const isContinued = last?.what === what && last.id === id;
  if (changed.length === 0) return { ...after, history: before.history };
  const past = isContinued
    ? { ...last, drafts: new Map([...changed, ...last.drafts]) }
    : { what, id, active: before.cards.get(id)!.active, drafts: new Map(changed) };
  return { ...after, history: [...(isContinued ? before.history.slice(0, -1) : before.history), past] };
}

/** Takes back the last decision that is not written, wherever it was made, and goes there. */
export function takeBack(state: ReviewState): ReviewState {
  const last = state.history.at(-1);
  if (!last) {
    const message = state.written.size > 0 ? 'Everything you decided is written.' : 'There is nothing to take back.';
    return { ...state, message };
  }
  const cards = new Map(state.cards);
  for (const [id, draft] of last.drafts) {
    const card = cards.get(id);
    if (card) cards.set(id, { ...card, draft, problem: undefined });
  }
  const card = cards.get(last.id);
  if (card) cards.set(last.id, { ...card, active: last.active });
  const others = last.drafts.size > 1 ? `, for ${countOf(last.drafts.size, 'item')}` : '';
  return {
    ...state,
    cards,
    history: state.history.slice(0, -1),
    ...(card && { current: last.id }),
    isAsking: false,
    message: `Taken back: ${last.what}${others}.`,
  };
}

/** Returns the history without the decisions about an item. */
function historyWithout(history: ReviewState['history'], id: string): ReviewState['history'] {
  return history.flatMap((past) => {
    if (!past.drafts.has(id)) return [past];
    const drafts = new Map([...past.drafts].filter(([each]) => each !== id));
    return drafts.size > 0 ? [{ ...past, drafts }] : [];
  });
}

/** Shows drafts that were kept by the browser on those of their cards on which nothing is decided. */
export function withRestored(state: ReviewState, drafts: ReadonlyMap<string, Draft>): ReviewState {
  const cards = new Map(state.cards);
  const restored = [...drafts].filter(([id]) => cards.get(id)?.draft === emptyDraft);
  if (restored.length === 0) return state;
  const history = restored.map(([id, draft]) => {
    const card = cards.get(id)!;
    cards.set(id, { ...card, draft });
    return { what: 'your decision', id, active: 0, drafts: new Map([[id, emptyDraft]]) };
  });
  return { ...state, cards, history: [...history, ...state.history] };
}

/** Shows the draft of an item as another tab has changed it. */
export function withForeignDraft(state: ReviewState, id: string, draft: Draft): ReviewState {
  const changed = withCard(state, id, (card) => ({ ...card, draft }));
  return { ...changed, history: historyWithout(state.history, id) };
}

/** Changes the drafts of an item, and of all that are selected if it is one of them; `what` says it. */
function withDecision(
  state: ReviewState,
  id: string,
  what: string,
  change: (draft: Draft, item: ReviewedItem) => Draft,
): ReviewState {
  const isSelected = state.cards.get(id)?.isSelected;
  const cards = new Map(state.cards);
  let count = 0;
  let isChanged = false;
  for (const [each, card] of state.cards) {
    if (!(isSelected ? card.isSelected : each === id)) continue;
    const draft = change(card.draft, card.item);
    cards.set(each, { ...card, draft, problem: undefined });
    count += 1;
    isChanged ||= !isSameDraft(draft, card.draft);
  }
  const decided = { ...state, cards, isAsking: false };
  const values = [...(cards.get(id)?.draft.judgements ?? [])].map(([field, value]) => decisionOf(field, value));
  // The board goes on to the next item, so the message names all values of this one.
  const said = values.includes(what) && isSettled(decided, id) ? ` decided: ${values.join(', ')}` : `: ${what}`;
  const message =
    count > 1
      ? `${what}, for ${countOf(count, 'item')}. u takes that back.`
      : `Item ${placeOf(state, id)}${isChanged ? said : ': nothing changed'}`;
  return remembering(state, { ...decided, message }, id, what);
}

/** Gives a value to a field, undefined for none. */
export function give(state: ReviewState, id: string, field: string, value: unknown): ReviewState {
  return withDecision(state, id, decisionOf(field, value), (draft, item) => withValue(draft, item, field, value));
}

function decisionOf(field: string, value: unknown): string {
  return `${plainText(field)} ${value === undefined ? 'removed' : labelOf(value)}`;
}

/** Takes what a person typed into the box of a field; what is no value decides nothing. */
export function giveTyped(
  state: ReviewState,
  id: string,
  field: string,
  { text, problem, value }: TypedText & { value?: unknown },
): ReviewState {
  const given = problem === undefined ? give(state, id, field, value) : state;
  const typed = { text, problem };
  const shown = withCard(given, id, (card) => {
    return { ...card, draft: { ...card.draft, typed: new Map([...card.draft.typed, [field, typed]]) } };
  });
  return remembering(state, shown, id, `${plainText(field)} typed`);
}

/** Chooses the value that a key gives to the active field, and moves on to the next field without a value. */
export function chooseActive(state: ReviewState, id: string, key: string): ReviewState {
  const shown = state.cards.get(id);
  const { active = 0 } = shown ?? {};
  const fields = shown ? fieldsOf(state.fields, shown.item) : [];
  const field = fields[active];
  const choice = field && choicesIn(field, shown!.item).find((each) => each.key === key);
  if (!choice) return state;
  return withCard(give(state, id, field.name, choice.value), id, (card) => {
    const isOpen = ({ name }: FieldSummary): boolean => valueIn(card.item, card.draft, name) === undefined;
    const after = fields.findIndex((each, at) => at > active && isOpen(each));
    const next = after === -1 ? fields.findIndex(isOpen) : after;
    return { ...card, active: next === -1 ? active : next };
  });
}

/** Returns whether the next card can be judged after a choice: this one is complete, and stands for no other. */
export function isSettled({ cards, fields, kind }: ReviewState, id: string): boolean {
  const card = cards.get(id);
  if (!card || card.isSelected) return false;
  const { item, draft } = card;
  if (kind === 'lacking') return lackingFields(item, draft, fields).length === 0;
  return isComplete(item, draft, fieldsOf(fields, item));
}

/** Returns whether an item that is written still belongs to what the person goes through. */
export function isLeft({ kind, fields }: ReviewState, { item, draft }: Card): boolean {
  return kind === 'lacking' ? lackingFields(item, draft, fields).length > 0 : !isFinal(item.annotation_state);
}

/** Returns whether a person can choose the state of an item: it does not change once they have finished or skipped the item. */
export function hasChoiceOfState({ disputes, annotation_state }: ReviewedItem): boolean {
  return !disputes && !isFinal(annotation_state);
}

/** Chooses a state, or no longer, where an item can still get one. */
export function chooseState(state: ReviewState, id: string, chosen: NonNullable<Draft['state']>): ReviewState {
  const card = state.cards.get(id);
  if (!card || !hasChoiceOfState(card.item)) return state;
  const next = card.draft.state === chosen ? undefined : chosen;
  return withDecision(state, id, next ?? 'not decided', (draft, item) =>
    hasChoiceOfState(item) ? { ...draft, state: next } : draft,
  );
}

/** Gives every suggested value to a field that has none. */
export function acceptSuggestions(state: ReviewState, id: string): ReviewState {
  const { suggestions = [] } = state.cards.get(id)?.item ?? {};
  return suggestions.reduce((accepted, { field, value }) => {
    const { item, draft } = accepted.cards.get(id)!;
    return valueIn(item, draft, field) === undefined ? give(accepted, id, field, value) : accepted;
  }, state);
}

/** Selects every card, or none if all are selected. */
export function selectAll(state: ReviewState): ReviewState {
  const isSelected = [...state.cards.values()].some((card) => !card.isSelected);
  const message = isSelected
    ? `${countOf(state.cards.size, 'item')} selected. What you judge now counts for all of them.`
    : 'Nothing is selected.';
  const cards = new Map([...state.cards].map(([id, card]) => [id, { ...card, isSelected }]));
  return { ...state, cards, message, isAsking: false };
}

/** Returns the cards with something to write. */
export function stagedCards({ cards }: ReviewState): Card[] {
  return [...cards.values()].filter(({ item, draft }) => isWritable(item, draft));
}

/** Returns how many items are skipped by decisions about several at once. */
export function skippedTogether({ cards, history }: ReviewState): number {
  const together = history.flatMap(({ drafts }) => (drafts.size > 1 ? [...drafts.keys()] : []));
  return new Set(together.filter((id) => cards.get(id)?.draft.state === 'skipped')).size;
}

/** Returns the number of a card as the page shows it, from 1. */
export function placeOf({ cards }: ReviewState, id: string): number {
  return [...cards.keys()].indexOf(id) + 1;
}

/** Returns the cards to write together: those with the same `as_of`, since one tool call takes one. */
export function batchesOf(cards: readonly Card[]): Card[][] {
  const groups = new Map<string, Card[]>();
  for (const card of cards) groups.set(card.asOf, [...(groups.get(card.asOf) ?? []), card]);
  return [...groups.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / maxWritten) }, (_, index) =>
      group.slice(index * maxWritten, (index + 1) * maxWritten),
    ),
  );
}

/** Takes the result of writing a card as it was; what the person has decided since then stays. */
export function withResult(
  state: ReviewState,
  card: Card,
  result: { error?: { code: string; message: string }; annotation_state?: string },
): ReviewState {
  const { item, draft } = card;
  const { error, annotation_state = item.annotation_state } = result;
  if (error) {
    const problem = describeError(error.code, error.message, itemSentences);
    return withCard(state, item.id, (current) => ({ ...current, problem }));
  }
  const { account } = state.page ?? {};
  const written = writtenItem(item, draft, annotation_state);
  const after = (given: Card['given']) =>
    typeof given === 'object' && account ? withWritten(given, account, written, draft.note?.trim()) : undefined;
  const settled = withCard(state, item.id, (current) => ({
    ...current,
    item: { ...written, given: after(item.given) },
    draft: current.draft === draft ? emptyDraft : current.draft,
    given: after(current.given),
    problem: undefined,
    isWritten: true,
    isSelected: false,
  }));
  const change = JSON.stringify(draftedChange(item, draft, state.fields));
  const finished = Number(isFinal(annotation_state)) - Number(isFinal(item.annotation_state));
  return {
    ...withFinished(settled, finished),
    history: historyWithout(settled.history, item.id),
    written: new Map([...state.written, [item.id, change]]),
  };
}

/** Returns the agents that judged under the account of the person, each with the number of its items, once they were counted. */
export function agentsOf({ judged = new Map(), page }: ReviewState): [string, number][] {
  return [...judged].filter(([name]) => name.startsWith(`${page?.account} (`));
}

/** Says what finished items lack, like `, but 2 without tone and 1 without reason`; empty if that is nothing. */
export function missingClause(state: ReviewState): string {
  const { page, lacking = {}, formats } = state;
  if (!page?.can_write) return '';
  const parts = Object.entries(lacking).map(([name, count]) => `${formats.number(count)} without ${plainText(name)}`);
  return parts.length > 0 ? `, but ${parts.join(' and ')}` : '';
}

/** Returns how many items of a queue the person has not finished, or no one has, if the service does not tell more. */
export function toDoOf({ to_do, remaining }: Pick<QueueSummary, 'to_do' | 'remaining'>): number {
  return to_do ?? remaining ?? 0;
}

/** Counts further items that the person has finished; fewer than none where judgements were taken back. */
function withFinished(state: ReviewState, count: number): ReviewState {
  const { page } = state;
  if (!page || count === 0) return state;
  const left = Math.max(toDoOf(page.queue) - count, 0);
  const counts = page.queue.to_do === undefined ? { remaining: left } : { to_do: left };
  return { ...state, page: { ...page, queue: { ...page.queue, ...counts } } };
}

/** Shows the counts of the queue as they are now, and the items that have changed. */
export function withRefreshed(state: ReviewState, page: Review): ReviewState {
  const cards = new Map(state.cards);
  for (const item of page.items) {
    const card = cards.get(item.id);
    if (card && isLeft(state, card) && !isSameValue(item, card.item))
      cards.set(item.id, withItem(card, item, page.as_of));
  }
  return { ...state, cards, page: { ...state.page!, queue: page.queue } };
}

/** Shows an item that was refused as it is now. */
export function withReread(state: ReviewState, { items, as_of }: Review): ReviewState {
  const [item] = items;
  if (!item) return { ...state, message: 'The item is no longer among these.' };
  const shown = withCard(state, item.id, ({ draft, ...card }) => ({
    ...withItem({ ...card, draft: hasChoiceOfState(item) ? draft : { ...draft, state: undefined } }, item, as_of),
    problem: undefined,
  }));
  return { ...shown, message: 'This is the item as it is now. Write it again if your judgement stands.' };
}

/** Returns the message that informs the model of what the person has judged. */
export function messageToModel({ written, page }: ReviewState, refused: number): string {
  const lines = [...written.values()];
  const rest = lines.length - maxListedItems;
  return [
    `The user judged ${countOf(lines.length, 'item')} of queue ${page?.queue.id} on the review board. All of this is stored already: do not write it again.`,
    ...(refused > 0 ? [`${countOf(refused, 'item')} refused by the service; the user sees why.`] : []),
    ...lines.slice(-maxListedItems),
    ...(rest > 0 ? [`and ${rest} more`] : []),
  ].join('\n');
}
