import * as z from 'zod';
import type { ServiceClient } from '../client/service-client.ts';
import { withFallback } from '../client/with-fallback.ts';
import type { BodyOf, ResultOf } from '../contract/endpoints.ts';
import { maxScoredCalls, type RunLimits, runLimits } from '../contract/evaluations.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import { classMembers } from '../contract/objects.ts';
import { findPlaceholders, templateTexts } from '../contract/prompts.ts';
import { objectIdOf, objectReference, parseReference } from '../contract/references.ts';
import { llmModelClass } from '../contract/scorers.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { rounded } from '../core/statistics/rounded.ts';
import { baselineId, findNamedRun, storeBaseline } from '../evaluations/baselines.ts';
import { judgesOfRuns } from '../evaluations/calibrations.ts';
import { checkPlaceholders } from '../evaluations/check-placeholders.ts';
import { comparisonWarning } from '../evaluations/comparison-warning.ts';
import {
  type DatasetRows,
  drawRows,
  modelsOf,
  planOf,
  type RowSample,
  type RunPlan,
  readDataset,
  readScorers,
  readScorersOf,
  readTemplate,
  repeatsOf,
  runPlan,
} from '../evaluations/evaluation-plan.ts';
import { type FoundEvaluation, findEvaluation } from '../evaluations/find-evaluation.ts';
import { findScorers } from '../evaluations/find-scorers.ts';
import { cancellingRun, followRun, type RunStatus, timeLimitOf } from '../evaluations/follow-run.ts';
import {
  readFigures,
  readRunResults,
  runFacts,
  runWithFigures,
  unknownRun,
  withFigures,
} from '../evaluations/read-run-results.ts';
import { renderRuns, renderRunTable } from '../evaluations/render-runs.ts';
import { leastChanged } from '../evaluations/result-words.ts';
import { figuresOf } from '../evaluations/score-figures.ts';
import { readAllItems } from '../queues/read-items.ts';
import { findQueueId } from '../queues/require-queue.ts';
import { type CallsFilterArgument, callsFilterArgument, selectCalls } from '../records/calls-query.ts';
import { derivedModel, derivedName } from '../records/derived-name.ts';
import { baseClasses, findVersions, readNamedVersion } from '../records/read-objects.ts';
import { knownProjects } from '../records/require-project.ts';
import { readByName } from '../records/unknown-object.ts';
import { requireMatchable } from '../records/unknown-operation.ts';
import { checkModels } from '../records/unlisted-model.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { meantName, shortName } from '../text/names.ts';
import { pluralize } from '../text/page.ts';
import { priceCommand } from './definition/people-only.ts';
import { maxUnconfirmedRequests, requireConsent } from './definition/require-consent.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

/** Predictions of a run that are made at the same time, at most. */
export const maxConcurrency = 64;
/** Rows that a sample can have; they are stored as a dataset of their own. */
const maxSampledRows = 10_000;
/** Rows of a run whose trials are read for its figures; those of a larger run are the ones that the service computes. */
const maxReadRows = 1000;
const maxScorers = 50;

/** Arguments that the file of an evaluation has too. */
export const runSettings = {
  sample: z
    .strictObject({
      n: z.int().min(1).max(maxSampledRows),
      seed: z
        .int()
        .min(0)
        .max(2 ** 31)
        .optional(),
    })
    .optional()
    .describe('Run n random rows.'),
  concurrency: z.int().min(1).max(maxConcurrency).optional(),
  baseline: z.string().min(1).max(64).optional().describe('Name, like main.'),
};

