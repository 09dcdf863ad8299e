import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { McpCallObserver, Observer } from '../core/observer.ts';
import { version } from '../core/version.ts';

/** Metrics of a process in the format of Prometheus; see docs/observability.md. */
export interface Metrics {
  observer: Observer;
  /** Counts a refused HTTP request. */
  refused: (status: number) => void;
  /** Returns all metrics as text, with its content type. */
  read: () => Promise<{ contentType: string; text: string }>;
}

/** Upper bounds in seconds, from a cached response to the longest inference. */
const bucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/**
 * Creates the metrics of a process.
 * @param tools names of the tools on offer. Labels come from fixed lists, never from a client or the service.
 */
export function createMetrics(tools: readonly string[]): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = defineMetrics(registry);
  metrics.info.set({ version }, 1);
  // Prometheus sees the first event as an increase only if the series was 0 before.
  for (const tool of tools) {
    metrics.calls.inc({ tool, code: 'ok' }, 0);
    metrics.callSeconds.zero({ tool });
    metrics.callsInFlight.set({ tool }, 0);
  }
  return {
    observer: { call: ({ tool }) => countCall(metrics, tool) },
    refused: (status) => metrics.refusals.inc({ status: String(status) }),
    read: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

function defineMetrics(registry: Registry) {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string, labelNames: string[]) => new Gauge({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: string[]) =>
    new Histogram({ name, help, labelNames, buckets: bucketsSeconds, registers });
  return {
    info: gauge('heddle_info', 'Always 1; the label is the version.', ['version']),
    calls: counter('heddle_tool_calls_total', 'Tool calls that ended, by code: ok, input_required or an error code.', [
      'tool',
      'code',
    ]),
    callSeconds: histogram('heddle_tool_call_duration_seconds', 'Duration of tool calls, from arrival to result.', [
      'tool',
    ]),
    callsInFlight: gauge('heddle_tool_calls_in_flight', 'Tool calls that are running.', ['tool']),
    requests: counter(
      'heddle_service_requests_total',
      'Attempts of requests to the service, by status, or by error code without a complete response.',
      ['operation', 'status'],
    ),
    requestSeconds: histogram(
      'heddle_service_request_duration_seconds',
      'Duration of requests to the service, from sending to the end of the response.',
      ['operation'],
    ),
    retries: counter('heddle_service_retries_total', 'Requests to the service that were retried.', ['operation']),
    refusals: counter('heddle_http_refused_total', 'Refused HTTP requests, by status.', ['status']),
  };
}

/** Counts a call and its requests. Only tool calls have metrics of their own. */
function countCall(metrics: ReturnType<typeof defineMetrics>, tool: string | undefined): McpCallObserver {
  const startedAt = performance.now();
  if (tool !== undefined) metrics.callsInFlight.inc({ tool });
  return {
    request({ operation, attempt }) {
      const sentAt = performance.now();
      if (attempt > 1) metrics.retries.inc({ operation });
      return {
        end({ status, code }) {
          metrics.requests.inc({ operation, status: code ?? String(status) });
          metrics.requestSeconds.observe({ operation }, secondsSince(sentAt));
        },
      };
    },
    end(code) {
      if (tool === undefined) return;
      metrics.callsInFlight.dec({ tool });
      metrics.calls.inc({ tool, code });
      metrics.callSeconds.observe({ tool }, secondsSince(startedAt));
    },
  };
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}
