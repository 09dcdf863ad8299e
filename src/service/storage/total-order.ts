import type { sortDirections, sortFields } from '../../contract/queue-items.ts';

type Direction = (typeof sortDirections)[number];

/** One key of a total order of rows that have an id; by default, of queue items. */
export interface OrderKey<Field extends string = (typeof sortFields)[number]> {
  column: Field | 'id';
  direction: Direction;
}

/** Returns the requested order, or `fallback` if none is requested, with `id asc` added as the last key. */
export function totalOrder<Field extends string>(
  sortBy: { field: Field; direction: Direction }[] | null | undefined,
  fallback: { field: Field; direction: Direction },
): OrderKey<Field>[] {
  const keys: OrderKey<Field>[] = [];
  for (const { field, direction } of sortBy?.length ? sortBy : [fallback]) {
    // Only the first mention of a field has an effect.
    if (!keys.some(({ column }) => column === field)) keys.push({ column: field, direction });
  }
  return [...keys, { column: 'id', direction: 'asc' }];
}
