import type { Log } from '../core/log.ts';
import type { Observer } from '../core/observer.ts';
import type { Runtime } from './runtime.ts';

let handleUncaught: (error: unknown) => void = () => {};

/** Sets the handler of uncaught errors and rejections, in place of an earlier one. */
export function onUncaught(handler: (error: unknown) => void): void {
  handleUncaught = handler;
}

process.on('uncaughtException', (error) => handleUncaught(error));
process.on('unhandledRejection', (error) => handleUncaught(error));

/** Logs uncaught errors from now on instead of ending the process, because a server has other calls running. */
export function logUncaught(log: Log): void {
  onUncaught((error) => {
    // When nobody reads stderr any more, logging would cause the same error again, without end.
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE') return;
    log('error', 'uncaught', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
}

/** Returns a signal that SIGTERM or SIGINT aborts. A second one ends the process at once. */
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

/** Closes the runtime, flushes telemetry and ends the process, even if a request to the service is still running. */
export async function exitServer(runtime: Runtime, observer: Observer | undefined): Promise<never> {
  const closed = Promise.all([runtime.close(), observer?.flush?.()]);
  await closed.catch((error: Error) => runtime.log('warn', 'not closed cleanly', { error: error.message }));
  process.exit(0);
}

/**
 * Waits for a step of listening. If it fails, ends the process with one line on stderr.
 * @param portFlag the flag that chooses another port.
 */
export async function listenOrExit<T>(step: Promise<T>, host: string, port: number, portFlag: string): Promise<T> {
  try {
    return await step;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? `the port is in use; choose another with ${portFlag}` : message;
    process.stderr.write(`heddle: cannot listen on ${host}, port ${port}: ${reason}\n`);
    process.exit(1);
  }
}
