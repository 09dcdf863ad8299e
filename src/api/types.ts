// Made from src/contract by `npm run generate`.
import type { Operation } from './interfaces.ts';

export interface AddQueueItemsRequest {
  /** Project that the call works in, written entity/project. */
  project_id: string;
  call_ids: string[];
  display_fields: string[];
}

export interface AddQueueItemsResponse {
  added_count: number;
  duplicates: number;
  [member: string]: unknown;
}

export interface CreateEvaluationRequest {
  /** Name of the evaluation; evaluations with the same name are versions of one. */
  name: string;
  /** Reference to the dataset, like weave:///entity/project/object/name:latest. */
  dataset: string;
  /** Purpose of the evaluation. */
  description?: string | null;
  /** References to the scorers. */
  scorers?: string[] | null;
  /** Number of trials to run for each row; 1 by default. */
  trials?: number;
  /** Name for the evaluation run. */
  evaluation_name?: string | null;
  /** Attributes to store with the evaluation. */
  eval_attributes?: Record<string, unknown>;
}

export interface CreateEvaluationResponse {
  /** Digest of the content: the same content has the same digest. */
  digest: string;
  /** Identifier that the versions share. */
  object_id: string;
  /** 0-based index of this version. */
  version_index: number;
  /** Full reference to this version. */
  evaluation_ref: string;
  [member: string]: unknown;
}

export interface CreateFeedbackRequest {
  /** Project that the call works in, written entity/project. */
  project_id: string;
  /** Reference to the call. */
  weave_ref: string;
  feedback_type: string;
  payload: Record<string, unknown>;
  annotation_ref?: string | null;
  queue_id?: string | null;
  id?: string | null;
}

export interface CreateFeedbackResponse {
  id: string;
  created_at: string;
  wb_user_id?: string | null;
  payload?: Record<string, unknown> | null;
  [member: string]: unknown;
}

export interface CreateQueueRequest {
  /** Project that the call works in, written entity/project. */
  project_id: string;
  name: string;
  description: string;
  scorer_refs: string[];
}

export interface CreateQueueResponse {
  id: string;
  [member: string]: unknown;
}

export interface ErrorDetail {
  /** Location of the faulty input, outermost part first. */
  loc: (string | number)[];
  /** Description of the fault. */
  msg: string;
  /** Kind of the fault. */
  type: string;
  [member: string]: unknown;
}

export interface InferenceRequest {
  /** Model to ask, by its id. */
  model: string;
  /** Chat messages, oldest first, like {"role":"user","content":"…"}. */
  messages?: unknown[];
  /** Maximum time for the service, in seconds. */
  timeout?: unknown;
  /** Sampling temperature. */
  temperature?: number | null;
  /** Nucleus sampling probability. */
  top_p?: number | null;
  /** Number of choices to generate. */
  n?: number | null;
  /** String, or list of strings, that ends the reply. */
  stop?: string | unknown[] | null;
  /** Maximum number of tokens to generate, including reasoning. */
  max_completion_tokens?: number | null;
  /** Maximum number of tokens to generate (older name). */
  max_tokens?: number | null;
  /** Kinds of output, like ["text"]. */
  modalities?: unknown[] | null;
  /** Penalty for tokens that have occurred. */
  presence_penalty?: number | null;
  /** Penalty for tokens by their frequency so far. */
  frequency_penalty?: number | null;
  /** Receive the reply in pieces. */
  stream?: boolean | null;
  /** Bias by token id. */
  logit_bias?: Record<string, unknown>;
  /** Identifier of the end user, for abuse detection. */
  user?: string | null;
  /** Format of the reply, like {"type":"json_object"}. */
  response_format?: Record<string, unknown>;
  /** Seed for repeatable sampling. */
  seed?: number | null;
  /** Tools that the model may call. */
  tools?: unknown[] | null;
  /** Tool that the model must call: a keyword or an object. */
  tool_choice?: string | Record<string, unknown>;
  /** Also return log probabilities. */
  logprobs?: boolean | null;
  /** Number of most likely tokens to return at each position. */
  top_logprobs?: number | null;
  /** Whether the model may call several tools at once. */
  parallel_tool_calls?: boolean | null;
  /** Additional headers for the model provider. */
  extra_headers?: Record<string, unknown>;
  /** Functions that the model may call (older form of tools). */
  functions?: unknown[] | null;
  /** Function to call (older form of tool_choice). */
  function_call?: string | null;
  /** Version of the provider API. */
  api_version?: string | null;
  /** Reference to a stored prompt, like weave:///entity/project/object/name:latest; its messages go first. */
  prompt?: string | null;
  /** Values for {variable_name} placeholders in the messages of the prompt and of the request. */
  template_vars?: Record<string, unknown>;
}

export type InferenceResponse = Record<string, unknown>;

export interface ListModelsResponse {
  object?: string | null;
  data: {
    id: string;
    [member: string]: unknown;
  }[];
  [member: string]: unknown;
}

export interface ListObjectsQuery {
  limit?: number;
  offset?: number;
}

export interface QueryCallsRequest {
  /** Project that the call works in, written entity/project. */
  project_id: string;
  filter?: {
    /** Return only these calls; unknown ids are skipped. An empty list filters nothing. */
    call_ids?: string[] | null;
  } | null;
  /** Maximum number of calls to return. */
  limit?: number | null;
  /** Number of calls to skip. */
  offset?: number | null;
  /** Members of a call to fill, such as inputs, or inputs.question for that part of inputs alone. */
  columns?: string[] | null;
}

