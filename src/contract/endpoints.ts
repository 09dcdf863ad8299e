import type * as z from 'zod';
import * as calls from './calls.ts';
import * as costs from './costs.ts';
import * as datasets from './datasets.ts';
import * as runs from './evaluation-runs.ts';
import * as evaluations from './evaluations.ts';
import * as feedback from './feedback.ts';
import * as files from './files.ts';
import * as inference from './inference.ts';
import * as objects from './objects.ts';
import * as projects from './projects.ts';
import * as items from './queue-items.ts';
import * as queues from './queues.ts';
import * as tables from './tables.ts';

/** The scheme of the Authorization header. */
export type AuthScheme = 'basic' | 'bearer';

/** The timeouts of requests and their defaults in milliseconds; each is a setting. */
export const defaultTimeoutsMs = { tool: 60_000, inference: 600_000 } as const;

/** Begins the path of the inference operations, which a service may also have at another address. */
export const inferencePrefix = '/inference/v1';

/** One operation of the service. */
export interface Endpoint<
  Request extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> {
  summary: string;
  description?: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the base URL. `{name}` is one segment; `{path*}` is the rest, including its leading slash. */
  path: string;
  auth: AuthScheme;
  /** Schema of the body; absent without a body. */
  request?: Request;
  /** Schema of the query parameters; absent without any. */
  query?: Query;
  response: Response;
  /** Set if the body is a form with a file (multipart/form-data) instead of JSON. */
  form?: true;
  /** Set if the response has one JSON value per line (NDJSON), each described by `response`. */
  lines?: true;
  /** Set if the response is bytes instead of JSON. */
  bytes?: true;
  /** False if running it twice does harm. It is then sent again only if the service certainly did not run it. */
  repeatable: boolean;
  /** The timeout that covers the request and its retries; `tool` by default. */
  timeout?: keyof typeof defaultTimeoutsMs;
}

function objectList<const Kind extends string>(kind: Kind) {
  return {
    summary: `List ${kind}`,
    method: 'GET',
    path: `/v2/{entity}/{project}/${kind}`,
    auth: 'basic',
    query: objects.listObjectsQuery,
    response: objects.storedObject,
    lines: true,
    repeatable: true,
  } as const;
}

