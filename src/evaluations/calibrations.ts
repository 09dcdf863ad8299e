import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { ifFound, withFallback } from '../client/with-fallback.ts';
import type { EvaluationRun } from '../contract/evaluation-runs.ts';
import { classMembers } from '../contract/objects.ts';
import { objectIdOf, parseReference } from '../contract/references.ts';
import { parseScorer } from '../contract/scorers.ts';
import { concurrently } from '../core/concurrently.ts';
import { objectOrEmpty } from '../core/json/json-object.ts';
import { rounded } from '../core/statistics/rounded.ts';
import { guidelinesVersion } from '../queues/queue-fields.ts';
import { requireQueue } from '../queues/require-queue.ts';
import { readNamedVersion, readValues } from '../records/read-objects.ts';
import { readScorersOf } from './evaluation-plan.ts';
import { nameInReference } from './find-evaluation.ts';
import {
  type CalibrationFigures,
  calibrationFigures,
  couldBeChance,
  judgeErrorsOf,
  shownKappa,
} from './judge-calibration.ts';
import type { JudgeStanding, JudgesOfRun } from './score-figures.ts';

/** The class of the objects that hold what is known of a version of a judge. */
const calibrationClass = 'HeddleCalibration';
/** Calibrations of a project that are looked through. */
const maxCalibrations = 1000;
/** Characters of the name of a scorer and of its digest that the name of its calibration has. */
const maxNameChars = 90;
const digestChars = 20;
const concurrentReads = 8;

const calibration = z.looseObject({
  /** Reference to the scorer, with its digest. */
  scorer: z.string(),
  queue_id: z.string(),
  field: z.string(),
  /** `majority`, `gold` or an annotator. */
  expected: z.string(),
  /** Version of the queue's guidelines; null without any. */
  guidelines: z.string().nullable(),
  held_out: z.object({ share: z.number(), seed: z.number() }),
  figures: calibrationFigures,
});

/** How well a version of a judge agreed with people on the calls that were held out. */
export type Calibration = z.output<typeof calibration>;

/**
 * Stores what a version of a scorer has shown, in the place of what it had shown before.
 * @returns what that was, like `κ 0.71 (0.58 to 0.82), n 84`; undefined if nothing else was stored.
 */
export async function storeCalibration(
  shown: Calibration,
  project_id: string,
  service: ServiceClient,
): Promise<string | undefined> {
  const { name, version } = parseReference(shown.scorer)!;
  const object_id = objectIdOf(`calibration-${name.slice(0, maxNameChars)}-${version!.slice(0, digestChars)}`);
  const val = { name: object_id, ...shown, ...classMembers(calibrationClass, calibrationClass) };
  const before = calibration.safeParse((await readNamedVersion(object_id, project_id, service))?.val).data;
  await service.call('createObject', { body: { obj: { project_id, object_id, val } } });
  const replaced = before && judgeSentence(before.figures);
  return replaced === judgeSentence(shown.figures) ? undefined : replaced;
}

/** Returns what a reader needs to know of a judge, like `κ 0.71 (0.58 to 0.82), n 84`. */
export function judgeSentence(figures: CalibrationFigures): string {
  const { n, no_kappa, percent } = figures;
  const { kind, kappa, interval } = shownKappa(figures);
  if (kappa === undefined) return `${percent}% agree, κ undefined because ${no_kappa}, n ${n}`;
  const bounds = interval === undefined ? '' : ` (${interval.map((bound) => rounded(bound, 2)).join(' to ')})`;
  return `${kind} ${rounded(kappa, 2)}${bounds}, n ${n}`;
}

/**
 * Reads which judges the runs have, and whether they are calibrated, by run. At a service that cannot tell, or for an evaluation
 * that was deleted, no judge is known.
 */
export async function judgesOfRuns(
  runs: readonly EvaluationRun[],
  project: string,
  service: ServiceClient,
): Promise<Map<string, JudgesOfRun>> {
  const read = async (): Promise<Map<string, JudgesOfRun>> => {
    const byRun = await scorersOfRuns(runs, service);
    const standings = await standingsOf([...new Set([...byRun.values()].flat())], project, service);
    const judgesOf = (scorers: readonly string[]): JudgesOfRun =>
      new Map(
        scorers.flatMap((scorer) => {
          const standing = standings.get(scorer);
          return standing ? [[nameInReference(scorer), standing] as const] : [];
        }),
      );
    return new Map([...byRun].map(([runId, scorers]) => [runId, judgesOf(scorers)]));
  };
  return withFallback(read, async () => new Map(), ['unsupported', 'not_found']);
}

