import type { ServiceClient } from '../client/service-client.ts';
import { withFallback } from '../client/with-fallback.ts';
import type { EvaluationRun } from '../contract/evaluation-runs.ts';
import { entriesNamed } from '../contract/identifiers.ts';
import { classMembers } from '../contract/objects.ts';
import { objectIdOf } from '../contract/references.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { objectOrEmpty } from '../core/json/json-object.ts';
import { shortName } from '../text/names.ts';
import { runsOfEvaluation } from './find-evaluation.ts';
import { unknownRun } from './read-run-results.ts';

/** The class of the objects that name a run of an evaluation. Each evaluation has its own `main`. */
const baselineClass = 'HeddleBaseline';
/** Baselines of a project that are looked through. */
const maxBaselines = 1000;
const maxIdChars = 128;

/** A run under a name. */
export interface Baseline {
  name: string;
  run_id: string;
  /** Name of the evaluation. */
  evaluation: string;
}

/**
 * Returns the id of the object that names a run of an evaluation.
 * @throws HeddleError `invalid_arguments` for a name that an object cannot have.
 */
export function baselineId(name: string, evaluation: string): string {
  const id = objectIdOf(`${evaluation}-baseline-${name}`);
  if (/^[\p{L}\p{N}_.-]+$/u.test(id) && id.length <= maxIdChars) return id;
  throw invalidArgument('baseline', {
    fault: `${JSON.stringify(shortName(name))} cannot be the name of a baseline of ${shortName(evaluation)}`,
    hint: 'Use a short name of letters, digits, "_", "-" and ".", like main.',
  });
}

/** Gives a run a name, which another run of the same evaluation may have had before. */
export async function storeBaseline(
  { name, run_id, evaluation }: Baseline,
  project_id: string,
  service: ServiceClient,
) {
  const val = { name, run_id, evaluation, ...classMembers(baselineClass, baselineClass) };
  const obj = { project_id, object_id: baselineId(name, evaluation), val };
  await service.call('createObject', { body: { obj } });
}

/** Reads the baselines of a project. */
export async function readBaselines(project_id: string, service: ServiceClient): Promise<Baseline[]> {
  const filter = { base_object_classes: [baselineClass], latest_only: true, is_op: false };
  const { objs } = await service.call('queryObjects', { body: { project_id, filter, limit: maxBaselines } });
  return objs.flatMap(({ val }) => baselineOf(val));
}

/**
 * Finds the run that has a name, whatever its case, or else the newest run of the evaluation that has it.
 * @param evaluations names of the evaluations whose baselines are meant; all, and evaluations too, if there are none.
 * @throws HeddleError `not_found` if none has it, `invalid_arguments` if runs of several evaluations have it.
 */
export async function findNamedRun(
  name: string,
  evaluations: readonly string[],
  project_id: string,
  service: ServiceClient,
): Promise<string> {
  const baselines = await readBaselines(project_id, service);
  const ofEvaluations = baselines.filter(
    ({ evaluation }) => evaluations.length === 0 || evaluations.includes(evaluation),
  );
  const meant = entriesNamed(name, ofEvaluations);
  const [only, another] = meant.map(({ run_id }) => run_id);
  if (only === undefined) {
    const [other] = entriesNamed(name, baselines);
    const [newest] = evaluations.length > 0 ? [] : await runsNamed(name, project_id, service);
    if (newest) return newest.evaluation_run_id;
    if (!other)
      throw await unknownRun(name, project_id, service, [...new Set(baselines.map((baseline) => baseline.name))]);
    throw new HeddleError({
      code: 'not_found',
      message: `${JSON.stringify(shortName(name))} is a baseline of the evaluation ${shortName(other.evaluation)}, not of ${evaluations.map(shortName).join(', ')}.`,
      hint: `To compare runs of different evaluations, pass the id of its run, ${shortName(other.run_id)}.`,
    });
  }
  if (another === undefined) return only;
  const found = meant.map(({ evaluation }) => shortName(evaluation)).join(', ');
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Several evaluations have a baseline ${JSON.stringify(shortName(name))}: ${found}.`,
    hint: 'Name a run of the one that is meant too, or pass the id of the run.',
  });
}

/** Returns the runs of an evaluation, none if there is no evaluation of this name. */
function runsNamed(evaluation: string, project_id: string, service: ServiceClient): Promise<EvaluationRun[]> {
  const none = async (): Promise<EvaluationRun[]> => [];
  return withFallback(() => runsOfEvaluation(evaluation, project_id, service), none, [
    'not_found',
    'invalid_arguments',
  ]);
}

function baselineOf(val: unknown): Baseline | [] {
  const { name, run_id, evaluation } = objectOrEmpty(val);
  const isWhole = typeof name === 'string' && typeof run_id === 'string' && typeof evaluation === 'string';
  return isWhole ? { name, run_id, evaluation } : [];
}
