import type { Log } from '../core/log.ts';
import type { McpCallObserver, Observer } from '../core/observer.ts';

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

/** Combines two observers, of which either may be missing, into one. */
export function combineObservers(first: Observer | undefined, second: Observer | undefined): Observer | undefined {
  if (!first || !second) return first ?? second;
  return {
    call: (start) => combineCalls([first.call(start), second.call(start)]),
    flush: async () => {
      await Promise.all([first.flush?.(), second.flush?.()]);
    },
  };
}

function combineCalls(calls: McpCallObserver[]): McpCallObserver {
  const logFields = calls.find((call) => call.logFields)?.logFields;
  return {
    ...(logFields && { logFields }),
    request(start) {
      const requests = calls.map((call) => call.request(start));
      return {
        headers: Object.assign({}, ...requests.map(({ headers }) => headers)),
        send: (work) => requests.reduce((inner, { send }) => (send ? () => send(inner) : inner), work)(),
        end: (end) => requests.forEach((request) => void request.end(end)),
      };
    },
    end: (outcome) => calls.forEach((call) => void call.end(outcome)),
  };
}