/** Returns the references to the scorers of runs: those that the run names, or else those of its evaluation. */
async function scorersOfRuns(runs: readonly EvaluationRun[], service: ServiceClient): Promise<Map<string, string[]>> {
  const isOwn = ({ scorer_refs }: EvaluationRun): boolean => (scorer_refs ?? []).length > 0;
  const evaluations = runs.flatMap((run) => (run.evaluation && !isOwn(run) ? [run.evaluation] : []));
  const values = await readObjects(evaluations, service);
  return new Map(
    runs.map((run) => {
      const { scorers } = objectOrEmpty(values.get(run.evaluation ?? ''));
      const listed: unknown[] = isOwn(run) ? run.scorer_refs! : Array.isArray(scorers) ? scorers : [];
      return [run.evaluation_run_id, listed.filter((scorer) => typeof scorer === 'string')];
    }),
  );
}

function readObjects(references: readonly string[], service: ServiceClient): Promise<Map<string, unknown>> {
  return readValues(
    references.filter((text) => parseReference(text)?.kind === 'object'),
    service,
  );
}

/** Returns the standings of those scorers that ask a judge, by their references. */
async function standingsOf(
  scorers: readonly string[],
  project: string,
  service: ServiceClient,
): Promise<Map<string, JudgeStanding>> {
  const values = await readObjects(scorers, service);
  const judges = (
    await concurrently([...values], concurrentReads, async ([scorer, val]) =>
      (await asksJudge(scorer, val, service)) ? [scorer] : [],
    )
  ).flat();
  if (judges.length === 0) return new Map();
  const stored = await readCalibrations(project, service);
  // The version of the guidelines that each queue has now; undefined without any, or without the queue.
  const current = new Map<string, string | undefined>();
  const meant = stored.filter((each) => judges.includes(each.scorer));
  for (const { queue_id } of meant) {
    if (current.has(queue_id)) continue;
    const queue = await ifFound(requireQueue(queue_id, project, service));
    current.set(queue_id, queue && guidelinesVersion(queue));
  }
  return new Map(
    judges.map((scorer) => {
      const found = meant.find((each) => each.scorer === scorer);
      const isOfOther = stored.some((each) => nameInReference(each.scorer) === nameInReference(scorer));
      return [scorer, found ? standingOf(found, current.get(found.queue_id)) : uncalibrated(isOfOther)];
    }),
  );
}

async function asksJudge(scorer: string, val: unknown, service: ServiceClient): Promise<boolean> {
  const parsed = parseScorer(val);
  if (parsed?.type === 'combined') return (await readScorersOf([scorer], service)).judges.length > 0;
  return parsed !== undefined && parsed.type !== 'comparison';
}

/** Reads the calibrations of a project, the newest first. */
async function readCalibrations(project_id: string, service: ServiceClient): Promise<Calibration[]> {
  const filter = { base_object_classes: [calibrationClass], latest_only: true, is_op: false };
  const sort_by = [{ field: 'created_at', direction: 'desc' as const }];
  const { objs } = await service.call('queryObjects', {
    body: { project_id, filter, sort_by, limit: maxCalibrations },
  });
  return objs.flatMap(({ val }) => calibration.safeParse(val).data ?? []);
}

function uncalibrated(isOfOther: boolean): JudgeStanding {
  const judge = isOfOther ? 'not calibrated since its prompt, model or scale changed' : 'not calibrated';
  return { calibrated: false, judge };
}

function standingOf({ figures, guidelines }: Calibration, current: string | undefined): JudgeStanding {
  const judge = judgeSentence(figures);
  if (current !== undefined && current !== guidelines) {
    return { calibrated: false, judge: `not calibrated since the guidelines changed; before, ${judge}` };
  }
  if (couldBeChance(figures)) return { calibrated: false, judge: `not calibrated, could be chance: ${judge}` };
  const errors = judgeErrorsOf(figures);
  return { calibrated: true, judge, ...(errors && { errors }) };
}
