import { objectReference, parseReference } from '../../contract/references.ts';
import type { Transaction } from './database.ts';
import { canonicalJson, digestOf } from './digest.ts';
import type { ObjectKind } from './tables.ts';

/** Identifies a stored version of an object. */
export interface ObjectVersion {
  object_id: string;
  digest: string;
  /** 0-based, in order of creation. */
  version_index: number;
  reference: string;
}

/**
 * Stores a version of an object in a write transaction, or finds the version with the same content. Objects of all kinds
 * share one namespace per project.
 */
export async function putVersion(
  transaction: Transaction,
  object: { project_id: string; object_id: string; kind: ObjectKind; content: unknown; created_by: string },
): Promise<ObjectVersion> {
  const { project_id, object_id, kind } = object;
  const content = canonicalJson(object.content);
  const digest = digestOf(`${kind}\n${content}`);
  const reference = objectReference(project_id, object_id, digest);
  const versions = transaction
    .selectFrom('objects')
    .select('version_index')
    .where('project_id', '=', project_id)
    .where('object_id', '=', object_id);
  const same = await versions.where('digest', '=', digest).executeTakeFirst();
  if (same) return { object_id, digest, version_index: same.version_index, reference };
  const last = await versions.orderBy('version_index', 'desc').limit(1).executeTakeFirst();
  const version_index = last ? last.version_index + 1 : 0;
  await transaction
    .insertInto('objects')
    .values({ ...object, digest, version_index, content, created_at: new Date().toISOString() })
    .execute();
  return { object_id, digest, version_index, reference };
}

/**
 * Returns the content of the version that a reference names by digest, `vN` or `latest`, or undefined if there is none of
 * this kind.
 */
export async function readVersion(transaction: Transaction, reference: string, kind: ObjectKind): Promise<unknown> {
  const named = parseReference(reference);
  if (named?.kind !== 'object' || named.version === undefined) return undefined;
  const versions = transaction
    .selectFrom('objects')
    .select('content')
    .where('project_id', '=', `${named.entity}/${named.project}`)
    .where('object_id', '=', named.name)
    .where('kind', '=', kind);
  const index = /^v(\d{1,9})$/.exec(named.version)?.[1];
  const found = await (named.version === 'latest'
    ? versions.orderBy('version_index', 'desc').limit(1)
    : index === undefined
      ? versions.where('digest', '=', named.version)
      : versions.where('version_index', '=', Number(index))
  ).executeTakeFirst();
  return found && JSON.parse(found.content);
}
