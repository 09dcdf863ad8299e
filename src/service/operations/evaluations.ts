import { objectOfKind, putVersion } from '../storage/object-versions.ts';
import { requireObjectId } from './object-id.ts';
import type { TransactionOperation } from './operation.ts';

/**
 * Stores an evaluation definition; the same content returns the existing version.
 * @throws Refusal 422 for a name that cannot become an object id.
 */
export const createEvaluation: TransactionOperation<'createEvaluation'> = async (
  transaction,
  { path, body, account },
) => {
  const object_id = requireObjectId(body.name);
  const scorers = body.scorers ?? [];
  const content = {
    name: body.name,
    dataset: body.dataset,
    description: body.description ?? null,
    scorers,
    trials: body.trials ?? 1,
    evaluation_name: body.evaluation_name ?? null,
    eval_attributes: body.eval_attributes ?? {},
  };
  const project_id = `${path.entity}/${path.project}`;
  const object = objectOfKind('evaluation', { project_id, object_id, content, created_by: account });
  const { digest, version_index, reference } = await putVersion(transaction, object);
  return { digest, object_id, version_index, evaluation_ref: reference };
};