/** The operations of the service, which drive the client, the embedded service and its documentation: docs/interface.md. */
export const endpoints = {
  queryQueueItems: {
    summary: 'Query the items of a queue',
    description:
      'Filter members are compared exactly and all must match. The default order is created_at ascending; ties are broken by id. An unknown queue has no items. position_in_queue counts the whole queue, before any filter.',
    method: 'POST',
    path: '/annotation_queues/{queue_id}/items/query',
    auth: 'basic',
    request: items.queryQueueItemsRequest,
    response: items.queryQueueItemsResponse,
    repeatable: true,
  },
  runInference: {
    summary: 'Run inference',
    description:
      'Every path below /inference/v1 takes the same body; /chat/completions is the usual one. With prompt, the messages of the stored prompt go first. {name} in messages is replaced from template_vars; {{ and }} stand for braces. With stream, the reply is a stream of server-sent events.',
    method: 'POST',
    path: `${inferencePrefix}{path*}`,
    auth: 'bearer',
    request: inference.inferenceRequest,
    response: inference.inferenceResponse,
    repeatable: false,
    timeout: 'inference',
  },
  listModels: {
    summary: 'List the models',
    method: 'GET',
    path: `${inferencePrefix}/models`,
    auth: 'bearer',
    response: inference.listModelsResponse,
    repeatable: true,
  },
  readModel: {
    summary: 'Read a model',
    description: 'Slashes in the id of the model may be percent-encoded.',
    method: 'GET',
    path: `${inferencePrefix}/models{path*}`,
    auth: 'bearer',
    response: inference.readModelResponse,
    repeatable: true,
  },
  createEvaluation: {
    summary: 'Create an evaluation',
    description:
      'Definitions are addressed by content: the same content gives the same digest and version_index; different content under the same name gives the next version.',
    method: 'POST',
    path: '/v2/{entity}/{project}/evaluations',
    auth: 'basic',
    request: evaluations.createEvaluationRequest,
    response: evaluations.createEvaluationResponse,
    repeatable: false,
  },
  listProjects: {
    summary: 'List the projects',
    description: 'An extension of the embedded service.',
    method: 'GET',
    path: '/projects',
    auth: 'basic',
    response: projects.listProjectsResponse,
    repeatable: true,
  },
  queryQueues: {
    summary: 'Query queues',
    description: 'By default the newest queue comes first.',
    method: 'POST',
    path: '/annotation_queues/query',
    auth: 'basic',
    request: queues.queryQueuesRequest,
    response: queues.queue,
    lines: true,
    repeatable: true,
  },
  queueStats: {
    summary: 'Count the items of queues',
    method: 'POST',
    path: '/annotation_queues/stats',
    auth: 'basic',
    request: queues.queueStatsRequest,
    response: queues.queueStatsResponse,
    repeatable: true,
  },
  readQueue: {
    summary: 'Read a queue',
    method: 'GET',
    path: '/annotation_queues/{queue_id}',
    auth: 'basic',
    query: queues.readQueueQuery,
    response: queues.readQueueResponse,
    repeatable: true,
  },
  createQueue: {
    summary: 'Create a queue',
    method: 'POST',
    path: '/annotation_queues',
    auth: 'basic',
    request: queues.createQueueRequest,
    response: queues.createQueueResponse,
    repeatable: false,
  },
  updateQueue: {
    summary: 'Change a queue',
    method: 'PUT',
    path: '/annotation_queues/{queue_id}',
    auth: 'basic',
    request: queues.updateQueueRequest,
    response: queues.readQueueResponse,
    repeatable: true,
  },
  deleteQueue: {
    summary: 'Delete a queue',
    description: 'Its items can no longer be listed.',
    method: 'DELETE',
    path: '/annotation_queues/{queue_id}',
    auth: 'basic',
    query: queues.readQueueQuery,
    response: queues.readQueueResponse,
    repeatable: false,
  },
  addQueueItems: {
    summary: 'Add recorded calls to a queue',
    description:
      'Calls that the queue already holds are counted as duplicates and not added again; unknown calls are skipped.',
    method: 'POST',
    path: '/annotation_queues/{queue_id}/items',
    auth: 'basic',
    request: items.addQueueItemsRequest,
    response: items.addQueueItemsResponse,
    repeatable: true,
  },
  updateProgress: {
    summary: "Set the caller's progress with an item",
    description:
      'Every annotator has progress of their own. The same state again changes nothing; a move backwards is refused with status 400.',
    method: 'POST',
    path: '/annotation_queues/{queue_id}/items/{item_id}/progress',
    auth: 'basic',
    request: items.updateProgressRequest,
    response: items.updateProgressResponse,
    repeatable: true,
  },
  updateProgressBatch: {
    summary: "Set the caller's progress with several items",
    description: 'An extension of the embedded service. An update that is refused leaves the others.',
    method: 'POST',
    path: '/annotation_queues/{queue_id}/progress',
    auth: 'basic',
    request: items.updateProgressBatchRequest,
    response: items.updateProgressBatchResponse,
    repeatable: true,
  },
  readCall: {
    summary: 'Read a recorded call',
    method: 'POST',
    path: '/call/read',
    auth: 'basic',
    request: calls.readCallRequest,
    response: calls.readCallResponse,
    repeatable: true,
  },
  queryCalls: {
    summary: 'Query recorded calls',
    description:
      'By default the call that started first comes first; ties are broken by id. With columns, other members are empty.',
    method: 'POST',
    path: '/calls/stream_query',
    auth: 'basic',
    request: calls.queryCallsRequest,
    response: calls.recordedCall,
    lines: true,
    repeatable: true,
  },
  countCalls: {
    summary: 'Count recorded calls',
    method: 'POST',
    path: '/calls/query_stats',
    auth: 'basic',
    request: calls.countCallsRequest,
    response: calls.countCallsResponse,
    repeatable: true,
  },
  recordCalls: {
    summary: 'Record starts and ends of calls',
    description:
      'A start and its end may arrive in different requests and in any order. What was recorded before does not change, so a request can be sent again.',
    method: 'POST',
    path: '/call/upsert_batch',
    auth: 'basic',
    request: calls.recordCallsRequest,
    response: calls.recordCallsResponse,
    repeatable: true,
  },
  startCall: {
    summary: 'Record the start of a call',
    method: 'POST',
    path: '/call/start',
    auth: 'basic',
    request: calls.startCallRequest,
    response: calls.startCallResponse,
    repeatable: false,
  },
  endCall: {
    summary: 'Record the end of a call',
    method: 'POST',
    path: '/call/end',
    auth: 'basic',
    request: calls.endCallRequest,
    response: calls.emptyResponse,
    repeatable: true,
  },
  startCallInProject: {
    summary: 'Record the start of a call of a project',
    method: 'POST',
    path: '/v2/{entity}/{project}/call/start',
    auth: 'basic',
    request: calls.startCallRequest,
    response: calls.startCallResponse,
    repeatable: false,
  },
  endCallInProject: {
    summary: 'Record the end of a call of a project',
    method: 'POST',
    path: '/v2/{entity}/{project}/call/end',
    auth: 'basic',
    request: calls.endCallRequest,
    response: calls.emptyResponse,
    repeatable: true,
  },
  completeCalls: {
    summary: 'Record calls that have ended',
    method: 'POST',
    path: '/v2/{entity}/{project}/calls/complete',
    auth: 'basic',
    request: calls.completeCallsRequest,
    response: calls.emptyResponse,
    repeatable: true,
  },
  updateCall: {
    summary: 'Name a recorded call',
    method: 'POST',
    path: '/call/update',
    auth: 'basic',
    request: calls.updateCallRequest,
    response: calls.emptyResponse,
    repeatable: true,
  },
  deleteCalls: {
    summary: 'Delete recorded calls',
    description:
      'Calls that a deleted call made are deleted with it. A start that is sent again does not bring them back.',
    method: 'POST',
    path: '/calls/delete',
    auth: 'basic',
    request: calls.deleteCallsRequest,
    response: calls.deleteCallsResponse,
    repeatable: true,
  },
  createFeedback: {
    summary: 'Create feedback on a recorded call',
    description:
      'An annotation (wandb.annotation.<field>) needs annotation_ref, and a value that fits the schema of the field.',
    method: 'POST',
    path: '/feedback/create',
    auth: 'basic',
    request: feedback.createFeedbackRequest,
    response: feedback.createFeedbackResponse,
    // The client chooses the id, so the service recognizes a repeated request.
    repeatable: true,
  },
  createFeedbackBatch: {
    summary: 'Create several feedbacks',
    description: 'Nothing is stored if one of them is invalid.',
    method: 'POST',
    path: '/feedback/batch/create',
    auth: 'basic',
    request: feedback.createFeedbackBatchRequest,
    response: feedback.createFeedbackBatchResponse,
    repeatable: true,
  },
  queryFeedback: {
    summary: 'Query feedback',
    method: 'POST',
    path: '/feedback/query',
    auth: 'basic',
    request: feedback.queryFeedbackRequest,
    response: feedback.queryFeedbackResponse,
    repeatable: true,
  },
  replaceFeedback: {
    summary: 'Replace feedback',
    description: 'Deletes the feedback feedback_id, and creates the one that the other members describe.',
    method: 'POST',
    path: '/feedback/replace',
    auth: 'basic',
    request: feedback.replaceFeedbackRequest,
    response: feedback.createFeedbackResponse,
    repeatable: false,
  },
  purgeFeedback: {
    summary: 'Delete feedback',
    method: 'POST',
    path: '/feedback/purge',
    auth: 'basic',
    request: feedback.purgeFeedbackRequest,
    response: feedback.purgeFeedbackResponse,
    repeatable: true,
  },
  createCosts: {
    summary: 'Store prices of models',
    method: 'POST',
    path: '/cost/create',
    auth: 'basic',
    request: costs.createCostsRequest,
    response: costs.createCostsResponse,
    repeatable: false,
  },
  queryCosts: {
    summary: 'Query prices of models',
    method: 'POST',
    path: '/cost/query',
    auth: 'basic',
    request: costs.queryCostsRequest,
    response: costs.queryCostsResponse,
    repeatable: true,
  },
  purgeCosts: {
    summary: 'Delete prices of models',
    method: 'POST',
    path: '/cost/purge',
    auth: 'basic',
    request: costs.purgeCostsRequest,
    response: calls.emptyResponse,
    repeatable: true,
  },
  createObject: {
    summary: 'Store a version of an object',
    description: 'The same content under the same name is the same version.',
    method: 'POST',
    path: '/obj/create',
    auth: 'basic',
    request: objects.createObjectRequest,
    response: objects.createObjectResponse,
    repeatable: true,
  },
  readObject: {
    summary: 'Read a version of an object',
    method: 'POST',
    path: '/obj/read',
    auth: 'basic',
    request: objects.readObjectRequest,
    response: objects.readObjectResponse,
    repeatable: true,
  },
  deleteObject: {
    summary: 'Delete versions of an object',
    description: 'Nothing is deleted if one of them is unknown.',
    method: 'POST',
    path: '/obj/delete',
    auth: 'basic',
    request: objects.deleteObjectRequest,
    response: objects.deleteObjectResponse,
    repeatable: false,
  },
  queryObjects: {
    summary: 'Query versions of objects',
    method: 'POST',
    path: '/objs/query',
    auth: 'basic',
    request: objects.queryObjectsRequest,
    response: objects.queryObjectsResponse,
    repeatable: true,
  },
  readReferences: {
    summary: 'Read the values of references',
    method: 'POST',
    path: '/refs/read_batch',
    auth: 'basic',
    request: objects.readReferencesRequest,
    response: objects.readReferencesResponse,
    repeatable: true,
  },
  createTable: {
    summary: 'Store a list of rows',
    description:
      'The rows of a dataset, for example; the same rows again are the same list. An object refers to it as weave:///entity/project/table/digest.',
    method: 'POST',
    path: '/table/create',
    auth: 'basic',
    request: tables.createTableRequest,
    response: tables.createTableResponse,
    repeatable: true,
  },
  updateTable: {
    summary: 'Store a changed list of rows',
    description: 'The list that is changed stays as it is.',
    method: 'POST',
    path: '/table/update',
    auth: 'basic',
    request: tables.updateTableRequest,
    response: tables.updateTableResponse,
    repeatable: true,
  },
  queryTable: {
    summary: 'Read rows of a list',
    method: 'POST',
    path: '/table/query',
    auth: 'basic',
    request: tables.queryTableRequest,
    response: tables.queryTableResponse,
    repeatable: true,
  },
  createTableFromDigests: {
    summary: 'Store a list of stored rows',
    method: 'POST',
    path: '/table/create_from_digests',
    auth: 'basic',
    request: tables.createTableFromDigestsRequest,
    response: tables.createTableFromDigestsResponse,
    repeatable: true,
  },
  countRowsOfTables: {
    summary: 'Count the rows of several lists',
    method: 'POST',
    path: '/table/query_stats_batch',
    auth: 'basic',
    request: tables.countRowsOfTablesRequest,
    response: tables.countRowsOfTablesResponse,
    repeatable: true,
  },
  countTableRows: {
    summary: 'Count the rows of a list',
    method: 'POST',
    path: '/table/query_stats',
    auth: 'basic',
    request: tables.countTableRowsRequest,
    response: tables.countTableRowsResponse,
    repeatable: true,
  },
  createDataset: {
    summary: 'Store a dataset',
    description: 'The same content under the same name is the same version. The rows are stored as a table.',
    method: 'POST',
    path: '/v2/{entity}/{project}/datasets',
    auth: 'basic',
    request: datasets.createDatasetRequest,
    response: datasets.createDatasetResponse,
    repeatable: true,
  },
  createFile: {
    summary: 'Store a file',
    description: 'The same bytes again are the same file. A file may have 100 MiB.',
    method: 'POST',
    path: '/file/create',
    auth: 'basic',
    request: files.createFileRequest,
    form: true,
    response: files.createFileResponse,
    repeatable: true,
  },
  readFile: {
    summary: 'Read a file',
    method: 'POST',
    path: '/file/content',
    auth: 'basic',
    request: files.readFileRequest,
    response: files.fileContent,
    bytes: true,
    repeatable: true,
  },
  evaluateModel: {
    summary: 'Run an evaluation',
    description:
      'Answers at once; the service then asks the model for each row of the dataset and has the answers scored. Each request starts a new run. POST /evaluations/status tells how far it is.',
    method: 'POST',
    path: '/evaluations/evaluate_model',
    auth: 'basic',
    request: evaluations.evaluateModelRequest,
    response: evaluations.evaluateModelResponse,
    repeatable: false,
  },
  evaluationStatus: {
    summary: 'Tell how far the run of an evaluation is',
    method: 'POST',
    path: '/evaluations/status',
    auth: 'basic',
    request: evaluations.evaluationStatusRequest,
    response: evaluations.evaluationStatusResponse,
    repeatable: true,
  },
  cancelEvaluation: {
    summary: 'Cancel the run of an evaluation',
    description:
      'An extension of the embedded service. Predictions that are under way are broken off; what has been recorded stays. A run that has ended stays as it is.',
    method: 'POST',
    path: '/evaluations/cancel',
    auth: 'basic',
    request: evaluations.evaluationStatusRequest,
    response: evaluations.evaluationStatusResponse,
    repeatable: true,
  },
  createEvaluationRun: {
    summary: 'Record the start of a run',
    description: 'For runs whose predictions and scores are made elsewhere and recorded here.',
    method: 'POST',
    path: '/v2/{entity}/{project}/evaluation_runs',
    auth: 'basic',
    request: runs.createEvaluationRunRequest,
    response: runs.createEvaluationRunResponse,
    repeatable: false,
  },
  listEvaluationRuns: {
    summary: 'List the runs of evaluations',
    description: 'The oldest run comes first.',
    method: 'GET',
    path: '/v2/{entity}/{project}/evaluation_runs',
    auth: 'basic',
    query: runs.listEvaluationRunsQuery,
    response: runs.evaluationRun,
    lines: true,
    repeatable: true,
  },
  readEvaluationRun: {
    summary: 'Read a run',
    method: 'GET',
    path: '/v2/{entity}/{project}/evaluation_runs/{evaluation_run_id}',
    auth: 'basic',
    response: runs.evaluationRun,
    repeatable: true,
  },
  finishEvaluationRun: {
    summary: 'Record the end of a run',
    description: 'Only the first end of a run counts.',
    method: 'POST',
    path: '/v2/{entity}/{project}/evaluation_runs/{evaluation_run_id}/finish',
    auth: 'basic',
    request: runs.finishEvaluationRunRequest,
    response: runs.finishResponse,
    repeatable: true,
  },
  createPrediction: {
    summary: 'Record a prediction',
    method: 'POST',
    path: '/v2/{entity}/{project}/predictions',
    auth: 'basic',
    request: runs.createPredictionRequest,
    response: runs.createPredictionResponse,
    repeatable: false,
  },
  listPredictions: {
    summary: 'List predictions',
    method: 'GET',
    path: '/v2/{entity}/{project}/predictions',
    auth: 'basic',
    query: runs.listOfRunQuery,
    response: runs.prediction,
    lines: true,
    repeatable: true,
  },
  readPrediction: {
    summary: 'Read a prediction',
    method: 'GET',
    path: '/v2/{entity}/{project}/predictions/{prediction_id}',
    auth: 'basic',
    response: runs.prediction,
    repeatable: true,
  },
  finishPrediction: {
    summary: 'Record that a prediction has all its scores',
    method: 'POST',
    path: '/v2/{entity}/{project}/predictions/{prediction_id}/finish',
    auth: 'basic',
    response: runs.finishResponse,
    repeatable: true,
  },
  createScore: {
    summary: 'Record a score of a prediction',
    method: 'POST',
    path: '/v2/{entity}/{project}/scores',
    auth: 'basic',
    request: runs.createScoreRequest,
    response: runs.createScoreResponse,
    repeatable: false,
  },
  listScores: {
    summary: 'List scores',
    method: 'GET',
    path: '/v2/{entity}/{project}/scores',
    auth: 'basic',
    query: runs.listOfRunQuery,
    response: runs.score,
    lines: true,
    repeatable: true,
  },
  readScore: {
    summary: 'Read a score',
    method: 'GET',
    path: '/v2/{entity}/{project}/scores/{score_id}',
    auth: 'basic',
    response: runs.score,
    repeatable: true,
  },
  queryEvaluationResults: {
    summary: 'Query the results of runs',
    description:
      'Groups predictions and scores by the rows of the dataset, whoever recorded them: this service, an SDK, or a client that records predictions and scores itself.',
    method: 'POST',
    path: '/v2/{entity}/{project}/eval_results/query',
    auth: 'basic',
    request: runs.queryEvaluationResultsRequest,
    response: runs.queryEvaluationResultsResponse,
    repeatable: true,
  },
  listEvaluations: objectList('evaluations'),
  listDatasets: objectList('datasets'),
  listScorers: objectList('scorers'),
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;
