import { HeddleError } from '../core/errors.ts';
import type { ServiceClient } from './service-client.ts';

/**
 * Returns an error as the failure of a request, for work that goes on without its result.
 * @throws the error if it is another one, or if the client's requests were cancelled.
 */
export function asServiceFailure(error: unknown, { signal }: ServiceClient): HeddleError {
  if (!(error instanceof HeddleError) || signal?.aborted) throw error;
  return error;
}