const input = z
  .strictObject({
    evaluation: z.string().min(1).optional().describe('Name or reference.'),
    model: z.string().min(1).optional().describe('Id of a model, or reference to a stored one.'),
    prompt: z.string().min(1).optional().describe('Text with {column}, or reference to a stored prompt.'),
    messages: z.array(z.looseObject({})).min(1).optional().describe('Instead of prompt.'),
    ...runSettings,
    run_id: z.string().min(1).max(256).optional().describe('Alone: waits.'),
    score_again: z.boolean().optional(),
    only: z.enum(['errors']).optional().describe('Asks again what failed.'),
    calls: z
      .strictObject({
        ids: z.array(z.string().min(1)).min(1).max(maxScoredCalls).optional(),
        filter: z.record(z.string(), z.unknown()).optional().describe('Like {"op_name":"answer"}.'),
        queue_id: z.string().min(1).optional(),
      })
      .optional()
      .describe('As in {ids}, {queue_id} or {filter: {op_name}}: recorded calls.'),
    scorers: z.array(z.string().min(1)).min(1).max(maxScorers).optional().describe("Default: the evaluation's."),
    budget: runLimits.optional().describe('As in {requests, tokens, usd}.'),
    project_id: projectArgument('Project of the evaluation'),
    dry_run: z.boolean().optional(),
    confirm: z.boolean().optional().describe('The user has agreed.'),
  })
  .superRefine(({ project_id: _, ...args }, context) => {
    const message = faultOf(args);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

/** What a call of the tool does, and the arguments that it can have for that. */
const uses = {
  run: [
    'evaluation',
    'model',
    'prompt',
    'messages',
    'sample',
    'concurrency',
    'baseline',
    'budget',
    'dry_run',
    'confirm',
  ],
  wait: ['run_id', 'baseline'],
  score_again: ['run_id', 'score_again', 'scorers', 'concurrency', 'budget', 'dry_run', 'confirm'],
  only: ['run_id', 'only', 'concurrency', 'budget', 'dry_run', 'confirm'],
  calls: ['calls', 'scorers', 'evaluation', 'concurrency', 'budget', 'dry_run', 'confirm'],
} as const satisfies Record<string, string[]>;

type Use = keyof typeof uses;
type Arguments = Omit<z.output<typeof input>, 'project_id'>;

function useOf({ run_id, score_again, only, calls }: Arguments): Use {
  if (calls) return 'calls';
  if (score_again) return 'score_again';
  if (only) return 'only';
  return run_id === undefined ? 'run' : 'wait';
}

/** Returns what is wrong with arguments that their schemas cannot express. */
function faultOf(args: Arguments): string | undefined {
  const use = useOf(args);
  const allowed: readonly string[] = uses[use];
  const others = Object.entries(args).flatMap(([name, value]) =>
    value === undefined || value === false || allowed.includes(name) ? [] : [name],
  );
  if (others.length > 0) {
    const name = use === 'run' ? 'a run' : use === 'wait' ? 'run_id continues waiting, so it' : use;
    const advice =
      use === 'run'
        ? 'it applies those of the evaluation, so create an evaluation with them; or score a run with run_id and score_again, or calls'
        : 'leave that out';
    return `${name} cannot be combined with ${others.join(', ')}: ${advice}`;
  }
  const { run_id, evaluation, model, prompt, messages, calls, scorers } = args;
  if (use === 'calls') {
    const given = [calls!.ids, calls!.filter, calls!.queue_id].filter((value) => value !== undefined);
    if (given.length !== 1) return 'calls needs one of ids, filter and queue_id';
    return scorers === undefined && evaluation === undefined
      ? 'calls needs scorers, or an evaluation with some'
      : undefined;
  }
  if (use !== 'run') return run_id === undefined ? `${use} needs run_id` : undefined;
  if (evaluation === undefined || model === undefined) return 'needs evaluation and model, or run_id';
  if (prompt !== undefined && messages !== undefined) return 'has both prompt and messages';
  const isStored = parseReference(model) !== undefined;
  const hasMessages = prompt !== undefined || messages !== undefined;
  if (!isStored && !hasMessages) return 'needs prompt or messages, unless model is the reference to a stored model';
  return isStored && hasMessages ? 'needs no prompt or messages with a stored model, which has its own' : undefined;
}

const output = z.object({
  ...runWithFigures.partial().shape,
  ...runPlan.partial().shape,
  status: z.string().describe('dry_run, running, complete or failed.'),
  estimate: z.string().optional().describe('The way in which the tokens were estimated.'),
  dataset_rows: z.int().optional().describe('Rows of the dataset, where only a sample of them is run.'),
  budget: runLimits.optional().describe('Of a dry run.'),
  baseline: z.string().optional().describe('Name that the run has now.'),
  evaluation_ref: z.string().optional(),
  model_ref: z.string().optional(),
  next: z.string().optional().describe('The next step.'),
  warnings: z.array(z.string()).optional(),
});

type RunResult = z.output<typeof output>;

const estimate =
  'The estimate is a quarter of the characters of the filled messages, taken from the first rows; replies, and their length in what judges read, come on top.';

export const runEvaluationTool = defineTool({
  name: 'run_evaluation',
  title: 'Run an evaluation',
  groups: ['evaluation'],
  uses: ['evaluateModel', 'evaluationStatus', 'rescoreEvaluation', 'resumeEvaluation', 'scoreCalls'],
  description: `Asks a model for each row of an evaluation and scores the answers; or scores recorded calls or an earlier run. More than ${maxUnconfirmedRequests} requests to models and judges need the user's agreement.
Example: {"evaluation":"Support answers","model":"heddle/echo","prompt":"Answer briefly: {question}"}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input,
  output,
  hasTimes: true,

  async run(call, context) {
    const {
      run_id,
      baseline,
      evaluation,
      model,
      concurrency,
      budget,
      dry_run = false,
      confirm = false,
      ...args
    } = call;
    const project = projectOf(args, context);
    const use = useOf(call);
    if (use === 'wait') return waitForRun(run_id!, project, { baseline }, context);
    if (budget && (await knownProjects(context.service)) === undefined) throw budgetUnknown();
    const limits = { ...(concurrency !== undefined && { concurrency }), ...(budget && { budget }) };
    if (use !== 'run') return scoreOutputs(use, { ...call, limits }, project, context);
    const found = await findEvaluation(evaluation!, project, context.service);
    if (baseline !== undefined) baselineId(baseline, found.name);
    const prepared = await prepare(found, model!, { ...args, budget, confirm, dry_run }, context);
    const { plan, count, warnings } = prepared;
    const facts = {
      ...(plan.rows < count && { rows: plan.rows, dataset_rows: count }),
      ...(warnings.length > 0 && { warnings }),
    };
    if (dry_run) {
      return {
        status: 'dry_run',
        evaluation_ref: found.reference,
        ...plan,
        ...(budget && { budget }),
        estimate,
        ...facts,
      };
    }
    const requests = plan.model_requests + plan.judge_requests;
    if (!confirm && requests > maxUnconfirmedRequests) {
      const maxRows = Math.floor(maxUnconfirmedRequests / (requests / plan.rows));
      requireConsent(
        {
          question: `Run the evaluation ${found.name} on ${model}: ${requestsOf(plan)}, about ${plan.estimated_tokens} tokens without the replies?`,
          reason: `${requestsOf(plan)} need the user's agreement`,
          alternative:
            maxRows === 0
              ? `choose an evaluation with fewer trials or judges: one row takes more than ${maxUnconfirmedRequests} requests`
              : `set sample to {"n": ${maxRows}} at most`,
        },
        context,
      );
    }
    const evaluation_ref = await storeEvaluation(found, prepared, context);
    const model_ref = prepared.model_ref ?? (await storeModel(model!, prepared.messages, project, context));
    const request = { project_id: project, evaluation_ref, model_ref, ...limits };
    const started = await start(evaluation_ref, (client) => client.call('evaluateModel', { body: request }), context);
    const left = started.left_out_scorers?.map(({ scorer, reason }) => `Left out: ${scorer}, ${reason}`) ?? [];
    const all = [...warnings, ...left.filter((line) => !warnings.includes(line))];
    return waitForRun(
      started.call_id,
      project,
      {
        ...facts,
        evaluation_ref,
        model_ref,
        ...(all.length > 0 && { warnings: all }),
        predictions: plan.model_requests,
        baseline,
      },
      context,
    );
  },

  isIncomplete: ({ status }) => status !== 'complete' && status !== 'dry_run',

  render(result: RunResult) {
    const { run_id, status, rows = 0, model_requests = 0, judge_requests = 0, estimated_tokens } = result;
    const { dataset_rows, budget, next, warnings = [], evaluation_ref, model_ref, baseline, detectable } = result;
    const tokens =
      estimated_tokens === undefined
        ? '. How many tokens these take is not known before.'
        : `, about ${estimated_tokens} tokens. ${estimate}`;
    const shownRows = dataset_rows === undefined ? pluralize(rows, 'row') : `${rows} of ${dataset_rows} rows`;
    const lines =
      run_id === undefined
        ? [
            `Nothing was started (${status}). ${shownRows}: ${requestsOf({ model_requests, judge_requests })}${tokens}`,
            ...(budget === undefined ? [] : [budgetSentence(budget, result)]),
            ...(detectable === undefined
              ? []
              : [
                  rows < leastChanged
                    ? `It takes ${leastChanged} rows to show any difference from another run.`
                    : `Compared with another run on ${rows} rows, a difference of ${rounded(100 * detectable, 1)} points shows in 80 of 100 cases; a smaller one does if few rows change.`,
                ]),
          ]
        : [
            ...renderRuns([{ ...result, run_id }]),
            ...renderRunTable([{ ...result, run_id }]),
            ...(dataset_rows === undefined ? [] : [`Only ${shownRows} were run.`]),
            ...(baseline === undefined ? [] : [`The run is the baseline ${cell(baseline)} now.`]),
            ...(evaluation_ref === undefined ? [] : [`evaluation_ref ${evaluation_ref}`]),
            ...(model_ref === undefined ? [] : [`model_ref ${model_ref}`]),
          ];
    return [...lines, ...warnings.map(escapeInvisible), ...(next === undefined ? [] : [next])].join('\n');
  },
});

