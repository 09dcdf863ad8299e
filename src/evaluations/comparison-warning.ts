import type { ServiceClient } from '../client/service-client.ts';
import { knownProjects } from '../records/require-project.ts';

/**
 * Returns the warning for scorers that compare outputs without a model; none at a service of heddle, which runs them. Only
 * such a service lists its projects.
 */
export async function comparisonWarning(names: readonly string[], service: ServiceClient): Promise<string[]> {
  if (names.length === 0 || (await knownProjects(service)) !== undefined) return [];
  return [
    `Only heddle's own service is known to run scorers that compare without a model; this one may fail with ${names.join(', ')}. An llm_judge runs on both.`,
  ];
}
