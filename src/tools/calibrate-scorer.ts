import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import type { RecordedCall } from '../contract/calls.ts';
import type { StoredFeedback } from '../contract/feedback.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import { callIdOf, parseReference } from '../contract/references.ts';
import type { RunnableScorer } from '../contract/scorers.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { isJsonObject, type Members, objectOrEmpty } from '../core/json/json-object.ts';
import { fitsSchema } from '../core/json/json-schema.ts';
import { ownMember } from '../core/json/member-at.ts';
import { commonestOf } from '../core/statistics/count-each.ts';
import { rounded } from '../core/statistics/rounded.ts';
import { classOf } from '../evaluations/agreement-with-column.ts';
import { judgeSentence, storeCalibration } from '../evaluations/calibrations.ts';
import { checkPlaceholders } from '../evaluations/check-placeholders.ts';
import { type EvaluationScorers, modelsOf, readScorersOf, repeatsOf } from '../evaluations/evaluation-plan.ts';
import { findScorer } from '../evaluations/find-scorers.ts';
import { cancellingRun, followRun, lookUntil, timeLimitOf } from '../evaluations/follow-run.ts';
import {
  type CalibrationFigures,
  calibrationFigures,
  couldBeChance,
  disputedCalls,
  isHeldOut,
  type JudgeDispute,
  type JudgedCall,
  judgeDispute,
  type MeasuredShare,
  measureJudge,
  verdictOf,
  withVerdict,
} from '../evaluations/judge-calibration.ts';
import { readJudgeScores } from '../evaluations/judge-scores.ts';
import { readFigures, readRunResults } from '../evaluations/read-run-results.ts';
import { usageWords } from '../evaluations/result-words.ts';
import { learnAccount, meansCaller } from '../queues/authorship.ts';
import { queueOrder, sortItems } from '../queues/item-order.ts';
import { judgementsOf } from '../queues/judgements.ts';
import { type PeoplesValue, peoplesValues } from '../queues/peoples-values.ts';
import { guidelinesVersion, readQueueFields, renderTypes } from '../queues/queue-fields.ts';
import { readItemsWithFeedback } from '../queues/read-items.ts';
import { requireAnnotators } from '../queues/require-annotators.ts';
import { requireField } from '../queues/require-field.ts';
import { requireQueue } from '../queues/require-queue.ts';
import { readCalls } from '../records/read-calls.ts';
import { knownProjects } from '../records/require-project.ts';
import { checkModels } from '../records/unlisted-model.ts';
import { cutValue } from '../text/call-values.ts';
import { cell, compactTable, escapeInvisible } from '../text/compact-table.ts';
import { shortName } from '../text/names.ts';
import { pluralize } from '../text/page.ts';
import { renderAgreement } from '../text/render-agreement.ts';
import { maxUnconfirmedRequests, requireConsent } from './definition/require-consent.ts';
import { defineTool, projectArgument, projectOf, queueArgument, type ToolContext } from './definition/tool.ts';

/** Disagreements that are listed, and characters of their values. */
const maxListed = 20;
const maxChars = 300;
/** Calls below which the figures say little. */
const fewCalls = 50;
/** Calls among which the inputs for a judge are looked for. */
const maxRead = 500;
/** Time without a new score after which none is expected at a service without runs. */
const maxIdleMs = 30_000;

const input = z.strictObject({
  scorer: z.string().min(1),
  queue_id: queueArgument,
  field: z.string().min(1),
  expected: z.string().min(1).default('majority').describe('majority (default), gold or a person.'),
  held_out: z
    .strictObject({
      share: z.number().gt(0).max(1).default(0.5),
      seed: z
        .int()
        .min(0)
        .max(2 ** 31)
        .default(0),
    })
    .default({ share: 0.5, seed: 0 })
    .describe('As in {share: 0.5, seed: 0}.'),
  project_id: projectArgument('Project of the queue'),
  dry_run: z.boolean().optional(),
  confirm: z.boolean().optional().describe('The user has agreed.'),
});

