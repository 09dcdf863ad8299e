import type { sortDirections, sortFields } from '../../contract/queue-items.ts';

type Direction = (typeof sortDirections)[number];

/** One key of a total order of rows that have an id; without more said, of queue items. */
export interface OrderKey<Field extends string = (typeof sortFields)[number]> {
  column: Field | 'id';
  direction: Direction;
}

/** The requested order, made total: the default one when nothing is asked for, and always `id asc` last. */
export function totalOrder<Field extends string>(
  sortBy: { field: Field; direction: Direction }[] | null | undefined,
  byDefault: { field: Field; direction: Direction },
): OrderKey<Field>[] {
  const keys: OrderKey<Field>[] = [];
  for (const { field, direction } of sortBy?.length ? sortBy : [byDefault]) {
    // A field that was named before decides nothing any more.
    if (!keys.some(({ column }) => column === field)) keys.push({ column: field, direction });
  }
  return [...keys, { column: 'id', direction: 'asc' }];
}
