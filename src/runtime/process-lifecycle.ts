import { type EventEmitter, once } from 'node:events';
import { notConfigured } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Observer } from '../core/observer.ts';
import type { Runtime } from './runtime.ts';

/** The signals and the uncaught errors of a process, and the way to end it. */
export type ProcessControl = Pick<EventEmitter, 'on' | 'once' | 'off' | 'removeAllListeners'> & {
  exit(code: number): void;
};

/** Sets the handler of uncaught errors and rejections, in place of an earlier one. */
export function onUncaught(control: ProcessControl, handler: (error: unknown) => void): void {
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    control.removeAllListeners(event);
    control.on(event, handler);
  }
}

/** Logs uncaught errors from now on instead of ending the process, because a server has other calls running. */
export function logUncaught(control: ProcessControl, log: Log): void {
  onUncaught(control, (error: unknown) => {
    // Once the reader of stderr is gone, logging would cause the same error again, without end.
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE') return;
    log('error', 'uncaught', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
}

/** Returns a signal that SIGTERM or SIGINT aborts. A second one ends the process at once. */
export function stopSignal(control: ProcessControl): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    control.on(signal, () => {
      if (stop.signal.aborted) control.exit(1);
      stop.abort();
    });
  }
  return stop.signal;
}

/** A process is at rest if it used less processor time than this since the last look. */
const restCpuMs = 100;
/** A collection at rest is worth its pause, and a slower next call, if the process has grown by this much. */
const minGrowthBytes = 48 * 2 ** 20;
const restCheckMs = 30_000;
let isReleasingMemory = false;

/**
 * Gives memory back to the system while the process rests. Node keeps what large results once needed until the next
 * collection, which a process at rest does not reach.
 */
export function releaseMemoryAtRest(): void {
  if (isReleasingMemory) return;
  isReleasingMemory = true;
  let cpu = process.cpuUsage();
  let restingBytes = process.memoryUsage.rss();
  setInterval(async () => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    if ((user + system) / 1000 > restCpuMs) return;
    if (process.memoryUsage.rss() - restingBytes < minGrowthBytes) return;
    await collectGarbage();
    restingBytes = process.memoryUsage.rss();
  }, restCheckMs).unref();
}

/** Collects all garbage of this process. The profiler can, without a flag of Node. */
export async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
}

/** Waits until a signal aborts. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** Closes the runtime and flushes telemetry. A request to the service may still be running afterwards. */
export async function closeRuntime(runtime: Runtime, observer: Observer | undefined): Promise<void> {
  const closed = Promise.all([runtime.close(), observer?.flush?.()]);
  await closed.catch((error: Error) => runtime.log('warn', 'not closed cleanly', { error: error.message }));
}

/**
 * Waits for a step of listening.
 * @param flags names of the flags that choose another address.
 * @throws HeddleError `not_configured` if the address is in use, or is none of this machine.
 */
export async function listenAt<T>(step: Promise<T>, host: string, port: number, flags: string): Promise<T> {
  try {
    return await step;
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    if (syscall !== 'listen' && syscall !== 'getaddrinfo') throw error;
    throw notConfigured(
      `Cannot listen on ${host}, port ${port} (${code}).`,
      `Choose another ${flags}, or stop the process that uses the port.`,
    );
  }
}