interface ScoringArguments extends Arguments {
  limits: Pick<BodyOf<'evaluateModel'>, 'concurrency' | 'budget'>;
}

/** Starts a run on outputs that exist: of recorded calls, or of an earlier run, of which it may ask for those that failed. */
async function scoreOutputs(
  use: Exclude<Use, 'run' | 'wait'>,
  { run_id: run, calls, scorers, evaluation, limits, dry_run = false, confirm = false }: ScoringArguments,
  project: string,
  context: ToolContext,
): Promise<RunResult> {
  const { service } = context;
  const budgeted = limits.budget ? { budget: limits.budget } : {};
  const earlier = run === undefined ? undefined : await readRun(run, project, context);
  const run_id = earlier?.evaluation_run_id;
  // The evaluation of an earlier run may have been deleted, and matters only for its scorers and its rows.
  const ofEvaluation = evaluation ?? (scorers ? undefined : earlier?.evaluation);
  const found = ofEvaluation ? await findEvaluation(ofEvaluation, project, service) : undefined;
  if (use === 'only') {
    const plan = await planOfMissing(found, run_id!, project, context);
    if (dry_run) return { status: 'dry_run', ...plan, ...budgeted };
    if (!confirm) requireConsentTo(plan, `Ask again what failed in the run ${run_id}`, 'set a budget', context);
    const started = await start(
      found?.reference,
      (client) => client.call('resumeEvaluation', { body: { project_id: project, call_id: run_id!, ...limits } }),
      context,
    );
    return waitForScores(started, project, {}, context);
  }
  const scorer_refs = scorers ? await findScorers(scorers, project, service) : (found?.val.scorers as string[]);
  if (!Array.isArray(scorer_refs) || scorer_refs.length === 0) {
    throw invalidArgument('scorers', {
      fault: 'The evaluation has no scorers',
      hint: 'Pass scorers: names or references that list_objects with kind scorer returns.',
    });
  }
  const { judges } = await readScorersOf(scorer_refs, service);
  const models = modelsOf(judges);
  const unlisted = await checkModels(models, { consequence: 'Nothing was started', confirm, dry_run }, context);
  await requirePrices(models, limits.budget ?? {}, project, context);
  const warnings = unlisted === undefined ? {} : { warnings: [unlisted] };
  const callIds = calls && (await callIdsOf(calls, project, context));
  const ofRun = callIds ? undefined : (await readFigures([run_id!], project, context)).figures.get(run_id!);
  const rows = callIds?.length ?? ofRun?.predictions ?? 0;
  const plan = { rows, model_requests: 0, judge_requests: rows * judges.length };
  if (dry_run) return { status: 'dry_run', ...plan, ...budgeted, ...warnings };
  if (!confirm) {
    requireConsentTo(
      plan,
      `Score ${pluralize(rows, 'output')}`,
      callIds ? 'score fewer calls' : 'choose scorers that compare',
      context,
    );
  }
  const request = { project_id: project, scorer_refs, ...limits };
  const evaluation_ref = found?.reference;
  const send = (client: ServiceClient) =>
    callIds
      ? client.call('scoreCalls', {
          body: { ...request, call_ids: callIds, ...(evaluation_ref && { evaluation_ref }) },
        })
      : client.call('rescoreEvaluation', { body: { ...request, source_evaluation_run_id: run_id! } });
  const started = await start(evaluation_ref, send, context);
  return waitForScores(started, project, { predictions: rows, ...warnings }, context);
}