const output = z.object({
  status: z.string().describe('calibrated, not calibrated, running or dry_run.'),
  scorer_ref: z.string(),
  judge: z.string().optional().describe('Like κ 0.71 (0.58 to 0.82), n 84: on the held-out part.'),
  replaces: z.string().optional().describe('Judge of the calibration before.'),
  held_out: calibrationFigures.partial().optional(),
  tuning: z
    .object({
      n: z.int(),
      percent: z.number().optional().describe('Calls on which people and the judge agree.'),
      disagreements: z.array(judgeDispute).optional().describe('The worst first.'),
      more: z.int().optional().describe('Disagreements that are not listed.'),
    })
    .optional()
    .describe('Part to improve the prompt on.'),
  judge_requests: z.int().describe('In a dry run, without those repeated because a reply does not fit.'),
  judge_tokens: z.number().optional(),
  judge_cost: z.number().optional(),
  kept: z.int().optional().describe('Scores that were kept from before.'),
  run_id: z.string().optional(),
  next: z.string().optional(),
  warnings: z.array(z.string()).optional(),
});
type Calibrated = z.output<typeof output>;

export const calibrateScorerTool = defineTool({
  name: 'calibrate_scorer',
  title: 'Calibrate a scorer',
  groups: ['evaluation'],
  // And scoreCalls, unless the scorer has scored all calls before.
  uses: ['readQueue', 'queryQueueItems', 'queryFeedback', 'createObject'],
  description: `Measures a judge by what people judged in a queue: figures of a held-out part, disagreements of the rest.
Example: {"scorer":"Helpful","queue_id":"support-triage","field":"helpful"}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input,
  output,

  async run(
    { scorer, queue_id, field, expected: given, held_out, dry_run, confirm = false, ...query },
    context,
  ): Promise<Calibrated> {
    const project = projectOf(query, context);
    const { service } = context;
    const guidelines = guidelinesVersion(await requireQueue(queue_id, project, service));
    const found = await findScorer(scorer, project, service);
    const { reference, scorer: runnable } = found;
    const people = await readPeoplesValues({ queue_id, field, expected: given }, project, context);
    const { values, undecided, expected } = people;
    const judgedIds = [...values.keys()];
    const kept = await readJudgeScores(reference, judgedIds, project, service);
    const { failed, running, inputs } = await readUnscored(
      judgedIds.filter((id) => !kept.has(id)),
      project,
      service,
    );
    const callIds = judgedIds.filter((id) => !failed.has(id) && !running.has(id));
    const isMeasured = (callId: string): boolean => isHeldOut(callId, held_out);
    const heldOut = callIds.filter(isMeasured).length;
    if (!dry_run && judgedIds.length === 0) throw nothingJudged(field, expected, undecided);
    if (!dry_run && heldOut === 0) throw nothingHeldOut(callIds.length, failed.size + running.size);
    if (runnable) requireCommonValues(runnable, [...values.values()]);
    const missing = callIds.filter((id) => !kept.has(id));
    const parts = await readScorersOf(runnable ? [reference] : [], service);
    const { judges } = parts;
    await requireColumns(parts, inputs);
    const requests = missing.length * judges.length;
    const models = requests === 0 ? [] : modelsOf(judges);
    const unlisted = await checkModels(models, { consequence: 'Nothing was asked', confirm, dry_run }, context);
    const facts = { scorer_ref: reference, judge_requests: requests, ...(kept.size > 0 && { kept: kept.size }) };
    const warnings = warningsOf(people, heldOut, { failed: failed.size, running: running.size }, guidelines);
    if (unlisted !== undefined) warnings.push(unlisted);
    if (dry_run) {
      const sizes = { held_out: { n: heldOut }, tuning: { n: callIds.length - heldOut } };
      return { status: 'dry_run', ...facts, ...sizes, ...(warnings.length > 0 && { warnings }) };
    }
    if (!confirm && requests > maxUnconfirmedRequests) {
      const toJudges = `${requests} requests to judges (${repeatsOf(requests)})`;
      requireConsent(
        {
          question: `Calibrate ${nameOf(reference)} on ${pluralize(callIds.length, 'call')}: ${toJudges}?`,
          reason: `${toJudges} need the user's agreement`,
          alternative: 'use a queue with fewer judged calls',
        },
        context,
      );
    }
    const asked =
      missing.length === 0 || !runnable ? undefined : await askJudge(reference, missing, requests, project, context);
    if (asked?.isRunning) return { ...facts, ...stillRunning(asked.run_id) };
    const used = asked?.run_id === undefined ? {} : await usedBy(asked.run_id, project, context);
    const scores = asked ? await readJudgeScores(reference, callIds, project, service) : kept;
    const judged = callIds.flatMap((call_id): JudgedCall[] => {
      const given = withVerdict(scores.get(call_id), field);
      return given === undefined ? [] : [{ call_id, expected: values.get(call_id)!.value, given }];
    });
    await requireFittingVerdicts(judged, { scores, reference, queue_id, field, used }, project, service);
    const [measured, tuning] = [true, false].map((part) =>
      judged.filter(({ call_id }) => isMeasured(call_id) === part),
    );
    const unscored = callIds.length - judged.length;
    const because = unscored === 0 ? '' : await reasonOfMissing(found, asked?.run_id, project, context);
    if (measured!.length === 0) throw nothingScored(reference, because, used);
    if (unscored > 0)
      warnings.push(`${pluralize(unscored, 'call')} left out: the judge gave no score${because || '.'}`);
    const figures = measureJudge(measured!, await outputLengths(measured!, project, service));
    const shown = { scorer: reference, queue_id, field, expected, guidelines: guidelines ?? null, held_out, figures };
    const replaces = await storeCalibration(shown, project, service);
    const isChance = couldBeChance(figures);
    if (isChance) {
      warnings.push(
        'The agreement of the judge with people could be chance, because the interval of κ does not lie above 0. Results of this scorer say that it is not calibrated.',
      );
    }
    return {
      status: isChance ? 'not calibrated' : 'calibrated',
      ...facts,
      ...used,
      judge: judgeSentence(figures),
      ...(replaces !== undefined && { replaces }),
      held_out: figures,
      tuning: tuningPart(tuning!, values),
      next: isChance
        ? 'Improve its prompt on the disagreements, or have people judge more calls, and calibrate again.'
        : 'Results of this scorer now say so, and correct its rates. After a change of its prompt, calibrate again.',
      ...(warnings.length > 0 && { warnings }),
    };
  },

  isIncomplete: ({ status }) => status === 'running',

  render(result: Calibrated) {
    const {
      status,
      scorer_ref,
      judge,
      replaces,
      held_out: figures,
      tuning,
      judge_requests,
      judge_tokens,
      judge_cost,
      kept = 0,
      next,
      warnings = [],
    } = result;
    const asked = [
      `${pluralize(judge_requests, 'request')} to judges`,
      ...usageWords({ judge_tokens, judge_cost }),
      ...(kept === 0 ? [] : [`${pluralize(kept, 'score')} kept from before`]),
    ].join(', ');
    const heading =
      status === 'dry_run'
        ? `Nothing was asked (dry_run). ${cell(scorer_ref)}: ${figures?.n} calls held out, ${tuning?.n} to tune on; ${asked}.`
        : `${cell(scorer_ref)} ${status}; ${asked}.`;
    return [
      heading,
      ...(judge === undefined ? [] : [`judge: ${judge}`, ...renderFigures(figures as CalibrationFigures)]),
      ...(replaces === undefined ? [] : [`replaces: ${replaces}`]),
      ...(judge === undefined || !tuning ? [] : renderTuning(tuning)),
      ...warnings.map(escapeInvisible),
      ...(next === undefined ? [] : [next]),
    ].join('\n');
  },

  shrink({ tuning, ...result }, share) {
    const { disagreements = [], more = 0, ...rest } = tuning ?? { n: 0 };
    const listed = disagreements.slice(0, Math.floor(disagreements.length * share));
    if (listed.length === disagreements.length) return undefined;
    return {
      ...result,
      tuning: { ...rest, disagreements: listed, more: more + disagreements.length - listed.length },
    };
  },
});

