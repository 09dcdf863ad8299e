import { HeddleError } from '../core/errors.ts';

/** Runs an operation or, at a service that lacks it, an alternative. */
export async function withFallback<T>(run: () => Promise<T>, alternative: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== 'unsupported') throw error;
    return alternative();
  }
}
