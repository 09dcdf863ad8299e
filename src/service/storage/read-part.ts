import type { PartReference } from '../../contract/references.ts';
import type { Transaction } from './database.ts';
import { findReferenced } from './object-versions.ts';

/** Reads the value of a reference to an object or a part of it; undefined when it leads nowhere. */
export async function readPart(transaction: Transaction, { object, path }: PartReference): Promise<unknown> {
  const row = await findReferenced(transaction, object);
  if (!row) return undefined;
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined,
    JSON.parse(row.content),
  );
}
