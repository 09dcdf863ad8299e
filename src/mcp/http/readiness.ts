import type { Log } from '../../core/log.ts';
import { httpLimits } from './limits.ts';

/** Returns a check that calls `isReady` once for all who ask within a short time, and that takes a bounded time. */
export function cachedReadiness(isReady: (signal: AbortSignal) => Promise<boolean>, log: Log): () => Promise<boolean> {
  const { readinessCacheMs, readinessTimeoutMs } = httpLimits;
  let latest: Promise<boolean> | undefined;
  return () => {
    latest ??= check(isReady, readinessTimeoutMs)
      .catch((error: Error) => {
        log('info', 'not ready', { error: error.message });
        return false;
      })
      .finally(() => setTimeout(() => (latest = undefined), readinessCacheMs).unref());
    return latest;
  };
}

async function check(isReady: (signal: AbortSignal) => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const signal = AbortSignal.timeout(timeoutMs);
  const timedOut = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([isReady(signal), timedOut]);
}
