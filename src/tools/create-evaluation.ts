import * as z from 'zod';
import { createEvaluationRequest, createEvaluationResponse } from '../contract/evaluations.ts';
import { cell } from './support/table.ts';
import { defineTool, projectArgument, projectOf, shapeWithoutNull } from './support/tool.ts';

const input = z.strictObject({
  ...shapeWithoutNull(createEvaluationRequest.shape),
  trials: createEvaluationRequest.shape.trials.unwrap().default(1).describe('Number of trials per row.'),
  project_id: projectArgument('Project of the evaluation'),
});

export const createEvaluationTool = defineTool({
  name: 'create_evaluation',
  title: 'Create evaluation',
  groups: ['evaluation'],
  uses: ['createEvaluation'],
  description: `Stores an evaluation definition: a dataset and the scorers that judge a model's answers on it. It does not run the evaluation.
Use it once you know the references of the dataset and the scorers. The same content under the same name returns the existing version; different content creates the next version.
Example: {"name":"Support answers","dataset":"weave:///demo/support/object/tickets:latest","scorers":["weave:///demo/support/object/helpfulness:latest"],"description":"Weekly check"}
Returns digest, object_id, version_index (from 0) and evaluation_ref, the reference to use elsewhere.`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output: createEvaluationResponse,

  run: ({ project_id, ...definition }, context) =>
    context.service.createEvaluation(projectOf({ project_id }, context), definition, { signal: context.signal }),

  render: ({ digest, object_id, version_index, evaluation_ref }) =>
    `Stored as version ${version_index} of ${cell(object_id)}: ${cell(evaluation_ref)} (digest ${cell(digest)}).`,

  shrink: () => undefined,
});
