import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  defaultTextMapGetter,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { McpCallObserver, McpCallStart, Observer, RequestObserver, RequestStart } from '../core/observer.ts';
import { version } from '../core/version.ts';

/** The key by which the SDK turns off instrumentations. The API does not export it. */
const suppressTracing = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/** Longest time that flushing may delay the end of the process. */
const flushTimeoutMs = 3_000;

/**
 * Creates the observer that traces every call and every request to the service with the SDK of this process, by
 * OpenTelemetry's semantic conventions. Spans contain no arguments, results or ids of the service.
 */
export function traces(): Observer {
  const tracer = trace.getTracer('heddle', version);
  return {
    call: (start) => traceCall(tracer, start),
    async flush() {
      const provider = trace.getTracerProvider() as { getDelegate?: () => unknown };
      const sdk = (provider.getDelegate?.() ?? provider) as { forceFlush?: () => Promise<void> };
      const timeout = new Promise<void>((resolve) => setTimeout(resolve, flushTimeoutMs).unref());
      await Promise.race([sdk.forceFlush?.(), timeout]);
    },
  };
}

function traceCall(tracer: Tracer, start: McpCallStart): McpCallObserver {
  const { parent, links } = parentOf(start);
  const name = start.tool === undefined ? start.method : `${start.method} ${start.tool}`;
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes: callAttributes(start), links }, parent);
  const { traceId, spanId } = span.spanContext();
  return {
    logFields: { trace_id: traceId, span_id: spanId },
    request: (request) => traceRequest(tracer, request, trace.setSpan(parent, span)),
    end(outcome) {
      if (outcome !== 'ok' && outcome !== 'input_required') {
        span.setAttribute('heddle.error.code', outcome);
        fail(span, start.tool === undefined ? outcome : 'tool_error');
      }
      span.end();
    },
  };
}

function traceRequest(tracer: Tracer, request: RequestStart, parent: Context): RequestObserver {
  const options = { kind: SpanKind.CLIENT, attributes: requestAttributes(request) };
  const span = tracer.startSpan(`${request.method} ${templateOf(request)}`, options, parent);
  const active = trace.setSpan(parent, span);
  const headers: Record<string, string> = {};
  propagation.inject(active, headers);
  return {
    headers,
    // An instrumentation of undici would record the request and inject the headers a second time.
    send: (work) => context.with(active.setValue(suppressTracing, true), work),
    end({ status, code }) {
      if (status !== undefined) span.setAttribute('http.response.status_code', status);
      if (code !== undefined) fail(span, code);
      else if (status !== undefined && status >= 400) fail(span, String(status));
      span.end();
    },
  };
}

/**
 * Makes the client's trace context the parent and links the active span. Without a client's context, the active span is the
 * parent.
 */
function parentOf({ trace: incoming }: McpCallStart): {
  parent: Context;
  links: { context: ReturnType<Span['spanContext']> }[];
} {
  const ambient = trace.getSpanContext(context.active());
  if (incoming.traceparent === undefined && ambient) return { parent: context.active(), links: [] };
  const parent = propagation.extract(trace.deleteSpan(context.active()), incoming, defaultTextMapGetter);
  return { parent, links: ambient ? [{ context: ambient }] : [] };
}

function callAttributes({ method, tool, transport, rpcId, protocolVersion }: McpCallStart): Attributes {
  return {
    'mcp.method.name': method,
    ...(tool !== undefined && { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool }),
    ...(rpcId !== undefined && { 'jsonrpc.request.id': String(rpcId) }),
    ...(protocolVersion !== undefined && { 'mcp.protocol.version': protocolVersion }),
    ...(transport === 'http' && { 'network.transport': 'tcp', 'network.protocol.name': 'http' }),
    ...(transport === 'stdio' && { 'network.transport': 'pipe' }),
  };
}

/** Omits `url.full`, because paths of the service contain names of projects and queues. */
function requestAttributes(request: RequestStart): Attributes {
  const { hostname, port, protocol } = new URL(request.baseUrl);
  return {
    'http.request.method': request.method,
    'url.template': templateOf(request),
    'url.scheme': protocol.slice(0, -1),
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    ...(request.attempt > 1 && { 'http.request.resend_count': request.attempt - 1 }),
  };
}

function templateOf({ baseUrl, template }: RequestStart): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '') + template;
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
