import type { SortKey } from '../../contract/sort-keys.ts';

/** Compares two values of a member that records are sorted by. A record without the member comes last in both directions. */
export function compareValues(a: unknown, b: unknown, direction: SortKey['direction']): number {
  if (a === b) return 0;
  if (a === undefined || a === null) return 1;
  if (b === undefined || b === null) return -1;
  const isNumeric = typeof a === 'number' && typeof b === 'number';
  const [left, right] = isNumeric ? [a, b] : [toText(a), toText(b)];
  if (left === right) return 0;
  return left < right === (direction === 'asc') ? -1 : 1;
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
