import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { ifFound, ifSupported, withFallback } from '../client/with-fallback.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import type { ObjectVersion, StoredObject } from '../contract/objects.ts';
import { objectIdOf, objectReference, parseReference, type Reference } from '../contract/references.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { inBatches } from '../core/in-batches.ts';
import { objectOrEmpty } from '../core/json/json-object.ts';
import { operationOfRuns } from './derived-name.ts';

/** Returns whether a version is a digest; otherwise it is `latest`, `vN` or an alias. */
export function isDigest(version: string | undefined): boolean {
  return version !== undefined && /^[A-Za-z0-9]{43}$/.test(version);
}

/** Reads the version of an object that a reference names; undefined if there is none. */
export async function readVersion(
  { entity, project, name, version }: Reference,
  service: ServiceClient,
): Promise<ObjectVersion | undefined> {
  const body = { project_id: `${entity}/${project}`, object_id: name, digest: version! };
  return (await ifFound(service.call('readObject', { body })))?.obj;
}

/**
 * Reads the version of an object that a reference names, or the newest one of a name in a project; undefined if there is
 * none.
 */
export async function readNamedVersion(
  text: string,
  project_id: string,
  service: ServiceClient,
): Promise<ObjectVersion | undefined> {
  const reference = parseReference(text);
  if (reference) return ['object', 'op'].includes(reference.kind) ? readVersion(reference, service) : undefined;
  if (text.includes('://')) return undefined;
  // SDKs keep the case of a name; the service does not.
  for (const id of new Set([text, objectIdOf(text.trim())])) {
    const named = parseReference(objectReference(project_id, id, 'latest'));
    const version = named && (await readVersion(named, service));
    if (version) return version;
  }
  return undefined;
}

/**
 * Returns the versions that objects of a name have so far, without their content; undefined at a service that cannot tell.
 * @throws HeddleError `invalid_arguments` if the name belongs to an object of another class.
 */
export async function versionsOfName(
  name: string,
  baseClass: string,
  project_id: string,
  service: ServiceClient,
): Promise<ObjectVersion[] | undefined> {
  const id = objectIdOf(name);
  const query = { project_id, filter: { object_ids: [id] }, metadata_only: true };
  const found = await ifSupported(service.call('queryObjects', { body: query }));
  const versions = found?.objs.filter(({ object_id }) => object_id === id);
  const other = versions?.find(({ base_object_class }) => base_object_class !== baseClass);
  if (!other) return versions;
  const kind = other.base_object_class ?? other.kind ?? 'object';
  throw invalidArgument('name', {
    consequence: 'Nothing was stored',
    fault: `${other.object_id} is the name of ${kind === 'AnnotationSpec' ? 'a field of a queue' : `an object of the class ${kind}`}`,
    hint: 'Choose another name: versions of one name are of one class.',
  });
}

/** Result members that say which versions of a name there were; absent at a service that cannot tell. */
export const versionMembers = {
  existed: z.boolean().optional().describe('True if the same content existed already; absent if that is unknown.'),
  previous_version: z.int().optional(),
};
type VersionMembers = z.output<z.ZodObject<typeof versionMembers>>;

/** Returns what the versions of a name before a call say of what it has stored, or with no digest would store. */
export function comparedWith(versions: ObjectVersion[] | undefined, digest?: string): VersionMembers {
  if (!versions) return {};
  return {
    ...(digest !== undefined && { existed: versions.some((version) => version.digest === digest) }),
    ...(versions.length > 0 && { previous_version: Math.max(...versions.map(({ version_index }) => version_index)) }),
  };
}

/** Returns the sentence about the versions of a name, with a space before it; empty for the first version. */
export function versionSentence({ existed, previous_version: previous }: VersionMembers): string {
  if (existed) return ' No version was added.';
  if (previous === undefined) return '';
  return existed === undefined
    ? ` The newest version of this name is ${previous}; it stays.`
    : ` It is a new version after version ${previous}, which stays.`;
}

/** References that one request may have. */
const refsPerRequest = 1000;

/** Reads the values that references lead to, by the references; null or undefined for one that leads to none. */
export async function readValues(references: Iterable<string>, service: ServiceClient): Promise<Map<string, unknown>> {
  const values = new Map<string, unknown>();
  for (const refs of inBatches([...new Set(references)], refsPerRequest)) {
    const { vals } = await service.call('readReferences', { body: { refs } });
    for (const [index, reference] of refs.entries()) values.set(reference, vals[index]);
  }
  return values;
}

