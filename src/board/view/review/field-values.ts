import type { FieldSummary } from '../../../queues/queue-fields.ts';
import type { ReviewedItem } from '../../../tools/review-queue.ts';
import { labelOf } from '../shared/labels.ts';
import { isText, type TypedText } from './draft.ts';

/** A value that a person can choose, and the key that gives it; undefined where the keys do not suffice. */
export interface Choice {
  label: string;
  value: unknown;
  key: string | undefined;
}

/** Choices that are buttons; with more of them, they are a list. Scales from 0 to 10 are common. */
export const maxButtons = 11;

/** Returns the values among which a field lets a person choose; undefined if they write one. */
export function choicesOf({ type, choices, min, max }: FieldSummary): Choice[] | undefined {
  const values = choices ?? (type === 'boolean' ? [true, false] : valuesInRange(type, min, max));
  const isScale = !choices && type === 'integer';
  return values?.map((value, index) => ({
    label: labelOf(value),
    value,
    key: isScale ? digit(value) : digit(index + 1),
  }));
}

/** Returns the values among which a person chooses for an item: in a dispute about a written value, those that were given. */
export function choicesIn(field: FieldSummary, { disputes = {} }: ReviewedItem): Choice[] {
  const given = new Map(
    Object.values(Object.entries(disputes).find(([name]) => name === field.name)?.[1] ?? {}).map((value) => [
      labelOf(value),
      value,
    ]),
  );
  return choicesOf(field) ?? [...given].map(([label, value], index) => ({ label, value, key: digit(index + 1) }));
}

/** Returns the whole numbers of a short range. */
function valuesInRange(type: string | undefined, min?: number, max?: number): number[] | undefined {
  if (type !== 'integer' || min === undefined || max === undefined || max - min >= maxButtons || max < min)
    return undefined;
  return Array.from({ length: max - min + 1 }, (_, index) => min + index);
}

/** Returns the key with a number, if it is one. */
function digit(value: unknown): string | undefined {
  const text = String(value);
  return /^[0-9]$/.test(text) ? text : undefined;
}

/** Returns whether a field takes a number that a person writes. */
export function isNumeric({ type }: FieldSummary): boolean {
  return type === 'number' || type === 'integer';
}

/** Returns the text in the box of a field that has a value, undefined for none. */
export function textOf({ type }: FieldSummary, value: unknown): string {
  if (value === undefined) return '';
  return isText(type) ? String(value) : JSON.stringify(value);
}

/**
 * Reads what a person typed into the box of a field.
 * @param isUnreadable true if the browser has something in a box for numbers that is none; it then gives no text.
 * @returns the text with its value, undefined for none, or with the reason why it is no value.
 */
export function readTyped(field: FieldSummary, text: string, isUnreadable = false): TypedText & { value?: unknown } {
  if (isUnreadable) return { text, problem: 'Write a number.' };
  if (text.trim() === '') return { text };
  if (isNumeric(field)) return readNumber(field, text);
  if (isText(field.type)) return { text, value: text };
  try {
    return { text, value: JSON.parse(text) };
  } catch {
    return { text, problem: 'Write a value as JSON, with texts in double quotes.' };
  }
}

function readNumber({ type, min, max }: FieldSummary, text: string): TypedText & { value?: unknown } {
  const value = Number(text);
  const isWhole = type === 'integer';
  if (!(isWhole ? Number.isInteger(value) : Number.isFinite(value))) {
    return { text, problem: isWhole ? 'Write a whole number.' : 'Write a number.' };
  }
  const isOutside = (min !== undefined && value < min) || (max !== undefined && value > max);
  return isOutside ? { text, problem: `It must be ${boundsText(min, max)}.` } : { text, value };
}

/** Describes the range in which a value must be. */
export function boundsText(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return `from ${min} to ${max}`;
  if (min !== undefined) return `at least ${min}`;
  return max === undefined ? '' : `at most ${max}`;
}
