import type { RecordedCall } from '../../contract/calls.ts';
import type { ResultOf } from '../../contract/endpoints.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { objectOrEmpty } from '../../core/json/json-object.ts';
import { countEndedTrials, findCall, isRun } from '../runs/recorded-runs.ts';
import { requireColumns } from '../runs/require-columns.ts';
import { countPlanned, resolveDefinition } from '../runs/run-definition.ts';
import { startRun } from '../runs/run-events.ts';
import { recordEvents } from '../storage/call-events.ts';
import type { Database } from '../storage/database.ts';
import { deleteJobs, findProgress, putJob, type RunKey } from '../storage/evaluation-jobs.ts';
import { newIds } from '../storage/ids.ts';
import { type Access, prepareObject, putVersion } from '../storage/object-versions.ts';
import { requireObjectId } from './object-id.ts';
import type { OperationHandler } from './operation.ts';

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

/**
 * Starts a run of an evaluation and returns its id at once.
 * @throws Refusal 404 for an unknown evaluation, model or dataset, 400 for one that cannot be run, or a placeholder that no row
 * fills.
 */
export const evaluateModel: OperationHandler<'evaluateModel'> = async (
  { body, account, maySee, budget },
  { database, runner },
) => {
  const { project_id, concurrency } = body;
  const [call_id = ''] = newIds(1);
  const leftOut = await database.write(async (transaction) => {
    const request = { ...body, account, maySee, budget };
    const { definition, leftOut, name } = await resolveDefinition(transaction, request);
    await requireColumns(transaction, definition, budget);
    const { evaluation, model, rowCount, trials } = definition;
    const created_at = new Date().toISOString();
    await startRun(transaction, {
      project_id,
      id: call_id,
      account,
      started_at: created_at,
      display_name: name,
      evaluation,
      model,
      attributes: leftOut.length > 0 ? { left_out_scorers: leftOut } : {},
    });
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
    return leftOut;
  });
  runner.start();
  return { call_id, ...(leftOut.length > 0 && { left_out_scorers: leftOut }) };
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