type Requests = Pick<RunPlan, 'rows' | 'model_requests' | 'judge_requests'>;

/** Requires the user's consent to more requests than are sent without it. */
function requireConsentTo(plan: Requests, what: string, alternative: string, context: ToolContext): void {
  if (plan.model_requests + plan.judge_requests <= maxUnconfirmedRequests) return;
  const requests = requestsOf(plan);
  requireConsent(
    { question: `${what}: ${requests}?`, reason: `${requests} need the user's agreement`, alternative },
    context,
  );
}

/** Returns how many requests it takes at most to ask again what failed in a run or is missing. */
async function planOfMissing(
  found: FoundEvaluation | undefined,
  run_id: string,
  project: string,
  context: ToolContext,
): Promise<Requests> {
  const { figures } = await readFigures([run_id], project, context);
  const { predictions = 0, errors = 0 } = figures.get(run_id) ?? {};
  // Without an evaluation, the run scored recorded calls, and asks no model for them.
  if (!found) return { rows: predictions, model_requests: 0, judge_requests: 0 };
  const [dataset, { judges }] = await Promise.all([
    readDataset(found, context.service),
    readScorers(found, context.service),
  ]);
  const model_requests = Math.max(0, dataset.count * trialsOf(found) - predictions + errors);
  return { rows: dataset.count, model_requests, judge_requests: model_requests * judges.length };
}

