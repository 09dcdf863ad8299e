import type {
  CountCallsRequest,
  CountCallsResponse,
  QueryCallsRequest,
  ReadCallRequest,
  ReadCallResponse,
  RecordedCall,
} from '../contract/calls.ts';
import type { CreateDatasetRequest, CreateDatasetResponse } from '../contract/datasets.ts';
import { type Endpoint, endpoints } from '../contract/endpoints.ts';
import type {
  EvaluationRun,
  ListEvaluationRunsQuery,
  QueryEvaluationResultsRequest,
  QueryEvaluationResultsResponse,
} from '../contract/evaluation-runs.ts';
import type {
  CreateEvaluationRequest,
  CreateEvaluationResponse,
  EvaluateModelRequest,
  EvaluateModelResponse,
  EvaluationStatusRequest,
  EvaluationStatusResponse,
} from '../contract/evaluations.ts';
import type {
  CreateFeedbackBatchResponse,
  CreateFeedbackRequest,
  CreateFeedbackResponse,
  QueryFeedbackRequest,
  QueryFeedbackResponse,
} from '../contract/feedback.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import type { InferenceRequest, InferenceResponse, ListModelsResponse } from '../contract/inference.ts';
import type {
  CreateObjectRequest,
  CreateObjectResponse,
  ListObjectsQuery,
  QueryObjectsRequest,
  QueryObjectsResponse,
  ReadObjectRequest,
  ReadObjectResponse,
  ReadReferencesRequest,
  ReadReferencesResponse,
  StoredObject,
} from '../contract/objects.ts';
import type { ListProjectsResponse } from '../contract/projects.ts';
import type {
  AddQueueItemsRequest,
  AddQueueItemsResponse,
  QueryQueueItemsRequest,
  QueryQueueItemsResponse,
  UpdateProgressBatchRequest,
  UpdateProgressBatchResponse,
  UpdateProgressRequest,
  UpdateProgressResponse,
} from '../contract/queue-items.ts';
import type {
  CreateQueueRequest,
  CreateQueueResponse,
  QueryQueuesRequest,
  Queue,
  QueueStatsRequest,
  QueueStatsResponse,
  ReadQueueResponse,
} from '../contract/queues.ts';
import type {
  CountTableRowsRequest,
  CountTableRowsResponse,
  CreateTableRequest,
  CreateTableResponse,
  QueryTableRequest,
  QueryTableResponse,
} from '../contract/tables.ts';
import type { McpCallScope } from '../core/observer.ts';
import type { RequestInfo, ServiceResponse } from './failures.ts';
import { type RequestParts, RequestSender, type RequestSenderOptions } from './request-sender.ts';
import { parseJsonResponse, parseNdjsonResponse, readResponse } from './responses.ts';
import { ServiceFacts } from './service-facts.ts';
import { readStreamedReply } from './stream/streamed-reply.ts';

const defaultIdleTimeoutMs = 120_000;

export interface ServiceClientOptions extends RequestSenderOptions {
  /** Maximum silence of a streamed reply in milliseconds, after its first byte. Default 120 000. */
  idleTimeoutMs?: number;
}

export interface RequestOptions {
  /** Cancels the request, also at the service. */
  signal?: AbortSignal;
}

export interface ProjectOptions extends RequestOptions {
  /** `entity/project` that the service attributes the request to. Left out if a header cannot carry it. */
  project?: string;
}

export interface InferenceOptions extends ProjectOptions {
  /** Called for each piece of a streamed reply, with the text of the first choice so far. */
  onText?: (text: string) => void;
  /** Called for each piece of a streamed reply, with the number of characters so far, including reasoning and tool calls. */
  onProgress?: (characters: number) => void;
}

const objectLists = {
  evaluation: endpoints.listEvaluations,
  dataset: endpoints.listDatasets,
  scorer: endpoints.listScorers,
} as const;

/** Calls the operations of the service, one method each; see docs/interface.md. Every failure is a HeddleError. */
export class ServiceClient {
  readonly #options: ServiceClientOptions;
  readonly #sender: RequestSender;
  readonly learned: ServiceFacts;

  constructor(options: ServiceClientOptions, sender = new RequestSender(options), learned = new ServiceFacts()) {
    this.#options = options;
    this.#sender = sender;
    this.learned = learned;
  }

