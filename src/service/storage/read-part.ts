import type { PartReference } from '../../contract/references.ts';
import type { ProjectFilter, Transaction } from './database.ts';
import { findReferenced } from './object-versions.ts';

/** Reads the value of a reference to an object or a part of it; undefined when it leads nowhere that may be seen. */
export async function readPart(
  transaction: Transaction,
  { object, path }: PartReference,
  maySee: ProjectFilter,
): Promise<unknown> {
  const row = await findReferenced(transaction, object, maySee);
  if (!row) return undefined;
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined,
    JSON.parse(row.content),
  );
}
