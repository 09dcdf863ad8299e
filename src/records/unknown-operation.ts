import type { ServiceClient } from '../client/service-client.ts';
import { parseReference } from '../contract/references.ts';
import { HeddleError } from '../core/errors.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import { type CallsFilterArgument, callsQuery, selectCalls } from './calls-query.ts';
import { requireProject } from './require-project.ts';

/** Calls whose operations are compared with a name that none has, at a service that does not add up calls by operation. */
const maxCandidates = 1000;

/** Returns the plain name of an operation, whether a call has it as a name or in a reference. */
export function operationName(opName: string): string {
  return parseReference(opName)?.name ?? opName;
}

/**
 * Checks that a project exists and has calls of the operation of a filter, once a query with this filter has found none.
 * @throws HeddleError `not_found` with the nearest operations, without those of evaluations unless the filter has them, or projects.
 */
export async function requireMatchable(
  { op_name: opName, include_evaluations }: CallsFilterArgument,
  project_id: string,
  service: ServiceClient,
): Promise<void> {
  if (opName === undefined) return requireProject(project_id, service);
  const query = { project_id, sort_by: [{ field: 'started_at', direction: 'desc' as const }], columns: ['op_name'] };
  const ofOperation = { ...query, ...callsQuery({ op_name: opName }), limit: 1 };
  if ((await service.call('queryCalls', { body: ofOperation })).length > 0) return;
  const { matching } = await selectCalls({ include_evaluations }, project_id, service);
  const totals = await service.call('callTotals', { body: { project_id, ...matching } }).catch(() => undefined);
  const newest = totals
    ? []
    : await service.call('queryCalls', { body: { ...query, ...matching, limit: maxCandidates } });
  const names =
    totals?.operations.map(({ operation }) => operation) ?? newest.map(({ op_name }) => operationName(op_name ?? ''));
  if (names.length === 0) return requireProject(project_id, service);
  throw new HeddleError({
    code: 'not_found',
    message: `No recorded call of project ${project_id} is of the operation ${JSON.stringify(shortName(opName))}.`,
    hint: nearestSentence('operations', operationName(opName), [...new Set(names)]),
  });
}
