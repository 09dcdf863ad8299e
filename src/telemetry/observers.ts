import type { Log } from '../core/log.ts';
import type { Observer } from '../core/observer.ts';

/** The global where every version of the OpenTelemetry API keeps the registered SDK. */
const openTelemetry = Symbol.for('opentelemetry.js.api.1');

/** Returns the tracing observer if an OpenTelemetry SDK is set up in this process, as with `node --import`. */
export async function configuredTraces(log: Log): Promise<Observer | undefined> {
  const registered = (globalThis as Record<symbol, { trace?: unknown; version?: string } | undefined>)[openTelemetry];
  if (registered?.trace === undefined) return undefined;
  // A newer API silently ignores an SDK that an older one has registered.
  if (Number(registered.version?.split('.')[1]) < 9) {
    log('warn', 'no traces: @opentelemetry/api of the SDK must be 1.9 or later', { version: registered.version });
    return undefined;
  }
  const { traces } = await import('./traces.ts');
  return traces();
}

/** Returns an observer that reports to both. Only traces have headers, log fields and an async context. */
export function combineObservers(metrics: Observer | undefined, traces: Observer | undefined): Observer | undefined {
  if (!metrics || !traces) return metrics ?? traces;
  return {
    ...traces,
    call(start) {
      const calls = [metrics.call(start), traces.call(start)] as const;
      return {
        ...calls[1],
        request(request) {
          const requests = [calls[0].request(request), calls[1].request(request)] as const;
          return { ...requests[1], end: (end) => requests.forEach((each) => void each.end(end)) };
        },
        end: (outcome) => calls.forEach((each) => void each.end(outcome)),
      };
    },
  };
}
