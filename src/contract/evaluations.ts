import * as z from 'zod';
import { projectId } from './identifiers.ts';

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

/** Request to run an evaluation at the service. `concurrency` is an extension of the embedded service. */
export const evaluateModelRequest = z.object({
  project_id: projectId,
  evaluation_ref: z.string().describe('Reference to the evaluation.'),
  model_ref: z.string().describe('Reference to a model of the class LLMStructuredCompletionModel.'),
  concurrency: z.int().min(1).max(64).nullish().describe('Number of predictions under way at once; 8 by default.'),
});
export type EvaluateModelRequest = z.infer<typeof evaluateModelRequest>;

/** The run that was started. `left_out_scorers` is an extension of the embedded service. */
export const evaluateModelResponse = z.looseObject({
  call_id: z.string().describe('Id of the run, which is also that of its recorded call.'),
  left_out_scorers: z
    .array(z.looseObject({ scorer: z.string(), reason: z.string() }))
    .nullish()
    .describe('Scorers that the service cannot run.'),
});
export type EvaluateModelResponse = z.infer<typeof evaluateModelResponse>;

/** Names a run. */
export const evaluationStatusRequest = z.object({ project_id: projectId, call_id: z.string().min(1) });
export type EvaluationStatusRequest = z.infer<typeof evaluationStatusRequest>;

/** The progress of a run. Only a running one has counts; they count predictions, so every trial of a row. */
export const evaluationStatusResponse = z.looseObject({
  status: z.looseObject({
    code: z.string().describe('not_found, running, failed or complete.'),
    completed_rows: z.int().nullish(),
    total_rows: z.int().nullish(),
    error: z.string().nullish().describe('Why the run failed.'),
    output: z.unknown().optional().describe('Summary of a complete run.'),
  }),
});
export type EvaluationStatusResponse = z.infer<typeof evaluationStatusResponse>;
