import * as z from 'zod';
import { withFallback } from '../client/with-fallback.ts';
import type { BodyOf } from '../contract/endpoints.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import { classMembers } from '../contract/objects.ts';
import { findPlaceholders, templateTexts } from '../contract/prompts.ts';
import { objectReference, parseReference } from '../contract/references.ts';
import { llmModelClass } from '../contract/scorers.ts';
import { HeddleError } from '../core/errors.ts';
import { rounded } from '../core/statistics/rounded.ts';
import { baselineId, storeBaseline } from '../evaluations/baselines.ts';
import { checkPlaceholders } from '../evaluations/check-placeholders.ts';
import { comparisonWarning } from '../evaluations/comparison-warning.ts';
import {
  type DatasetRows,
  drawRows,
  planOf,
  type RowSample,
  type RunPlan,
  readDataset,
  readScorers,
  readTemplate,
  runPlan,
} from '../evaluations/evaluation-plan.ts';
import { type FoundEvaluation, findEvaluation } from '../evaluations/find-evaluation.ts';
import { followRun, type RunStatus } from '../evaluations/follow-run.ts';
import {
  readFigures,
  readRunResults,
  runFacts,
  runWithFigures,
  unknownRun,
  withFigures,
} from '../evaluations/read-run-results.ts';
import { renderRuns, renderRunTable } from '../evaluations/render-runs.ts';
import { figuresOf } from '../evaluations/score-figures.ts';
import { derivedName } from '../records/derived-name.ts';
import { checkModels } from '../records/unlisted-model.ts';
import { cell } from '../text/compact-table.ts';
import { pluralize } from '../text/page.ts';
import { requireConsent } from './definition/require-consent.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

/** Runs of more requests to models than this, judges included, need the user's consent. */
const maxUnconfirmed = 100;
const maxConcurrency = 64;
/** Rows that a sample can have; they are stored as a dataset of their own. */
const maxSampledRows = 10_000;
/** Rows of a run whose trials are read for its figures; those of a larger run are the ones that the service computes. */
const maxReadRows = 1000;

/** Time that is left for the result when the waiting ends, at most, and as a share of the time of the call. */
const maxReserveMs = 10_000;
const reserveShare = 0.2;

const input = z
  .strictObject({
    evaluation: z.string().min(1).optional().describe('Name or reference.'),
    model: z.string().min(1).optional().describe('Id of a model, or reference to a stored one.'),
    prompt: z.string().min(1).optional().describe('Text with {column} placeholders, or reference to a stored prompt.'),
    messages: z.array(z.looseObject({})).min(1).optional().describe('Instead of prompt.'),
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
    run_id: z.string().min(1).max(256).optional().describe('Continues waiting.'),
    baseline: z.string().min(1).max(64).optional().describe('Name for the run, like main.'),
    project_id: projectArgument('Project of the evaluation'),
    dry_run: z.boolean().optional(),
    confirm: z.boolean().optional().describe('The user has agreed.'),
  })
  .superRefine(({ run_id, baseline: _name, project_id: _, ...rest }, context) => {
    const refuse = (message: string): void => context.addIssue({ code: 'custom', message });
    const { evaluation, model, prompt, messages } = rest;
    if (run_id !== undefined) {
      const others = Object.entries(rest).flatMap(([name, value]) => (value === undefined ? [] : [name]));
      if (others.length > 0) refuse(`run_id continues waiting, so it cannot be combined with ${others.join(', ')}`);
      return;
    }
    if (evaluation === undefined || model === undefined) return refuse('needs evaluation and model, or run_id');
    if (prompt !== undefined && messages !== undefined) refuse('has both prompt and messages');
    const isStored = parseReference(model) !== undefined;
    const hasMessages = prompt !== undefined || messages !== undefined;
    if (!isStored && !hasMessages) refuse('needs prompt or messages, unless model is the reference to a stored model');
    if (isStored && hasMessages) refuse('has a stored model, whose own messages would be ignored');
  });

const output = z.object({
  ...runWithFigures.partial().shape,
  ...runPlan.partial().shape,
  status: z.string().describe('dry_run, running, complete or failed.'),
  estimate: z.string().optional().describe('The way in which the tokens were estimated.'),
  dataset_rows: z.int().optional().describe('Rows of the dataset, where only a sample of them is run.'),
  baseline: z.string().optional().describe('Name that the run has now.'),
  evaluation_ref: z.string().optional(),
  model_ref: z.string().optional(),
  next: z.string().optional().describe('The next step.'),
  warnings: z.array(z.string()).optional(),
});

