import type { ErrorCode } from './errors.ts';
import type { Log } from './log.ts';

/** How a call ended; `input_required` when it was put off until the person has answered. */
export type McpCallOutcome = 'ok' | 'input_required' | ErrorCode;

/** What is known of a client's call when it begins. Never its arguments. */
export interface McpCallStart {
  method: 'tools/call' | 'resources/read' | 'completion/complete';
  /** Name of the tool, with `tools/call`. */
  tool?: string;
  /** The transport that it came by, where it came by one. */
  transport?: 'http' | 'stdio' | undefined;
  /** Id of the JSON-RPC request. */
  rpcId?: string | number;
  /** Revision of the protocol. */
  protocolVersion?: string | undefined;
  /** The trace that the client has the call in, checked (W3C Trace Context, W3C Baggage). */
  trace: TraceHeaders;
}

/** A trace as headers and `_meta` carry it. */
export interface TraceHeaders {
  traceparent?: string;
  tracestate?: string;
  baggage?: string;
}

/** One attempt to send a request to the service. */
export interface RequestStart {
  /** Name of the endpoint. */
  operation: string;
  method: string;
  /** Base address of the service. */
  baseUrl: string;
  /** Path below it, with the names of its parameters instead of their values. */
  template: string;
  /** 1 for the first. */
  attempt: number;
}

/** How an attempt ended: with a status, or without an answer, by an error's code. */
export interface RequestEnd {
  status?: number;
  code?: ErrorCode;
}

/** Is told what heddle does, for metrics and traces. There is none unless somebody asked for one. */
export interface Observer {
  call(start: McpCallStart): McpCallObserver;
  /** Lets what is still here get to its place, before the process ends; takes no longer than a few seconds. */
  flush?(): Promise<void>;
}

/** Is told of one call, from its first to its last moment. */
export interface McpCallObserver {
  request(start: RequestStart): RequestObserver;
  end(outcome: McpCallOutcome): void;
  /** Members for the call's log lines: its trace. Whoever has them also sends the trace on, with each request. */
  readonly logFields?: Record<string, string>;
}

export interface RequestObserver {
  /** Headers to send along. */
  readonly headers?: Record<string, string>;
  /** Sends the request in the observer's own surroundings. */
  send?<T>(work: () => T): T;
  end(end: RequestEnd): void;
}

/** What the client of the service gets of the call that it works for. */
export interface McpCallScope {
  /** Writes lines with the id of the call. */
  log: Log;
  /** Headers of every request. */
  headers: Record<string, string>;
  observer?: McpCallObserver;
  /** Called when a request is sent again. */
  onRetry: () => void;
}