function trialsOf({ val }: FoundEvaluation): number {
  return Number.isInteger(val.trials) ? Math.max(1, val.trials as number) : 1;
}

/** Waits for a run of scorers; a service that only writes feedback has none. */
async function waitForScores(
  { call_id, left_out_scorers }: Pick<ResultOf<'scoreCalls'>, 'call_id' | 'left_out_scorers'>,
  project: string,
  facts: Partial<RunResult>,
  context: ToolContext,
): Promise<RunResult> {
  const left = left_out_scorers?.map(({ scorer, reason }) => `Left out: ${scorer}, ${reason}`) ?? [];
  const warnings = [...(facts.warnings ?? []), ...left];
  const all = { ...facts, ...(warnings.length > 0 && { warnings }) };
  if (call_id) return waitForRun(call_id, project, all, context, { isNew: true });
  return { status: 'running', ...all, next: 'The scores arrive as feedback on the calls.' };
}

/**
 * Reads a run by its id or the name of a baseline.
 * @throws HeddleError `not_found` for an unknown one.
 */
async function readRun(run: string, project: string, { service }: ToolContext) {
  const list = (id: string) =>
    service.call('listEvaluationRuns', { path: splitProjectId(project), query: { evaluation_run_ids: [id] } });
  const [found] = await list(run);
  const [named] = found ? [found] : await list(await findNamedRun(run, [], project, service));
  if (!named) throw await unknownRun(run, project, service);
  return named;
}

/** Returns the ids of the calls that the argument selects. @throws HeddleError when there are none or too many. */
async function callIdsOf(
  { ids, filter, queue_id }: NonNullable<Arguments['calls']>,
  project: string,
  { service }: ToolContext,
): Promise<string[]> {
  if (ids) return [...new Set(ids)];
  const accessTo = async (id: string) => ({ id: await findQueueId(id, project, service), project, service });
  const found = queue_id
    ? (await readAllItems(await accessTo(queue_id), { limit: maxScoredCalls + 1 })).items
    : await service.call('queryCalls', {
        body: {
          project_id: project,
          ...(await selectCalls(checkedFilter(filter), project, service)).matching,
          sort_by: [{ field: 'started_at', direction: 'desc' }],
          columns: ['id'],
          limit: maxScoredCalls + 1,
        },
      });
  const callIds = found.map((one) => ('call_id' in one ? String(one.call_id) : one.id));
  if (callIds.length === 0 && filter) await requireMatchable(checkedFilter(filter), project, service);
  const fault = callIds.length === 0 ? 'No call matches' : `More than ${maxScoredCalls} calls match`;
  if (callIds.length > 0 && callIds.length <= maxScoredCalls) return callIds;
  throw invalidArgument('calls', {
    consequence: 'Nothing was started',
    fault,
    hint: 'query_calls shows what a filter matches.',
  });
}

function checkedFilter(filter: unknown): CallsFilterArgument {
  const { data, error } = callsFilterArgument.safeParse(filter);
  if (data) return data;
  throw invalidArgument(['calls', 'filter'], {
    consequence: 'Nothing was started',
    fault: z.prettifyError(error).replaceAll('\n', ' '),
    hint: `Its members are those of the filter of query_calls: ${Object.keys(callsFilterArgument.shape).join(', ')}.`,
  });
}

function budgetUnknown(): HeddleError {
  return new HeddleError({
    code: 'unsupported',
    message: "Nothing was started: only heddle's own service keeps a budget.",
    hint: 'Leave the budget out, and limit the run with sample.',
  });
}

/** @throws HeddleError `invalid_arguments` for a budget in USD and models of which one has no price. */
async function requirePrices(
  models: readonly string[],
  { usd }: Partial<RunLimits>,
  project: string,
  { service, terminal, project: ownProject }: ToolContext,
): Promise<void> {
  if (usd === undefined) return;
  const { results } = await service.call('queryCosts', { body: { project_id: project, fields: ['llm_id'] } });
  const unpriced = models.find((model) => !results.some(({ llm_id }) => llm_id === model));
  if (unpriced === undefined) return;
  const command = priceCommand(unpriced, { terminal, project: ownProject, calledProject: project });
  throw invalidArgument(['budget', 'usd'], {
    consequence: 'Nothing was started',
    fault: `A budget in USD needs the price of the model ${shortName(unpriced)}, and project ${project} has none`,
    hint: `The user can store it with ${command}, for a million tokens each; or limit requests or tokens.`,
  });
}

