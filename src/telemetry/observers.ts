import type { Log } from '../core/log.ts';
import type { McpCallObserver, Observer } from '../core/observer.ts';

/** Where every version of the OpenTelemetry API keeps what an SDK has registered. */
const openTelemetry = Symbol.for('opentelemetry.js.api.1');

/**
 * Traces, if whoever started the process has set up an OpenTelemetry SDK in it, as with `node --import`. Without one
 * nothing is loaded.
 */
export async function configuredTraces(log: Log): Promise<Observer | undefined> {
  const registered = (globalThis as Record<symbol, { trace?: unknown; version?: string } | undefined>)[openTelemetry];
  if (registered?.trace === undefined) return undefined;
  // An API does not find what an older one has registered, and would trace nothing without a word.
  if (Number(registered.version?.split('.')[1]) < 9) {
    log('warn', 'no traces: @opentelemetry/api of the SDK must be 1.9 or later', { version: registered.version });
    return undefined;
  }
  const { traces } = await import('./traces.ts');
  return traces();
}

/** Tells all of them. */
export function together(first: Observer, second: Observer): Observer {
  return {
    call(start) {
      const observers = [first.call(start), second.call(start)];
      const logFields = observers.find((each) => each.logFields)?.logFields;
      return { ...(logFields && { logFields }), ...all(observers) };
    },
    flush: async () => {
      await Promise.all([first.flush?.(), second.flush?.()]);
    },
  };
}

function all(observers: McpCallObserver[]): Pick<McpCallObserver, 'request' | 'end'> {
  return {
    request(start) {
      const requests = observers.map((each) => each.request(start));
      return {
        headers: Object.assign({}, ...requests.map(({ headers }) => headers)),
        send: (work) => requests.reduce((inner, { send }) => (send ? () => send(inner) : inner), work)(),
        end: (end) => requests.forEach((each) => void each.end(end)),
      };
    },
    end: (outcome) => observers.forEach((each) => void each.end(outcome)),
  };
}
