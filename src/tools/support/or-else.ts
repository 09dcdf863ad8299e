import type { EndpointName } from '../../contract/endpoints.ts';
import { HeddleError } from '../../core/errors.ts';
import type { ToolContext } from './tool.ts';

/**
 * Runs an operation or, at a service that lacks it, an alternative. The client remembers which operations are missing, so
 * that each is tried once.
 */
export async function orElse<T>(
  { service }: Pick<ToolContext, 'service'>,
  operation: EndpointName,
  run: () => Promise<T>,
  alternative: () => Promise<T>,
): Promise<T> {
  if (service.unsupportedOperations.has(operation)) return alternative();
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== 'unsupported') throw error;
    service.unsupportedOperations.add(operation);
    return alternative();
  }
}
