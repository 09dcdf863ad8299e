import { knownProjects } from './require-project.ts';
import type { ToolContext } from './tool.ts';

/**
 * Returns the warning for scorers that compare outputs without a model; none at a service of heddle, which runs them. Only
 * such a service lists its projects.
 */
export async function comparisonWarning(
  names: readonly string[],
  context: Pick<ToolContext, 'service' | 'signal'>,
): Promise<string[]> {
  if (names.length === 0 || (await knownProjects(context)) !== undefined) return [];
  return [
    `Only heddle's own service is known to run scorers that compare without a model; this one may fail with ${names.join(', ')}. An llm_judge runs on both.`,
  ];
}
