import { HeddleError } from '../../core/errors.ts';
import { nearestTo } from './nearest-names.ts';
import { orElse } from './or-else.ts';
import type { ToolContext } from './tool.ts';

/** Calls among which the nearest are looked for. */
const maxCandidates = 1000;
const maxNames = 5;

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
  const nearest = nearestTo(callId, calls, ({ id }) => [id], maxNames).map(({ id }) => id);
  return new HeddleError({
    code: 'not_found',
    message: `Project ${project_id} has no recorded call ${JSON.stringify(callId)}.`,
    hint:
      nearest.length === 0
        ? 'Use call_id of a queue item, not its id, and the same project_id.'
        : `Use call_id of a queue item, not its id, and the same project_id. The nearest calls are ${nearest.join(', ')}.`,
  });
}
