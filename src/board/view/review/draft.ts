import type { Change } from '../../../queues/changes/plan-updates.ts';
import type { GivenFeedback } from '../../../queues/given-feedback.ts';
import type { FieldSummary } from '../../../queues/queue-fields.ts';
import type { ReviewedItem } from '../../../tools/review-queue.ts';

/** Text in the box of a field, and why it is no value. */
export interface TypedText {
  text: string;
  problem?: string | undefined;
}

/** Decisions of a person about an item that are not yet written. */
export interface Draft {
  judgements: ReadonlyMap<string, unknown>;
  retracted: ReadonlySet<string>;
  /** The text that the person typed, by field: the box keeps it unchanged, such as 1.50. */
  typed: ReadonlyMap<string, TypedText>;
  note?: string | undefined;
  /** A state that the person chose, instead of the one that follows from the judgements. */
  state?: 'completed' | 'skipped' | undefined;
}

export const emptyDraft: Draft = { judgements: new Map(), retracted: new Set(), typed: new Map() };

/** Returns whether there is nothing to write. */
export function isEmpty({ judgements, retracted, note, state }: Draft): boolean {
  return judgements.size === 0 && retracted.size === 0 && !note?.trim() && state === undefined;
}

/** Returns whether a draft can be written: it decides something, and a reason goes with a value. */
export function isWritable(item: ReviewedItem, draft: Draft): boolean {
  return !isEmpty(draft) && (!item.disputes || Object.keys(goldIn(item, draft)).length > 0);
}

/** Returns whether a person has left no trace in a draft, not even text that is no value yet. */
export function isUntouched(draft: Draft): boolean {
  return isEmpty(draft) && draft.typed.size === 0 && !draft.note;
}

/** Returns a draft as text, which {@link parseDraft} reads. */
export function draftText({ judgements, retracted, typed, note, state }: Draft): string {
  return JSON.stringify({ judgements: [...judgements], retracted: [...retracted], typed: [...typed], note, state });
}

/** Reads the text of a draft. @throws an error for any other text. */
export function parseDraft(text: string): Draft {
  const { judgements, retracted, typed, note, state } = JSON.parse(text);
  return { judgements: new Map(judgements), retracted: new Set(retracted), typed: new Map(typed), note, state };
}

/** Returns whether two drafts decide the same. */
export function isSameDraft(a: Draft, b: Draft): boolean {
  return draftText(a) === draftText(b);
}

/** Returns the draft with a value of a field, undefined for none; the stored value again is no decision. */
export function withValue(draft: Draft, item: ReviewedItem, field: string, value: unknown): Draft {
  const isDecision = value !== undefined && !isSameValue(storedValue(item, field), value);
  return {
    ...draft,
    judgements: isDecision ? new Map([...draft.judgements, [field, value]]) : without(draft.judgements, field),
    retracted: new Set([...draft.retracted].filter((each) => each !== field)),
    typed: without(draft.typed, field),
  };
}

/** Returns the draft with the stored judgement of a field taken back, or no longer. */
export function withRetraction(draft: Draft, field: string): Draft {
  const retracted = new Set(draft.retracted);
  if (!retracted.delete(field)) retracted.add(field);
  return { ...draft, retracted, judgements: without(draft.judgements, field), typed: without(draft.typed, field) };
}

function without<Value>(map: ReadonlyMap<string, Value>, key: string): ReadonlyMap<string, Value> {
  return new Map([...map].filter(([each]) => each !== key));
}

/** Returns the person's stored judgement of a field. */
export function storedValue({ judgements = {} }: ReviewedItem, field: string): unknown {
  return new Map(Object.entries(judgements)).get(field);
}

/** Returns the value that a field of an item has once the draft is written. */
export function valueIn(item: ReviewedItem, draft: Draft, field: string): unknown {
  if (draft.judgements.has(field)) return draft.judgements.get(field);
  return draft.retracted.has(field) ? undefined : storedValue(item, field);
}

/** Returns whether two values are the same JSON. */
export function isSameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Returns whether a field takes any text, which a person need not write. */
function isFreeText({ type, choices, schema }: FieldSummary): boolean {
  return isText(type) && !choices && !schema;
}

/** Returns whether values of a type are texts. */
export function isText(type: string | undefined): boolean {
  return type === 'text' || type === 'correction';
}

