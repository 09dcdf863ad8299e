import type { ListObjectsQuery, StoredObject } from '../../contract/objects.ts';
import type { Transaction } from '../storage/database.ts';
import type { ObjectKind } from '../storage/tables.ts';

/** Objects of one kind in their latest versions, the newest first (design §7; `GET /v2/{entity}/{project}/…`). */
export async function listObjects(
  transaction: Transaction,
  projectId: string,
  kind: ObjectKind,
  { limit, offset }: ListObjectsQuery,
): Promise<StoredObject[]> {
  const rows = await transaction
    .selectFrom('objects')
    .innerJoin(
      ({ selectFrom }) =>
        selectFrom('objects')
          .select(({ fn }) => ['object_id', fn.max('version_index').as('version_index')])
          .where('project_id', '=', projectId)
          .where('kind', '=', kind)
          .groupBy('object_id')
          .as('latest'),
      (join) =>
        join
          .onRef('latest.object_id', '=', 'objects.object_id')
          .onRef('latest.version_index', '=', 'objects.version_index'),
    )
    .select(['objects.object_id', 'objects.digest', 'objects.version_index', 'objects.created_at'])
    // The content of a dataset is its rows: much to read, and neither name nor description among them.
    .$if(kind !== 'dataset', (query) => query.select('objects.content'))
    .where('objects.project_id', '=', projectId)
    .orderBy('objects.created_at', 'desc')
    .orderBy('objects.object_id')
    .limit(limit ?? Number.MAX_SAFE_INTEGER)
    .offset(offset ?? 0)
    .execute();
  return rows.map(({ content = '{}', ...version }) => {
    const { name, description } = JSON.parse(content) as Record<string, unknown>;
    return {
      ...version,
      name: typeof name === 'string' ? name : version.object_id,
      description: typeof description === 'string' ? description : null,
    };
  });
}
