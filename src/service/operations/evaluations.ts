import { objectNamePattern, parseReference, referenceScheme } from '../../contract/references.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { putVersion } from '../storage/object-versions.ts';
import type { TransactionOperation } from './operation.ts';

/**
 * Stores an evaluation definition; the same content returns the existing version.
 * @throws Refusal 400 for a malformed reference, 422 for a name that cannot become an object id.
 */
export const createEvaluation: TransactionOperation<'createEvaluation'> = async (
  transaction,
  { path, body, account },
) => {
  const object_id = toObjectId(body.name);
  const scorers = body.scorers ?? [];
  for (const reference of [body.dataset, ...scorers]) {
    if (reference.startsWith(`${referenceScheme}:`) && !parseReference(reference)) {
      throw new Refusal(400, `Invalid URI: ${reference}`);
    }
  }
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
  const object = { project_id, object_id, kind: 'evaluation', content, created_by: account } as const;
  const { digest, version_index, reference } = await putVersion(transaction, object);
  return { digest, object_id, version_index, evaluation_ref: reference };
};

function toObjectId(name: string): string {
  const id = name.replaceAll(/[ /]/g, '_').replaceAll(/[<>]/g, '').toLowerCase();
  if (objectNamePattern.test(id)) return id;
  const msg = 'must be 1 to 128 letters, digits, spaces or _ . - / after < and > are removed';
  throw new Refusal(422, msg, { body: { detail: [{ loc: ['body', 'name'], msg, type: 'value_error' }] } });
}
