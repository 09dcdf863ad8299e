import {
  formatReference,
  type PartReference,
  type PathStep,
  parseReference,
  type Reference,
} from '../../contract/references.ts';
import { memberAt } from '../../core/json/member-at.ts';
import type { ProjectFilter, Transaction } from './database.ts';
import { findReferenced } from './object-versions.ts';
import { findRow } from './row-tables.ts';

/** Reads the value of a reference to an object or a part of it; undefined when there is no such part or the account may not see it. */
export type PartReader = (reference: PartReference) => Promise<unknown>;

/** Maximum number of references that are followed on the way to a part, which ends circles. */
const maxFollowed = 10;

/** Returns a reader of parts, which parses an object once for many references to its parts that follow each other. */
export function createPartReader(transaction: Transaction, maySee: ProjectFilter): PartReader {
  let last: { key: string; content: unknown } | undefined;

  async function readObject(object: Reference): Promise<unknown> {
    const key = formatReference(object);
    if (last?.key !== key) {
      const row = await findReferenced(transaction, object, maySee);
      last = { key, content: row && JSON.parse(row.content) };
    }
    return last.content;
  }

  /** Reads the part of what a reference leads to. */
  async function readPartOf(reference: Reference, step: PathStep): Promise<unknown> {
    if (reference.kind === 'call') return undefined;
    if (reference.kind !== 'table') return memberAt(await readObject(reference), [step.name]);
    const { entity, project, name } = reference;
    const project_id = `${entity}/${project}`;
    return maySee(project_id) ? findRow(transaction, { project_id, table_digest: name }, step) : undefined;
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