function nameOf(reference: string): string {
  return cell(parseReference(reference)?.name ?? reference);
}

/** The values of people, and the name of the one whose they are where `expected` is one. */
type ExpectedValues = ReturnType<typeof peoplesValues> & { expected: string };

/** Reads what people said of the calls of a queue in a field; `me` is the user. @throws HeddleError for a field that it does not have. */
async function readPeoplesValues(
  { queue_id, field, expected: given }: { queue_id: string; field: string; expected: string },
  project: string,
  context: ToolContext,
): Promise<ExpectedValues> {
  const queue = { ...context, id: queue_id, project, byUser: true };
  const { items, feedback } = await readItemsWithFeedback(queue);
  const judgements = judgementsOf(feedback);
  await requireField(field, judgements, queue, 'field');
  if (meansCaller(given)) await learnAccount(judgements, queue);
  const [expected = given] = meansCaller(given) ? requireAnnotators([given], judgements, 'expected', queue) : [];
  // Calls come in the order of the queue: those of feedback that was given together follow no other.
  const places = new Map(sortItems(items, queueOrder).map(({ call_id }, place) => [call_id, place]));
  const placeOf = ({ weave_ref }: StoredFeedback) => places.get(callIdOf(weave_ref))!;
  const inOrder = feedback.toSorted((a, b) => placeOf(a) - placeOf(b));
  const { values, undecided } = peoplesValues(inOrder, field, expected, queue);
  return { values, undecided, expected };
}

