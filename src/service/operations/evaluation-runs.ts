import type { RecordedCall } from '../../contract/calls.ts';
import type { EvaluationRun, Prediction, Score } from '../../contract/evaluation-runs.ts';
import { scoreFeedbackType } from '../../contract/feedback.ts';
import { callReference, parseReference } from '../../contract/references.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { objectOrEmpty } from '../../core/json/json-object.ts';
import { findCalls } from '../query/find-calls.ts';
import type { RequestBudget } from '../request-budget.ts';
import { readResults } from '../runs/query-results.ts';
import {
  attributesOf,
  findCall,
  isRun,
  isTrial,
  operationReference,
  readTrees,
  runOperations,
} from '../runs/recorded-runs.ts';
import { toTrial } from '../runs/recorded-trials.ts';
import { endRun, startRun, summarizeTrials } from '../runs/run-events.ts';
import { recordEvents } from '../storage/call-events.ts';
import type { Database } from '../storage/database.ts';
import { newIds } from '../storage/ids.ts';
import { checkFeedback, storeFeedback } from './feedback.ts';
import type { OperationHandler } from './operation.ts';

const projectOf = ({ entity, project }: { entity: string; project: string }): string => `${entity}/${project}`;

/** Records the start of a run, whose predictions and scores the client records. */
export const createEvaluationRun: OperationHandler<'createEvaluationRun'> = ({ path, body, account }, { database }) =>
  database.write(async (transaction) => {
    const project_id = projectOf(path);
    const [id = ''] = newIds(1);
    const { evaluation, model, source_evaluation_run_id } = body;
    const attributes = source_evaluation_run_id == null ? {} : { source_evaluation_run_id };
    await startRun(transaction, { project_id, id, account, started_at: now(), evaluation, model, attributes });
    return { evaluation_run_id: id };
  });

/** Lists the runs of a project, the oldest first: those of this service, of SDKs, and those that clients recorded. */
export const listEvaluationRuns: OperationHandler<'listEvaluationRuns'> = async (
  { path, query, budget },
  { database },
) => readRuns(database, projectOf(path), query, budget);

async function* readRuns(
  database: Database,
  project_id: string,
  { evaluations, models, evaluation_run_ids, limit, offset = 0 }: Parameters<typeof listEvaluationRuns>[0]['query'],
  budget: RequestBudget,
): AsyncGenerator<EvaluationRun, void, undefined> {
  const filter = { op_names: [runOperations.run, `weave:///${project_id}/op/${runOperations.run}:*`] };
  let skipped = 0;
  let sent = 0;
  const call_ids = evaluation_run_ids?.length ? { call_ids: evaluation_run_ids } : {};
  const columns = ['attributes', 'inputs', 'summary', 'ended_at', 'exception'];
  for await (const calls of findCalls(
    database,
    { project_id, filter: { ...filter, ...call_ids }, columns },
    { budget },
  )) {
    for (const run of calls.map(toRun)) {
      if (evaluations?.length && !evaluations.includes(run.evaluation ?? '')) continue;
      if (models?.length && !models.includes(run.model ?? '')) continue;
      if (sent === (limit ?? Number.MAX_SAFE_INTEGER)) return;
      if (skipped < offset) {
        skipped += 1;
        continue;
      }
      sent += 1;
      yield run;
    }
  }
}

/** Reads one run. @throws Refusal 404 when there is none. */
export const readEvaluationRun: OperationHandler<'readEvaluationRun'> = async ({ path, budget }, { database }) =>
  toRun(await requireCall(database, projectOf(path), path.evaluation_run_id, 'Evaluation run', isRun, budget));

function toRun(call: RecordedCall): EvaluationRun {
  const attributes = attributesOf(call);
  const inputs = objectOrEmpty(call.inputs);
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const { source_evaluation_run_id, scorer_refs } = attributes;
  return {
    evaluation_run_id: call.id,
    evaluation: text(attributes.evaluation ?? inputs.self ?? inputs.this),
    model: text(attributes.model ?? inputs.model),
    status: statusOf(text(objectOrEmpty(objectOrEmpty(call.summary).weave).status)),
    started_at: call.started_at,
    finished_at: call.ended_at,
    summary: objectOrEmpty(call.summary),
    ...(typeof source_evaluation_run_id === 'string' && { source_evaluation_run_id }),
    ...(Array.isArray(scorer_refs) && { scorer_refs: scorer_refs.filter((ref) => typeof ref === 'string') }),
  };
}

/** Returns the status of a run: a call of which an operation failed has completed too. */
function statusOf(status: string): string {
  return status === 'success' || status === 'descendant_error' ? 'completed' : status;
}

