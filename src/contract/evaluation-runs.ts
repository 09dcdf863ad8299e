import * as z from 'zod';
import { expressionQuery } from './calls.ts';
import { endpoint, projectInPath } from './endpoint.ts';
import { listObjectsQuery } from './objects.ts';
import { sortKey } from './sort-keys.ts';

/** Ids that a request may list. */
const ids = z.array(z.string()).max(1000);

/** A query parameter that may be repeated; a single one arrives as a string. */
const repeated = z.preprocess((value) => (typeof value === 'string' ? [value] : value), ids.optional());

/** One run of an evaluation. */
export const evaluationRun = z.looseObject({
  evaluation_run_id: z.string(),
  evaluation: z.string().nullish().describe('Reference to the evaluation.'),
  model: z.string().nullish().describe('Reference to the model.'),
  status: z.string().nullish().describe('running, completed or error.'),
  started_at: z.string().nullish(),
  finished_at: z.string().nullish(),
  summary: z.record(z.string(), z.unknown()).nullish(),
  source_evaluation_run_id: z.string().nullish(),
  scorer_refs: z
    .array(z.string())
    .nullish()
    .describe('Extension of the embedded service: the versions of the scorers that the run applies.'),
});
export type EvaluationRun = z.infer<typeof evaluationRun>;

export const finishResponse = z.looseObject({ success: z.boolean() });

/** A recorded prediction. */
export const prediction = z.looseObject({
  prediction_id: z.string(),
  model: z.string().nullish(),
  inputs: z.unknown().optional(),
  output: z.unknown().optional(),
  evaluation_run_id: z.string().nullish(),
  wb_user_id: z.string().nullish(),
});
export type Prediction = z.infer<typeof prediction>;

/** Query parameters of the lists of predictions and scores. */
export const listOfRunQuery = z.object({
  evaluation_run_id: z.string().optional().describe('Return only those of this run.'),
  ...listObjectsQuery.shape,
});

/** A recorded score. */
export const score = z.looseObject({
  score_id: z.string(),
  scorer: z.string().nullish(),
  value: z.unknown().optional(),
  evaluation_run_id: z.string().nullish(),
  wb_user_id: z.string().nullish(),
});
export type Score = z.infer<typeof score>;

const unpricedModels = z
  .array(z.string())
  .nullish()
  .describe('With include_costs: models of the prediction and its scores for which no price is stored.');

/**
 * One prediction for a row, and its scores. `error`, `scorer_errors`, `judge_tokens`, `judge_cost` and `unpriced_models` are
 * extensions of the embedded service.
 */
export const evaluationTrial = z.looseObject({
  predict_and_score_call_id: z.string(),
  predict_call_id: z.string().nullish(),
  model_output: z.unknown().optional(),
  scores: z.record(z.string(), z.unknown()).nullish().describe('Outputs of the scorers by their names.'),
  model_latency_seconds: z.number().nullish(),
  total_tokens: z.number().nullish(),
  total_cost: z.number().nullish(),
  judge_tokens: z.number().nullish().describe('Tokens that the scorers used.'),
  judge_cost: z.number().nullish(),
  unpriced_models: unpricedModels,
  scorer_call_ids: z.record(z.string(), z.string()).nullish(),
  error: z.string().nullish().describe('Why there is no prediction.'),
  scorer_errors: z.record(z.string(), z.string()).nullish().describe('Why scorers gave no score, by their names.'),
});
export type EvaluationTrial = z.infer<typeof evaluationTrial>;

/** The results for one row of the dataset. */
export const evaluationRow = z.looseObject({
  row_digest: z.string(),
  raw_data_row: z.unknown().optional(),
  evaluations: z.array(z.looseObject({ evaluation_call_id: z.string(), trials: z.array(evaluationTrial) })),
});
export type EvaluationRow = z.infer<typeof evaluationRow>;

/** Statistics of one scorer, or of one member of its outputs. `error_count` is an extension of the embedded service. */
export const scorerStatistics = z.looseObject({
  scorer_key: z.string(),
  path: z.string().nullish().describe('Member of the outputs, like passed; null for the whole output.'),
  value_type: z.string().nullish().describe('binary, continuous or text.'),
  trial_count: z.int(),
  numeric_count: z.int().nullish(),
  numeric_mean: z.number().nullish(),
  pass_true_count: z.int().nullish(),
  pass_known_count: z.int().nullish(),
  pass_rate: z.number().nullish(),
  pass_signal_coverage: z.number().nullish(),
  error_count: z.int().nullish().describe('Trials in which the scorer failed.'),
});
export type ScorerStatistics = z.infer<typeof scorerStatistics>;

