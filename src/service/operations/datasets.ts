import { splitProjectId } from '../../contract/identifiers.ts';
import { formatReference, referenceScheme } from '../../contract/references.ts';
import { contentDigest, tableDigest } from '../storage/digest.ts';
import { objectOfKind, putVersion } from '../storage/object-versions.ts';
import { putRowTable } from '../storage/row-tables.ts';
import { requireObjectId } from './object-id.ts';
import type { OperationHandler } from './operation.ts';

/**
 * Stores a dataset and its rows; the same content returns the existing version.
 * @throws Refusal 422 for a name that cannot become an object id.
 */
export const createDataset: OperationHandler<'createDataset'> = async ({ path, body, account }, { database }) => {
  const { name = null, description = null, rows } = body;
  const object_id = requireObjectId(name ?? 'Dataset');
  const project_id = `${path.entity}/${path.project}`;
  // Computed before the transaction, which keeps others from writing.
  const row_digests = rows.map(contentDigest);
  const table = tableDigest(row_digests);
  const parts = { scheme: referenceScheme, ...splitProjectId(project_id), kind: 'table', name: table } as const;
  const content = { name, description, rows: formatReference(parts) };
  const object = objectOfKind('dataset', { project_id, object_id, content, created_by: account });
  const { digest, version_index } = await database.write(async (transaction) => {
    await putRowTable(transaction, { project_id, digest: table, created_by: account }, rows, row_digests);
    return putVersion(transaction, object);
  });
  return { digest, object_id, version_index };
};