type RunResult = z.output<typeof output>;

const estimate =
  'A quarter of the characters of the filled messages of the first rows; replies, and their length in what judges read, come on top.';

export const runEvaluationTool = defineTool({
  name: 'run_evaluation',
  title: 'Run an evaluation',
  groups: ['evaluation'],
  uses: ['evaluateModel', 'evaluationStatus'],
  description: `Asks a model for each row of an evaluation and scores the answers. Waits, and returns run_id and figures. More than ${maxUnconfirmed} requests to models, judges included, need the user's agreement; dry_run estimates. Cancelling the call cancels the run.
Example: {"evaluation":"Support answers","model":"heddle/echo","prompt":"Answer briefly: {question}"}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  input,
  output,

  async run({ run_id, baseline, evaluation, model, concurrency, dry_run = false, confirm = false, ...args }, context) {
    const project = projectOf(args, context);
    if (run_id !== undefined) return waitForRun(run_id, project, { baseline }, context);
    const found = await findEvaluation(evaluation!, project, context.service);
    if (baseline !== undefined) baselineId(baseline, found.name);
    const prepared = await prepare(found, model!, { ...args, confirm }, context);
    const { plan, count, warnings } = prepared;
    const facts = {
      ...(plan.rows < count && { dataset_rows: count }),
      ...(warnings.length > 0 && { warnings }),
    };
    if (dry_run) {
      return { status: 'dry_run', evaluation_ref: found.reference, ...plan, estimate, ...facts };
    }
    const requests = plan.model_requests + plan.judge_requests;
    if (!confirm && requests > maxUnconfirmed) {
      const maxRows = Math.floor(maxUnconfirmed / (requests / plan.rows));
      requireConsent(
        {
          question: `Run the evaluation ${found.name} on ${model}: ${requestsOf(plan)}, about ${plan.estimated_tokens} tokens without the replies?`,
          reason: `${requestsOf(plan)} need the user's agreement`,
          alternative:
            maxRows === 0
              ? `choose an evaluation with fewer trials or judges: one row takes more than ${maxUnconfirmed} requests`
              : `set sample to {"n": ${maxRows}} at most`,
        },
        context,
      );
    }
    const evaluation_ref = await storeEvaluation(found, prepared, context);
    const model_ref = prepared.model_ref ?? (await storeModel(model!, prepared.messages, project, context));
    const started = await start({ project_id: project, evaluation_ref, model_ref, concurrency }, context);
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
    const { run_id, status, rows = 0, model_requests = 0, judge_requests = 0, estimated_tokens = 0 } = result;
    const { dataset_rows, next, warnings = [], evaluation_ref, model_ref, baseline, detectable = 1 } = result;
    const drawn = dataset_rows === undefined ? '' : ` (a sample of ${dataset_rows} rows)`;
    const lines =
      run_id === undefined
        ? [
            `Nothing was started (${status}). ${pluralize(rows, 'row')}${drawn}: ${requestsOf({ model_requests, judge_requests })}, about ${estimated_tokens} tokens. ${estimate}`,
            `Against another run, so many rows show a difference of ${rounded(100 * detectable, 1)} points; a smaller one only if few rows change.`,
          ]
        : [
            ...renderRuns([{ ...result, run_id }]),
            ...renderRunTable([{ ...result, run_id }]),
            ...(drawn === '' ? [] : [`Only some rows were run${drawn}.`]),
            ...(baseline === undefined ? [] : [`The run is the baseline ${cell(baseline)} now.`]),
            ...(evaluation_ref === undefined ? [] : [`evaluation_ref ${evaluation_ref}`]),
            ...(model_ref === undefined ? [] : [`model_ref ${model_ref}`]),
          ];
    return [...lines, ...warnings.map(cell), ...(next === undefined ? [] : [next])].join('\n');
  },
});

/** Returns the numbers of requests of a run as text, like `60 requests to the model and 300 to judges (360 in all)`. */
function requestsOf({ model_requests, judge_requests }: Pick<RunPlan, 'model_requests' | 'judge_requests'>): string {
  const toModel = `${pluralize(model_requests, 'request')} to the model`;
  if (judge_requests === 0) return toModel;
  return `${toModel} and ${judge_requests} to judges (${model_requests + judge_requests} in all)`;
}