/** Returns the numbers of requests of a run as text, like `6 requests to the model and 3 to judges (9 in all, …)`. */
function requestsOf({ model_requests, judge_requests }: Pick<RunPlan, 'model_requests' | 'judge_requests'>): string {
  const toModel = `${pluralize(model_requests, 'request')} to the model`;
  if (judge_requests === 0) return toModel;
  return `${toModel} and ${judge_requests} to judges (${model_requests + judge_requests} in all, ${repeatsOf(judge_requests)})`;
}

/** Says what a budget does to a run of so many requests and tokens. */
function budgetSentence(
  budget: RunLimits,
  { model_requests = 0, judge_requests = 0, estimated_tokens = 0 }: Partial<RunPlan>,
): string {
  const { requests = Number.POSITIVE_INFINITY, tokens = Number.POSITIVE_INFINITY } = budget;
  const isExceeded = model_requests + judge_requests > requests || estimated_tokens > tokens;
  return `The budget ${JSON.stringify(budget)} ${isExceeded ? 'ends the run before that' : 'limits the run'}.`;
}

interface PromptArguments {
  prompt?: string;
  messages?: unknown[];
  sample?: { n: number; seed?: number };
  budget?: RunLimits;
  confirm: boolean;
  dry_run: boolean;
}

interface PreparedRun {
  messages: unknown[];
  /** The stored model, if the call names one. */
  model_ref?: string;
  /** Number of rows of the whole dataset. */
  count: number;
  /** The rows to run. */
  dataset: DatasetRows;
  sample: RowSample | undefined;
  plan: RunPlan;
  warnings: string[];
}

/**
 * Reads what a run needs, and checks that each placeholder has a column.
 * @throws HeddleError before anything is stored or started.
 */
async function prepare(
  found: FoundEvaluation,
  model: string,
  { prompt, messages, sample: drawn, budget = {}, confirm, dry_run }: PromptArguments,
  context: ToolContext,
): Promise<PreparedRun> {
  const isStoredModel = parseReference(model) !== undefined;
  const argument = isStoredModel ? 'model' : prompt === undefined ? 'messages' : 'prompt';
  const {
    messages: template,
    modelId = model,
    warning,
  }: Awaited<ReturnType<typeof readPrompt>> & { modelId?: string } = isStoredModel
    ? await readTemplate(model, 'model', context.service)
    : messages
      ? { messages }
      : await readPrompt(prompt!, found.projectId, context);
  const [whole, scorers] = await Promise.all([
    readDataset(found, context.service),
    readScorers(found, context.service),
  ]);
  if (whole.count === 0) {
    throw new HeddleError({
      code: 'invalid_request',
      message: `Nothing was started: the dataset of ${found.name} has no rows.`,
      hint: 'Choose an evaluation on another dataset.',
    });
  }
  const sample = drawn && drawn.n < whole.count ? { seed: 0, ...drawn } : undefined;
  const dataset = sample ? await drawRows(whole, sample) : whole;
  await checkPlaceholders({ messages: template, argument }, scorers, dataset);
  const models = [modelId, ...modelsOf(scorers.judges)];
  const unlisted = await checkModels(models, { consequence: 'Nothing was started', confirm, dry_run }, context);
  await requirePrices(models, budget, found.projectId, context);
  const trials = trialsOf(found);
  const { unknown, comparisons } = scorers;
  const warnings = [
    ...(warning === undefined ? [] : [warning]),
    ...(unknown.length === 0
      ? []
      : [`heddle cannot run ${pluralize(unknown.length, 'scorer')}: ${unknown.join(', ')}.`]),
    ...(unlisted === undefined ? [] : [unlisted]),
    ...(findPlaceholders(templateTexts(template)).names.length > 0
      ? []
      : ['The messages have no {column} placeholder, so the model is asked the same for every row.']),
    ...(await comparisonWarning([...new Set(comparisons.map(({ name }) => name))], context.service)),
  ];
  return {
    messages: template,
    ...(isStoredModel && { model_ref: model }),
    count: whole.count,
    dataset,
    sample,
    plan: planOf(template, dataset, scorers, trials),
    warnings,
  };
}