/**
 * The summary of one run. `error_count`, `row_count`, `judge_total_tokens`, `judge_total_cost` and `unpriced_models` are
 * extensions of the embedded service.
 */
export const evaluationSummary = z.looseObject({
  evaluation_call_id: z.string(),
  trial_count: z.int(),
  scorer_stats: z.array(scorerStatistics),
  predict_total_tokens: z.number().nullish(),
  predict_total_cost: z.number().nullish(),
  judge_total_tokens: z.number().nullish().describe('Tokens that the scorers used.'),
  judge_total_cost: z.number().nullish(),
  unpriced_models: unpricedModels,
  evaluation_ref: z.string().nullish(),
  model_ref: z.string().nullish(),
  display_name: z.string().nullish(),
  trace_id: z.string().nullish(),
  started_at: z.string().nullish(),
  error_count: z.int().nullish().describe('Trials without a prediction.'),
  row_count: z.int().nullish().describe('Rows of the run.'),
});
export type EvaluationSummary = z.infer<typeof evaluationSummary>;

/** The operations on runs of evaluations, their predictions, scores and results. */
export const evaluationRunEndpoints = {
  createEvaluationRun: endpoint({
    summary: 'Record the start of a run',
    description: 'For runs whose predictions and scores are made elsewhere and recorded here.',
    path: '/v2/{entity}/{project}/evaluation_runs',
    projects: projectInPath,
    request: z.object({
      evaluation: z.string().describe('Reference to the evaluation.'),
      model: z.string().describe('Reference to the model.'),
      source_evaluation_run_id: z.string().nullish().describe('Run whose predictions are scored again.'),
    }),
    response: z.looseObject({
      evaluation_run_id: z.string().describe('Id of the run, which is also that of its recorded call.'),
    }),
    writes: true,
    repeatable: false,
  }),
  listEvaluationRuns: endpoint({
    summary: 'List the runs of evaluations',
    description: 'The oldest run comes first.',
    method: 'GET',
    path: '/v2/{entity}/{project}/evaluation_runs',
    projects: projectInPath,
    query: z.object({
      evaluations: repeated.describe('References to evaluations.'),
      models: repeated.describe('References to models.'),
      evaluation_run_ids: repeated,
      ...listObjectsQuery.shape,
    }),
    response: evaluationRun,
    lines: true,
  }),
  readEvaluationRun: endpoint({
    summary: 'Read a run',
    method: 'GET',
    path: '/v2/{entity}/{project}/evaluation_runs/{evaluation_run_id}',
    projects: projectInPath,
    response: evaluationRun,
  }),
  finishEvaluationRun: endpoint({
    summary: 'Record the end of a run',
    description: 'Only the first end of a run counts.',
    path: '/v2/{entity}/{project}/evaluation_runs/{evaluation_run_id}/finish',
    projects: projectInPath,
    request: z.object({
      summary: z.record(z.string(), z.unknown()).nullish().describe('Members to store with the run.'),
    }),
    response: finishResponse,
    writes: true,
    repeatable: true,
  }),
  createPrediction: endpoint({
    summary: 'Record a prediction',
    path: '/v2/{entity}/{project}/predictions',
    projects: projectInPath,
    request: z.object({
      model: z.string().describe('Reference to the model.'),
      inputs: z.record(z.string(), z.unknown()),
      output: z.unknown(),
      evaluation_run_id: z.string().nullish().describe('Run that it belongs to.'),
    }),
    response: z.looseObject({ prediction_id: z.string() }),
    writes: true,
    repeatable: false,
  }),
  listPredictions: endpoint({
    summary: 'List predictions',
    method: 'GET',
    path: '/v2/{entity}/{project}/predictions',
    projects: projectInPath,
    query: listOfRunQuery,
    response: prediction,
    lines: true,
  }),
  readPrediction: endpoint({
    summary: 'Read a prediction',
    method: 'GET',
    path: '/v2/{entity}/{project}/predictions/{prediction_id}',
    projects: projectInPath,
    response: prediction,
  }),
  finishPrediction: endpoint({
    summary: 'Record that a prediction has all its scores',
    path: '/v2/{entity}/{project}/predictions/{prediction_id}/finish',
    projects: projectInPath,
    response: finishResponse,
    writes: true,
    repeatable: true,
  }),
  createScore: endpoint({
    summary: 'Record a score of a prediction',
    path: '/v2/{entity}/{project}/scores',
    projects: projectInPath,
    request: z.object({
      prediction_id: z.string(),
      scorer: z.string().describe('Reference to the scorer.'),
      value: z.unknown().describe('Output of the scorer.'),
      evaluation_run_id: z.string().nullish().describe('Run that it belongs to.'),
    }),
    response: z.looseObject({ score_id: z.string() }),
    writes: true,
    repeatable: false,
  }),
  listScores: endpoint({
    summary: 'List scores',
    method: 'GET',
    path: '/v2/{entity}/{project}/scores',
    projects: projectInPath,
    query: listOfRunQuery,
    response: score,
    lines: true,
  }),
  readScore: endpoint({
    summary: 'Read a score',
    method: 'GET',
    path: '/v2/{entity}/{project}/scores/{score_id}',
    projects: projectInPath,
    response: score,
  }),
  queryEvaluationResults: endpoint({
    summary: 'Query the results of runs',
    description:
      'Groups predictions and scores by the rows of the dataset, whatever recorded them: this service, an SDK, or a client that records predictions and scores itself.',
    path: '/v2/{entity}/{project}/eval_results/query',
    projects: projectInPath,
    request: z
      .object({
        evaluation_call_ids: ids.nullish().describe('Ids of runs.'),
        evaluation_run_ids: ids.nullish().describe('Ids of runs; the same as evaluation_call_ids.'),
        require_intersection: z.boolean().optional().describe('Return only rows that all runs have.'),
        include_raw_data_rows: z.boolean().optional().describe('Add each row, or the reference to it.'),
        resolve_row_refs: z.boolean().optional().describe('With include_raw_data_rows: rows instead of references.'),
        include_rows: z.boolean().optional().describe('Return rows; true by default.'),
        include_summary: z.boolean().optional().describe('Add the summary of each run.'),
        summary_require_intersection: z
          .boolean()
          .nullish()
          .describe('Instead of require_intersection, for the summary.'),
        include_predict_and_score_children: z
          .boolean()
          .optional()
          .describe('Read the calls of models and scorers for ids, latency and tokens; true by default.'),
        include_costs: z.boolean().optional().describe('Add what the predictions cost, as far as prices are stored.'),
        sort_by: z
          .array(
            sortKey.extend({
              evaluation_call_id: z.string().nullish().describe('Run whose values count.'),
              mode: z
                .enum(['value', 'difference'])
                .optional()
                .describe('difference: largest less smallest of the runs.'),
            }),
          )
          .max(20)
          .nullish()
          .describe('By scores.<name>, inputs.<path> or output.<path>; by row_digest by default.'),
        filters: z
          .array(
            z.object({
              evaluation_call_id: z.string().nullish().describe('Run whose values count.'),
              query: expressionQuery,
            }),
          )
          .max(100)
          .nullish()
          .describe('Conditions on scores.<name>, inputs.<path> and output.<path>.'),
        filter_logic_operator: z.enum(['and', 'or']).optional().describe('How filters of different runs combine; or.'),
        limit: z.int().min(0).nullish().describe('Maximum number of rows to return.'),
        offset: z.int().min(0).optional().describe('Number of rows to skip.'),
      })
      .refine(
        ({ evaluation_call_ids, evaluation_run_ids }) => evaluation_call_ids?.length || evaluation_run_ids?.length,
        'At least one of evaluation_call_ids or evaluation_run_ids must be provided',
      ),
    response: z.looseObject({
      rows: z.array(evaluationRow),
      total_rows: z.int().describe('Number of rows that match, on all pages.'),
      summary: z.looseObject({ row_count: z.int(), evaluations: z.array(evaluationSummary) }).nullish(),
      warnings: z.array(z.string()).nullish().describe('Such as scorers that were left out of a run.'),
    }),
  }),
};
