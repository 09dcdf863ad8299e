import type { PartReference } from '../../contract/references.ts';
import type { ProjectFilter, Transaction } from './database.ts';
import { findReferenced } from './object-versions.ts';

/** Reads the value of a reference to an object or a part of it; undefined when it leads nowhere that may be seen. */
export type PartReader = (reference: PartReference) => Promise<unknown>;

/** Returns a reader of parts, which parses an object once for many references to its parts that follow each other. */
export function createPartReader(transaction: Transaction, maySee: ProjectFilter): PartReader {
  let last: { key: string; content: unknown } | undefined;
  return async ({ object, path }) => {
    const key = JSON.stringify(object);
    if (last?.key !== key) {
      const row = await findReferenced(transaction, object, maySee);
      last = { key, content: row && JSON.parse(row.content) };
    }
    return path.reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? (value as Record<string, unknown>)[name]
          : undefined,
      last.content,
    );
  };
}
