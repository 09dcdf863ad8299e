import type { RecordedCall } from '../../contract/calls.ts';
import type { ResultOf } from '../../contract/endpoints.ts';
import type { RunLimits } from '../../contract/evaluations.ts';
import { parseScorer } from '../../contract/scorers.ts';
import { appendTo } from '../../core/append-to.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { objectOrEmpty } from '../../core/json/json-object.ts';
import type { RequestBudget } from '../request-budget.ts';
import { applyScorer } from '../runs/predict-and-score.ts';
import { attributesOf, countEndedTrials, findCall, isRun, readTrials, rowDigestOf } from '../runs/recorded-runs.ts';
import { requireColumns } from '../runs/require-columns.ts';
import {
  countPlanned,
  putSource,
  type RunDefinition,
  type RunSource,
  requestsOfScorer,
  resolveDefinition,
  resolveScorer,
  resolveScoring,
} from '../runs/run-definition.ts';
import { startRun } from '../runs/run-events.ts';
import { readFacts, readSourceOutput } from '../runs/source-outputs.ts';
import { recordEvents } from '../storage/call-events.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { deleteJobs, findProgress, putJob, type RunKey } from '../storage/evaluation-jobs.ts';
import { newIds } from '../storage/ids.ts';
import { inChunks, selectByIds } from '../storage/in-chunks.ts';
import { type Access, prepareObject, putVersion } from '../storage/object-versions.ts';
import { rowDigestsOf, selectRows } from '../storage/row-tables.ts';
import { requireObjectId } from './object-id.ts';
import type { OperationHandler, ServiceContext } from './operation.ts';

/**
 * Stores an evaluation definition; the same content returns the existing version.
 * @throws Refusal 422 for a name that cannot become an object id.
 */
export const createEvaluation: OperationHandler<'createEvaluation'> = async ({ path, body, account }, { database }) => {
  const object_id = requireObjectId(body.name);
  const scorers = body.scorers ?? [];
  const content = {
    name: body.name,
    dataset: body.dataset,
    description: body.description ?? null,
    scorers,
    trials: body.trials ?? 1,
    evaluation_name: body.evaluation_name ?? null,
    eval_attributes: body.eval_attributes ?? {},
  };
  const project_id = `${path.entity}/${path.project}`;
  const version = prepareObject('evaluation', { project_id, object_id, content, created_by: account });
  const { digest, version_index, reference } = await database.write((transaction) => putVersion(transaction, version));
  return { digest, object_id, version_index, evaluation_ref: reference };
};

const defaultConcurrency = 8;

/** The members of a request that starts a run. */
interface RunRequest extends Access {
  body: { project_id: string; concurrency?: number | null | undefined; budget?: RunLimits | null | undefined };
  account: string;
}

type Resolved = Awaited<ReturnType<typeof resolveDefinition>>;

/** Returns what resolving a definition needs of a request. */
function resolving({ body, account, maySee, budget }: RunRequest, { runner }: ServiceContext) {
  const { project_id, budget: limits } = body;
  const { scorerEndpoints: endpoints } = runner.asking;
  return { project_id, account, maySee, budget, budget_limits: limits ?? undefined, endpoints };
}

/** Records the start of a run and puts it into the queue, in a write transaction. Returns the response of the operation. */
async function beginRun(
  transaction: Transaction,
  { definition, leftOut, name }: Resolved,
  { body, account }: RunRequest,
  { runner }: ServiceContext,
  attributes: Record<string, unknown> = {},
) {
  const { project_id, concurrency } = body;
  const { evaluation, model, rowCount, trials, budget, scorers } = definition;
  const scorer_refs = scorers.map(({ reference }) => reference);
  const [call_id = ''] = newIds(1);
  const created_at = new Date().toISOString();
  const run = { project_id, id: call_id, account, started_at: created_at, display_name: name, evaluation, model };
  const ofRun = { scorer_refs, ...(leftOut.length > 0 && { left_out_scorers: leftOut }), ...(budget && { budget }) };
  await startRun(transaction, { ...run, attributes: { ...attributes, ...ofRun } });
  await putJob(transaction, {
    project_id,
    call_id,
    account,
    provider: runner.provider,
    definition: JSON.stringify(definition),
    concurrency: concurrency ?? defaultConcurrency,
    trial_count: rowCount * trials,
    created_at,
  });
  return { call_id, ...(leftOut.length > 0 && { left_out_scorers: leftOut }) };
}