/** Reads which calls failed or have not ended, about whose missing output no judge is asked, and the inputs that some of the others have. */
async function readUnscored(
  callIds: readonly string[],
  project: string,
  service: ServiceClient,
): Promise<{ failed: ReadonlySet<string>; running: ReadonlySet<string>; inputs: Members[] }> {
  const read = (ids: readonly string[], display_fields: string[]) =>
    readCalls(
      ids.map((call_id) => ({ call_id, display_fields })),
      project,
      service,
    );
  const first = await read(callIds.slice(0, maxRead), ['inputs', 'ended_at']);
  const others = await read(callIds.slice(maxRead), ['ended_at']);
  const calls = [...first, ...others].flatMap(([, call]) => (call instanceof HeddleError ? [] : [call]));
  const idsOf = (left: RecordedCall[]): ReadonlySet<string> => new Set(left.map(({ id }) => id));
  const failed = idsOf(calls.filter(({ exception }) => exception));
  const running = idsOf(calls.filter(({ exception, ended_at }) => !exception && ended_at == null));
  const asked = calls.filter(({ id, inputs }) => inputs !== undefined && !failed.has(id) && !running.has(id));
  return { failed, running, inputs: asked.map(({ inputs }) => objectOrEmpty(inputs)) };
}

/** Requires that some call has the inputs that a judge is asked with. @throws HeddleError before anything is asked. */
async function requireColumns(scorers: EvaluationScorers, rows: Members[]): Promise<void> {
  if (rows.length === 0) return;
  const dataset = { reference: '', count: rows.length, sample: rows, read: async () => rows };
  await checkPlaceholders({ messages: [], argument: 'scorer' }, scorers, dataset, {
    name: 'the queue',
    judgeAdvice: `Store the scorer again under its name, with ${placeholdersOfCalls}.`,
    columnAdvice: 'Store the scorer again under its name, with an input of the calls.',
  });
}

const placeholdersOfCalls = '{output} for the output of a call, and the names of its inputs as other placeholders';

/**
 * Requires that some verdict of a judge is a value of the field that people judged.
 * @throws HeddleError with an output of the judge, and how it would fit.
 */