export interface QueryQueueItemsRequest {
  /** Project that the call works in, written entity/project. */
  project_id: string;
  /** Return only items that match every member exactly. */
  filter?: QueueItemsFilter | null;
  /** Sort keys, most important first; created_at ascending by default. */
  sort_by?: SortEntry[] | null;
  /** Maximum number of items to return. */
  limit?: number | null;
  /** Number of items to skip. */
  offset?: number | null;
  /** Also return position_in_queue: the 1-based position of each item in the whole queue, in this order. */
  include_position?: boolean;
}

export interface QueryQueueItemsResponse {
  items: QueueItem[];
  [member: string]: unknown;
}

export interface QueryQueuesRequest {
  /** Project that the call works in, written entity/project. */
  project_id: string;
  /** Return only queues whose name contains this text. */
  name?: string | null;
  sort_by?:
    | {
        field: 'created_at' | 'updated_at' | 'name';
        direction: 'asc' | 'desc';
      }[]
    | null;
  /** Maximum number of queues to return. */
  limit?: number | null;
  /** Number of queues to skip. */
  offset?: number | null;
}

export interface Queue {
  id: string;
  project_id: string;
  name: string;
  description?: string | null;
  scorer_refs?: string[] | null;
  created_at: string;
  created_by?: string | null;
  updated_at?: string | null;
  deleted_at?: string | null;
  [member: string]: unknown;
}

export interface QueueItem {
  id: string;
  project_id: string;
  queue_id: string;
  call_id: string;
  call_started_at: string;
  call_op_name: string;
  call_trace_id: string;
  display_fields: string[];
  annotation_state: string;
  created_at: string;
  created_by: string;
  updated_at: string;
  call_ended_at?: string | null;
  added_by?: string | null;
  annotator_user_id?: string | null;
  deleted_at?: string | null;
  position_in_queue?: number | null;
  [member: string]: unknown;
}

export interface QueueItemsFilter {
  /** Item identifier. */
  id?: string | null;
  /** Recorded call. */
  call_id?: string | null;
  /** Full operation name of the call. */
  call_op_name?: string | null;
  /** Trace of the call. */
  call_trace_id?: string | null;
  /** User who added the item. */
  added_by?: string | null;
  /** Any of these states. */
  annotation_states?: ('unstarted' | 'in_progress' | 'completed' | 'skipped')[] | null;
}

export interface QueueStatsRequest {
  /** Project that the call works in, written entity/project. */
  project_id: string;
  queue_ids: string[];
}

export interface QueueStatsResponse {
  stats: {
    queue_id: string;
    total_items: number;
    completed_items: number;
    [member: string]: unknown;
  }[];
  [member: string]: unknown;
}

export interface ReadCallRequest {
  /** Project that the call works in, written entity/project. */
  project_id: string;
  id: string;
}

export interface ReadCallResponse {
  call?: RecordedCall | null;
  [member: string]: unknown;
}

export interface ReadQueueQuery {
  /** Project that the call works in, written entity/project. */
  project_id: string;
}

export interface ReadQueueResponse {
  queue: Queue;
  [member: string]: unknown;
}

export interface RecordedCall {
  id: string;
  project_id?: string | null;
  op_name?: string | null;
  display_name?: string | null;
  trace_id?: string | null;
  parent_id?: string | null;
  started_at?: string | null;
  ended_at?: string | null;
  attributes?: unknown;
  inputs?: unknown;
  output?: unknown;
  summary?: unknown;
  exception?: string | null;
  wb_user_id?: string | null;
  [member: string]: unknown;
}

export interface SortEntry {
  /** Field to sort by. */
  field: 'call_started_at' | 'call_op_name' | 'created_at' | 'updated_at';
  /** asc or desc. */
  direction: 'asc' | 'desc';
}

export interface StoredObject {
  object_id: string;
  digest: string;
  version_index?: number | null;
  created_at?: string | null;
  name?: string | null;
  description?: string | null;
  [member: string]: unknown;
}

export interface UpdateProgressRequest {
  /** Project that the call works in, written entity/project. */
  project_id: string;
  annotation_state: 'unstarted' | 'in_progress' | 'completed' | 'skipped';
}

export interface UpdateProgressResponse {
  item: QueueItem;
  [member: string]: unknown;
}

export interface ValidationErrorBody {
  detail: ErrorDetail[];
  [member: string]: unknown;
}

/** The operations of the service by name. */
export interface Contract {
  readonly queryQueueItems: Operation<QueryQueueItemsRequest, QueryQueueItemsResponse>;
  readonly runInference: Operation<InferenceRequest, InferenceResponse>;
  readonly listModels: Operation<unknown, ListModelsResponse>;
  readonly createEvaluation: Operation<CreateEvaluationRequest, CreateEvaluationResponse>;
  readonly queryQueues: Operation<QueryQueuesRequest, Queue>;
  readonly queueStats: Operation<QueueStatsRequest, QueueStatsResponse>;
  readonly readQueue: Operation<unknown, ReadQueueResponse, ReadQueueQuery>;
  readonly createQueue: Operation<CreateQueueRequest, CreateQueueResponse>;
  readonly addQueueItems: Operation<AddQueueItemsRequest, AddQueueItemsResponse>;
  readonly updateProgress: Operation<UpdateProgressRequest, UpdateProgressResponse>;
  readonly readCall: Operation<ReadCallRequest, ReadCallResponse>;
  readonly queryCalls: Operation<QueryCallsRequest, RecordedCall>;
  readonly createFeedback: Operation<CreateFeedbackRequest, CreateFeedbackResponse>;
  readonly listEvaluations: Operation<unknown, StoredObject, ListObjectsQuery>;
  readonly listDatasets: Operation<unknown, StoredObject, ListObjectsQuery>;
  readonly listScorers: Operation<unknown, StoredObject, ListObjectsQuery>;
}
