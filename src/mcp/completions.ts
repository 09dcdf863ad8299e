import type { ServiceClient } from '../client/service-client.ts';
import { annotationStates } from '../contract/queue-items.ts';
import { objectReference } from '../contract/references.ts';
import type { Completable } from './prompts.ts';

/** As many values as one completion may have by the protocol. */
const mostValues = 100;

/**
 * Values that begin with, or else contain, what was typed so far. `project` is where queues and datasets are looked up.
 * @throws HeddleError when the service cannot be asked.
 */
export async function complete(
  what: Completable,
  typed: string,
  project: string | undefined,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<string[]> {
  const values = await candidates(what, project, service, signal);
  const lower = typed.toLowerCase();
  const matching = values.filter((value) => value.toLowerCase().includes(lower));
  const first = matching.filter((value) => value.toLowerCase().startsWith(lower));
  return [...new Set([...first, ...matching])].slice(0, mostValues);
}

async function candidates(
  what: Completable,
  project: string | undefined,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<string[]> {
  switch (what) {
    case 'state':
      return [...annotationStates];
    case 'project':
      return project === undefined ? [] : [project];
    case 'model':
      return (await service.listModels({ signal })).data.map(({ id }) => id);
    case 'queue':
      if (project === undefined) return [];
      return (await service.queryQueues({ project_id: project, limit: 1000 }, { signal })).map(({ id }) => id);
    case 'dataset':
      if (project === undefined) return [];
      return (await service.listObjects('dataset', project, { limit: 1000 }, { signal })).map(({ object_id }) =>
        objectReference(project, object_id, 'latest'),
      );
  }
}
