import type { ServiceClient } from '../client/service-client.ts';
import type { EvaluationRun } from '../contract/evaluation-runs.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import { objectReference, parseReference } from '../contract/references.ts';
import { HeddleError } from '../core/errors.ts';
import { isDerivedName } from '../records/derived-name.ts';
import { findVersions, readNamedVersion } from '../records/read-objects.ts';
import { otherProjectsSentence } from '../records/require-project.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import { withSdkRuns } from './sdk-runs.ts';

/** Evaluations among which the nearest are looked for. */
const maxCandidates = 1000;
/** Versions of an evaluation whose runs are looked for. */
const maxVersions = 100;
/** Runs that the service lists; the newest of them come last. */
const maxListedRuns = 10_000;

/** An evaluation of the project, or of the project that its reference names. */
export interface FoundEvaluation {
  /** Reference with the digest of the version. */
  reference: string;
  name: string;
  projectId: string;
  val: Record<string, unknown>;
}

/**
 * Reads an evaluation by its reference, or the newest version of one by its name.
 * @throws HeddleError `not_found` with the nearest names, `invalid_arguments` for another kind of object.
 */
export async function findEvaluation(text: string, project: string, service: ServiceClient): Promise<FoundEvaluation> {
  const version = await readNamedVersion(text, project, service);
  if (!version) {
    const elsewhere = await otherProjectsSentence(
      project,
      service,
      async (other) => (await readNamedVersion(text, other, service)) !== undefined,
    );
    throw new HeddleError({
      code: 'not_found',
      message: `There is no evaluation ${JSON.stringify(shortName(text))} in project ${project}.${elsewhere}`,
      hint: await nearestEvaluations(text, project, service),
    });
  }
  const val = (version.val ?? {}) as Record<string, unknown>;
  const isEvaluation = version.base_object_class === 'Evaluation' || val._class_name === 'Evaluation';
  if (!isEvaluation) {
    const kind = version.base_object_class ?? version.kind ?? 'object';
    throw new HeddleError({
      code: 'invalid_arguments',
      message: `${JSON.stringify(shortName(text))} is no evaluation but a ${kind}.`,
      hint: 'Call list_objects with kind evaluation for references that fit.',
    });
  }
  const { object_id, digest } = version;
  // The service may name the project of an object by an id of its own.
  const named = parseReference(text);
  const projectId = named ? `${named.entity}/${named.project}` : project;
  return { reference: objectReference(projectId, object_id, digest), name: object_id, projectId, val };
}

/** Returns the runs of an evaluation, also those that SDKs recorded, the newest first. @throws HeddleError as {@link findEvaluation} does. */
export async function runsOfEvaluation(
  text: string,
  project: string,
  service: ServiceClient,
): Promise<EvaluationRun[]> {
  const evaluations = await evaluationReferences(text, project, service);
  const query = { evaluations, limit: maxListedRuns };
  const listed = await service.call('listEvaluationRuns', { path: splitProjectId(project), query });
  const found = await withSdkRuns(listed, { input_refs: evaluations }, { project, limit: maxListedRuns, service });
  return [...found].sort((a, b) => ((a.started_at ?? '') < (b.started_at ?? '') ? 1 : -1));
}

/**
 * Returns the references to the versions of an evaluation: of one version by its reference, of all by its name, those of its samples
 * included.
 */
async function evaluationReferences(text: string, project: string, service: ServiceClient): Promise<string[]> {
  const { reference, name } = await findEvaluation(text, project, service);
  if (parseReference(text)) return [reference];
  const isWanted = ({ object_id }: { object_id: string }): boolean => isDerivedName(object_id, name);
  const samples = await findVersions('evaluation', project, { isWanted, limit: maxVersions, offset: 0 }, service);
  const query = {
    project_id: project,
    filter: { object_ids: [name, ...samples.map(({ object_id }) => object_id)] },
    sort_by: [{ field: 'created_at', direction: 'desc' as const }],
    limit: maxVersions,
    metadata_only: true,
  };
  const { objs } = await service.call('queryObjects', { body: query });
  return objs.map(({ object_id, digest }) => objectReference(project, object_id, digest));
}

/** Returns a hint that names the evaluations whose names are nearest, and ends with the next step. */
export async function nearestEvaluations(
  text: string,
  project: string,
  service: ServiceClient,
  next = 'Call list_objects with kind evaluation for all of them.',
): Promise<string> {
  const reference = parseReference(text);
  const page = { limit: maxCandidates, offset: 0 };
  const found = await findVersions('evaluation', project, page, service).catch(() => undefined);
  if (!found) return 'Call list_objects with kind evaluation for references.';
  if (found.length === 0) return 'The project has no evaluation. Create one with create_evaluation.';
  const names = found.map(({ object_id }) => object_id);
  return `${nearestSentence('evaluations', reference?.name ?? text, names)} ${next}`;
}

/** Returns the name in a reference, or the text itself if it is none. */
export function nameInReference(text: string): string {
  return parseReference(text)?.name ?? shortName(text);
}
