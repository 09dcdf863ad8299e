import type { ServiceClient } from '../client/service-client.ts';
import { objectReference, parseReference } from '../contract/references.ts';
import { parseScorer, type RunnableScorer } from '../contract/scorers.ts';
import { concurrently } from '../core/concurrently.ts';
import { HeddleError } from '../core/errors.ts';
import { findVersions, readNamedVersion } from '../records/read-objects.ts';
import { otherProjectsSentence } from '../records/require-project.ts';
import { nearestSentence, shortName } from '../text/names.ts';

/** Scorers that are read at once, and among which the nearest are looked for. */
const concurrentReads = 8;
const maxCandidates = 1000;

/**
 * Returns the references to scorers, each named by its reference or by its name, for which the newest version is taken.
 * @throws HeddleError `not_found` with the nearest names, `invalid_arguments` for an object that heddle cannot run.
 */
export function findScorers(names: readonly string[], project: string, service: ServiceClient): Promise<string[]> {
  return concurrently(names, concurrentReads, async (text) => {
    const { reference, scorer } = await findScorer(text, project, service);
    if (!scorer) {
      throw new HeddleError({
        code: 'invalid_arguments',
        message: `${JSON.stringify(shortName(text))} is no scorer that heddle can run.`,
        hint: 'Call list_objects with kind scorer, or create_scorer.',
      });
    }
    return reference;
  });
}

/**
 * Returns the reference to a scorer, named as for {@link findScorers}, and what it is; undefined for one that heddle cannot run.
 * @throws HeddleError `not_found` with the nearest names.
 */
export async function findScorer(
  text: string,
  project: string,
  service: ServiceClient,
): Promise<{ reference: string; scorer: RunnableScorer | undefined }> {
  const version = await readNamedVersion(text, project, service);
  if (!version) throw await unknownScorer(text, project, service);
  const named = parseReference(text);
  const projectId = named ? `${named.entity}/${named.project}` : project;
  const reference = objectReference(projectId, version.object_id, version.digest);
  return { reference, scorer: parseScorer(version.val) };
}

async function unknownScorer(text: string, project: string, service: ServiceClient): Promise<HeddleError> {
  const page = { limit: maxCandidates, offset: 0 };
  const found = await findVersions('scorer', project, page, service).catch(() => []);
  const names = found.map(({ object_id }) => object_id);
  const elsewhere = await otherProjectsSentence(
    project,
    service,
    async (other) => (await readNamedVersion(text, other, service)) !== undefined,
  );
  return new HeddleError({
    code: 'not_found',
    message: `There is no scorer ${JSON.stringify(shortName(text))} in project ${project}.${elsewhere}`,
    hint: `${nearestSentence('scorers', parseReference(text)?.name ?? text, names)} Call list_objects with kind scorer for all of them.`.trim(),
  });
}
