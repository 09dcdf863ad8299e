import { distance } from 'fastest-levenshtein';
import { HeddleError } from '../../core/errors.ts';
import { orElse } from './or-else.ts';
import type { ToolContext } from './tool.ts';

/** Queues or calls among which the nearest are looked for. */
const maxCandidates = 1000;
const maxNames = 5;

/** Returns the error for a queue that does not exist; it names the nearest queues of the project. */
export async function unknownQueue(
  queueId: string,
  project_id: string,
  { service, signal }: Pick<ToolContext, 'service' | 'signal'>,
): Promise<HeddleError> {
  const queues = await service.queryQueues({ project_id, limit: maxCandidates }, { signal });
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

/** Returns the error for a recorded call that does not exist; it names the nearest among the newest calls of the project. */
export async function unknownCall(
  callId: string,
  project_id: string,
  { service, signal }: Pick<ToolContext, 'service' | 'signal'>,
): Promise<HeddleError> {
  const newestFirst = [{ field: 'started_at', direction: 'desc' as const }];
  const query = { project_id, sort_by: newestFirst, limit: maxCandidates, columns: ['id'] };
  const calls = await orElse(
    () => service.queryCalls(query, { signal }),
    async () => [],
  );
  const nearest = calls
    .map(({ id }) => ({ id, far: distance(callId, id) }))
    .sort((a, b) => a.far - b.far)
    .slice(0, maxNames)
    .map(({ id }) => id);
  return new HeddleError({
    code: 'not_found',
    message: `Project ${project_id} has no recorded call ${JSON.stringify(callId)}.`,
    hint:
      nearest.length === 0
        ? 'Use call_id of a queue item, not its id, and the same project_id.'
        : `Use call_id of a queue item, not its id, and the same project_id. The nearest calls are ${nearest.join(', ')}.`,
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