/**
 * Starts a run of an evaluation and returns its id at once.
 * @throws Refusal 404 for an unknown evaluation, model or dataset, 400 for one that cannot be run, or a placeholder that no row
 * fills.
 */
export const evaluateModel: OperationHandler<'evaluateModel'> = async (input, context) => {
  const { evaluation_ref, model_ref } = input.body;
  const begun = await context.database.write(async (transaction) => {
    const request = { ...resolving(input, context), evaluation_ref, model_ref };
    const resolved = await resolveDefinition(transaction, request);
    await requireColumns(transaction, resolved.definition, input.budget);
    return beginRun(transaction, resolved, input, context);
  });
  context.runner.start();
  return begun;
};

/**
 * Starts a run on the outputs of an earlier one.
 * @throws Refusal 404 for an unknown run, 400 for one that is still in progress.
 */
export const rescoreEvaluation: OperationHandler<'rescoreEvaluation'> = async (input, context) => {
  const { project_id, source_evaluation_run_id, scorer_refs } = input.body;
  const run = await requireEndedRun(context.database, project_id, source_evaluation_run_id, input.budget);
  const trials = await readTrialIds(context.database, project_id, run.id, input.budget);
  const callIds = trials.map(({ id }) => id);
  const begun = await startScoring({ run, kind: 'trials', callIds, scorer_refs }, input, context);
  return { ...begun, evaluation_run_id: begun.call_id };
};

/** Starts a run that scores recorded calls. @throws Refusal 404 for a call that does not exist. */
export const scoreCalls: OperationHandler<'scoreCalls'> = async (input, context) => {
  const { project_id, call_ids, scorer_refs, evaluation_ref } = input.body;
  const callIds = [...new Set(call_ids)];
  const found = await context.database.read((transaction) =>
    inChunks(callIds, (ids) => selectByIds(transaction, 'calls', project_id, ids).select('id').execute()),
  );
  const known = new Set(found.map(({ id }) => id));
  const unknown = callIds.find((id) => !known.has(id));
  if (unknown !== undefined) throw new Refusal(404, `Call ${unknown} not found`);
  return startScoring({ evaluation: evaluation_ref ?? null, kind: 'calls', callIds, scorer_refs }, input, context);
};

interface Scoring {
  /** The earlier run, whose evaluation and model the new one has. */
  run?: RecordedCall;
  evaluation?: string | null;
  kind: RunSource['kind'];
  callIds: readonly string[];
  scorer_refs: readonly unknown[];
}

async function startScoring(
  { run, evaluation = null, kind, callIds, scorer_refs }: Scoring,
  input: RunRequest,
  context: ServiceContext,
) {
  if (callIds.length === 0) throw new Refusal(400, 'There are no outputs to score');
  const begun = await context.database.write(async (transaction) => {
    const ofRun = run ? objectsOfRun(run) : { evaluation, model: null };
    const request = { ...resolving(input, context), ...ofRun, kind, callIds, scorer_refs };
    const resolved = await resolveScoring(transaction, request);
    const { length } = resolved.definition.scorers;
    if (length === 0) {
      const [first] = resolved.leftOut;
      throw new Refusal(400, first ? `No scorer can be run: ${first.scorer}: ${first.reason}` : 'There are no scorers');
    }
    // Tells `resumeEvaluation` what to score again.
    const scoring = { kind, scorer_refs, table_digest: resolved.definition.table.table_digest };
    const source = run && { source_evaluation_run_id: run.id };
    return beginRun(transaction, resolved, input, context, { ...source, scoring });
  });
  context.runner.start();
  return begun;
}

