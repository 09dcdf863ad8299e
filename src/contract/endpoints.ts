import type * as z from 'zod';
import { createEvaluationRequest, createEvaluationResponse } from './create-evaluation.ts';
import { listModelsResponse } from './list-models.ts';
import { queryQueueItemsRequest, queryQueueItemsResponse } from './query-queue-items.ts';
import { inferenceRequest, inferenceResponse } from './run-inference.ts';

/** How an endpoint is authorized (interface part 5). */
export type AuthScheme = 'basic' | 'bearer';

export interface Endpoint<Request extends z.ZodType = z.ZodType, Response extends z.ZodType = z.ZodType> {
  method: 'GET' | 'POST';
  /** Path below the base URL. `{name}` is one segment; `{path*}` is the rest, with its leading slash. */
  path: string;
  auth: AuthScheme;
  /** Body schema; absent where there is no body. */
  request?: Request;
  response: Response;
  /**
   * Whether a call may be carried out twice without harm. Where not, it is sent again only if it is certain that the
   * service did not carry it out.
   */
  repeatable: boolean;
}

function endpoint<Request extends z.ZodType, Response extends z.ZodType>(
  definition: Endpoint<Request, Response>,
): Endpoint<Request, Response> {
  return definition;
}

/** The service's operations (interface part 4 and 5). The client, the embedded service and the docs are driven by it. */
export const endpoints = {
  queryQueueItems: endpoint({
    method: 'POST',
    path: '/annotation_queues/{queue_id}/items/query',
    auth: 'basic',
    request: queryQueueItemsRequest,
    response: queryQueueItemsResponse,
    repeatable: true,
  }),
  runInference: endpoint({
    method: 'POST',
    path: '/inference/v1{path*}',
    auth: 'bearer',
    request: inferenceRequest,
    response: inferenceResponse,
    repeatable: false,
  }),
  listModels: endpoint({
    method: 'GET',
    path: '/inference/v1/models',
    auth: 'bearer',
    response: listModelsResponse,
    repeatable: true,
  }),
  createEvaluation: endpoint({
    method: 'POST',
    path: '/v2/{entity}/{project}/evaluations',
    auth: 'basic',
    request: createEvaluationRequest,
    response: createEvaluationResponse,
    repeatable: false,
  }),
} as const;

export type EndpointName = keyof typeof endpoints;
