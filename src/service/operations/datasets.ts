import { splitProjectId } from '../../contract/identifiers.ts';
import { formatReference, referenceScheme } from '../../contract/references.ts';
import { prepareObject, putVersion } from '../storage/object-versions.ts';
import { requireObjectId } from './object-id.ts';
import type { OperationHandler } from './operation.ts';
import { storeRows } from './tables.ts';

/**
 * Stores a dataset and its rows; the same content returns the existing version.
 * @throws Refusal 422 for a name that cannot become an object id.
 */
export const createDataset: OperationHandler<'createDataset'> = async ({ path, body, account }, { database }) => {
  const { name = null, description = null, rows } = body;
  const object_id = requireObjectId(name ?? 'Dataset');
  const project_id = `${path.entity}/${path.project}`;
  const { digest: table } = await storeRows(database, { project_id, created_by: account }, rows);
  const parts = { scheme: referenceScheme, ...splitProjectId(project_id), kind: 'table', name: table } as const;
  const content = { name, description, rows: formatReference(parts) };
  const version = prepareObject('dataset', { project_id, object_id, content, created_by: account });
  const { digest, version_index } = await database.write((transaction) => putVersion(transaction, version));
  return { digest, object_id, version_index };
};
