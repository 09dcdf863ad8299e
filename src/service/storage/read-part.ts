import {
  formatReference,
  type PartReference,
  type PathStep,
  parseReference,
  type Reference,
} from '../../contract/references.ts';
import { parseStoredJson } from '../../core/json/exact-number.ts';
import { memberAt } from '../../core/json/member-at.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, ProjectFilter, Transaction } from './database.ts';
import { findReferenced } from './object-versions.ts';
import { findRow, type StoredValue } from './row-tables.ts';

/** Reads the value of a reference to an object or a part of it; undefined when there is no such part or the account may not see it. */
export type PartReader = (reference: PartReference) => Promise<unknown>;

/** Maximum number of references that are followed on the way to a part, which ends circles. */
const maxFollowed = 10;

/** Maximum memory of the objects and rows that a reader keeps, in bytes. */
const maxKeptBytes = 128 * 1024 * 1024;

/**
 * Returns a reader of parts, which keeps the objects and rows that it has parsed, for other references to their parts.
 * @throws Refusal 413 for values that the budget does not allow.
 */
export function createPartReader(database: Database, maySee: ProjectFilter, budget: RequestBudget): PartReader {
  const kept = new Map<string, { value: unknown; bytes: number }>();
  let keptBytes = 0;

  async function parsed(
    key: string,
    find: (transaction: Transaction) => Promise<StoredValue | undefined>,
  ): Promise<unknown> {
    const known = kept.get(key);
    if (known) return known.value;
    const row = await database.read(find);
    const bytes = row?.memory_bytes ?? 0;
    for (const [oldest, entry] of kept) {
      if (keptBytes + bytes <= maxKeptBytes) break;
      kept.delete(oldest);
      keptBytes -= entry.bytes;
      budget.release(entry.bytes);
    }
    await budget.reserve(bytes, 'read fewer or smaller values at once');
    await budget.parse(bytes);
    const value = row && parseStoredJson(row.content);
    kept.set(key, { value, bytes });
    keptBytes += bytes;
    return value;
  }

  const readObject = (object: Reference): Promise<unknown> =>
    parsed(formatReference(object), (transaction) => findReferenced(transaction, object, maySee));

  /** Reads the part of what a reference leads to. */
  async function readPartOf(reference: Reference, step: PathStep): Promise<unknown> {
    if (reference.kind === 'call') return undefined;
    if (reference.kind !== 'table') return memberAt(await readObject(reference), [step.name]);
    const { entity, project, name } = reference;
    const project_id = `${entity}/${project}`;
    if (!maySee(project_id)) return undefined;
    // A digest names a row wherever it is, a place only a row of this list.
    const key = `${project_id}\n${step.edge === 'id' ? '' : name}\n${step.edge}\n${step.name}`;
    return parsed(key, (transaction) => findRow(transaction, { project_id, table_digest: name }, step));
  }

  return async ({ object, path }) => {
    if (path.length === 0) return readObject(object);
    let value: unknown = formatReference(object);
    let followed = 0;
    for (const step of path) {
      const reference = typeof value === 'string' ? parseReference(value) : undefined;
      if (reference) followed += 1;
      if (followed > maxFollowed) return undefined;
      value = reference ? await readPartOf(reference, step) : memberAt(value, [step.name]);
    }
    return value;
  };
}
