import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Observer } from '../core/observer.ts';
import { version } from '../core/version.ts';

/** Metrics of a process in the format of Prometheus; see docs/observability.md. */
export interface Metrics {
  /** Counts calls and requests to the service. */
  observer: Observer;
  /** Counts a refused HTTP request. */
  refused: (status: number) => void;
  /** Returns all metrics as text, with its content type. */
  read: () => Promise<{ contentType: string; text: string }>;
}

/** Upper bounds in seconds, from a response out of memory to the longest inference. */
const bucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/**
 * Creates the metrics of a process.
 * @param tools names of the tools on offer. Labels come from fixed lists, never from a client or the service.
 */
export function createMetrics(tools: readonly string[]): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'heddle_info',
    help: 'Always 1; the label is the version.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1);
  const calls = new Counter({
    name: 'heddle_tool_calls_total',
    help: 'Tool calls that ended, by code: ok, input_required or an error code.',
    labelNames: ['tool', 'code'],
    registers,
  });
  const callSeconds = new Histogram({
    name: 'heddle_tool_call_duration_seconds',
    help: 'Duration of tool calls, from arrival to result.',
    labelNames: ['tool'],
    buckets: bucketsSeconds,
    registers,
  });
  const callsInFlight = new Gauge({
    name: 'heddle_tool_calls_in_flight',
    help: 'Tool calls that are running.',
    labelNames: ['tool'],
    registers,
  });
  const requests = new Counter({
    name: 'heddle_service_requests_total',
    help: 'Attempts of requests to the service, by status, or by error code without a complete response.',
    labelNames: ['operation', 'status'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'heddle_service_request_duration_seconds',
    help: 'Duration of requests to the service, from sending to the end of the response.',
    labelNames: ['operation'],
    buckets: bucketsSeconds,
    registers,
  });
  const retries = new Counter({
    name: 'heddle_service_retries_total',
    help: 'Requests to the service that were retried.',
    labelNames: ['operation'],
    registers,
  });
  const refusals = new Counter({
    name: 'heddle_http_refused_total',
    help: 'Refused HTTP requests, by status.',
    labelNames: ['status'],
    registers,
  });
  // Prometheus sees the first event as an increase only if the series was 0 before.
  for (const tool of tools) {
    calls.inc({ tool, code: 'ok' }, 0);
    callSeconds.zero({ tool });
    callsInFlight.set({ tool }, 0);
  }

  return {
    observer: {
      call({ tool }) {
        const startedAt = performance.now();
        if (tool !== undefined) callsInFlight.inc({ tool });
        return {
          request({ operation, attempt }) {
            const sentAt = performance.now();
            if (attempt > 1) retries.inc({ operation });
            return {
              end({ status, code }) {
                requests.inc({ operation, status: code ?? String(status) });
                requestSeconds.observe({ operation }, (performance.now() - sentAt) / 1_000);
              },
            };
          },
          end(code) {
            if (tool === undefined) return;
            callsInFlight.dec({ tool });
            calls.inc({ tool, code });
            callSeconds.observe({ tool }, (performance.now() - startedAt) / 1_000);
          },
        };
      },
    },
    refused: (status) => refusals.inc({ status: String(status) }),
    read: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
