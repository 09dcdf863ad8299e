import type { ServerContext } from '@modelcontextprotocol/server';
import type { HeddleError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { McpCallOutcome, McpCallScope, McpCallStart, Observer } from '../core/observer.ts';
import { newRequestId, requestIdHeader } from '../core/request-id.ts';
import { traceContext } from './trace-context.ts';

/** Where a call comes from: what it is told apart by, and what trace it belongs to. */
export interface Origin extends Omit<McpCallStart, 'method' | 'tool'> {
  /** On all log lines of the call, and sent to the service. */
  requestId: string;
}

/** A call under watch: its log, what the client of the service needs to know of it, and its end. */
export interface Watch {
  log: Log;
  scope: McpCallScope;
  /** Called once. `error` is why it failed. */
  end: (outcome: McpCallOutcome, error?: HeddleError) => void;
}

/** A call that no client sent: one of this process. */
export function ownOrigin(): Origin {
  return { requestId: newRequestId(), trace: {} };
}

/** The origin of a client's request. Its id is that of the HTTP request, where there is one (see `serveHttp`). */
export function originOf(
  { mcpReq, http }: ServerContext,
  connection: Pick<Origin, 'transport' | 'protocolVersion'>,
): Origin {
  const headers = http?.req?.headers;
  const meta = mcpReq._meta as Record<string, unknown> | undefined;
  // What the client says of its call goes before what the connection that brought it says of itself.
  const carrier =
    meta?.traceparent === undefined && headers ? (name: string) => headers.get(name) : (name: string) => meta?.[name];
  return {
    requestId: headers?.get(requestIdHeader) ?? newRequestId(),
    ...connection,
    ...(headers && { transport: 'http' }),
    // Before 2026-07-28 a request over HTTP says only there what was agreed on with another one.
    protocolVersion:
      connection.protocolVersion ?? /^\d{4}-\d\d-\d\d$/.exec(headers?.get('mcp-protocol-version') ?? '')?.[0],
    rpcId: mcpReq.id,
    trace: traceContext(carrier),
  };
}

/** Begins to watch a call. Without an observer only the log learns of it. */
export function watchCall(
  { method, tool }: Pick<McpCallStart, 'method' | 'tool'>,
  { requestId, ...origin }: Origin,
  settings: { log: Log; observer?: Observer | undefined },
): Watch {
  const startedAt = performance.now();
  const { traceparent, tracestate } = origin.trace;
  const observer = settings.observer?.call({ method, tool, ...origin });
  const own = {
    request_id: requestId,
    ...(observer?.logFields ?? (traceparent !== undefined && { trace_id: traceparent.slice(3, 35) })),
  };
  const log: Log = (level, message, ...fields) => settings.log(level, message, own, ...fields);
  const headers: Record<string, string> = { [requestIdHeader]: requestId };
  // Baggage is an application's own text: it goes on only where a propagator was configured for it.
  if (!observer?.logFields && traceparent !== undefined) {
    headers.traceparent = traceparent;
    if (tracestate !== undefined) headers.tracestate = tracestate;
  }
  const what = { method, tool };
  let retries = 0;
  log('debug', 'call started', what);
  return {
    log,
    scope: {
      log,
      headers,
      ...(observer && { observer }),
      onRetry: () => {
        retries += 1;
      },
    },
    end(outcome, error) {
      observer?.end(outcome);
      const cause = (error?.cause as NodeJS.ErrnoException | undefined)?.code;
      const duration_ms = Math.round(performance.now() - startedAt);
      log('info', 'call ended', what, { code: outcome, status: error?.status, cause, duration_ms, retries });
    },
  };
}
