import type { StoredObject } from '../../contract/objects.ts';
import type { Transaction } from '../storage/database.ts';
import type { ObjectKind } from '../storage/tables.ts';
import type { OperationInput } from './operation.ts';

/** Lists the latest versions of a project's objects of one kind, the newest first. */
export async function listObjects(
  transaction: Transaction,
  { path, query: { limit, offset } }: OperationInput<'listEvaluations' | 'listDatasets' | 'listScorers'>,
  kind: ObjectKind,
): Promise<StoredObject[]> {
  const projectId = `${path.entity}/${path.project}`;
  const rows = await transaction
    .selectFrom('objects')
    .select(['object_id', 'digest', 'version_index', 'created_at'])
    // The content of a dataset is only its rows, which may be large.
    .$if(kind !== 'dataset', (select) => select.select('content'))
    .where('project_id', '=', projectId)
    .where('version_index', '=', ({ selectFrom }) =>
      selectFrom('objects as version')
        .select(({ fn }) => fn.max('version.version_index').as('latest'))
        .where('version.project_id', '=', projectId)
        .where('version.kind', '=', kind)
        .whereRef('version.object_id', '=', 'objects.object_id'),
    )
    .orderBy('created_at', 'desc')
    .orderBy('object_id')
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
