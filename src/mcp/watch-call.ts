import { ProtocolError, ResourceNotFoundError, type Server, type ServerContext } from '@modelcontextprotocol/server';
import type { ServiceClient } from '../client/service-client.ts';
import { HeddleError } from '../core/errors.ts';
import { requestIdHeader } from '../core/http/request-id.ts';
import type { Log } from '../core/log.ts';
import type { McpCallOutcome, McpCallScope, McpCallStart, Observer } from '../core/observer.ts';
import { readTraceContext } from './trace-context.ts';

/** The client, transport and trace that a call came from. */
export interface CallOrigin extends Omit<McpCallStart, 'method' | 'tool'> {
  /** Written on all log lines of the call and sent to the service. */
  requestId: string;
  /** Aborts when the client cancels the call or disconnects. */
  signal: AbortSignal;
}

export interface WatchOptions {
  /** Returns the service client; creates it on first use. */
  service: () => Promise<ServiceClient>;
  log: Log;
  /** Receives every call, where metrics or traces are enabled. */
  observer?: Observer | undefined;
}

/** Thrown by a context's `ask` to end the call with a question for the user. The client repeats the call with the answer. */
export class InputRequired {
  readonly question: string;

  constructor(question: string) {
    this.question = question;
  }
}

/** Returns the origin of a client's request. An HTTP request keeps its request id (see McpHttpServer). */
export function originOf({ mcpReq, http }: ServerContext, server: Server, transport?: 'stdio'): CallOrigin {
  const headers = http?.req?.headers;
  const meta = mcpReq._meta as Record<string, unknown> | undefined;
  // `_meta` comes from the client itself; the headers may come from a proxy on the way.
  const useHeaders = headers && meta?.traceparent === undefined;
  // Before 2026-07-28, each HTTP request names the revision that an earlier request has negotiated.
  const headerVersion = /^\d{4}-\d\d-\d\d$/.exec(headers?.get('mcp-protocol-version') ?? '')?.[0];
  return {
    requestId: headers?.get(requestIdHeader) ?? crypto.randomUUID(),
    transport: headers ? 'http' : transport,
    protocolVersion: server.getNegotiatedProtocolVersion() ?? headerVersion,
    rpcId: mcpReq.id,
    signal: mcpReq.signal,
    trace: readTraceContext((name) => (useHeaders ? headers.get(name) : meta?.[name])),
  };
}

/**
 * Does the work of a call, and reports the call to the log and to the observer, if there is one.
 * @param work gets a client of the service whose requests share one deadline, belong to the call and end with it.
 * @throws InputRequired and ProtocolError as `work` throws them, and a HeddleError for every other failure.
 */
export async function watchCall<T>(
  call: Pick<McpCallStart, 'method' | 'tool'>,
  { requestId, signal, ...origin }: CallOrigin,
  options: WatchOptions,
  work: (service: ServiceClient) => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  const { traceparent, tracestate } = origin.trace;
  const observer = options.observer?.call({ ...call, ...origin });
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
  const onRetry = (): void => {
    retries += 1;
  };
  const end = (outcome: McpCallOutcome, error?: HeddleError): void => {
    observer?.end(outcome);
    const cause = (error?.cause as NodeJS.ErrnoException | undefined)?.code;
    const duration_ms = Math.round(performance.now() - startedAt);
    log('info', 'call ended', { ...call, code: outcome, status: error?.status, cause, duration_ms, retries });
  };
  log('debug', 'call started', { ...call });
  try {
    const scope: McpCallScope = { log, headers, ...(observer && { observer }), onRetry };
    const service = await options.service();
    const result = await work(service.forToolCall(scope).withSignal(signal));
    end('ok');
    return result;
  } catch (error) {
    if (error instanceof InputRequired) end('input_required');
    else if (error instanceof ResourceNotFoundError) end('not_found');
    else if (error instanceof ProtocolError) end('invalid_arguments');
    else {
      const failure = toHeddleError(error, call.tool ?? call.method, log);
      end(failure.code, failure);
      throw failure;
    }
    throw error;
  }
}

/** Turns an unexpected error into one without internals, and logs the original. */
function toHeddleError(error: unknown, place: string, log: Log): HeddleError {
  if (error instanceof HeddleError) return error;
  if (error instanceof Error && error.name === 'AbortError') {
    return new HeddleError({ code: 'cancelled', message: `${place} was cancelled.`, hint: 'Nothing to do.' });
  }
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
