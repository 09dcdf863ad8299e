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
    ...(names && { terminalHint: `${names} Pass one of them with --project.` }),
  });
}

/**
 * Adds to an error with which a service has refused a project its name and the nearest that the account sees, if the service
 * lists them. Other errors stay as they are.
 * @param source where the project comes from, like `HEDDLE_PROJECT`.
 */
export async function namingRefusedProject(
  error: unknown,
  project: string | undefined,
  source: string | undefined,
  service: ServiceClient,
): Promise<unknown> {
  if (!(error instanceof HeddleError) || error.code !== 'forbidden' || project === undefined) return error;
  const known = await knownProjects(service).catch(() => undefined);
  if (known?.includes(project)) return error;
  const from = source === undefined ? '' : `, from ${source}`;
  const names = known && nearestSentence('projects that this account sees', project, known);
  return new HeddleError({
    ...error,
    message: error.message,
    hint: `The project is ${project}${from}. ${names || error.hint}`,
  });
}
