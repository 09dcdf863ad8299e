import type { ErrorCode } from './errors.ts';
import type { Log } from './log.ts';

/** The end of an MCP call; `input_required` if it waits for an answer from the user. */
export type McpCallOutcome = 'ok' | 'input_required' | ErrorCode;

/** The facts about an MCP call when it begins; never its arguments. */
export interface McpCallStart {
  method: 'tools/call' | 'resources/read' | 'completion/complete';
  tool?: string;
  transport?: 'http' | 'stdio' | undefined;
  rpcId?: string | number;
  protocolVersion?: string | undefined;
  /** The client's trace context, validated. */
  trace: TraceHeaders;
}

/** W3C Trace Context and Baggage, as headers and `_meta` carry them. */
export interface TraceHeaders {
  traceparent?: string;
  tracestate?: string;
  baggage?: string;
}

/** The facts about one attempt to send a request to the service. */
export interface RequestStart {
  operation: string;
  method: string;
  /** Base address of the service. */
  baseUrl: string;
  /** Path below it, with the names of its parameters. */
  template: string;
  /** 1 for the first. */
  attempt: number;
}

/** The end of an attempt: the status of its response, the code of its error, or both. */
export interface RequestEnd {
  status?: number;
  code?: ErrorCode;
}

/** Receives events for metrics and traces; see docs/observability.md. There is none by default. */
export interface Observer {
  call(start: McpCallStart): McpCallObserver;
  /** Flushes pending telemetry before the process exits. Takes a few seconds at most. */
  flush?(): Promise<void>;
}

export interface McpCallObserver {
  request(start: RequestStart): RequestObserver;
  end(outcome: McpCallOutcome): void;
  /** Fields for the log lines of the call: its trace. An observer with these also sends the trace with each request. */
  readonly logFields?: Record<string, string>;
}

export interface RequestObserver {
  /** Headers to add to the request. */
  readonly headers?: Record<string, string>;
  /** Runs `work`, which sends the request, in the observer's async context. */
  send?<T>(work: () => T): T;
  end(end: RequestEnd): void;
}

/** The parts of an MCP call that the service client uses. */
export interface McpCallScope {
  /** Writes log lines with the id of the call. */
  log: Log;
  /** Headers for every request. */
  headers: Record<string, string>;
  observer?: McpCallObserver;
  /** Called before a request is sent again. */
  onRetry: () => void;
}