async function requireFittingVerdicts(
  judged: readonly JudgedCall[],
  given: { scores: ReadonlyMap<string, unknown>; reference: string; queue_id: string; field: string; used: Used },
  project: string,
  service: ServiceClient,
): Promise<void> {
  const { scores, reference, queue_id, field: name, used } = given;
  const [first] = judged;
  const expected = new Set(judged.map((call) => classOf(call.expected)));
  const verdicts = judged.map(verdictOf);
  if (!first || verdicts.some((verdict) => expected.has(classOf(verdict)))) return;
  const fields = (await readQueueFields(queue_id, project, service)).filter((field) => field.name === name);
  const isVerdict = (value: unknown): boolean =>
    fields.length > 0
      ? fields.every(({ schema }) => fitsSchema(schema, value))
      : typeof value === typeof first.expected;
  if (verdicts.some(isVerdict)) return;
  const example = JSON.stringify(cutValue(scores.get(first.call_id), maxChars));
  throw new HeddleError({
    code: 'invalid_request',
    message: `Nothing was measured: the scorer ${nameOf(reference)} answers like ${example}, which has no value of the field ${renderTypes(fields) || cell(name)}.${usedSentence(used)}`,
    hint: 'Store the scorer again under its name, so that it answers with a value of the field, or with an object whose member score is one. create_scorer takes the values of the field as scale of an llm_judge.',
  });
}

function stillRunning(run_id: string | undefined): Pick<Calibrated, 'status' | 'run_id' | 'next'> {
  const wait =
    run_id === undefined
      ? 'Wait a minute'
      : `Call run_evaluation with ${JSON.stringify({ run_id })} until it has ended`;
  const next = `The judge is still being asked. ${wait}, then call again with the same arguments.`;
  return { status: 'running', ...(run_id !== undefined && { run_id }), next };
}

/** Has the calls scored with at most the requests that were agreed, and waits until they are or the time of the tool call is over. */
async function askJudge(
  reference: string,
  callIds: readonly string[],
  requests: number,
  project_id: string,
  context: ToolContext,
): Promise<{ run_id?: string; isRunning: boolean }> {
  const { service } = context;
  const { requestedScores } = service.facts;
  service.signal?.throwIfAborted();
  const isTimeUp = timeLimitOf(service);
  const keyOf = (callId: string): string => JSON.stringify([project_id, reference, callId]);
  const call_ids = callIds.filter((id) => !requestedScores.has(keyOf(id)));
  if (call_ids.length > 0) {
    const isLimited = requests > 0 && (await knownProjects(service)) !== undefined;
    const budget = isLimited && { budget: { requests: 2 * requests } };
    const body = { project_id, call_ids, scorer_refs: [reference], ...budget };
    // A started run can only be followed or cancelled by who knows its id.
    const { call_id } = await service.withSignal(undefined).call('scoreCalls', { body });
    if (call_id) {
      const { code } = await cancellingRun({ project_id, call_id }, service, () =>
        followRun(call_id, project_id, context, { isNew: true, isTimeUp }),
      );
      return { run_id: call_id, isRunning: code === 'running' };
    }
  }
  // A service without runs does not tell what is in progress, so a repeated call must not ask again.
  for (const id of callIds) requestedScores.add(keyOf(id));
  let [found, changedAt] = [0, performance.now()];
  const isDone = await lookUntil(
    async () => {
      const { size } = await readJudgeScores(reference, callIds, project_id, service);
      if (size > found) [found, changedAt] = [size, performance.now()];
      context.progress({ done: found, total: callIds.length, unit: 'scores' });
      return found === callIds.length || performance.now() - changedAt > maxIdleMs ? true : undefined;
    },
    service.signal,
    isTimeUp,
  );
  if (isDone) for (const id of callIds) requestedScores.delete(keyOf(id));
  return { isRunning: !isDone };
}

type Used = Partial<Pick<Calibrated, 'judge_requests' | 'judge_tokens' | 'judge_cost'>>;

/** Reads what the judges of a run took. */
async function usedBy(run_id: string, project: string, context: ToolContext): Promise<Used> {
  const query = { evaluation_run_ids: [run_id] };
  const [run] = await context.service.call('listEvaluationRuns', { path: splitProjectId(project), query });
  const requests = ownMember(objectOrEmpty(run?.summary).spent, 'requests');
  const { judge_tokens, judge_cost } = (await readFigures([run_id], project, context)).figures.get(run_id) ?? {};
  return {
    ...(typeof requests === 'number' && { judge_requests: requests }),
    ...(judge_tokens !== undefined && { judge_tokens }),
    ...(judge_cost !== undefined && { judge_cost }),
  };
}