  /** Returns a client over the same connections for one tool call, whose requests share one deadline that begins now. */
  withSharedDeadline(scope?: McpCallScope): ServiceClient {
    return new ServiceClient(this.#options, this.#sender.withSharedDeadline(scope), this.learned);
  }

  /** Returns the items of an annotation queue that match the filter. An unknown queue has no items. */
  queryQueueItems(
    queueId: string,
    body: QueryQueueItemsRequest,
    options?: RequestOptions,
  ): Promise<QueryQueueItemsResponse> {
    return this.#json(endpoints.queryQueueItems, { path: { queue_id: queueId }, body }, options);
  }

  /**
   * Sends an inference request and returns the reply of the model.
   * @param path path below the inference URL, such as `/chat/completions`.
   * @param body with `stream: true` the streamed reply is assembled; if the stream breaks, the error holds the text that
   * had arrived.
   */
  runInference(path: string, body: InferenceRequest, options: InferenceOptions = {}): Promise<InferenceResponse> {
    const { signal, project, ...callbacks } = options;
    const { idleTimeoutMs = defaultIdleTimeoutMs } = this.#options;
    const parts = { path: { path }, body, headers: projectHeader(project) };
    return this.#sender.send(endpoints.runInference, parts, signal, async (response, info) =>
      /^text\/event-stream\b/i.test(String(response.headers['content-type'] ?? ''))
        ? readStreamedReply(response, info, { idleTimeoutMs, ...callbacks })
        : parseJsonResponse(endpoints.runInference, await readResponse(response, info), info),
    );
  }

  /**
   * Stores an evaluation definition. The same content again returns the existing version.
   * @param projectId `entity/project`.
   */
  createEvaluation(
    projectId: string,
    body: CreateEvaluationRequest,
    options?: RequestOptions,
  ): Promise<CreateEvaluationResponse> {
    return this.#json(endpoints.createEvaluation, { path: splitProjectId(projectId), body }, options);
  }

  /** Starts a run of an evaluation at the service and returns its id at once. Each request starts a new run. */
  evaluateModel(body: EvaluateModelRequest, options?: RequestOptions): Promise<EvaluateModelResponse> {
    return this.#json(endpoints.evaluateModel, { body }, options);
  }

  /** Returns how far a run is. */
  evaluationStatus(body: EvaluationStatusRequest, options?: RequestOptions): Promise<EvaluationStatusResponse> {
    return this.#json(endpoints.evaluationStatus, { body }, options);
  }

  /** Cancels a run and returns its status; only the embedded service can. A run that has ended stays as it is. */
  cancelEvaluation(body: EvaluationStatusRequest, options?: RequestOptions): Promise<EvaluationStatusResponse> {
    return this.#json(endpoints.cancelEvaluation, { body }, options);
  }

  /**
   * Returns the runs of a project, the oldest first.
   * @param projectId `entity/project`.
   */
  listEvaluationRuns(
    projectId: string,
    query: ListEvaluationRunsQuery,
    options?: RequestOptions,
  ): Promise<EvaluationRun[]> {
    return this.#lines(endpoints.listEvaluationRuns, { path: splitProjectId(projectId), query }, options);
  }

  /**
   * Returns one run.
   * @param projectId `entity/project`.
   */
  readEvaluationRun(projectId: string, runId: string, options?: RequestOptions): Promise<EvaluationRun> {
    const path = { ...splitProjectId(projectId), evaluation_run_id: runId };
    return this.#json(endpoints.readEvaluationRun, { path }, options);
  }

  /**
   * Returns the results of runs by the rows of the dataset, and the summary of each run.
   * @param projectId `entity/project`.
   */
  queryEvaluationResults(
    projectId: string,
    body: QueryEvaluationResultsRequest,
    options?: RequestOptions,
  ): Promise<QueryEvaluationResultsResponse> {
    return this.#json(endpoints.queryEvaluationResults, { path: splitProjectId(projectId), body }, options);
  }

  /** Returns the models that inference offers. */
  listModels(options: ProjectOptions = {}): Promise<ListModelsResponse> {
    return this.#json(endpoints.listModels, { headers: projectHeader(options.project) }, options);
  }

  /** Returns the projects of the service; only the embedded service can list them. */
  listProjects(options?: RequestOptions): Promise<ListProjectsResponse> {
    return this.#json(endpoints.listProjects, {}, options);
  }

  /** Returns the annotation queues of a project, by default the newest first. */
  queryQueues(body: QueryQueuesRequest, options?: RequestOptions): Promise<Queue[]> {
    return this.#lines(endpoints.queryQueues, { body }, options);
  }

  /**
   * Returns one annotation queue.
   * @param projectId `entity/project`.
   */
  readQueue(queueId: string, projectId: string, options?: RequestOptions): Promise<ReadQueueResponse> {
    const parts = { path: { queue_id: queueId }, query: { project_id: projectId } };
    return this.#json(endpoints.readQueue, parts, options);
  }

