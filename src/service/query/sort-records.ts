import type { SortKey } from '../../contract/sort-keys.ts';
import { plainNumber } from '../../core/json/exact-number.ts';
import { memberAt } from '../../core/json/member-at.ts';
import type { RequestBudget } from '../request-budget.ts';

type Direction = Pick<SortKey, 'direction'>;

/** The form in which a member is compared: a number, or a text with the order of its bytes; undefined for a missing value. */
export type SortValue = number | string | undefined;

/** Returns the value of a record at a dotted path; undefined if there is none. */
export function fieldAt(record: object, path: string): unknown {
  return memberAt(record, path.split('.'));
}

/** Returns a value in the form in which it is compared, which is made once: it may be large. */
export function sortValueOf(value: unknown): SortValue {
  if (value === undefined || value === null) return undefined;
  const plain = plainNumber(value);
  return typeof plain === 'number' ? plain : inByteOrder(typeof plain === 'string' ? plain : JSON.stringify(plain));
}

/** Returns a text that compares with others as their bytes in UTF-8 do, which is the order of the database engines. */
export function inByteOrder(text: string): string {
  return text.replaceAll(/[\ud800-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    // Half characters come after all others.
    return String.fromCharCode(code < 0xe000 ? code + 0x2000 : code - 0x800);
  });
}

/**
 * Sorts records by the members at the paths of keys; records that are equal in all of them keep their order.
 * @throws Refusal 413 for values that are too large.
 */
export async function sortRecords<Row>(
  rows: readonly Row[],
  keys: readonly SortKey[],
  recordOf: (row: Row) => object,
  budget: RequestBudget,
): Promise<Row[]> {
  const sortable: { row: Row; values: SortValue[] }[] = [];
  for (const row of rows) {
    const values: SortValue[] = [];
    for (const { field } of keys) {
      const value = sortValueOf(fieldAt(recordOf(row), field));
      values.push(value);
      if (typeof value !== 'string') continue;
      budget.hold(value.length, 'sort by fewer or smaller members');
      await budget.parse(value.length);
    }
    sortable.push({ row, values });
  }
  return sortable.sort((a, b) => compareValues(a.values, b.values, keys)).map(({ row }) => row);
}

/**
 * Compares the values of two records for some keys. Numbers come before texts. A record without a value comes last in both
 * directions.
 */
export function compareValues(a: readonly SortValue[], b: readonly SortValue[], keys: readonly Direction[]): number {
  for (const [index, { direction }] of keys.entries()) {
    const order = compareValue(a[index], b[index], direction);
    if (order !== 0) return order;
  }
  return 0;
}

function compareValue(a: SortValue, b: SortValue, direction: Direction['direction']): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const isBefore = typeof a === typeof b ? a < b : typeof a === 'number';
  return isBefore === (direction === 'asc') ? -1 : 1;
}
