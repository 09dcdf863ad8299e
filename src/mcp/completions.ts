import type { ServiceClient } from '../client/service-client.ts';
import { annotationStates } from '../contract/queue-items.ts';
import { objectReference } from '../contract/references.ts';
import { findVersions } from '../records/read-objects.ts';

/** Kinds of values that can complete an argument of a prompt or a variable of a resource template. */
export type CompletionKind = 'queue' | 'project' | 'model' | 'dataset' | 'state';

/** The protocol's maximum number of values in one completion. */
const maxValues = 100;

/**
 * Returns the values that contain `typed`, those that begin with it first.
 * @param project where queues and datasets are looked up; for models, the project to account the request to.
 * @throws HeddleError when a request to the service fails.
 */
export async function complete(
  kind: CompletionKind,
  typed: string,
  project: string | undefined,
  service: ServiceClient,
): Promise<string[]> {
  const values = await candidates(kind, project, service);
  const lower = typed.toLowerCase();
  const matching = values.filter((value) => value.toLowerCase().includes(lower));
  const prefixed = matching.filter((value) => value.toLowerCase().startsWith(lower));
  return [...new Set([...prefixed, ...matching])].slice(0, maxValues);
}

async function candidates(
  kind: CompletionKind,
  project: string | undefined,
  service: ServiceClient,
): Promise<string[]> {
  if (kind === 'state') return [...annotationStates];
  if (kind === 'model') return (await service.call('listModels', {}, { project })).data.map(({ id }) => id);
  if (project === undefined) return [];
  if (kind === 'project') return [project];
  if (kind === 'queue') {
    return (await service.call('queryQueues', { body: { project_id: project, limit: 1000 } })).map(({ id }) => id);
  }
  const datasets = await findVersions('dataset', project, { limit: 1000, offset: 0 }, service);
  return datasets.map(({ object_id }) => objectReference(project, object_id, 'latest'));
}
