import type { ServiceClient } from '../client/service-client.ts';
import { withFallback } from '../client/with-fallback.ts';
import { HeddleError } from '../core/errors.ts';
import { nearestSentence } from '../text/names.ts';

/** Returns the projects of a service; undefined at one that cannot list them. */
export function knownProjects(service: ServiceClient): Promise<string[] | undefined> {
  return withFallback<string[] | undefined>(
    async () => (await service.call('listProjects', {})).projects.map(({ project_id }) => project_id),
    async () => undefined,
  );
}

/**
 * Checks that a project exists, where a search in it has found nothing. A service that cannot list projects gets the
 * benefit of the doubt.
 * @throws HeddleError `not_found` with the nearest projects.
 */
export async function requireProject(project: string, service: ServiceClient): Promise<void> {
  const known = await knownProjects(service);
  if (known === undefined || known.includes(project)) return;
  const names = nearestSentence('projects', project, known);
  throw new HeddleError({
    code: 'not_found',
    message: `There is no project ${project}.`,
    hint: names
      ? `${names} Pass one of them as project_id.`
      : 'This account sees no project. Ask the user to check the project and the credentials.',
  });
}
