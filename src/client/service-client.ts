import type { QueryCallsRequest, ReadCallRequest } from '../contract/calls.ts';
import { type Endpoint, type EndpointName, endpoints } from '../contract/endpoints.ts';
import type { CreateEvaluationRequest } from '../contract/evaluations.ts';
import type { CreateFeedbackRequest } from '../contract/feedback.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import type { InferenceRequest, InferenceResponse } from '../contract/inference.ts';
import type { ListObjectsQuery } from '../contract/objects.ts';
import type { QueryQueueItemsRequest, UpdateProgressRequest } from '../contract/queue-items.ts';
import type { QueryQueuesRequest, QueueStatsRequest } from '../contract/queues.ts';
import type { McpCallScope } from '../core/observer.ts';
import type { RequestInfo, ServiceResponse } from './failures.ts';
import { type RequestParts, RequestSender, type RequestSenderOptions } from './request-sender.ts';
import { parseJsonResponse, parseNdjsonResponse, readResponse } from './responses.ts';
import { readStreamedReply } from './stream/streamed-reply.ts';

const defaultIdleTimeoutMs = 120_000;

export interface ServiceClientOptions extends RequestSenderOptions {
  /**
   * Longest silence of a streamed reply in milliseconds, once its first byte is there; 120 000 by default. Users have no
   * setting for it: HEDDLE_TIMEOUT_MS bounds the whole call.
   */
  idleTimeoutMs?: number;
}

export interface RequestOptions {
  /** Ends the call; the request at the service is aborted with it. */
  signal?: AbortSignal;
}

export interface InferenceOptions extends RequestOptions {
  /** Called with the text of the first choice received so far, for each piece of a streamed reply. */
  onText?: (text: string) => void;
  /** Called with the number of characters received so far in all its parts, reasoning and tool calls too. */
  onProgress?: (characters: number) => void;
}

const objectLists = {
  evaluation: endpoints.listEvaluations,
  dataset: endpoints.listDatasets,
  scorer: endpoints.listScorers,
} as const;

/** The service's operations, one method each. Every failure is a HeddleError. */
export class ServiceClient {
  readonly #options: ServiceClientOptions;
  readonly #sender: RequestSender;
  /** Operations that the service turned out to lack, kept by whoever has another way. */
  readonly unsupportedOperations: Set<EndpointName>;

  constructor(
    options: ServiceClientOptions,
    sender = new RequestSender(options),
    unsupportedOperations = new Set<EndpointName>(),
  ) {
    this.#options = options;
    this.#sender = sender;
    this.unsupportedOperations = unsupportedOperations;
  }

  /** The same client for one task of several calls: they share one deadline, which begins now, and one log. */
  withSharedDeadline(scope?: McpCallScope): ServiceClient {
    return new ServiceClient(this.#options, this.#sender.withSharedDeadline(scope), this.unsupportedOperations);
  }

  /** Items of one annotation queue (interface 4.1). */
  queryQueueItems(queueId: string, body: QueryQueueItemsRequest, options?: RequestOptions) {
    return this.#call(endpoints.queryQueueItems, { path: { queue_id: queueId }, body }, options, parseJsonResponse);
  }

  /**
   * Sends an inference request to a path below the inference prefix (interface 4.2). With `stream: true` the streamed
   * reply is put together; a stream that breaks is an error that carries the text received so far.
   */
  runInference(path: string, body: InferenceRequest, options: InferenceOptions = {}): Promise<InferenceResponse> {
    const { signal, onText, onProgress } = options;
    return this.#sender.call(endpoints.runInference, { path: { path }, body }, signal, async (answer, call) =>
      /^text\/event-stream\b/i.test(String(answer.headers['content-type'] ?? ''))
        ? readStreamedReply(answer, call, {
            idleTimeoutMs: this.#options.idleTimeoutMs ?? defaultIdleTimeoutMs,
            onText,
            onProgress,
          })
        : parseJsonResponse(endpoints.runInference, await readResponse(answer, call), call),
    );
  }

  /** Creates an evaluation definition, or finds the version with the same content (interface 4.3). */
  createEvaluation(projectId: string, body: CreateEvaluationRequest, options?: RequestOptions) {
    return this.#call(
      endpoints.createEvaluation,
      { path: splitProjectId(projectId), body },
      options,
      parseJsonResponse,
    );
  }

  /** Models that inference offers. */
  listModels(options?: RequestOptions) {
    return this.#call(endpoints.listModels, {}, options, parseJsonResponse);
  }

  /** Annotation queues of a project. */
  queryQueues(body: QueryQueuesRequest, options?: RequestOptions) {
    return this.#call(endpoints.queryQueues, { body }, options, parseNdjsonResponse);
  }

  /** One annotation queue. */
  readQueue(queueId: string, projectId: string, options?: RequestOptions) {
    const parts = { path: { queue_id: queueId }, query: { project_id: projectId } };
    return this.#call(endpoints.readQueue, parts, options, parseJsonResponse);
  }

  /** Item counts of several queues. */
  queueStats(body: QueueStatsRequest, options?: RequestOptions) {
    return this.#call(endpoints.queueStats, { body }, options, parseJsonResponse);
  }

  /** Moves one item to a state, as the caller's progress. */
  updateProgress(queueId: string, itemId: string, body: UpdateProgressRequest, options?: RequestOptions) {
    const path = { queue_id: queueId, item_id: itemId };
    return this.#call(endpoints.updateProgress, { path, body }, options, parseJsonResponse);
  }

  /** One recorded call; null when there is none. */
  readCall(body: ReadCallRequest, options?: RequestOptions) {
    return this.#call(endpoints.readCall, { body }, options, parseJsonResponse);
  }

  /** Recorded calls of a project, with one request; those that it does not have are left out. */
  queryCalls(body: QueryCallsRequest, options?: RequestOptions) {
    return this.#call(endpoints.queryCalls, { body }, options, parseNdjsonResponse);
  }

  /** Keeps feedback on a recorded call; with the same `id` again nothing new. */
  createFeedback(body: CreateFeedbackRequest & { id: string }, options?: RequestOptions) {
    return this.#call(endpoints.createFeedback, { body }, options, parseJsonResponse);
  }

  /** Stored evaluations, datasets or scorers of a project. */
  listObjects(
    kind: 'evaluation' | 'dataset' | 'scorer',
    projectId: string,
    query: ListObjectsQuery,
    options?: RequestOptions,
  ) {
    const parts = { path: splitProjectId(projectId), query: { ...query } };
    return this.#call(objectLists[kind], parts, options, parseNdjsonResponse);
  }

  /** Whom the calls of the Basic scheme are made as; undefined where nobody is configured. */
  username(): Promise<string | undefined> {
    return this.#sender.username();
  }

  /** Loads what the first call will need, so that it is not slower than the others. */
  warmUp(): Promise<void> {
    return this.#sender.warmUp();
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#sender.close();
  }

  #call<E extends Endpoint, Result>(
    endpoint: E,
    parts: RequestParts,
    { signal }: RequestOptions = {},
    read: (endpoint: E, answer: ServiceResponse, call: RequestInfo) => Result,
  ): Promise<Result> {
    return this.#sender.call(endpoint, parts, signal, async (answer, call) =>
      read(endpoint, await readResponse(answer, call), call),
    );
  }
}