/**
 * Starts a run that asks again what failed in an earlier one or is missing from it.
 * @throws Refusal 404 for an unknown run, 400 for one in progress, or whose evaluation or model cannot be run here.
 */
export const resumeEvaluation: OperationHandler<'resumeEvaluation'> = async (input, context) => {
  const { project_id, call_id } = input.body;
  const { database } = context;
  const run = await requireEndedRun(database, project_id, call_id, input.budget);
  const { kind, table_digest, scorer_refs } = objectOrEmpty(attributesOf(run).scoring);
  if (typeof table_digest === 'string') {
    const table = { project_id, table_digest };
    const rows = await database.read((transaction) => selectRows(transaction, table).orderBy('row_index').execute());
    const callIds = rows.map(({ content }) => (JSON.parse(content) as { call_id: string }).call_id);
    const source = { run, kind: kind === 'calls' ? ('calls' as const) : ('trials' as const) };
    return startScoring(
      { ...source, callIds, scorer_refs: Array.isArray(scorer_refs) ? scorer_refs : [] },
      input,
      context,
    );
  }
  const { evaluation, model } = objectsOfRun(run);
  if (evaluation === null || model === null) throw new Refusal(400, `The run ${call_id} names no evaluation and model`);
  const trials = await readTrialIds(database, project_id, run.id, input.budget);
  const begun = await database.write(async (transaction) => {
    const request = { ...resolving(input, context), evaluation_ref: evaluation, model_ref: model };
    const resolved = await resolveDefinition(transaction, request);
    await requireColumns(transaction, resolved.definition, input.budget);
    const callIds = await sourcesOfTrials(transaction, resolved.definition, trials);
    const table = await putSource(transaction, callIds, request);
    resolved.definition.source = { kind: 'trials', table, asks: true };
    return beginRun(transaction, resolved, input, context, { source_evaluation_run_id: run.id });
  });
  context.runner.start();
  return begun;
};

/** Returns the references of a run to its evaluation and its model. */
function objectsOfRun(run: RecordedCall): { evaluation: string | null; model: string | null } {
  const { evaluation, model } = attributesOf(run);
  const { self, this: itself, model: ofInputs } = objectOrEmpty(run.inputs);
  const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
  return { evaluation: text(evaluation ?? self ?? itself), model: text(model ?? ofInputs) };
}

async function requireEndedRun(
  database: Database,
  project_id: string,
  id: string,
  budget: RequestBudget,
): Promise<RecordedCall> {
  const run = await findCall(database, project_id, id, budget);
  if (!run || !isRun(run)) throw new Refusal(404, `Evaluation run ${id} not found`);
  if (!run.ended_at)
    throw new Refusal(400, `Evaluation run ${id} is still in progress: wait for its end, or cancel it`);
  return run;
}

/** Reads the ids of the trials of a run, and the digests of their rows. */
async function readTrialIds(database: Database, project_id: string, runId: string, budget: RequestBudget) {
  const found: { id: string; rowDigest: string }[] = [];
  for await (const calls of readTrials(database, project_id, [runId], budget, ['inputs'])) {
    budget.hold(calls.length * bytesPerTrialId, 'the run has too many trials');
    found.push(...calls.map((call) => ({ id: call.id, rowDigest: rowDigestOf(objectOrEmpty(call.inputs).example) })));
  }
  return found;
}

/** The memory of the id and the digest of a trial, in bytes. */
const bytesPerTrialId = 300;

/** Returns the trial of an earlier run for each trial of a new one: of the same row, in their order; undefined where there is none. */
async function sourcesOfTrials(
  transaction: Transaction,
  { table, rowCount, trials }: RunDefinition,
  earlier: readonly { id: string; rowDigest: string }[],
): Promise<(string | undefined)[]> {
  const byRow = new Map<string, string[]>();
  for (const { id, rowDigest } of earlier) appendTo(byRow, rowDigest, id);
  const digests = (await rowDigestsOf(transaction, table)) ?? [];
  return Array.from({ length: rowCount * trials }, (_, trial) => byRow.get(digests[trial % rowCount]!)?.shift());
}