/** Longest text that is looked up as the name of a prompt. */
const maxNameChars = 128;
/** Prompts among which a misspelled name is looked for. */
const maxPrompts = 1000;

/**
 * Returns the messages of a stored prompt, by its reference or its name, or else the text as a message of the user.
 * @throws HeddleError `not_found` for a single word that is written like a name, or almost as that of a stored prompt.
 */
async function readPrompt(
  prompt: string,
  project: string,
  { service }: ToolContext,
): Promise<{ messages: unknown[]; warning?: string }> {
  if (parseReference(prompt)) return readTemplate(prompt, 'prompt', service);
  const canBeName = prompt.length <= maxNameChars && !/[{}\n]/.test(prompt);
  const stored = canBeName ? await readNamedVersion(prompt, project, service) : undefined;
  if (stored?.base_object_class !== baseClasses.prompt) {
    const messages = [{ role: 'user', content: prompt }];
    return { messages, ...(canBeName && (await misspelledPrompt(prompt, project, service))) };
  }
  const reference = objectReference(project, stored.object_id, stored.digest);
  const { messages } = await readTemplate(reference, 'prompt', service);
  const warning = `${JSON.stringify(prompt)} is the stored prompt ${reference}, which is used; pass messages to send these words themselves.`;
  return { messages, warning };
}

/** Returns a warning about a text that almost is the name of a prompt. @throws HeddleError `not_found` for one that can only be a name. */
async function misspelledPrompt(text: string, project: string, service: ServiceClient): Promise<{ warning?: string }> {
  const stored = await findVersions('prompt', project, { limit: maxPrompts, offset: 0 }, service).catch(() => []);
  const names = stored.map(({ object_id }) => object_id);
  const meant = meantName(objectIdOf(text), names);
  const isWord = !/\s/.test(text);
  const isName = meant !== undefined || /^[\p{L}\p{N}]+([-_.][\p{L}\p{N}]+)+$/u.test(text);
  if (isWord && isName) await readByName(text, project, service, 'prompt');
  if (meant === undefined) return {};
  return { warning: `${JSON.stringify(text)} is sent as text: it is no stored prompt. Did you mean ${meant}?` };
}

/** Returns the evaluation to run: with a sample one on a dataset of its rows, which is stored as well. */
async function storeEvaluation(
  { reference, name, projectId, val }: FoundEvaluation,
  { dataset, sample }: PreparedRun,
  { service }: ToolContext,
): Promise<string> {
  if (sample === undefined) return reference;
  const { n, seed } = sample;
  const stored = await service.call('createDataset', {
    path: splitProjectId(projectId),
    body: {
      name: derivedName(parseReference(dataset.reference)!.name, sample),
      description: `${n} rows of ${dataset.reference}, drawn with the seed ${seed}`,
      rows: await dataset.read(0, n),
    },
  });
  const { scorers, trials } = val as { scorers?: string[]; trials?: number };
  const created = await service.call('createEvaluation', {
    path: splitProjectId(projectId),
    body: {
      name: derivedName(name, sample),
      dataset: objectReference(projectId, stored.object_id, stored.digest),
      description: `${reference} on ${n} rows, drawn with the seed ${seed}`,
      scorers: scorers ?? [],
      trials: trials ?? 1,
    },
  });
  return created.evaluation_ref;
}

/** Stores the model with its messages; the same again is the same version. */
async function storeModel(
  model: string,
  messages: unknown[],
  project_id: string,
  { service, withoutSecrets }: ToolContext,
) {
  const object_id = model.replaceAll(/[^\p{L}\p{N}_.-]/gu, '-').slice(0, 128);
  const val = {
    name: model,
    description: derivedModel,
    llm_model_id: model,
    default_params: { messages_template: await withoutSecrets(messages), response_format: 'text' },
    ...classMembers('Model', llmModelClass),
  };
  const obj = { project_id, object_id, val, builtin_object_class: llmModelClass };
  const { digest } = await service.call('createObject', { body: { obj } });
  return objectReference(project_id, object_id, digest);
}

/**
 * Starts a run. It is not broken off when the call is cancelled, because the run could then be neither followed nor cancelled.
 * @throws HeddleError that says how to find out whether the run was started.
 */
async function start<Started>(
  evaluation: string | undefined,
  send: (service: ServiceClient) => Promise<Started>,
  { service }: ToolContext,
): Promise<Started> {
  service.signal?.throwIfAborted();
  try {
    return await send(service.withSignal(undefined));
  } catch (error) {
    const mayHaveStarted =
      error instanceof HeddleError &&
      ['timeout', 'network', 'service_unavailable', 'bad_response'].includes(error.code);
    if (!mayHaveStarted) throw error;
    const found = evaluation
      ? ` Call read_evaluation with evaluation ${JSON.stringify(evaluation)}: its newest run is this one, if it was started.`
      : '';
    const hint = `${error.hint}${found}`;
    throw new HeddleError({ ...error, message: error.message, hint });
  }
}

