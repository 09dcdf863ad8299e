import type { ServiceClient } from '../client/service-client.ts';
import type { BodyOf } from '../contract/endpoints.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import type { ObjectVersion } from '../contract/objects.ts';
import { formatReference, objectIdOf, type Reference, referenceScheme } from '../contract/references.ts';
import { HeddleError } from '../core/errors.ts';
import { nearest, shortName } from '../text/names.ts';
import { baseClasses, readNamedVersion } from './read-objects.ts';
import { otherProjectsSentence, requireProject } from './require-project.ts';

/** Objects among which the nearest are looked for, and versions of which there may be many. */
const maxCandidates = 1000;

/**
 * Reads the newest version of the object with a name, and returns it with its reference.
 * @throws HeddleError `not_found` with the nearest objects, `invalid_arguments` for an object of another kind than the given one.
 */
export async function readByName(
  name: string,
  project_id: string,
  service: ServiceClient,
  kind?: keyof typeof baseClasses,
): Promise<{ version: ObjectVersion; reference: Reference }> {
  const baseClass = kind && baseClasses[kind];
  const version = await readNamedVersion(name, project_id, service);
  const named = { scheme: referenceScheme, ...splitProjectId(project_id), kind: 'object' as const };
  if (!version) {
    throw await unknownObject({ ...named, name: objectIdOf(name), version: 'latest' }, service, baseClass);
  }
  if (baseClass === undefined || version.base_object_class === baseClass) {
    const { object_id, digest } = version;
    return { version, reference: { ...named, kind: kindOf(version), name: object_id, version: digest } };
  }
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `${JSON.stringify(shortName(name))} is no ${kind} but a ${version.base_object_class ?? kindOf(version)}.`,
    hint: `Call list_objects with kind ${kind} for references that fit.`,
  });
}

/**
 * Returns the error for a reference that does not resolve; it names the versions of that object or else the nearest objects, of a
 * class if one is given.
 * @throws HeddleError `not_found` for an unknown project, with the nearest ones.
 */
export async function unknownObject(
  reference: Reference,
  service: ServiceClient,
  baseClass?: string,
): Promise<HeddleError> {
  const { entity, project, name, version } = reference;
  const project_id = `${entity}/${project}`;
  const newestFirst = [{ field: 'created_at', direction: 'desc' as const }];
  const find = async (filter: NonNullable<BodyOf<'queryObjects'>['filter']>): Promise<ObjectVersion[]> => {
    const query = { project_id, filter, sort_by: newestFirst, limit: maxCandidates, metadata_only: true };
    const { objs } = await service.call('queryObjects', { body: query }).catch(() => ({ objs: [] }));
    return objs;
  };
  const versions = await find({ object_ids: [name] });
  const latest = versions.find(({ is_latest }) => is_latest === 1) ?? versions[0];
  if (latest) {
    const known = formatReference({ ...reference, kind: kindOf(latest), version: latest.digest });
    return notFound(
      `${shortName(name)} has no version ${shortName(version ?? '')}.`,
      `It has ${versions.length}; the latest is ${known}.`,
    );
  }
  const isClass = baseClass === undefined ? {} : { base_object_classes: [baseClass] };
  const objects = await find({ ...isClass, latest_only: true });
  if (objects.length === 0) await requireProject(project_id, service);
  const near = nearest(name, objects, ({ object_id }) => [object_id]).map((object) =>
    formatReference({ ...reference, kind: kindOf(object), name: object.object_id, version: object.digest }),
  );
  const elsewhere = await otherProjectsSentence(project_id, service, async (other) => {
    const query = { project_id: other, filter: { object_ids: [name] }, limit: 1, metadata_only: true };
    return (await service.call('queryObjects', { body: query })).objs.length > 0;
  });
  return notFound(
    `Project ${project_id} has no object ${shortName(name)}.${elsewhere}`,
    near.length > 0 ? `The nearest are ${near.join(', ')}.` : 'Call list_objects for references.',
  );
}

function kindOf({ kind }: ObjectVersion): 'object' | 'op' {
  return kind === 'op' ? 'op' : 'object';
}

function notFound(message: string, hint: string): HeddleError {
  return new HeddleError({ code: 'not_found', message, hint });
}
