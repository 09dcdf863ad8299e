import type { Server, ServerContext } from '@modelcontextprotocol/server';
import { HeddleError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { McpCallOutcome, McpCallScope, McpCallStart, Observer } from '../core/observer.ts';
import { newRequestId, requestIdHeader } from '../core/request-id.ts';
import { readTraceContext } from './trace-context.ts';

/** The client, transport and trace that a call came from. */
export interface CallOrigin extends Omit<McpCallStart, 'method' | 'tool'> {
  /** Written on all log lines of the call and sent to the service. */
  requestId: string;
}

/** A running call: its log, the scope for the service client, and its end, which is reported once. */
export interface CallWatch {
  log: Log;
  scope: McpCallScope;
  end: (outcome: McpCallOutcome) => void;
  /** Ends the call with a failure, and returns it as a HeddleError. */
  fail: (error: unknown) => HeddleError;
}

/** Returns the origin of a call that this process makes itself. */
export function localOrigin(): CallOrigin {
  return { requestId: newRequestId(), trace: {} };
}

/** Returns the origin of a client's request. An HTTP request keeps its request id (see `serveHttp`). */
export function originOf({ mcpReq, http }: ServerContext, server: Server, transport?: 'stdio'): CallOrigin {
  const headers = http?.req?.headers;
  const meta = mcpReq._meta as Record<string, unknown> | undefined;
  // `_meta` comes from the client itself; the headers may come from a proxy on the way.
  const useHeaders = headers && meta?.traceparent === undefined;
  // Before 2026-07-28, each HTTP request names the revision that an earlier request has negotiated.
  const headerVersion = /^\d{4}-\d\d-\d\d$/.exec(headers?.get('mcp-protocol-version') ?? '')?.[0];
  return {
    requestId: headers?.get(requestIdHeader) ?? newRequestId(),
    transport: headers ? 'http' : transport,
    protocolVersion: server.getNegotiatedProtocolVersion() ?? headerVersion,
    rpcId: mcpReq.id,
    trace: readTraceContext((name) => (useHeaders ? headers.get(name) : meta?.[name])),
  };
}

/** Starts to report a call to the log and to the observer, if there is one. */
export function watchCall(
  { method, tool }: Pick<McpCallStart, 'method' | 'tool'>,
  { requestId, ...origin }: CallOrigin,
  options: { log: Log; observer?: Observer | undefined },
): CallWatch {
  const startedAt = performance.now();
  const { traceparent, tracestate } = origin.trace;
  const observer = options.observer?.call({ method, tool, ...origin });
  const logFields = {
    request_id: requestId,
    ...(observer?.logFields ?? (traceparent !== undefined && { trace_id: traceparent.slice(3, 35) })),
  };
  const log: Log = (level, message, ...fields) => options.log(level, message, logFields, ...fields);
  const headers: Record<string, string> = { [requestIdHeader]: requestId };
  // Without tracing here, the client's trace continues at the service. Its baggage is free text and does not.
  if (!observer?.logFields && traceparent !== undefined) {
    headers.traceparent = traceparent;
    if (tracestate !== undefined) headers.tracestate = tracestate;
  }
  let retries = 0;
  const end = (outcome: McpCallOutcome, error?: HeddleError): void => {
    observer?.end(outcome);
    const cause = (error?.cause as NodeJS.ErrnoException | undefined)?.code;
    const duration_ms = Math.round(performance.now() - startedAt);
    log('info', 'call ended', { method, tool, code: outcome, status: error?.status, cause, duration_ms, retries });
  };
  const fail = (error: unknown): HeddleError => {
    const failure = toHeddleError(error, tool ?? method, log);
    end(failure.code, failure);
    return failure;
  };
  const onRetry = (): void => {
    retries += 1;
  };
  log('debug', 'call started', { method, tool });
  return { log, scope: { log, headers, ...(observer && { observer }), onRetry }, end, fail };
}

/** Turns an unexpected error into one without internals, and logs the original. */
function toHeddleError(error: unknown, place: string, log: Log): HeddleError {
  if (error instanceof HeddleError) return error;
  log('error', 'unexpected failure', {
    what: place,
    error: error instanceof Error ? (error.stack ?? error.message) : error,
  });
  return new HeddleError({
    code: 'internal',
    message: `heddle failed in ${place}: the fault is in heddle itself, not in the call or the service.`,
    hint: 'Try once more. If it fails again, ask the user to report it with the log on stderr.',
    cause: error,
  });
}
