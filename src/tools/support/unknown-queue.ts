import { distance } from 'fastest-levenshtein';
import { HeddleError } from '../../core/errors.ts';
import type { ToolContext } from './tool.ts';

/** Queues among which the nearest are looked for. */
const maxQueues = 1000;
const maxNames = 5;

/** Returns the error for a queue that does not exist; it names the nearest queues of the project. */
export async function unknownQueue(
  queueId: string,
  project_id: string,
  { service, signal }: Pick<ToolContext, 'service' | 'signal'>,
): Promise<HeddleError> {
  const queues = await service.queryQueues({ project_id, limit: maxQueues }, { signal });
  const wanted = queueId.toLowerCase();
  const nearest = queues
    .map(({ id, name }) => ({ id, name, far: Math.min(distance(wanted, id), distance(wanted, name.toLowerCase())) }))
    .sort((a, b) => a.far - b.far)
    .slice(0, maxNames)
    .map(({ id, name }) => (id === name ? id : `${id} (${JSON.stringify(name)})`));
  return new HeddleError({
    code: 'not_found',
    message: `Project ${project_id} has no queue ${JSON.stringify(queueId)}.`,
    hint:
      nearest.length === 0
        ? 'The project has no queues, or does not exist. Check project_id, or ask the user.'
        : `Its nearest queues are ${nearest.join(', ')}. list_queues shows all of them.`,
  });
}

/**
 * Runs work on a queue, and replaces a service's report that the queue is unknown by one that names the nearest queues.
 * @throws HeddleError the failure of the work.
 */
export async function inQueue<T>(
  queueId: string,
  project: string,
  access: Pick<ToolContext, 'service' | 'signal'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== 'not_found') throw error;
    throw await unknownQueue(queueId, project, access);
  }
}
