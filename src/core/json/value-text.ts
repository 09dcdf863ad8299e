import { exactJson } from './exact-number.ts';

/** Returns a value as text: a string itself, nothing for null and undefined, anything else as JSON. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : exactJson(value);
}
