import type { Field, ItemData } from './review-data.ts';

/** Decisions of a person about an item that are not yet written. */
export class Draft {
  readonly judgements = new Map<string, unknown>();
  readonly retracted = new Set<string>();
  note: string | undefined;
  /** A state that the person chose, instead of the one that follows from the judgements. */
  state: 'completed' | 'skipped' | undefined;

  get isEmpty(): boolean {
    return this.judgements.size === 0 && this.retracted.size === 0 && !this.note?.trim() && this.state === undefined;
  }

  clear(): void {
    this.judgements.clear();
    this.retracted.clear();
    this.note = undefined;
    this.state = undefined;
  }
}

/** Returns the value that a field of an item has once the draft is written. */
export function valueIn({ judgements = {} }: ItemData, draft: Draft, field: string): unknown {
  if (draft.judgements.has(field)) return draft.judgements.get(field);
  return draft.retracted.has(field) ? undefined : judgements[field];
}

/** Tells whether two values are the same JSON. */
export function isSameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Tells whether a field takes any text, which a person need not write. */
export function isFreeText({ type, choices, schema }: Field): boolean {
  return type === 'string' && !choices && !schema;
}

/** Tells whether every field that needs a value has one; an item with text fields only needs one of them. */
export function isComplete(item: ItemData, draft: Draft, fields: readonly Field[]): boolean {
  const needed = fields.filter((field) => !isFreeText(field));
  const hasValue = ({ name }: Field): boolean => valueIn(item, draft, name) !== undefined;
  return needed.length > 0 ? needed.every(hasValue) : fields.some(hasValue);
}

/** Returns the change of an item that its draft stands for, as update_queue_items takes it. */
export function draftedChange(item: ItemData, draft: Draft, fields: readonly Field[]): Record<string, unknown> {
  const { judgements, retracted, note } = draft;
  const judged = judgements.size > 0;
  const started = judged && item.annotation_state === 'unstarted' ? 'in_progress' : undefined;
  const annotation_state = draft.state ?? (judged && isComplete(item, draft, fields) ? 'completed' : started);
  return {
    item_id: item.id,
    ...(judged && { judgements: Object.fromEntries(judgements) }),
    ...(retracted.size > 0 && { retract: [...retracted] }),
    ...(note?.trim() && { note: note.trim() }),
    ...(annotation_state && { annotation_state }),
  };
}