/** Returns what was used, as a sentence with a space in front; empty if nothing was. */
function usedSentence({ judge_requests, ...usage }: Used): string {
  if (judge_requests === undefined) return '';
  return ` Used: ${[`${pluralize(judge_requests, 'request')} to judges`, ...usageWords(usage)].join(', ')}.`;
}

/** Returns why most scores are missing, as the end of a sentence; empty if that is unknown. */
async function reasonOfMissing(
  { scorer }: { scorer: RunnableScorer | undefined },
  runId: string | undefined,
  project: string,
  context: ToolContext,
): Promise<string> {
  const reason = ', mostly for this reason: ';
  if (!scorer)
    return `${reason}heddle cannot run this scorer, and only knows the scores that other programs have recorded.`;
  if (runId === undefined) return '';
  const { rows } = await readRunResults([runId], project, context);
  const trials = rows.flatMap(({ runs }) => runs.get(runId)?.trials ?? []);
  const commonest = commonestOf(
    trials.flatMap(({ error, scorer_errors }) => error ?? Object.values(scorer_errors ?? {})),
  );
  return commonest === undefined ? '' : `${reason}${cutValue(commonest, maxChars)}`.replace(/[^.…]$/, '$&.');
}

/**
 * Requires that a judge can give some of the values that people gave, as far as its scale tells.
 * @throws HeddleError before anything is asked.
 */
function requireCommonValues({ type, scorer }: RunnableScorer, values: readonly PeoplesValue[]): void {
  if (type !== 'judge') return;
  const { properties } = scorer.reply_schema ?? {};
  const schema = ownMember(properties, 'score');
  if (!isJsonObject(schema) || values.length === 0 || values.some(({ value }) => fitsSchema(schema, value))) return;
  const example = JSON.stringify(cutValue(values[0]!.value, maxChars));
  throw invalidArgument('field', {
    consequence: 'Nothing was asked',
    fault: `People gave values like ${example}, none of which the scale of the scorer has`,
    hint: 'Choose the field that the scorer judges, or create the scorer with the scale of the field.',
  });
}

/** Reads the lengths of the outputs of calls, in characters; of calls that cannot be read there is none. */
async function outputLengths(
  calls: readonly JudgedCall[],
  project: string,
  service: ServiceClient,
): Promise<Map<string, number>> {
  const items = calls.map(({ call_id }) => ({ call_id, display_fields: ['output'] }));
  const read = await readCalls(items, project, service);
  return new Map(
    [...read].flatMap(([id, call]) => {
      if (call instanceof HeddleError) return [];
      const text = typeof call.output === 'string' ? call.output : (JSON.stringify(call.output) ?? '');
      return [[id, text.length] as const];
    }),
  );
}

function tuningPart(
  calls: readonly JudgedCall[],
  values: ReadonlyMap<string, PeoplesValue>,
): NonNullable<Calibrated['tuning']> {
  const support = new Map([...values].map(([id, value]) => [id, value.support]));
  const disputed = disputedCalls(calls, support);
  const disagreements = disputed.slice(0, maxListed).map(({ call_id, expected, verdict, given }): JudgeDispute => {
    const reasoning = ownMember(given, 'reasoning');
    return {
      call_id,
      people: cutValue(expected, maxChars),
      judge: cutValue(verdict, maxChars),
      ...(typeof reasoning === 'string' && { reasoning: String(cutValue(reasoning, maxChars)) }),
    };
  });
  const agreed = calls.length - disputed.length;
  return {
    n: calls.length,
    ...(calls.length > 0 && { percent: rounded((100 * agreed) / calls.length, 1) }),
    disagreements,
    ...(disputed.length > maxListed && { more: disputed.length - maxListed }),
  };
}

