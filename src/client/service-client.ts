import type { QueryCallsRequest, ReadCallRequest } from '../contract/calls.ts';
import { type Endpoint, type EndpointName, endpoints } from '../contract/endpoints.ts';
import type { CreateEvaluationRequest } from '../contract/evaluations.ts';
import type { CreateFeedbackRequest } from '../contract/feedback.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import type { InferenceRequest, InferenceResponse } from '../contract/inference.ts';
import type { ListObjectsQuery } from '../contract/objects.ts';
import type { QueryQueueItemsRequest, UpdateProgressRequest } from '../contract/queue-items.ts';
import type { QueryQueuesRequest, QueueStatsRequest } from '../contract/queues.ts';
import type { CallScope } from '../core/observer.ts';
import type { Answer, CallInfo } from './failures.ts';
import { Caller, type CallerOptions, type Parts } from './request-sender.ts';
import { readAnswer, readJson, readLines } from './responses.ts';
import { readStreamedReply } from './stream/streamed-reply.ts';

const defaultIdleTimeoutMs = 120_000;

export interface ServiceClientOptions extends CallerOptions {
  /**
   * Longest silence of a streamed reply in milliseconds, once its first byte is there; 120 000 by default. Users have no
   * setting for it: HEDDLE_TIMEOUT_MS bounds the whole call.
   */
  idleTimeoutMs?: number;
}

export interface CallOptions {
  /** Ends the call; the request at the service is aborted with it. */
  signal?: AbortSignal;
}

export interface InferenceOptions extends CallOptions {
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
  readonly #caller: Caller;
  /** Operations that the service turned out to lack, kept by whoever has another way. */
  readonly lacking: Set<EndpointName>;

  constructor(options: ServiceClientOptions, caller = new Caller(options), lacking = new Set<EndpointName>()) {
    this.#options = options;
    this.#caller = caller;
    this.lacking = lacking;
  }

  /** The same client for one task of several calls: they share one deadline, which begins now, and one log. */
  withSharedDeadline(scope?: CallScope): ServiceClient {
    return new ServiceClient(this.#options, this.#caller.withSharedDeadline(scope), this.lacking);
  }

  /** Items of one annotation queue (interface 4.1). */
  queryQueueItems(queueId: string, body: QueryQueueItemsRequest, options?: CallOptions) {
    return this.#call(endpoints.queryQueueItems, { path: { queue_id: queueId }, body }, options, readJson);
  }

  /**
   * Sends an inference request to a path below the inference prefix (interface 4.2). With `stream: true` the streamed
   * reply is put together; a stream that breaks is an error that carries the text received so far.
   */
  runInference(path: string, body: InferenceRequest, options: InferenceOptions = {}): Promise<InferenceResponse> {
    const { signal, onText, onProgress } = options;
    return this.#caller.call(endpoints.runInference, { path: { path }, body }, signal, async (answer, call) =>
      /^text\/event-stream\b/i.test(String(answer.headers['content-type'] ?? ''))
        ? readStreamedReply(answer, call, {
            idleTimeoutMs: this.#options.idleTimeoutMs ?? defaultIdleTimeoutMs,
            onText,
            onProgress,
          })
        : readJson(endpoints.runInference, await readAnswer(answer, call), call),
    );
  }

  /** Creates an evaluation definition, or finds the version with the same content (interface 4.3). */
  createEvaluation(projectId: string, body: CreateEvaluationRequest, options?: CallOptions) {
    return this.#call(endpoints.createEvaluation, { path: splitProjectId(projectId), body }, options, readJson);
  }

  /** Models that inference offers. */
  listModels(options?: CallOptions) {
    return this.#call(endpoints.listModels, {}, options, readJson);
  }

  /** Annotation queues of a project. */
  queryQueues(body: QueryQueuesRequest, options?: CallOptions) {
    return this.#call(endpoints.queryQueues, { body }, options, readLines);
  }

  /** One annotation queue. */
  readQueue(queueId: string, projectId: string, options?: CallOptions) {
    const parts = { path: { queue_id: queueId }, query: { project_id: projectId } };
    return this.#call(endpoints.readQueue, parts, options, readJson);
  }

  /** Item counts of several queues. */
  queueStats(body: QueueStatsRequest, options?: CallOptions) {
    return this.#call(endpoints.queueStats, { body }, options, readJson);
  }

  /** Moves one item to a state, as the caller's progress. */
  updateProgress(queueId: string, itemId: string, body: UpdateProgressRequest, options?: CallOptions) {
    const path = { queue_id: queueId, item_id: itemId };
    return this.#call(endpoints.updateProgress, { path, body }, options, readJson);
  }

  /** One recorded call; null when there is none. */
  readCall(body: ReadCallRequest, options?: CallOptions) {
    return this.#call(endpoints.readCall, { body }, options, readJson);
  }

  /** Recorded calls of a project, with one request; those that it does not have are left out. */
  queryCalls(body: QueryCallsRequest, options?: CallOptions) {
    return this.#call(endpoints.queryCalls, { body }, options, readLines);
  }

  /** Keeps feedback on a recorded call; with the same `id` again nothing new. */
  createFeedback(body: CreateFeedbackRequest & { id: string }, options?: CallOptions) {
    return this.#call(endpoints.createFeedback, { body }, options, readJson);
  }

  /** Stored evaluations, datasets or scorers of a project. */
  listObjects(kind: keyof typeof objectLists, projectId: string, query: ListObjectsQuery, options?: CallOptions) {
    const parts = { path: splitProjectId(projectId), query: { ...query } };
    return this.#call(objectLists[kind], parts, options, readLines);
  }

  /** Whom the calls of the Basic scheme are made as; undefined where nobody is configured. */
  username(): Promise<string | undefined> {
    return this.#caller.username();
  }

  /** Loads what the first call will need, so that it is not slower than the others. */
  warmUp(): Promise<void> {
    return this.#caller.warmUp();
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#caller.close();
  }

  #call<E extends Endpoint, Result>(
    endpoint: E,
    parts: Parts,
    { signal }: CallOptions = {},
    read: (endpoint: E, answer: Answer, call: CallInfo) => Result,
  ): Promise<Result> {
    return this.#caller.call(endpoint, parts, signal, async (answer, call) =>
      read(endpoint, await readAnswer(answer, call), call),
    );
  }
}