  /** Returns the number of items of several queues, and how many of them are completed or skipped. */
  queueStats(body: QueueStatsRequest, options?: RequestOptions): Promise<QueueStatsResponse> {
    return this.#json(endpoints.queueStats, { body }, options);
  }

  /** Sets the caller's progress on an item. Setting the same state again changes nothing. */
  updateProgress(
    queueId: string,
    itemId: string,
    body: UpdateProgressRequest,
    options?: RequestOptions,
  ): Promise<UpdateProgressResponse> {
    return this.#json(endpoints.updateProgress, { path: { queue_id: queueId, item_id: itemId }, body }, options);
  }

  /** Sets the caller's progress on several items, each on its own. Only the embedded service can do that. */
  updateProgressBatch(
    queueId: string,
    body: UpdateProgressBatchRequest,
    options?: RequestOptions,
  ): Promise<UpdateProgressBatchResponse> {
    return this.#json(endpoints.updateProgressBatch, { path: { queue_id: queueId }, body }, options);
  }

  /** Returns one recorded call; its `call` is null if the project has none with this id. */
  readCall(body: ReadCallRequest, options?: RequestOptions): Promise<ReadCallResponse> {
    return this.#json(endpoints.readCall, { body }, options);
  }

  /** Returns recorded calls of a project, by default the oldest first. Ids that the project does not have are skipped. */
  queryCalls(body: QueryCallsRequest, options?: RequestOptions): Promise<RecordedCall[]> {
    return this.#lines(endpoints.queryCalls, { body }, options);
  }

  /** Stores feedback on a recorded call. Because the caller chooses the `id`, sending it again stores nothing new. */
  async createFeedback(
    body: CreateFeedbackRequest & { id: string },
    options?: RequestOptions,
  ): Promise<CreateFeedbackResponse> {
    const created = await this.#json(endpoints.createFeedback, { body }, options);
    this.learned.userId = created.wb_user_id ?? undefined;
    return created;
  }

  /**
   * Stores several feedbacks with one request: all of them, or none if one is invalid. Because the caller chooses the ids,
   * sending it again stores nothing new.
   */
  async createFeedbackBatch(
    batch: (CreateFeedbackRequest & { id: string })[],
    options?: RequestOptions,
  ): Promise<CreateFeedbackBatchResponse> {
    const created = await this.#json(endpoints.createFeedbackBatch, { body: { batch } }, options);
    this.learned.userId = created.res[0]?.wb_user_id ?? this.learned.userId;
    return created;
  }

  /** Returns stored feedback, by default the oldest first. */
  queryFeedback(body: QueryFeedbackRequest, options?: RequestOptions): Promise<QueryFeedbackResponse> {
    return this.#json(endpoints.queryFeedback, { body }, options);
  }

  /** Deletes feedback by its ids. */
  async purgeFeedback(projectId: string, ids: readonly string[], options?: RequestOptions): Promise<void> {
    const $or = ids.map((id) => ({ $eq: [{ $getField: 'id' }, { $literal: id }] }));
    await this.#json(endpoints.purgeFeedback, { body: { project_id: projectId, query: { $expr: { $or } } } }, options);
  }

  /** Creates an empty queue. */
  createQueue(body: CreateQueueRequest, options?: RequestOptions): Promise<CreateQueueResponse> {
    return this.#json(endpoints.createQueue, { body }, options);
  }

  /** Deletes a queue. Its recorded calls and their feedback stay. */
  deleteQueue(queueId: string, projectId: string, options?: RequestOptions): Promise<ReadQueueResponse> {
    const parts = { path: { queue_id: queueId }, query: { project_id: projectId } };
    return this.#json(endpoints.deleteQueue, parts, options);
  }

  /** Adds recorded calls to a queue; those that it has already count as duplicates, and unknown ones are skipped. */
  addQueueItems(queueId: string, body: AddQueueItemsRequest, options?: RequestOptions): Promise<AddQueueItemsResponse> {
    return this.#json(endpoints.addQueueItems, { path: { queue_id: queueId }, body }, options);
  }

  /** Returns the number of recorded calls that match. */
  countCalls(body: CountCallsRequest, options?: RequestOptions): Promise<CountCallsResponse> {
    return this.#json(endpoints.countCalls, { body }, options);
  }

  /** Stores a version of an object. The same content is the same version. */
  createObject(body: CreateObjectRequest, options?: RequestOptions): Promise<CreateObjectResponse> {
    return this.#json(endpoints.createObject, { body }, options);
  }

  /** Returns one version of an object, by its digest, `vN` or `latest`. */
  readObject(body: ReadObjectRequest, options?: RequestOptions): Promise<ReadObjectResponse> {
    return this.#json(endpoints.readObject, { body }, options);
  }