/**
 * Records the end of a run, with a summary of the scores of its trials. Only the first end of a run counts.
 * @throws Refusal 404 for an unknown run.
 */
export const finishEvaluationRun: OperationHandler<'finishEvaluationRun'> = async (
  { path, body, account, budget },
  { database },
) => {
  const project_id = projectOf(path);
  const run = await requireCall(database, project_id, path.evaluation_run_id, 'Evaluation run', isRun, budget);
  if (run.ended_at) return { success: true };
  const { output } = await summarizeTrials(database, project_id, run.id, budget);
  await database.write((transaction) =>
    endRun(transaction, { project_id, run, account, output, summary: body.summary ?? {} }),
  );
  return { success: true };
};

/**
 * Records a prediction. One of a run gets a trial, which the scores of the prediction are recorded in as well.
 * @throws Refusal 404 for an unknown run.
 */
export const createPrediction: OperationHandler<'createPrediction'> = async (
  { path, body, account, budget },
  { database },
) => {
  const project_id = projectOf(path);
  const { model, inputs, output, evaluation_run_id } = body;
  const run =
    evaluation_run_id == null
      ? undefined
      : await requireCall(database, project_id, evaluation_run_id, 'Evaluation run', isRun, budget);
  const name = parseReference(model)?.name ?? 'Model';
  return database.write(async (transaction) => {
    const operation = (operationName: string) =>
      operationReference(transaction, { project_id, name: operationName, account });
    const [trialId = '', id = ''] = newIds(2);
    const trace_id = run ? run.trace_id : id;
    const starts = [];
    if (run) {
      starts.push({
        project_id,
        id: trialId,
        trace_id,
        parent_id: run.id,
        op_name: await operation(runOperations.trial),
        started_at: now(),
        attributes: { weave: { predict_call_id: id } },
        inputs: { self: objectOrEmpty(run.inputs).self ?? null, model, example: inputs },
      });
    }
    const ofRun = run ? { evaluation_run_id: run.id } : {};
    starts.push({
      project_id,
      id,
      trace_id,
      parent_id: run ? trialId : null,
      op_name: await operation(`${name}.predict`),
      started_at: now(),
      attributes: { weave: { prediction: 'true', model, ...ofRun } },
      inputs: { self: model, inputs },
    });
    await recordEvents(transaction, account, {
      starts,
      ends: [{ project_id, id, ended_at: now(), output, summary: {} }],
    });
    return { prediction_id: id };
  });
};

/** Lists predictions, the oldest first. */
export const listPredictions: OperationHandler<'listPredictions'> = async ({ path, query, budget }, { database }) =>
  readMarked(database, projectOf(path), 'prediction', query, toPrediction, budget);

/** Reads one prediction. @throws Refusal 404 when there is none. */
export const readPrediction: OperationHandler<'readPrediction'> = async ({ path, budget }, { database }) =>
  toPrediction(await requireCall(database, projectOf(path), path.prediction_id, 'Prediction', isPrediction, budget));

const isPrediction = (call: RecordedCall): boolean => attributesOf(call).prediction === 'true';

function toPrediction(call: RecordedCall): Prediction {
  const { model = '', evaluation_run_id = null } = attributesOf(call);
  const { self: _, inputs, ...others } = objectOrEmpty(call.inputs);
  return {
    prediction_id: call.id,
    model: String(model),
    inputs: inputs ?? others,
    output: call.output,
    evaluation_run_id: evaluation_run_id === null ? null : String(evaluation_run_id),
    wb_user_id: call.wb_user_id,
  };
}

/**
 * Ends the trial of a prediction with the scores that it has.
 * @throws Refusal 404 for an unknown prediction.
 */
export const finishPrediction: OperationHandler<'finishPrediction'> = async (
  { path, account, budget },
  { database },
) => {
  const project_id = projectOf(path);
  const prediction = await requireCall(database, project_id, path.prediction_id, 'Prediction', isPrediction, budget);
  const trial = prediction.parent_id ? await findCall(database, project_id, prediction.parent_id, budget) : undefined;
  if (!trial || !isTrial(trial) || trial.ended_at) return { success: true };
  const children = [];
  for await (const [tree] of readTrees(database, project_id, [trial], budget)) children.push(...tree!.children);
  const { scores, model_latency_seconds } = toTrial(trial, children);
  const model_latency = model_latency_seconds == null ? null : { mean: model_latency_seconds };
  const output = { output: prediction.output ?? null, scores, model_latency };
  const end = { project_id, id: trial.id, ended_at: now(), output, summary: {} };
  await database.write((transaction) => recordEvents(transaction, account, { starts: [], ends: [end] }));
  return { success: true };
};

