import type {
  CreateEvaluationRequest,
  CreateEvaluationResponse,
  CreateFeedbackRequest,
  CreateFeedbackResponse,
  ErrorDetail,
  InferenceRequest,
  InferenceResponse,
  ListModelsResponse,
  ListObjectsQuery,
  QueryCallsRequest,
  QueryQueueItemsRequest,
  QueryQueueItemsResponse,
  QueryQueuesRequest,
  Queue,
  QueueStatsRequest,
  QueueStatsResponse,
  ReadCallRequest,
  ReadCallResponse,
  ReadQueueResponse,
  RecordedCall,
  StoredObject,
  UpdateProgressRequest,
  UpdateProgressResponse,
} from './types.ts';

// These are the types of the package. They name nothing of the libraries inside it, which whoever installs heddle does
// not have.

/** Called with what a part of heddle does. No secret is in it. */
export type Log = (
  level: 'error' | 'warn' | 'info' | 'debug',
  message: string,
  fields?: Record<string, unknown>,
) => void;

export interface ClientOptions {
  /** Base address of the service. */
  baseUrl: string;
  /** For the queue and evaluation operations. */
  username?: string;
  password?: string;
  /** For inference. */
  token?: string;
  /** Milliseconds that one request may take, retries included; 60 000 by default. */
  timeoutMs?: number;
  /** The same for inference; 600 000 by default. */
  inferenceTimeoutMs?: number;
  /** Longest silence of a streamed reply in milliseconds; 120 000 by default. */
  idleTimeoutMs?: number;
  log?: Log;
}

export interface CallOptions {
  /** Ends the call; the request at the service is aborted with it. */
  signal?: AbortSignal;
}

/** The operations of the service, one method each. Every failure is a {@link HeddleError}. */
export interface Client {
  queryQueueItems(
    queueId: string,
    body: QueryQueueItemsRequest,
    options?: CallOptions,
  ): Promise<QueryQueueItemsResponse>;
  /** `path` is below the inference prefix, like `/chat/completions`. A streamed reply is put together. */
  runInference(
    path: string,
    body: InferenceRequest,
    options?: CallOptions & { onText?: (text: string) => void },
  ): Promise<InferenceResponse>;
  createEvaluation(
    projectId: string,
    body: CreateEvaluationRequest,
    options?: CallOptions,
  ): Promise<CreateEvaluationResponse>;
  listModels(options?: CallOptions): Promise<ListModelsResponse>;
  queryQueues(body: QueryQueuesRequest, options?: CallOptions): Promise<Queue[]>;
  readQueue(queueId: string, projectId: string, options?: CallOptions): Promise<ReadQueueResponse>;
  queueStats(body: QueueStatsRequest, options?: CallOptions): Promise<QueueStatsResponse>;
  updateProgress(
    queueId: string,
    itemId: string,
    body: UpdateProgressRequest,
    options?: CallOptions,
  ): Promise<UpdateProgressResponse>;
  readCall(body: ReadCallRequest, options?: CallOptions): Promise<ReadCallResponse>;
  /** Many calls with one request; those that the project does not have are left out. */
  queryCalls(body: QueryCallsRequest, options?: CallOptions): Promise<RecordedCall[]>;
  /** With the same `id` again nothing new is kept. */
  createFeedback(body: CreateFeedbackRequest & { id: string }, options?: CallOptions): Promise<CreateFeedbackResponse>;
  listObjects(
    kind: 'evaluation' | 'dataset' | 'scorer',
    projectId: string,
    query: ListObjectsQuery,
    options?: CallOptions,
  ): Promise<StoredObject[]>;
  close(): Promise<void>;
}

/** Settings of a server; each is the one of the same name in docs/configuration.md. */
export interface ServerOptions {
  baseUrl?: string;
  project?: string;
  username?: string;
  password?: string;
  token?: string;
  dataDir?: string;
  timeoutMs?: number;
  inferenceTimeoutMs?: number;
  maxResultChars?: number;
  text?: 'compact' | 'json';
  readOnly?: boolean;
  tools?: readonly string[];
  modelProviderUrl?: string;
  modelProviderKey?: string;
  log?: Log;
}

/** A transport of any version of the MCP SDK. */
export interface Transport {
  start(): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: every version of the SDK has its own type of messages
  send(message: any, options?: any): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: every version of the SDK has its own type of messages
  onmessage?: ((message: any, extra?: any) => void) | undefined;
}

export interface HeddleServer {
  /** Serves one client until either side closes the transport. Each client needs a transport of its own. */
  connect(transport: Transport): Promise<void>;
  /** Ends every connection, and the embedded service where it was started. */
  close(): Promise<void>;
}

/** What every failure says. docs/errors.md lists the codes. */
export interface HeddleError extends Error {
  readonly code: string;
  /** The next step, for whoever reads the error. */
  readonly hint: string;
  /** HTTP status of the service's answer, where there was one. */
  readonly status: number | undefined;
  readonly detail: ErrorDetail[] | undefined;
  /** Whether the same call, unchanged, may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** Text of a streamed reply that had arrived before the failure. */
  readonly partialText: string | undefined;
  toJSON(): Record<string, unknown>;
}

/** For `instanceof`; programs that use heddle do not make errors of it. */
export interface HeddleErrorClass {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the class takes is its own matter
  new (fields: any): HeddleError;
  readonly prototype: HeddleError;
}

/** A parsed reference. `version` is a digest, `latest`, `vN` from 0, or an alias; calls have none. */
export interface Reference {
  scheme: string;
  entity: string;
  project: string;
  kind: 'object' | 'op' | 'table' | 'call';
  name: string;
  version?: string;
}

type Checked<Value> =
  | { readonly value: Value; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A schema that checks at run time, in the form of Standard Schema 1, which validation libraries share. */
export interface Schema<Value> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Checked<Value> | Promise<Checked<Value>>;
    readonly types?: { readonly input: unknown; readonly output: Value } | undefined;
  };
}

/** One operation of the service. */
export interface Operation<Request, Response, Query = unknown> {
  readonly method: 'GET' | 'POST';
  /** Path below the base URL. `{name}` is one segment; `{path*}` is the rest, with its leading slash. */
  readonly path: string;
  readonly auth: 'basic' | 'bearer';
  /** Schema of the body; absent where there is none. */
  readonly request?: Schema<Request>;
  /** Schema of the query parameters; absent where there are none. */
  readonly query?: Schema<Query>;
  readonly response: Schema<Response>;
  /** The answer has one such value a line. */
  readonly lines?: true;
  /** Whether it may be carried out twice without harm. */
  readonly repeatable: boolean;
}
