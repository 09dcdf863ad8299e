import { distance } from 'fastest-levenshtein';
import type { Queue } from '../../contract/queues.ts';
import { HeddleError } from '../../core/errors.ts';
import { cutValue } from './call-values.ts';
import { orElse } from './or-else.ts';
import type { ToolContext } from './tool.ts';

/** Queues that an error suggests. */
const maxSuggestions = 3;
const maxNameChars = 100;

/**
 * Checks that a queue exists. The item query does not tell: an unknown queue has no items.
 * @throws HeddleError `not_found` that names the project's queues with the most similar ids and names.
 */
export async function refuseUnknownQueue(
  queueId: string,
  project: string,
  { service, signal }: Pick<ToolContext, 'service' | 'signal'>,
): Promise<void> {
  const exists = async (): Promise<boolean> => {
    try {
      await service.readQueue(queueId, project, { signal });
      return true;
    } catch (error) {
      if (error instanceof HeddleError && error.code === 'not_found') return false;
      throw error;
    }
  };
  if (await orElse(exists, async () => true)) return;
  const queues = await orElse(
    () => service.queryQueues({ project_id: project }, { signal }),
    async () => [],
  );
  throw new HeddleError({
    code: 'not_found',
    message: `Project ${project} has no queue ${JSON.stringify(queueId)}. ${suggestion(queueId, queues)}`,
    hint: 'Call again with the id of a queue that exists, and with its project_id if it is of another project.',
  });
}

function suggestion(queueId: string, queues: readonly Queue[]): string {
  if (queues.length === 0) return 'The project has no queues, or does not exist.';
  const far = ({ id, name }: Queue): number =>
    Math.min(...[id, name].map((text) => distance(text.toLowerCase(), queueId.toLowerCase())));
  const nearest = queues
    .map((queue) => ({ queue, steps: far(queue) }))
    .sort((a, b) => a.steps - b.steps)
    .slice(0, maxSuggestions)
    .map(({ queue: { id, name } }) => `${id} (${JSON.stringify(cutValue(name, maxNameChars))})`);
  return `Its queues with the nearest ids or names: ${nearest.join(', ')}.`;
}
