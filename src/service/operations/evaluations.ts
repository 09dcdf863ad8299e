import type { CreateEvaluationRequest, CreateEvaluationResponse } from '../../contract/evaluations.ts';
import { objectNamePattern, parseReference, referenceScheme } from '../../contract/references.ts';
import { Refusal, refusal } from '../http/refusal.ts';
import type { Database } from '../storage/database.ts';
import { putVersion } from '../storage/object-versions.ts';

/** Stores an evaluation definition (interface 4.3); the same content is the same version. */
export async function createEvaluation(
  database: Database,
  projectId: string,
  account: string,
  request: CreateEvaluationRequest,
): Promise<CreateEvaluationResponse> {
  const object_id = objectIdOf(request.name);
  const scorers = request.scorers ?? [];
  for (const reference of [request.dataset, ...scorers]) {
    if (reference.startsWith(`${referenceScheme}:`) && !parseReference(reference)) {
      throw refusal(400, `Invalid URI: ${reference}`);
    }
  }
  const content = {
    name: request.name,
    dataset: request.dataset,
    description: request.description ?? null,
    scorers,
    trials: request.trials ?? 1,
    evaluation_name: request.evaluation_name ?? null,
    eval_attributes: request.eval_attributes ?? {},
  };
  const object = { project_id: projectId, object_id, kind: 'evaluation', content, created_by: account } as const;
  const { digest, version_index, reference } = await database.write((transaction) => putVersion(transaction, object));
  return { digest, object_id, version_index, evaluation_ref: reference };
}

function objectIdOf(name: string): string {
  const id = name.replaceAll(/[ /]/g, '_').replaceAll(/[<>]/g, '').toLowerCase();
  if (objectNamePattern.test(id)) return id;
  throw new Refusal(422, {
    detail: [
      {
        loc: ['body', 'name'],
        msg: 'must be 1 to 128 letters, digits, spaces or _ . - / once < and > are left out',
        type: 'value_error',
      },
    ],
  });
}
