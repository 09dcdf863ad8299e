import type * as z from 'zod';
import { queryCallsRequest, readCallRequest, readCallResponse, recordedCall } from './calls.ts';
import { createEvaluationRequest, createEvaluationResponse } from './evaluations.ts';
import { createFeedbackRequest, createFeedbackResponse } from './feedback.ts';
import { inferenceRequest, inferenceResponse, listModelsResponse } from './inference.ts';
import { listObjectsQuery, storedObject } from './objects.ts';
import {
  addQueueItemsRequest,
  addQueueItemsResponse,
  queryQueueItemsRequest,
  queryQueueItemsResponse,
  updateProgressRequest,
  updateProgressResponse,
} from './queue-items.ts';
import {
  createQueueRequest,
  createQueueResponse,
  queryQueuesRequest,
  queue,
  queueStatsRequest,
  queueStatsResponse,
  readQueueQuery,
  readQueueResponse,
} from './queues.ts';

/** How an endpoint is authorized. */
export type AuthScheme = 'basic' | 'bearer';

/** The clock that bounds an operation, and its default in milliseconds; each is a setting of its own. */
export const defaultTimeoutsMs = { tool: 60_000, inference: 600_000 } as const;

export interface Endpoint<
  Request extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> {
  method: 'GET' | 'POST';
  /** Path below the base URL. `{name}` is one segment; `{path*}` is the rest, with its leading slash. */
  path: string;
  auth: AuthScheme;
  /** Body schema; absent where there is no body. */
  request?: Request;
  /** Schema of the query parameters; absent where there are none. */
  query?: Query;
  response: Response;
  /** The answer has one JSON value a line (NDJSON), each of which `response` describes. */
  lines?: true;
  /**
   * Whether a call may be carried out twice without harm. Where not, it is sent again only if it is certain that the
   * service did not carry it out.
   */
  repeatable: boolean;
  /** The clock that bounds the operation, retries included; `tool` when absent. */
  timeout?: keyof typeof defaultTimeoutsMs;
}

function objectList<const Kind extends string>(kind: Kind) {
  return {
    method: 'GET',
    path: `/v2/{entity}/{project}/${kind}`,
    auth: 'basic',
    query: listObjectsQuery,
    response: storedObject,
    lines: true,
    repeatable: true,
  } as const;
}

/** The service's operations (interface part 4 and 5). The client, the embedded service and the docs are driven by it. */
export const endpoints = {
  queryQueueItems: {
    method: 'POST',
    path: '/annotation_queues/{queue_id}/items/query',
    auth: 'basic',
    request: queryQueueItemsRequest,
    response: queryQueueItemsResponse,
    repeatable: true,
  },
  runInference: {
    method: 'POST',
    path: '/inference/v1{path*}',
    auth: 'bearer',
    request: inferenceRequest,
    response: inferenceResponse,
    repeatable: false,
    timeout: 'inference',
  },
  listModels: {
    method: 'GET',
    path: '/inference/v1/models',
    auth: 'bearer',
    response: listModelsResponse,
    repeatable: true,
  },
  createEvaluation: {
    method: 'POST',
    path: '/v2/{entity}/{project}/evaluations',
    auth: 'basic',
    request: createEvaluationRequest,
    response: createEvaluationResponse,
    repeatable: false,
  },
  queryQueues: {
    method: 'POST',
    path: '/annotation_queues/query',
    auth: 'basic',
    request: queryQueuesRequest,
    response: queue,
    lines: true,
    repeatable: true,
  },
  queueStats: {
    method: 'POST',
    path: '/annotation_queues/stats',
    auth: 'basic',
    request: queueStatsRequest,
    response: queueStatsResponse,
    repeatable: true,
  },
  readQueue: {
    method: 'GET',
    path: '/annotation_queues/{queue_id}',
    auth: 'basic',
    query: readQueueQuery,
    response: readQueueResponse,
    repeatable: true,
  },
  createQueue: {
    method: 'POST',
    path: '/annotation_queues',
    auth: 'basic',
    request: createQueueRequest,
    response: createQueueResponse,
    repeatable: false,
  },
  addQueueItems: {
    method: 'POST',
    path: '/annotation_queues/{queue_id}/items',
    auth: 'basic',
    request: addQueueItemsRequest,
    response: addQueueItemsResponse,
    repeatable: true,
  },
  updateProgress: {
    method: 'POST',
    path: '/annotation_queues/{queue_id}/items/{item_id}/progress',
    auth: 'basic',
    request: updateProgressRequest,
    response: updateProgressResponse,
    // The same state again changes nothing.
    repeatable: true,
  },
  readCall: {
    method: 'POST',
    path: '/call/read',
    auth: 'basic',
    request: readCallRequest,
    response: readCallResponse,
    repeatable: true,
  },
  queryCalls: {
    method: 'POST',
    path: '/calls/stream_query',
    auth: 'basic',
    request: queryCallsRequest,
    response: recordedCall,
    lines: true,
    repeatable: true,
  },
  createFeedback: {
    method: 'POST',
    path: '/feedback/create',
    auth: 'basic',
    request: createFeedbackRequest,
    response: createFeedbackResponse,
    // The client always sends an id of its own.
    repeatable: true,
  },
  listEvaluations: objectList('evaluations'),
  listDatasets: objectList('datasets'),
  listScorers: objectList('scorers'),
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;
