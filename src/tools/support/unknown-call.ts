import { HeddleError } from '../../core/errors.ts';
import { isNear, nearest, shortName } from './names.ts';
import { orElse } from './or-else.ts';
import type { ToolContext } from './tool.ts';

/** Calls among which the nearest are looked for. */
const maxCandidates = 1000;

/** Returns the error for a recorded call that does not exist; it names those that may be meant. */
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
  const names = nearest(callId, calls, ({ id }) => [id]).map(({ id }) => id);
  // Most ids are random: only one that is nearly the same can be meant.
  const near = names.filter((id) => isNear(callId, id));
  const newest = calls.slice(0, names.length).map(({ id }) => id);
  const known =
    near.length > 0
      ? ` The nearest calls are ${near.map(shortName).join(', ')}.`
      : ` The newest calls are ${newest.map(shortName).join(', ')}.`;
  return new HeddleError({
    code: 'not_found',
    message: `Project ${project_id} has no recorded call ${JSON.stringify(shortName(callId))}.`,
    hint: `Use call_id of a queue item, not its id, and the same project_id; query_calls finds calls by text.${calls.length > 0 ? known : ''}`,
  });
}