  /** Returns versions of objects of a project, by default all of them, the oldest first. */
  queryObjects(body: QueryObjectsRequest, options?: RequestOptions): Promise<QueryObjectsResponse> {
    return this.#json(endpoints.queryObjects, { body }, options);
  }

  /** Returns the values of references to objects and their parts, in their order. Versions must be digests. */
  readReferences(body: ReadReferencesRequest, options?: RequestOptions): Promise<ReadReferencesResponse> {
    return this.#json(endpoints.readReferences, { body }, options);
  }

  /** Stores a list of rows, the rows of a dataset for example. The same rows are the same list. */
  createTable(body: CreateTableRequest, options?: RequestOptions): Promise<CreateTableResponse> {
    return this.#json(endpoints.createTable, { body }, options);
  }

  /** Returns rows of a list; none of one that does not exist. */
  queryTable(body: QueryTableRequest, options?: RequestOptions): Promise<QueryTableResponse> {
    return this.#json(endpoints.queryTable, { body }, options);
  }

  /** Returns the number of rows of a list. */
  countTableRows(body: CountTableRowsRequest, options?: RequestOptions): Promise<CountTableRowsResponse> {
    return this.#json(endpoints.countTableRows, { body }, options);
  }

  /**
   * Stores a dataset. The same content again returns the existing version.
   * @param projectId `entity/project`.
   */
  createDataset(
    projectId: string,
    body: CreateDatasetRequest,
    options?: RequestOptions,
  ): Promise<CreateDatasetResponse> {
    return this.#json(endpoints.createDataset, { path: splitProjectId(projectId), body }, options);
  }

  /**
   * Returns stored evaluations, datasets or scorers of a project; some services list every version, the oldest first.
   * @param projectId `entity/project`.
   */
  listObjects(
    kind: 'evaluation' | 'dataset' | 'scorer',
    projectId: string,
    query: ListObjectsQuery,
    options?: RequestOptions,
  ): Promise<StoredObject[]> {
    return this.#lines(objectLists[kind], { path: splitProjectId(projectId), query: { ...query } }, options);
  }

  /**
   * Returns a string that only this account at this service has, for ids of what it stores. It is derived from the password
   * by a slow function, so that it does not help to guess it.
   */
  async accountTag(): Promise<string> {
    const { baseUrl, basic, userId } = await this.#sender.connection();
    this.learned.userId ??= userId;
    // A known account needs no secret.
    if (userId !== undefined || !basic) return JSON.stringify([baseUrl, userId]);
    return this.learned.tagOf(JSON.stringify([baseUrl, basic.username]), basic.password);
  }

  /**
   * Lets other work run. Read-only tools call this between the steps of lengthy work on what they have read.
   * @throws HeddleError `timeout` when the time of the tool call is over, `cancelled` if `signal` was aborted.
   */
  pause(signal?: AbortSignal): Promise<void> {
    return this.#sender.pause(signal);
  }

  /** Milliseconds until the deadline of the tool call. */
  get remainingMs(): number {
    return this.#sender.remainingMs;
  }

  /** True once a request of the tool call has missed the deadline. */
  get missedDeadline(): boolean {
    return this.#sender.missedDeadline;
  }

  /** Closes every connection. Requests in progress fail with `cancelled`. */
  close(): void {
    this.#sender.close();
  }

  #json<E extends Endpoint>(endpoint: E, parts: RequestParts, options?: RequestOptions) {
    return this.#send(endpoint, parts, options, parseJsonResponse<E['response']>);
  }

  #lines<E extends Endpoint>(endpoint: E, parts: RequestParts, options?: RequestOptions) {
    return this.#send(endpoint, parts, options, parseNdjsonResponse<E['response']>);
  }

  #send<E extends Endpoint, Result>(
    endpoint: E,
    parts: RequestParts,
    { signal }: RequestOptions = {},
    parse: (
      endpoint: E,
      response: ServiceResponse,
      info: RequestInfo,
      pause: () => Promise<void>,
    ) => Result | Promise<Result>,
  ): Promise<Result> {
    return this.#sender.send(endpoint, parts, signal, async (response, info, pause) => {
      this.learned.noteClock(response.headers.date);
      const read = await readResponse(response, info);
      await pause();
      return parse(endpoint, read, info, pause);
    });
  }
}

/** Returns the header that names the project of an inference request. Names of projects may have characters beyond ASCII. */
function projectHeader(project: string | undefined): Record<string, string> {
  return project !== undefined && /^[\x21-\x7e]+$/.test(project) ? { 'openai-project': project } : {};
}
