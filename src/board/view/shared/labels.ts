import type { Formats } from './theme.ts';
import { plainText } from './visible-text.ts';

const maxLabelChars = 80;

/** Returns the beginning of a text on one line, for labels. */
export function beginningOf(text: string, maxChars = maxLabelChars): string {
  const line = plainText(text.slice(0, 2 * maxChars));
  return line.length > maxChars ? `${line.slice(0, maxChars).toWellFormed()}…` : line;
}

/** Returns a value as a person reads it in a label. */
export function labelOf(value: unknown): string {
  if (value === true) return 'Yes';
  if (value === false) return 'No';
  return beginningOf(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
}

/** Returns the attributes of a part of the page that people may have to scroll, with arrow keys too. */
export function scrollable(className: string, label: string) {
  return { class: className, tabIndex: 0, role: 'group', 'aria-label': label } as const;
}

/** Returns a count with its noun, like `3 items`; `formats` writes the number as the person is used to. */
export function countOf(count: number, noun: string, formats?: Formats): string {
  return `${formats?.number(count) ?? count} ${noun}${count === 1 ? '' : 's'}`;
}