/**
 * Records a score of a prediction, as a call and as feedback on the prediction.
 * @throws Refusal 404 for an unknown prediction, 400 for a scorer that is no reference to an object.
 */
export const createScore: OperationHandler<'createScore'> = async ({ path, body, account, budget }, { database }) => {
  const project_id = projectOf(path);
  const { prediction_id, scorer, value, evaluation_run_id } = body;
  const prediction = await requireCall(database, project_id, prediction_id, 'Prediction', () => true, budget);
  const reference = parseReference(scorer);
  if (reference?.kind !== 'object') throw new Refusal(400, `Invalid scorer ref: ${scorer}`);
  const feedback = {
    project_id,
    weave_ref: callReference(project_id, prediction_id),
    feedback_type: scoreFeedbackType(reference.name),
    payload: { output: value ?? null },
    runnable_ref: scorer,
  };
  await checkFeedback(database, [feedback], budget);
  return database.write(async (transaction) => {
    const [id = ''] = newIds(1);
    const ofRun = evaluation_run_id == null ? {} : { evaluation_run_id };
    const start = {
      project_id,
      id,
      trace_id: evaluation_run_id ?? id,
      parent_id: evaluation_run_id == null ? null : (prediction.parent_id ?? evaluation_run_id),
      op_name: await operationReference(transaction, {
        project_id,
        name: `${reference.name}.score`,
        account,
      }),
      started_at: now(),
      attributes: { weave: { score: 'true', prediction_id, scorer, ...ofRun } },
      inputs: {
        self: scorer,
        inputs: objectOrEmpty(prediction.inputs).inputs ?? {},
        output: prediction.output ?? null,
      },
    };
    const end = { project_id, id, ended_at: now(), output: value ?? null, summary: {} };
    await recordEvents(transaction, account, { starts: [start], ends: [end] });
    await storeFeedback(transaction, feedback, account);
    return { score_id: id };
  });
};

/** Lists scores, the oldest first. */
export const listScores: OperationHandler<'listScores'> = async ({ path, query, budget }, { database }) =>
  readMarked(database, projectOf(path), 'score', query, toScore, budget);

/** Reads one score. @throws Refusal 404 when there is none. */
export const readScore: OperationHandler<'readScore'> = async ({ path, budget }, { database }) =>
  toScore(await requireCall(database, projectOf(path), path.score_id, 'Score', isScore, budget));

const isScore = (call: RecordedCall): boolean => attributesOf(call).score === 'true';

function toScore(call: RecordedCall): Score {
  const { scorer = '', evaluation_run_id = null } = attributesOf(call);
  return {
    score_id: call.id,
    scorer: String(scorer),
    value: call.output,
    evaluation_run_id: evaluation_run_id === null ? null : String(evaluation_run_id),
    wb_user_id: call.wb_user_id,
  };
}

/** Reads the results of runs, by the rows of the dataset. */
export const queryEvaluationResults: OperationHandler<'queryEvaluationResults'> = (
  { path, body, maySee, budget },
  { database },
) => readResults(database, projectOf(path), body, maySee, budget);

/** Reads the calls that are marked as predictions or scores, in the order of their start. */
async function* readMarked<Value>(
  database: Database,
  project_id: string,
  mark: 'prediction' | 'score',
  { evaluation_run_id, limit, offset }: Parameters<typeof listScores>[0]['query'],
  toValue: (call: RecordedCall) => Value,
  budget: RequestBudget,
): AsyncGenerator<Value, void, undefined> {
  const isEqual = (name: string, value: string) => ({
    $eq: [{ $getField: `attributes.weave.${name}` }, { $literal: value }],
  });
  const ofRun = evaluation_run_id === undefined ? [] : [isEqual('evaluation_run_id', evaluation_run_id)];
  const run =
    evaluation_run_id === undefined ? undefined : await findCall(database, project_id, evaluation_run_id, budget);
  // Without the run, every call of the project would be searched.
  const traces = evaluation_run_id === undefined ? {} : { trace_ids: [run?.trace_id ?? evaluation_run_id] };
  const query = { $expr: { $and: [isEqual(mark, 'true'), ...ofRun] } };
  const body = { project_id, filter: traces, query, limit: limit ?? null, offset: offset ?? null };
  for await (const calls of findCalls(database, body, { budget })) yield* calls.map(toValue);
}

async function requireCall(
  database: Database,
  project_id: string,
  id: string,
  kind: string,
  isKind: (call: RecordedCall) => boolean,
  budget: RequestBudget,
): Promise<RecordedCall> {
  const call = await findCall(database, project_id, id, budget);
  if (!call || !isKind(call)) throw new Refusal(404, `${kind} ${id} not found`);
  return call;
}

function now(): string {
  return new Date().toISOString();
}
