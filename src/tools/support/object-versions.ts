import type { ObjectVersion, StoredObject } from '../../contract/objects.ts';
import type { Reference } from '../../contract/references.ts';
import { HeddleError } from '../../core/errors.ts';
import { orElse } from './or-else.ts';
import type { ToolContext } from './tool.ts';

type ServiceAccess = Pick<ToolContext, 'service' | 'signal'>;

/** Returns whether a version is a digest; otherwise it is `latest`, `vN` or an alias. */
export function isDigest(version: string | undefined): boolean {
  return version !== undefined && /^[A-Za-z0-9]{43}$/.test(version);
}

/** Reads the version of an object that a reference names; undefined if there is none. */
export async function readVersion(
  { entity, project, name, version }: Reference,
  { service, signal }: ServiceAccess,
): Promise<ObjectVersion | undefined> {
  try {
    const request = { project_id: `${entity}/${project}`, object_id: name, digest: version! };
    return (await service.readObject(request, { signal })).obj;
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'not_found') return undefined;
    throw error;
  }
}

const baseClasses = { evaluation: 'Evaluation', dataset: 'Dataset', scorer: 'Scorer' } as const;

/** Reads the newest version of each object of a kind, the newest object first, without its content. */
export function latestVersions(
  kind: keyof typeof baseClasses | 'op',
  project_id: string,
  page: { limit: number; offset: number },
  access: ServiceAccess,
): Promise<StoredObject[]> {
  const { service, signal } = access;
  const filter = kind === 'op' ? { is_op: true } : { is_op: false, base_object_classes: [baseClasses[kind]] };
  const query = {
    project_id,
    filter: { ...filter, latest_only: true },
    sort_by: [{ field: 'created_at', direction: 'desc' as const }],
    metadata_only: true,
    ...page,
  };
  return orElse<StoredObject[]>(
    async () => {
      const { objs } = await service.queryObjects(query, { signal });
      return objs.map(({ object_id, version_index, digest, created_at }) => {
        return { object_id, version_index, created_at, digest };
      });
    },
    async () => {
      if (kind === 'op') {
        throw new HeddleError({
          code: 'unsupported',
          message: 'The service cannot list ops.',
          hint: 'Ask the user for the reference.',
          endpoint: 'queryObjects',
        });
      }
      // This list has every version, the oldest first.
      const versions = await service.listObjects(kind, project_id, {}, { signal });
      const latest = new Map<string, StoredObject>();
      for (const version of versions) {
        // An object stands where its newest version does.
        latest.delete(version.object_id);
        latest.set(version.object_id, version);
      }
      return [...latest.values()].reverse().slice(page.offset, page.offset + page.limit);
    },
  );
}