function warningsOf(
  { values, undecided, expected }: ExpectedValues,
  heldOut: number,
  { failed, running }: { failed: number; running: number },
  guidelines: string | undefined,
): string[] {
  const isOlder = ({ guidelines: followed }: PeoplesValue): boolean =>
    followed !== undefined && followed !== guidelines;
  const whose = expected === 'gold' ? 'No call has gold for the field' : 'No person has judged the field';
  const older = [...values.values()].filter(isOlder).length;
  return [
    ...(values.size === 0 ? [`${whose}; opinions of agents do not count.`] : []),
    ...(heldOut < fewCalls ? [`Only ${pluralize(heldOut, 'call')} held out: the intervals are wide.`] : []),
    ...(failed > 0
      ? [`${pluralize(failed, 'call')} left out: the call itself failed, so no judge is asked about it.`]
      : []),
    ...(running > 0 ? [`${pluralize(running, 'call')} left out: not ended yet.`] : []),
    ...(undecided > 0 ? [`${pluralize(undecided, 'call')} left out: no value has a majority. Gold settles that.`] : []),
    ...(older > 0 ? [`${pluralize(older, 'call')} judged by earlier guidelines.`] : []),
  ];
}

function nothingJudged(field: string, expected: string, undecided: number): HeddleError {
  const whose = expected === 'majority' ? 'people' : shortName(expected);
  const split = undecided > 0 ? ` ${pluralize(undecided, 'call')} without a majority.` : '';
  return new HeddleError({
    code: 'invalid_request',
    message: `Nothing was asked: no call of the queue has a value of ${whose} for ${JSON.stringify(shortName(field))}.${split}`,
    hint: 'People judge items on the board, which review_queue opens; opinions of agents do not count.',
  });
}

function nothingHeldOut(count: number, left: number): HeddleError {
  return invalidArgument('held_out', {
    consequence: 'Nothing was asked',
    fault: `None of ${pluralize(count, 'judged call')}${left > 0 ? ' that ended without a failure' : ''} is held out`,
    hint: 'Have people judge more calls, or raise share.',
  });
}

function nothingScored(reference: string, because: string, used: Used): HeddleError {
  return new HeddleError({
    code: 'invalid_request',
    message: `The scorer ${nameOf(reference)} gave no call of the held-out part a score${because || '.'}${usedSentence(used)}`,
    hint: `Correct the scorer: it takes ${placeholdersOfCalls}.`,
  });
}

function renderFigures(figures: CalibrationFigures): string[] {
  const { sensitivity, specificity, by_value = [], longer_outputs, first_answer, same_in_both_orders } = figures;
  const line = (name: string, share: MeasuredShare | undefined): string[] =>
    share === undefined
      ? []
      : [`${name} ${percents(share.rate)} (${share.interval.map(percents).join(' to ')}), n ${share.n}`];
  const heading = `held out: ${pluralize(figures.n, 'call')}`;
  return [
    ...renderAgreement(heading, 'people \\ judge', figures, (name) => cell(name)),
    ...line('right on true (sensitivity)', sensitivity),
    ...line('right on false (specificity)', specificity),
    ...by_value.flatMap(({ value, ...share }) => line(`right on ${cell(value)}`, share)),
    ...(longer_outputs
      ? [
          `longer outputs: ${longer_outputs.difference} above people more than on shorter ones (${longer_outputs.interval.join(' to ')}), n ${longer_outputs.n}`,
        ]
      : []),
    ...line('prefers the first answer', first_answer),
    ...line('same in both orders', same_in_both_orders),
  ];
}

function percents(share: number): string {
  return `${rounded(100 * share, 1)}%`;
}

function renderTuning({ n, percent, disagreements = [], more }: NonNullable<Calibrated['tuning']>): string[] {
  const agreed = percent === undefined ? '' : `, ${percent}% agree`;
  const others = more === undefined ? '' : ` (${more} more)`;
  return [
    `to tune on: ${pluralize(n, 'call')}${agreed}`,
    ...(disagreements.length === 0
      ? []
      : [
          `disagreements, the worst first${others}:`,
          compactTable(disagreements, ['call_id', 'people', 'judge', 'reasoning']),
        ]),
  ];
}
