import { type ErrorCode, HeddleError } from '../core/errors.ts';

/** Runs an operation or, if it fails with one of the codes, by default at a service that lacks it, an alternative. */
export async function withFallback<T>(
  run: () => Promise<T>,
  alternative: () => Promise<T>,
  codes: readonly ErrorCode[] = ['unsupported'],
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof HeddleError) || !codes.includes(error.code)) throw error;
    return alternative();
  }
}

/** Returns what a request reads; undefined at a service that lacks the operation. */
export function ifSupported<T>(
  reading: Promise<T>,
  codes: readonly ErrorCode[] = ['unsupported'],
): Promise<T | undefined> {
  return withFallback<T | undefined>(
    () => reading,
    async () => undefined,
    codes,
  );
}

/** Returns what a request reads; undefined if the service has nothing there. */
export function ifFound<T>(reading: Promise<T>): Promise<T | undefined> {
  return ifSupported(reading, ['not_found']);
}