interface PromptArguments {
  prompt?: string;
  messages?: unknown[];
  sample?: { n: number; seed?: number };
  confirm: boolean;
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
  { prompt, messages, sample: drawn, confirm }: PromptArguments,
  context: ToolContext,
): Promise<PreparedRun> {
  const isStoredModel = parseReference(model) !== undefined;
  const argument = isStoredModel ? 'model' : prompt === undefined ? 'messages' : 'prompt';
  const { messages: template, modelId = model } = isStoredModel
    ? await readTemplate(model, 'model', context.service)
    : { messages: messages ?? (await promptMessages(prompt!, context)) };
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
  const unlisted = await checkModels(
    [modelId, ...scorers.judges.flatMap((judge) => judge.modelId ?? [])],
    { consequence: 'Nothing was started', confirm },
    context,
  );
  const trials = Number.isInteger(found.val.trials) ? Math.max(1, found.val.trials as number) : 1;
  const { unknown, comparisons } = scorers;
  const warnings = [
    ...(unknown.length === 0
      ? []
      : [`heddle cannot run ${pluralize(unknown.length, 'scorer')}: ${unknown.join(', ')}.`]),
    ...(unlisted === undefined ? [] : [unlisted]),
    ...(findPlaceholders(templateTexts(template)).names.length > 0
      ? []
      : ['The messages have no {column} placeholder, so the model is asked the same for every row.']),
    ...(await comparisonWarning(
      comparisons.map(({ name }) => name),
      context.service,
    )),
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

async function promptMessages(prompt: string, context: ToolContext): Promise<unknown[]> {
  if (parseReference(prompt) === undefined) return [{ role: 'user', content: prompt }];
  return (await readTemplate(prompt, 'prompt', context.service)).messages;
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
async function start(request: BodyOf<'evaluateModel'>, { service }: ToolContext) {
  service.signal?.throwIfAborted();
  try {
    return await service.withSignal(undefined).call('evaluateModel', { body: request });
  } catch (error) {
    const mayHaveStarted =
      error instanceof HeddleError &&
      ['timeout', 'network', 'service_unavailable', 'bad_response'].includes(error.code);
    if (!mayHaveStarted) throw error;
    const hint = `${error.hint} Call read_evaluation with evaluation ${JSON.stringify(request.evaluation_ref)}: its newest run is this one, if it was started.`;
    throw new HeddleError({ ...error, message: error.message, hint });
  }
}

/** Waits until a run has ended, or until little of the time of the call is left. A cancelled call cancels the run. */
async function waitForRun(
  run_id: string,
  project: string,
  facts: Partial<RunResult>,
  context: ToolContext,
): Promise<RunResult> {
  const { service } = context;
  const isNew = facts.evaluation_ref !== undefined;
  // A client that gives up before the first look knows the run from here.
  context.progress({ done: 0, unit: 'predictions', run_id });
  const reserveMs = Math.min(maxReserveMs, service.remainingMs * reserveShare);
  const isTimeUp = (pollMs: number): boolean => service.remainingMs - pollMs < reserveMs;
  try {
    const status = await followRun(run_id, project, context, { isNew, isTimeUp });
    if (status.code === 'not_found' && !isNew) throw unknownRun(run_id, project);
    return await resultOf(run_id, project, status, facts, context);
  } catch (error) {
    if (service.signal?.aborted) {
      const body = { project_id: project, call_id: run_id };
      await service
        .withSignal(undefined)
        .call('cancelEvaluation', { body })
        .catch(() => undefined);
      throw error;
    }
    if (!(error instanceof HeddleError) || !isNew) throw error;
    const message = `The run ${run_id} was started, but could not be followed; call again with this run_id. ${error.message}`;
    throw new HeddleError({ ...error, message });
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
      const read = await readFigures([run_id], project, context);
      const summarized = read.figures.get(run_id);
      const { predictions = 0, errors } = summarized ?? {};
      const isRead = !isRunning && (errors !== undefined || predictions <= maxReadRows);
      const rows = isRead ? (await readRunResults([run_id], project, context)).rows : [];
      const figures = rows.length > 0 ? figuresOf(rows.map(({ runs }) => runs.get(run_id)?.trials ?? [])) : summarized;
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
  return {
    ...facts,
    ...result,
    ...(isNamed && { baseline }),
    ...(isRefused && { warnings: [...warnings, `The run is not the baseline ${baseline}: it is ${status}.`] }),
    next: isRunning
      ? `Call again with ${JSON.stringify(again)} to continue waiting.`
      : 'read_evaluation shows the rows, and compares with another run.',
  };
}
