import type { ServiceClient } from '../client/service-client.ts';
import { classMembers } from '../contract/objects.ts';
import { objectIdOf } from '../contract/references.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { objectOrEmpty } from '../core/json/json-object.ts';
import { shortName } from '../text/names.ts';
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

/**
 * Finds the run that has a name.
 * @param evaluations names of the evaluations that are meant; all, if there are none.
 * @throws HeddleError `not_found` if none has it, `invalid_arguments` if runs of several evaluations have it.
 */
export async function findBaseline(
  name: string,
  evaluations: readonly string[],
  project_id: string,
  service: ServiceClient,
): Promise<string> {
  const filter = { base_object_classes: [baselineClass], latest_only: true, is_op: false };
  const { objs } = await service.call('queryObjects', { body: { project_id, filter, limit: maxBaselines } });
  const baselines = objs.map(({ val }) => objectOrEmpty(val) as Partial<Baseline>);
  const named = baselines.filter((baseline) => baseline.name === name && typeof baseline.run_id === 'string');
  const meant = named.filter(({ evaluation = '' }) => evaluations.length === 0 || evaluations.includes(evaluation));
  const [only, another] = meant.map(({ run_id = '' }) => run_id);
  if (only === undefined) {
    const names = baselines.flatMap((baseline) => (typeof baseline.name === 'string' ? baseline.name : []));
    throw await unknownRun(name, project_id, service, [...new Set(names)]);
  }
  if (another === undefined) return only;
  const found = meant.map(({ evaluation = '' }) => shortName(evaluation)).join(', ');
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Several evaluations have a baseline ${JSON.stringify(shortName(name))}: ${found}.`,
    hint: 'Name a run of the one that is meant too, or pass the id of the run.',
  });
}