/** Waits until a run has ended, or until little of the time of the call is left. A cancelled call cancels the run. */
async function waitForRun(
  run_id: string,
  project: string,
  facts: Partial<RunResult>,
  context: ToolContext,
  { isNew = facts.evaluation_ref !== undefined } = {},
): Promise<RunResult> {
  const { service } = context;
  // A client that gives up before the first look knows the run from here.
  context.progress({ done: 0, unit: 'predictions', run_id });
  const isTimeUp = timeLimitOf(service);
  try {
    const result = await cancellingRun({ project_id: project, call_id: run_id }, service, async () => {
      const status = await followRun(run_id, project, context, { isNew, isTimeUp });
      const isUnknown = status.code === 'not_found' && !isNew;
      return isUnknown ? undefined : resultOf(run_id, project, status, facts, context);
    });
    if (result) return result;
    const named = await findNamedRun(run_id, [], project, service);
    if (named === run_id) throw await unknownRun(run_id, project, service);
    return waitForRun(named, project, facts, context);
  } catch (error) {
    if (service.signal?.aborted || !(error instanceof HeddleError) || !isNew) throw error;
    throw new HeddleError({
      ...error,
      message: `The run ${run_id} was started, but could not be followed. ${error.message}`,
      hint: `Call again with this run_id. ${error.hint}`,
      terminalHint: `\`heddle evaluation show ${run_id} --wait\` waits for its end.`,
    });
  }
}

/** Returns what a run has come to, with its figures as far as the service tells them. */
async function resultOf(
  run_id: string,
  project: string,
  { code, completed_rows, total_rows, error }: RunStatus,
  { predictions, baseline, ...facts }: Partial<RunResult>,
  context: ToolContext,
): Promise<RunResult> {
  const { service } = context;
  const isRunning = code === 'running' || code === 'not_found';
  const total = total_rows ?? predictions;
  const run = {
    run_id,
    status: isRunning ? 'running' : code,
    ...(isRunning && { completed: completed_rows ?? 0, ...(total !== undefined && { total }) }),
    ...(error && { error }),
  };
  const result = await withFallback<Partial<RunResult> & typeof run>(
    async () => {
      const listed = await service.call('listEvaluationRuns', {
        path: splitProjectId(project),
        query: { evaluation_run_ids: [run_id] },
      });
      const [fact] = isRunning ? [] : await runFacts(listed, project, context);
      const judges = isRunning ? undefined : await judgesOfRuns(listed, project, service);
      const read = await readFigures([run_id], project, context, judges);
      const summarized = read.figures.get(run_id);
      const { predictions = 0, errors } = summarized ?? {};
      const isRead = !isRunning && (errors !== undefined || predictions <= maxReadRows);
      const rows = isRead ? (await readRunResults([run_id], project, context)).rows : [];
      const figures =
        rows.length > 0
          ? figuresOf(
              rows.map(({ runs }) => runs.get(run_id)?.trials ?? []),
              judges?.get(run_id),
            )
          : summarized;
      const all = [...new Set([...(facts.warnings ?? []), ...read.warnings])];
      return { ...withFigures({ ...fact, ...run }, figures, rows), ...(all.length > 0 && { warnings: all }) };
    },
    async () => run,
  );
  const { status, evaluation, warnings = [] } = result;
  const isNamed = baseline !== undefined && status.startsWith('complete') && evaluation !== undefined;
  if (isNamed) await storeBaseline({ name: baseline, run_id, evaluation }, project, service);
  const isRefused = baseline !== undefined && !isNamed && !isRunning;
  const again = { run_id, ...(baseline !== undefined && { baseline }) };
  const hasFailed = !isRunning && status !== 'complete' && (await knownProjects(service)) !== undefined;
  const goOn = hasFailed
    ? ` ${JSON.stringify({ run_id, only: 'errors' })} asks again only what failed or is missing.`
    : '';
  return {
    ...facts,
    ...result,
    ...(isNamed && { baseline }),
    ...(isRefused && { warnings: [...warnings, `The run is not the baseline ${baseline}: it is ${status}.`] }),
    next: isRunning
      ? `Call again with ${JSON.stringify(again)} to continue waiting.`
      : `read_evaluation shows the rows, and compares with another run.${goOn}`,
  };
}
