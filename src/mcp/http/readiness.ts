import { setTimeout } from 'node:timers/promises';
import type { Log } from '../../core/log.ts';
import { httpLimits } from './http-limits.ts';

/** Returns a check that shares one call of `isReady` among the requests of a second, and gives up after a timeout. */
export function cachedReadiness(isReady: (signal: AbortSignal) => Promise<boolean>, log: Log): () => Promise<boolean> {
  const { readinessCacheMs, readinessTimeoutMs } = httpLimits;
  let latest: Promise<boolean> | undefined;
  const check = async (): Promise<boolean> => {
    const signal = AbortSignal.timeout(readinessTimeoutMs);
    const ready = await Promise.race([isReady(signal), setTimeout(readinessTimeoutMs, false, { ref: false })]).catch(
      (error: Error) => {
        log('info', 'not ready', { error: error.message });
        return false;
      },
    );
    void setTimeout(readinessCacheMs, undefined, { ref: false }).then(() => (latest = undefined));
    return ready;
  };
  return () => (latest ??= check());
}
