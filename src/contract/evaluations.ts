import * as z from 'zod';
import { endpoint, projectInBody, projectInPath } from './endpoint.ts';
import { projectId } from './identifiers.ts';
import { tryScorerRequest, tryScorerResponse } from './scorers.ts';

/** Request to create an evaluation; entity and project are in the path. */
export const createEvaluationRequest = z.object({
  name: z.string().min(1).describe('The same name makes a version.'),
  dataset: z.string().describe('Reference like weave:///entity/project/object/name:latest.'),
  description: z.string().nullish().describe('Purpose of the evaluation.'),
  scorers: z.array(z.string()).nullish().describe('References to the scorers.'),
  trials: z.int().optional().describe('Number of trials to run for each row; 1 by default.'),
  evaluation_name: z.string().nullish().describe('Name for the evaluation run.'),
  eval_attributes: z.record(z.string(), z.unknown()).nullish().describe('Attributes to store with the evaluation.'),
});

/** The created version, or the existing one with the same content. */
export const createEvaluationResponse = z.looseObject({
  digest: z.string().describe('Digest of the content: the same content has the same digest.'),
  object_id: z.string().describe('Identifier that the versions share.'),
  version_index: z.int().describe('0-based index of this version.'),
  evaluation_ref: z.string().describe('Full reference to this version.'),
});

/** Names a run. */
const evaluationStatusRequest = z.object({ project_id: projectId, call_id: z.string().min(1) });

/** The progress of a run. Only a running one has counts; they count predictions, so every trial of a row. */
const evaluationStatusResponse = z.looseObject({
  status: z.looseObject({
    code: z.string().describe('not_found, running, failed or complete.'),
    completed_rows: z.int().nullish(),
    total_rows: z.int().nullish(),
    error: z.string().nullish().describe('Why the run failed.'),
    output: z.unknown().optional().describe('Summary of a complete run.'),
  }),
});

/** The most that a run may take of models, judges included. */
export const runLimits = z
  .strictObject({
    requests: z.int().min(1).optional(),
    tokens: z.int().min(1).optional(),
    usd: z.number().positive().optional(),
  })
  .refine((limits) => Object.values(limits).some((limit) => limit !== undefined), 'needs requests, tokens or usd');
export type RunLimits = z.infer<typeof runLimits>;

/** Maximum number of calls that one run scores. */
export const maxScoredCalls = 10_000;

/** Members of each request that starts a run; extensions of the embedded service. */
const runOptions = {
  concurrency: z.int().min(1).max(64).nullish().describe('Number of concurrent predictions; 8 by default.'),
  budget: runLimits.nullish().describe('The run ends before it takes more. A limit in usd needs prices of the models.'),
};

const scorerRefs = z.array(z.string()).max(100).describe('References to scorers.');

const left_out_scorers = z
  .array(z.looseObject({ scorer: z.string(), reason: z.string() }))
  .nullish()
  .describe('Scorers that the service cannot run.');

/** The operations on definitions of evaluations, and on the runs that the service carries out. */
export const evaluationEndpoints = {
  createEvaluation: endpoint({
    summary: 'Create an evaluation',
    description:
      'Definitions are addressed by content: the same content gives the same digest and version_index; different content under the same name gives the next version.',
    path: '/v2/{entity}/{project}/evaluations',
    projects: projectInPath,
    request: createEvaluationRequest,
    response: createEvaluationResponse,
    writes: true,
    repeatable: false,
  }),
  evaluateModel: endpoint({
    summary: 'Run an evaluation',
    description:
      'Answers at once; the service then asks the model for each row of the dataset and has the answers scored. Each request starts a new run. POST /evaluations/status tells how far it is.',
    path: '/evaluations/evaluate_model',
    projects: projectInBody,
    // `left_out_scorers` is an extension of the embedded service too.
    request: z.object({
      project_id: projectId,
      evaluation_ref: z.string().describe('Reference to the evaluation.'),
      model_ref: z.string().describe('Reference to a model of the class LLMStructuredCompletionModel.'),
      ...runOptions,
    }),
    response: z.looseObject({
      call_id: z.string().describe('Id of the run, which is also that of its recorded call.'),
      left_out_scorers,
    }),
    writes: true,
    repeatable: false,
  }),
  rescoreEvaluation: endpoint({
    summary: 'Score the predictions of a run again',
    description:
      'Starts a new run with the outputs of an earlier one, whatever program recorded it. No model is asked but judges.',
    path: '/evaluations/rescore',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      source_evaluation_run_id: z.string().min(1).describe('Run whose predictions are scored.'),
      scorer_refs: scorerRefs,
      ...runOptions,
    }),
    response: z.looseObject({ call_id: z.string(), evaluation_run_id: z.string().nullish(), left_out_scorers }),
    writes: true,
    repeatable: false,
  }),
  resumeEvaluation: endpoint({
    summary: 'Ask again what failed in a run, or is missing',
    description:
      'An extension of the embedded service. Starts a new run with the predictions of an earlier one that ended, also by cancelling or its budget; only those that failed or are missing are asked for. A run that scored recorded calls or another run scores them again.',
    path: '/evaluations/resume',
    projects: projectInBody,
    request: z.object({ project_id: projectId, call_id: z.string().min(1), ...runOptions }),
    response: z.looseObject({ call_id: z.string(), left_out_scorers }),
    writes: true,
    repeatable: false,
  }),
  scoreCalls: endpoint({
    summary: 'Score recorded calls',
    description:
      'Each score becomes feedback on its call. At the embedded service, the scores are also a run, whose id is call_id.',
    path: '/calls/score',
    projects: projectInBody,
    // Members besides call_ids and scorer_refs, and those of the response, are extensions of the embedded service.
    request: z.object({
      project_id: projectId,
      call_ids: z.array(z.string().min(1)).min(1).max(maxScoredCalls),
      scorer_refs: scorerRefs,
      evaluation_ref: z.string().nullish().describe('Evaluation under which the run is listed.'),
      ...runOptions,
    }),
    response: z.looseObject({ call_id: z.string().nullish(), left_out_scorers }),
    writes: true,
    repeatable: false,
  }),
  tryScorer: endpoint({
    summary: 'Try a scorer',
    description:
      'An extension of the embedded service. Scores rows that have an output, or recorded calls, and stores nothing.',
    path: '/scorers/try',
    projects: projectInBody,
    request: tryScorerRequest,
    response: tryScorerResponse,
    repeatable: false,
  }),
  evaluationStatus: endpoint({
    summary: 'Tell how far the run of an evaluation is',
    path: '/evaluations/status',
    projects: projectInBody,
    request: evaluationStatusRequest,
    response: evaluationStatusResponse,
  }),
  cancelEvaluation: endpoint({
    summary: 'Cancel the run of an evaluation',
    description:
      'An extension of the embedded service. Predictions in progress are aborted; what has been recorded stays. A run that has ended is not changed.',
    path: '/evaluations/cancel',
    projects: projectInBody,
    request: evaluationStatusRequest,
    response: evaluationStatusResponse,
    writes: true,
    repeatable: true,
  }),
};
