import type { Observer } from '../core/observer.ts';
import type { Runtime } from './runtime.ts';

/** Aborted by the first signal to end; the second ends the process at once, with whatever still runs. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1);
      stop.abort();
    });
  }
  return stop.signal;
}

/** Closes what a server used, and ends the process. */
export async function endServing(runtime: Runtime, observer: Observer | undefined): Promise<never> {
  const closed = Promise.all([runtime.close(), observer?.flush?.()]);
  await closed.catch((error: Error) => runtime.log('warn', 'not closed well', { error: error.message }));
  // A request that is still under way at the service must not keep the process alive.
  process.exit(0);
}
