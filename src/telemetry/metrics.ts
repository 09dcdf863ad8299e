import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Observer } from '../core/observer.ts';
import { version } from '../core/version.ts';

/** Numbers about a process, as Prometheus reads them. */
export interface Metrics {
  /** Counts what it is told. */
  observer: Observer;
  /** Counts an HTTP request that was not served. */
  refused: (status: number) => void;
  /** All numbers in the text format, and the content type that says so. */
  read: () => Promise<{ contentType: string; text: string }>;
}

/** From an answer out of memory to the longest inference, in seconds. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/**
 * Makes the metrics of a process that offers these tools. Labels are names of tools and operations, codes and statuses:
 * few, and nothing that a client or the service chooses.
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
    help: 'Tool calls that ended, by code: ok, input_required, or that of the error.',
    labelNames: ['tool', 'code'],
    registers,
  });
  const callSeconds = new Histogram({
    name: 'heddle_tool_call_duration_seconds',
    help: 'Time of a tool call from its arrival to its result.',
    labelNames: ['tool'],
    buckets,
    registers,
  });
  const callsInFlight = new Gauge({
    name: 'heddle_tool_calls_in_flight',
    help: 'Tool calls that run now.',
    labelNames: ['tool'],
    registers,
  });
  const requests = new Counter({
    name: 'heddle_service_requests_total',
    help: 'Requests to the service, each attempt, by the status of the answer, or the code where there was no whole one.',
    labelNames: ['operation', 'status'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'heddle_service_request_duration_seconds',
    help: 'Time of a request to the service, from sending it to the end of its answer.',
    labelNames: ['operation'],
    buckets,
    registers,
  });
  const retries = new Counter({
    name: 'heddle_service_retries_total',
    help: 'Requests to the service that were sent again.',
    labelNames: ['operation'],
    registers,
  });
  const refusals = new Counter({
    name: 'heddle_http_refused_total',
    help: 'HTTP requests that were not served, by status.',
    labelNames: ['status'],
    registers,
  });
  // What has not happened yet is 0, not absent: otherwise the first time would not count as an increase.
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
