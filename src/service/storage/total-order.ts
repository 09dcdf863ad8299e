import type { SortKey } from '../../contract/sort-keys.ts';

type Direction = SortKey['direction'];

/** One key of a total order of rows that have an id. */
export interface OrderKey<Field extends string> {
  column: Field | 'id';
  direction: Direction;
}

/**
 * Returns the requested order, or `fallback` if none is requested, with `id asc` added as the last key. Keys with other
 * fields than `fields` are ignored, as the public service does.
 */
export function totalOrder<Field extends string>(
  sortBy: { field: string; direction: Direction }[] | null | undefined,
  fields: readonly Field[],
  fallback: { field: Field; direction: Direction },
): OrderKey<Field>[] {
  const keys: OrderKey<Field>[] = [];
  const known = (sortBy ?? []).filter((key): key is typeof fallback =>
    (fields as readonly string[]).includes(key.field),
  );
  for (const { field, direction } of known.length > 0 ? known : [fallback]) {
    // Only the first mention of a field has an effect.
    if (!keys.some(({ column }) => column === field)) keys.push({ column: field, direction });
  }
  return keys.some(({ column }) => column === 'id') ? keys : [...keys, { column: 'id', direction: 'asc' }];
}
