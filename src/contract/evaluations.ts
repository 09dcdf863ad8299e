import * as z from 'zod';

/** Request to create an evaluation; entity and project are in the path. */
export const createEvaluationRequest = z.object({
  name: z.string().min(1).describe('Evaluations with the same name are versions of one.'),
  dataset: z.string().describe('Reference like weave:///entity/project/object/name:latest.'),
  description: z.string().nullish().describe('Purpose of the evaluation.'),
  scorers: z.array(z.string()).nullish().describe('References to the scorers.'),
  trials: z.int().optional().describe('Number of trials to run for each row; 1 by default.'),
  evaluation_name: z.string().nullish().describe('Name for the evaluation run.'),
  eval_attributes: z.record(z.string(), z.unknown()).nullish().describe('Attributes to store with the evaluation.'),
});
export type CreateEvaluationRequest = z.infer<typeof createEvaluationRequest>;

/** The created version, or the existing one with the same content. */
export const createEvaluationResponse = z.looseObject({
  digest: z.string().describe('Digest of the content: the same content has the same digest.'),
  object_id: z.string().describe('Identifier that the versions share.'),
  version_index: z.int().describe('0-based index of this version.'),
  evaluation_ref: z.string().describe('Full reference to this version.'),
});
export type CreateEvaluationResponse = z.infer<typeof createEvaluationResponse>;
