import type { ServiceClient } from '../client/service-client.ts';
import { ifSupported } from '../client/with-fallback.ts';
import { concurrently } from '../core/concurrently.ts';
import { HeddleError } from '../core/errors.ts';
import { nearestSentence } from '../text/names.ts';

/** Other projects that are searched for what one lacks, and how many at once. */
const maxOthers = 20;
const concurrentReads = 8;

/** Returns the projects of a service; undefined at one that cannot list them. */
export async function knownProjects(service: ServiceClient): Promise<string[] | undefined> {
  const listed = await ifSupported(service.call('listProjects', {}));
  return listed?.projects.map(({ project_id }) => project_id);
}

/**
 * Returns the other projects in which something is, of up to 20 that the service lists.
 * @param isIn searches one project; a project in which the search fails is passed over.
 */
export async function otherProjectsWith(
  project: string,
  service: ServiceClient,
  isIn: (project: string) => Promise<boolean>,
): Promise<string[]> {
  const known = await knownProjects(service).catch(() => []);
  const others = (known ?? []).filter((other) => other !== project).slice(0, maxOthers);
  const found = await concurrently(others, concurrentReads, (other) => isIn(other).catch(() => false));
  return others.filter((_, at) => found[at]);
}

/** Returns a sentence that names the projects of {@link otherProjectsWith}, with a space in front; empty if there are none. */
export async function otherProjectsSentence(...search: Parameters<typeof otherProjectsWith>): Promise<string> {
  const names = await otherProjectsWith(...search);
  if (names.length === 0) return '';
  return ` It is in ${names.length === 1 ? 'the project' : 'the projects'} ${names.join(', ')}.`;
}

/**
 * Checks that a project exists, where a search in it has found nothing. A service that cannot list projects gets the
 * benefit of the doubt.
 * @throws HeddleError `not_found` with the nearest projects.
 */
export async function requireProject(project: string, service: ServiceClient): Promise<void> {
  const known = await knownProjects(service);
  if (known === undefined || known.includes(project)) return;
  throw unknownProject(project, known);
}

/** Returns the error for a project that does not exist, with the nearest ones. */
export function unknownProject(project: string, known: readonly string[]): HeddleError {
  const names = nearestSentence('projects', project, known);
  return new HeddleError({
    code: 'not_found',
    message: `There is no project ${project}.`,
    hint: names
      ? `${names} Pass one of them as project_id.`
      : 'This account sees no project. Ask the user to check the project and the credentials.',
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
