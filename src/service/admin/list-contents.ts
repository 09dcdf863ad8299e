import { objectReference } from '../../contract/references.ts';
import { projectIds } from '../operations/projects.ts';
import type { Transaction } from '../storage/database.ts';
import { selectInProject } from '../storage/in-chunks.ts';
import type { VersionId } from '../storage/object-versions.ts';

/** The queues and objects of one project. */
export type Listing = Awaited<ReturnType<typeof listContents>>[number];

/** Lists the contents of one project, or of all. */
export async function listContents(transaction: Transaction, projectId: string | undefined) {
  const listings = [];
  for (const project_id of await projectIds(transaction)) {
    if (projectId !== undefined && projectId !== project_id) continue;
    const queues = await listQueues(transaction, project_id);
    listings.push({ project_id, queues, objects: await listObjects(transaction, project_id) });
  }
  return listings;
}

async function listQueues(transaction: Transaction, projectId: string) {
  const counts = await selectInProject(transaction, 'queue_items', projectId)
    .select(({ fn }) => ['queue_id', 'annotation_state', fn.countAll<number>().as('items')])
    .where('deleted_at', 'is', null)
    .groupBy(['queue_id', 'annotation_state'])
    .execute();
  const queues = await selectInProject(transaction, 'queues', projectId)
    .select(['id', 'name'])
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .execute();
  return queues.map((queue) => {
    const states = counts
      .filter(({ queue_id }) => queue_id === queue.id)
      .map(({ annotation_state, items }): [string, number] => [annotation_state, Number(items)]);
    return { ...queue, items: states.reduce((sum, [, items]) => sum + items, 0), states: Object.fromEntries(states) };
  });
}

export interface ListedObject {
  object_id: string;
  /** `evaluation`, `prompt`, `dataset`, `scorer`, `field`, or the class of another object in lower case. */
  kind: string;
  /** Oldest first. */
  versions: (Omit<VersionId, 'object_id'> & { created_at: string })[];
}

async function listObjects(transaction: Transaction, projectId: string) {
  const rows = await selectInProject(transaction, 'objects', projectId)
    .select(['object_id', 'kind', 'base_object_class', 'digest', 'version_index', 'created_at'])
    .orderBy('object_id')
    .orderBy('version_index')
    .execute();
  const objects = new Map<string, ListedObject>();
  for (const { object_id, kind: rowKind, base_object_class, ...version } of rows) {
    const kind = base_object_class === 'AnnotationSpec' ? 'field' : (base_object_class ?? rowKind).toLowerCase();
    const key = `${kind}/${object_id}`;
    const object = objects.get(key) ?? { object_id, kind, versions: [] };
    object.versions.push({ ...version, reference: objectReference(projectId, object_id, version.digest) });
    objects.set(key, object);
  }
  return [...objects.values()];
}
