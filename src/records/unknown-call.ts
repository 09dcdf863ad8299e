import type { ServiceClient } from '../client/service-client.ts';
import { ifSupported } from '../client/with-fallback.ts';
import { HeddleError } from '../core/errors.ts';
import { isNear, nearestSentence, shortName } from '../text/names.ts';
import { requireProject } from './require-project.ts';

/** Calls among which the nearest are looked for. */
const maxCandidates = 1000;
/** Calls that are named where none is near. */
const maxNewest = 3;

/**
 * Returns the error for a recorded call that does not exist; it names those that may be meant.
 * @throws HeddleError `not_found` for an unknown project, with the nearest ones.
 */
export async function unknownCall(callId: string, project_id: string, service: ServiceClient): Promise<HeddleError> {
  return new HeddleError({
    code: 'not_found',
    message: `Project ${project_id} has no recorded call ${JSON.stringify(callId)}.`,
    hint: `Use call_id of a queue item, not its id, and the same project_id; query_calls finds calls by text.${await callsLike(callId, project_id, service)}`,
  });
}

/**
 * Returns a sentence that names the calls that may be meant by an unknown id, with a space before it; empty if there are none.
 * @throws HeddleError `not_found` for an unknown project, with the nearest ones.
 */
export async function callsLike(callId: string, project_id: string, service: ServiceClient): Promise<string> {
  const newestFirst = [{ field: 'started_at', direction: 'desc' as const }];
  const query = { project_id, sort_by: newestFirst, limit: maxCandidates, columns: ['id'] };
  const calls = (await ifSupported(service.call('queryCalls', { body: query }))) ?? [];
  if (calls.length === 0) {
    await requireProject(project_id, service);
    return '';
  }
  const ids = calls.map(({ id }) => id);
  // Most ids are random: only one that is nearly the same can be meant.
  const near = ids.filter((id) => isNear(callId, id));
  if (near.length > 0) return ` ${nearestSentence('calls', callId, near)}`;
  return ` The newest calls are ${ids.slice(0, maxNewest).map(shortName).join(', ')}.`;
}
