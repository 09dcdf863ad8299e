import type { RecordedCall } from '../../contract/calls.ts';
import { parsePartReference } from '../../contract/references.ts';
import type { ProjectFilter, Transaction } from '../storage/database.ts';
import { createPartReader, type PartReader } from '../storage/read-part.ts';

type Members = Record<string, unknown>;

/**
 * Replaces the references at the given paths of calls by the values they lead to; an object also keeps its reference, as
 * `_ref`. A reference that leads nowhere, or where the account may not see, stays. Shorter paths go first, so that a longer one can lead into an object.
 */
export async function expandReferences(
  transaction: Transaction,
  calls: readonly RecordedCall[],
  columns: readonly string[],
  maySee: ProjectFilter,
): Promise<void> {
  const paths = columns.map((column) => column.split('.')).sort((a, b) => a.length - b.length);
  const known = new Map<string, unknown>();
  const read = createPartReader(transaction, maySee);
  for (const path of paths) {
    for (const call of calls) {
      const parent = path.slice(0, -1).reduce<unknown>(memberOf, call);
      const name = path.at(-1)!;
      const reference = memberOf(parent, name);
      if (typeof reference !== 'string') continue;
      if (!known.has(reference)) known.set(reference, await expanded(reference, read));
      (parent as Members)[name] = known.get(reference);
    }
  }
}

async function expanded(reference: string, read: PartReader): Promise<unknown> {
  const parsed = parsePartReference(reference);
  const value = parsed && (await read(parsed));
  if (value === undefined) return reference;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? { ...value, _ref: reference } : value;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Members)[name]
    : undefined;
}
