import type { sortDirections } from '../../contract/queue-items.ts';

interface OrderKey<Field> {
  field: Field;
  direction: (typeof sortDirections)[number];
}

/** Returns the requested order, or `fallback` if none is requested, with `id asc` added as the last key. */
export function totalOrder<Field extends string>(
  requested: OrderKey<Field>[] | null | undefined,
  fallback: OrderKey<Field>,
): OrderKey<Field | 'id'>[] {
  return [...(requested?.length ? requested : [fallback]), { field: 'id', direction: 'asc' }];
}