/** Returns the fields that need a value and have none, neither of the person nor among the judgements that are shown. */
export function lackingFields(item: ReviewedItem, draft: Draft, fields: readonly FieldSummary[]): FieldSummary[] {
  const given = Object.values(item.given?.judgements ?? {});
  const isGiven = (name: string): boolean => given.some((values) => Object.hasOwn(values, name));
  return fields.filter(
    (field) => !isFreeText(field) && valueIn(item, draft, field.name) === undefined && !isGiven(field.name),
  );
}

/** Returns whether every field that needs a value has one; an item with text fields only needs one of them. */
export function isComplete(item: ReviewedItem, draft: Draft, fields: readonly FieldSummary[]): boolean {
  const needed = fields.filter((field) => !isFreeText(field));
  const hasValue = ({ name }: FieldSummary): boolean => valueIn(item, draft, name) !== undefined;
  return needed.length > 0 ? needed.every(hasValue) : fields.some(hasValue);
}

/** Returns whether a person is done with an item in this state. */
export function isFinal(state: string): boolean {
  return state === 'completed' || state === 'skipped';
}

/** Returns the fields that a person decides about an item: all of them, or those on which annotators differ. */
export function fieldsOf(fields: readonly FieldSummary[], { disputes }: ReviewedItem): readonly FieldSummary[] {
  return disputes ? fields.filter(({ name }) => Object.hasOwn(disputes, name)) : fields;
}

/** Returns the change of an item that its draft stands for, as update_queue_items takes it: in a dispute, gold. */
export function draftedChange(
  item: ReviewedItem,
  draft: Draft,
  fields: readonly FieldSummary[],
): Change & { item_id: string } {
  const { judgements, retracted, note } = draft;
  const text = note?.trim();
  if (item.disputes) {
    return { item_id: item.id, gold: goldIn(item, draft), ...(text && { reason: text }) };
  }
  const isJudged = judgements.size > 0;
  const started = item.annotation_state === 'unstarted' ? 'in_progress' : undefined;
  const reached = isComplete(item, draft, fields) ? 'completed' : started;
  // A service may begin an item again of which a judgement is taken back.
  const mayReopen = retracted.size > 0 && item.annotation_state === 'completed' && reached === 'completed';
  const isReached = mayReopen || (isJudged && !isFinal(item.annotation_state));
  const annotation_state = draft.state ?? (isReached ? reached : undefined);
  return {
    item_id: item.id,
    ...(isJudged && { judgements: Object.fromEntries(judgements) }),
    ...(retracted.size > 0 && { retract: [...retracted] }),
    ...(text && { note: text }),
    ...(annotation_state && { annotation_state }),
  };
}

/** Returns the values that settle a dispute, null for those taken back. A reason alone is written with what is settled already. */
function goldIn(item: ReviewedItem, { judgements, retracted, note }: Draft): Record<string, unknown> {
  const settled = note?.trim() ? Object.entries(item.judgements ?? {}) : [];
  return Object.fromEntries([...settled, ...judgements, ...[...retracted].map((field) => [field, null] as const)]);
}

/** Returns the item as it is once a draft is written, which gave it a state. */
export function writtenItem(item: ReviewedItem, draft: Draft, annotation_state: string): ReviewedItem {
  const judgements = Object.entries({ ...item.judgements, ...Object.fromEntries(draft.judgements) });
  return {
    ...item,
    annotation_state,
    judgements: Object.fromEntries(judgements.filter(([field]) => !draft.retracted.has(field))),
    ...(draft.note?.trim() && { note: draft.note.trim() }),
  };
}

/** Returns what was given on an item once an account has written its judgements and a note. */
export function withWritten(
  given: GivenFeedback,
  account: string,
  { judgements: own = {} }: ReviewedItem,
  note?: string,
): GivenFeedback {
  const judgements = new Map(Object.entries(given.judgements)).set(account, own);
  if (Object.keys(own).length === 0) judgements.delete(account);
  const notes = new Map(Object.entries(given.notes ?? {}));
  if (note) notes.set(account, [...(notes.get(account) ?? []), note]);
  return { ...given, judgements: Object.fromEntries(judgements), notes: Object.fromEntries(notes) };
}