/** The base classes of the kinds of objects. */
export const baseClasses = {
  evaluation: 'Evaluation',
  dataset: 'Dataset',
  scorer: 'Scorer',
  prompt: 'Prompt',
  field: 'AnnotationSpec',
  stored_model: 'Model',
} as const;
export type ObjectKind = keyof typeof baseClasses | 'op';

/** The operations that list every version of one kind, at services that cannot query objects. */
const objectLists = { evaluation: 'listEvaluations', dataset: 'listDatasets', scorer: 'listScorers' } as const;

/** Objects that a search by name looks through. */
const maxSearched = 5000;
const searchedPerRequest = 1000;

interface VersionsQuery {
  /** A part of the name, or with `versions` the whole name. */
  name?: string | undefined;
  /** Every version of one object instead of the newest of each. */
  versions?: boolean | undefined;
  /** Leaves out objects. */
  isWanted?: ((object: StoredObject) => boolean) | undefined;
  limit: number;
  offset: number;
}

/** Reads versions of a kind without their content but the description of a model or an op, the newest first: the newest of each object, or all of one. */
export async function findVersions(
  kind: ObjectKind,
  project_id: string,
  { name, versions = false, isWanted, limit, offset }: VersionsQuery,
  service: ServiceClient,
): Promise<StoredObject[]> {
  const spellings = new Set(name === undefined ? [] : [name, objectIdOf(name)]);
  const isKind = kind === 'op' ? { is_op: true } : { is_op: false, base_object_classes: [baseClasses[kind]] };
  const filter = {
    ...isKind,
    ...(versions && name !== undefined ? { object_ids: [...spellings] } : { latest_only: true }),
  };
  const read = async (page: { limit: number; offset: number }): Promise<StoredObject[]> => {
    const sort_by = [{ field: 'created_at', direction: 'desc' as const }];
    // The content of a stored model or an op is small, and tells whether heddle has stored it.
    const query = { project_id, filter, sort_by, metadata_only: kind !== 'stored_model' && kind !== 'op', ...page };
    const { objs } = await service.call('queryObjects', { body: query });
    return objs.map(
      ({ object_id, version_index, digest, created_at, base_object_class: base, leaf_object_class: leaf, val }) => {
        const { files, description = isEmpty(files) ? operationOfRuns : undefined } = objectOrEmpty(val);
        const isSaid = typeof description === 'string' && description !== '';
        const about = { object_id, version_index, created_at, digest, ...(isSaid && { description }) };
        return leaf && leaf !== base ? { ...about, class: leaf } : about;
      },
    );
  };
  const matches = (object: StoredObject): boolean => {
    const { object_id } = object;
    const hasThisName =
      name === undefined || (versions ? spellings.has(object_id) : object_id.toLowerCase().includes(objectIdOf(name)));
    return hasThisName && (isWanted === undefined || isWanted(object));
  };
  const isSearch = isWanted !== undefined || (name !== undefined && !versions);
  return withFallback<StoredObject[]>(
    () => (isSearch ? findMatching(matches, { limit, offset }, read) : read({ limit, offset })),
    async () => {
      if (kind !== 'evaluation' && kind !== 'dataset' && kind !== 'scorer') {
        throw new HeddleError({
          code: 'unsupported',
          message: `The service cannot list the kind ${kind}.`,
          hint: 'Ask the user for the reference.',
          endpoint: 'queryObjects',
        });
      }
      // This list has every version, the oldest first.
      const listed = await service.call(objectLists[kind], { path: splitProjectId(project_id) });
      const latest = new Map<string, StoredObject>();
      for (const version of listed) {
        const key = versions ? version.digest : version.object_id;
        // An object stands where its newest version does.
        latest.delete(key);
        latest.set(key, version);
      }
      return [...latest.values()]
        .reverse()
        .filter(matches)
        .slice(offset, offset + limit);
    },
  );
}

/** Returns whether an object is one without members: an op of a program has files with its code. */
function isEmpty(files: unknown): boolean {
  return typeof files === 'object' && files !== null && Object.keys(files).length === 0;
}

/** Services cannot search by a part of a name. */
async function findMatching(
  matches: (object: StoredObject) => boolean,
  { limit, offset }: { limit: number; offset: number },
  read: (page: { limit: number; offset: number }) => Promise<StoredObject[]>,
): Promise<StoredObject[]> {
  const found: StoredObject[] = [];
  for (let start = 0; start < maxSearched && found.length < offset + limit; start += searchedPerRequest) {
    const objects = await read({ limit: searchedPerRequest, offset: start });
    found.push(...objects.filter(matches));
    if (objects.length < searchedPerRequest) break;
  }
  return found.slice(offset, offset + limit);
}