/** Requests to models that trying a scorer may take. */
const maxTriedRequests = 100;

/** Tries a scorer on rows or recorded calls, and stores nothing. @throws Refusal 400 for one that cannot be run. */
export const tryScorer: OperationHandler<'tryScorer'> = async (input, context) => {
  const { scorer, rows, project_id } = input.body;
  const { database, runner } = context;
  const parsed = parseScorer(scorer);
  if (!parsed) throw new Refusal(400, 'The scorer cannot be run here');
  const parts = await database.read((transaction) => resolveScorer(transaction, parsed, resolving(input, context)));
  if (typeof parts === 'string') throw new Refusal(400, `The scorer cannot be run: ${parts}`);
  const requests = requestsOfScorer(parts) * (rows?.length ?? 0);
  if (requests > maxTriedRequests) {
    throw new Refusal(400, `Trying the scorer takes ${requests} requests to models, more than ${maxTriedRequests}`);
  }
  const closed = new AbortController();
  input.response.once('close', () => closed.abort());
  const results = [];
  for (const { call_id, output, ...row } of rows ?? []) {
    const isCall = typeof call_id === 'string' && output === undefined;
    const source = isCall
      ? await readSourceOutput(database, project_id, { kind: 'calls', id: call_id }, input.budget)
      : undefined;
    if (isCall && !source) throw new Refusal(404, `Call ${call_id} not found`);
    if (source?.prediction.exception !== undefined) {
      results.push({ exception: source.prediction.exception });
      continue;
    }
    const facts = source ? await readFacts(database, project_id, [parts], source) : {};
    const judged = source ? { row: source.row.value, output: source.prediction.output } : { row, output };
    const outcome = await applyScorer(parts, { ...judged, facts, ...runner.asking, signal: closed.signal });
    results.push({ output: outcome.output, ...(outcome.exception !== undefined && { exception: outcome.exception }) });
  }
  return { results };
};

/**
 * Returns the progress of a run, whatever program records it.
 * @throws Refusal 400 for a call that is no run.
 */
export const evaluationStatus: OperationHandler<'evaluationStatus'> = async (input, { database }) =>
  statusOf(database, input.body, input);

/** Ends a run of this service with the exception that it was cancelled; one that has ended stays as it is. */
export const cancelEvaluation: OperationHandler<'cancelEvaluation'> = async (input, { database, runner }) => {
  const { body, account } = input;
  const { project_id, call_id } = body;
  await database.write(async (transaction) => {
    if ((await deleteJobs(transaction, project_id, [call_id])) === 0) return;
    const end = {
      project_id,
      id: call_id,
      ended_at: new Date().toISOString(),
      exception: `Cancelled by ${account}`,
      output: null,
      summary: {},
    };
    await recordEvents(transaction, account, { starts: [], ends: [end] });
  });
  runner.cancel(body);
  return statusOf(database, body, input);
};

async function statusOf(
  database: Database,
  { project_id, call_id }: RunKey,
  access: Access,
): Promise<ResultOf<'evaluationStatus'>> {
  const run = await findCall(database, project_id, call_id, access.budget);
  if (!run) return { status: { code: 'not_found' } };
  if (!isRun(run)) throw new Refusal(400, 'Call is not an evaluation');
  if (run.exception) return { status: { code: 'failed', error: run.exception } };
  if (run.ended_at) return { status: { code: 'complete', output: run.output ?? null } };
  const { completed, total } = await countTrials(database, { project_id, call_id }, run, access);
  return { status: { code: 'running', completed_rows: completed, total_rows: Math.max(total, completed) } };
}

/** Counts the predictions that a run has made and those planned in all; the latter is 0 if unknown. */
async function countTrials(
  database: Database,
  key: RunKey,
  run: RecordedCall,
  access: Access,
): Promise<{ completed: number; total: number }> {
  return database.read(async (transaction) => {
    const progress = await findProgress(transaction, key);
    if (progress) return progress;
    const completed = await countEndedTrials(transaction, key);
    return { completed, total: await countPlanned(transaction, objectOrEmpty(run.inputs).self, access) };
  });
}
