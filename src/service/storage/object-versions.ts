import { sql } from 'kysely';
import { classMembers } from '../../contract/objects.ts';
import { objectReference, parseReference, type Reference } from '../../contract/references.ts';
import { sortedMembers } from '../../core/json/canonical-json.ts';
import { storedJson } from '../../core/json/exact-number.ts';
import { isJsonObject } from '../../core/json/json-object.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { ProjectFilter, Transaction } from './database.ts';
import type { Tables } from './database-tables.ts';
import { contentDigest } from './digest.ts';
import { selectInProject } from './in-chunks.ts';
import { memoryBytesOf } from './memory-bytes.ts';

/** Identifies a stored version of an object. */
export interface VersionId {
  object_id: string;
  digest: string;
  /** 0-based, in order of creation. */
  version_index: number;
  reference: string;
}

/** The classes of the objects that heddle itself stores: the base class and the class. */
export const objectClasses = {
  evaluation: ['Evaluation', 'Evaluation'],
  prompt: ['Prompt', 'MessagesPrompt'],
  dataset: ['Dataset', 'Dataset'],
  scorer: ['Scorer', 'Scorer'],
  field: ['AnnotationSpec', 'AnnotationSpec'],
} as const;

type ObjectKey = Pick<Tables['objects'], 'project_id' | 'object_id'>;

interface NewObject extends ObjectKey {
  kind: 'object' | 'op';
  base_object_class: string | null;
  leaf_object_class: string | null;
  content: unknown;
  created_by: string;
}

/** A version as it is stored; its place among the others is decided when it is. */
type NewVersion = Omit<Tables['objects'], 'version_index' | 'created_at'>;

/**
 * Writes the content of an object for {@link putVersion}. It takes long for a large one, so it is done before the transaction, which others wait
 * for and which may be repeated.
 */
export function prepareVersion(object: NewObject): NewVersion {
  const content = storedJson(object.content, sortedMembers);
  const digest = contentDigest(withMarks(object.content, object));
  return { ...object, content, digest, memory_bytes: memoryBytesOf(content) };
}

/** Does the same as {@link prepareVersion} for an object of one of heddle's own kinds. */
export function prepareObject(
  kind: keyof typeof objectClasses,
  object: Pick<NewObject, 'project_id' | 'object_id' | 'content' | 'created_by'>,
): NewVersion {
  const [base_object_class, leaf_object_class] = objectClasses[kind];
  return prepareVersion({ ...object, kind: 'object', base_object_class, leaf_object_class });
}

/**
 * Stores a version of an object in a write transaction; the version with the same content, if there is one, becomes the newest. Objects of all
 * classes share one namespace per project.
 */
export async function putVersion(transaction: Transaction, version: NewVersion): Promise<VersionId> {
  const { project_id, object_id, digest } = version;
  const reference = objectReference(project_id, object_id, digest);
  const versions = versionsOf(transaction, version).select('version_index');
  const same = await versions.where('digest', '=', digest).executeTakeFirst();
  const last = await versions.orderBy('version_index', 'desc').limit(1).executeTakeFirst();
  if (same && last) {
    if (same.version_index < last.version_index)
      await makeNewest(transaction, version, same.version_index, last.version_index);
    return { object_id, digest, version_index: last.version_index, reference };
  }
  const version_index = last ? last.version_index + 1 : 0;
  await transaction
    .insertInto('objects')
    .values({ ...version, version_index, created_at: new Date().toISOString() })
    .execute();
  return { object_id, digest, version_index, reference };
}

/** Makes a version the newest, as if it had been stored last: those after it move down by one. */
async function makeNewest(
  transaction: Transaction,
  { project_id, object_id, created_by }: NewVersion,
  index: number,
  last: number,
): Promise<void> {
  const versions = transaction
    .updateTable('objects')
    .where('project_id', '=', project_id)
    .where('object_id', '=', object_id);
  const created_at = new Date().toISOString();
  // No two versions may have the same index in between, so those that move have a negative one first.
  await versions.set({ version_index: sql<number>`-version_index` }).where('version_index', '>', index).execute();
  await versions.set({ version_index: last, created_at, created_by }).where('version_index', '=', index).execute();
  await versions.set({ version_index: sql<number>`-version_index - 1` }).where('version_index', '<', 0).execute();
}

/** Adds the members that mark the class of an object, which heddle's own objects have in columns only. */
export function withMarks(
  content: unknown,
  { base_object_class: base, leaf_object_class: leaf }: Pick<NewObject, 'base_object_class' | 'leaf_object_class'>,
): unknown {
  return isJsonObject(content) && base !== null && leaf !== null && !('_class_name' in content)
    ? { ...content, ...classMembers(base, leaf) }
    : content;
}

/** Selects the versions of an object. */
export function versionsOf(transaction: Transaction, { project_id, object_id }: ObjectKey) {
  return selectInProject(transaction, 'objects', project_id).where('object_id', '=', object_id);
}

/** Returns the row of the version that is named by its digest, `vN` or `latest`; undefined if there is none. */
export async function findVersion(
  transaction: Transaction,
  { version, ...object }: ObjectKey & { version: string },
): Promise<Tables['objects'] | undefined> {
  const versions = versionsOf(transaction, object).selectAll();
  const index = /^v(\d{1,9})$/.exec(version)?.[1];
  return (
    version === 'latest'
      ? versions.orderBy('version_index', 'desc').limit(1)
      : index === undefined
        ? versions.where('digest', '=', version)
        : versions.where('version_index', '=', Number(index))
  ).executeTakeFirst();
}

/** Returns the row of the version that a reference names; undefined if there is none in the projects that may be seen. */
export async function findReferenced(
  transaction: Transaction,
  { entity, project, name, version }: Reference,
  maySee: ProjectFilter,
): Promise<Tables['objects'] | undefined> {
  const project_id = `${entity}/${project}`;
  if (version === undefined || !maySee(project_id)) return undefined;
  return findVersion(transaction, { project_id, object_id: name, version });
}

/** The projects that a request may see, and the budget that counts the memory of what it reads. */
export interface Access {
  maySee: ProjectFilter;
  budget: RequestBudget;
}

/** Returns the content of a prompt by its reference; undefined if there is no such prompt in the projects that may be seen. */
export async function readPrompt(transaction: Transaction, reference: string, access: Access): Promise<unknown> {
  const named = parseReference(reference);
  if (named?.kind !== 'object') return undefined;
  const found = await findReferenced(transaction, named, access.maySee);
  return found?.base_object_class === objectClasses.prompt[0] ? parseContent(found, access) : undefined;
}

/** Parses the content of a version. @throws Refusal 413 if the budget does not allow it. */
export async function parseContent(
  { content, memory_bytes }: Pick<Tables['objects'], 'content' | 'memory_bytes'>,
  { budget }: Access,
): Promise<unknown> {
  budget.hold(memory_bytes, 'use smaller objects');
  await budget.parse(memory_bytes);
  return JSON.parse(content);
}
