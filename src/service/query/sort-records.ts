import type { SortKey } from '../../contract/sort-keys.ts';
import { memberAt } from '../../core/json/member-at.ts';

type Direction = Pick<SortKey, 'direction'>;

/** Returns the value of a record at a dotted path; undefined if there is none. */
export function fieldAt(record: object, path: string): unknown {
  return memberAt(record, path.split('.'));
}

/** Sorts records by the members at the paths of keys; records that are equal in all of them keep their order. */
export function sortRecords<Row>(
  rows: readonly Row[],
  keys: readonly SortKey[],
  recordOf: (row: Row) => object,
): Row[] {
  return rows
    .map((row) => ({ row, values: keys.map(({ field }) => fieldAt(recordOf(row), field)) }))
    .sort((a, b) => compareValues(a.values, b.values, keys))
    .map(({ row }) => row);
}

/** Compares the values of two records for some keys. A record without a value comes last in both directions. */
export function compareValues(a: readonly unknown[], b: readonly unknown[], keys: readonly Direction[]): number {
  for (const [index, { direction }] of keys.entries()) {
    const order = compareValue(a[index] ?? undefined, b[index] ?? undefined, direction);
    if (order !== 0) return order;
  }
  return 0;
}

function compareValue(a: unknown, b: unknown, direction: Direction['direction']): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const [left, right] = typeof a === 'number' && typeof b === 'number' ? [a, b] : [toText(a), toText(b)];
  if (left === right) return 0;
  return left < right === (direction === 'asc') ? -1 : 1;
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
