import * as z from 'zod';
import { asServiceFailure } from '../client/as-service-failure.ts';
import type { ServiceClient } from '../client/service-client.ts';
import { ifSupported } from '../client/with-fallback.ts';
import type { ResultOf } from '../contract/endpoints.ts';
import type { EvaluationRun } from '../contract/evaluation-runs.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import { parsePartReference } from '../contract/references.ts';
import { parseLlmModel } from '../contract/scorers.ts';
import { HeddleError } from '../core/errors.ts';
import { commonestOf } from '../core/statistics/count-each.ts';
import type { CallContext } from '../records/call-context.ts';
import { readValues } from '../records/read-objects.ts';
import { cutValue } from '../text/call-values.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import { pluralize } from '../text/page.ts';
import { type RowScores, rowScores } from './compare-runs.ts';
import { nameInReference, nearestEvaluations } from './find-evaluation.ts';
import { type JudgesOfRun, type RunFigures, runFigures, type ScoredTrial, summarizedFigures } from './score-figures.ts';

type Access = Pick<CallContext, 'service' | 'progress'>;

/** Rows of one request, and the least number of them where the rows are large. */
const rowsPerRequest = 1000;
const minRowsPerRequest = 10;
/** Characters of outputs and errors that are kept of each row. */
const maxKeptChars = 1000;
/** Characters of a prompt that tell runs apart. */
const maxPromptChars = 120;

/** The outcome of one row in one run. */
export interface RowInRun {
  trials: ScoredTrial[];
  /** Scores by scorer; the mean of the trials where they are numbers. */
  scores: RowScores;
  /** Output of the first trial, cut if it is long. */
  output?: unknown;
  /** Id of the recorded call of the first trial. */
  call_id: string;
  error?: string;
}

/** One row of the dataset with what the runs made of it. */
export interface ResultRow {
  digest: string;
  /** The row, or the reference to it. */
  datasetRow: unknown;
  runs: Map<string, RowInRun>;
}

/** Result members with a run: facts about it, and its figures as far as they are known. */
export const runWithFigures = z.object({
  run_id: z.string(),
  status: z.string().describe('running, complete, complete with N errors, failed, or a word of the service.'),
  completed: z.int().optional(),
  total: z.int().optional(),
  error: z.string().optional(),
  evaluation: z.string().optional(),
  model: z.string().optional(),
  prompt: z.string().optional().describe('Beginning of the prompt.'),
  baselines: z.array(z.string()).optional(),
  started_at: z.string().optional(),
  ...runFigures.partial().shape,
});
export type RunWithFigures = z.output<typeof runWithFigures>;

const statuses = new Map([
  ['completed', 'complete'],
  ['success', 'complete'],
  ['descendant_error', 'complete'],
  ['error', 'failed'],
]);

type ResultsPage = ResultOf<'queryEvaluationResults'>;

/** Reads every row of runs. Nothing that is long is kept whole. */
export async function readRunResults(
  runIds: readonly string[],
  project: string,
  access: Access,
): Promise<{ rows: ResultRow[]; warnings: string[] }> {
  const rows = new Map<string, ResultRow>();
  const warnings = new Set<string>();
  for await (const page of readResultPages(runIds, project, access)) {
    for (const warning of page.warnings ?? []) warnings.add(warning);
    // A row may be on two pages while a run is in progress.
    for (const row of page.rows) rows.set(row.row_digest, toResultRow(row));
  }
  return { rows: [...rows.values()], warnings: [...warnings] };
}

/** Reads the rows of runs page by page, as the service has them. */
export async function* readResultPages(
  runIds: readonly string[],
  project: string,
  { service, progress }: Access,
): AsyncGenerator<ResultsPage> {
  let limit = rowsPerRequest;
  for (let offset = 0; ; ) {
    const query = {
      evaluation_run_ids: [...runIds],
      include_raw_data_rows: true,
      include_costs: true,
      limit,
      offset,
    };
    let page: ResultsPage;
    try {
      page = await service.call('queryEvaluationResults', { path: splitProjectId(project), body: query });
    } catch (error) {
      const isTooLarge = error instanceof HeddleError && error.code === 'too_large';
      if (!isTooLarge || limit === minRowsPerRequest) throw error;
      limit = Math.max(minRowsPerRequest, Math.floor(limit / 4));
      continue;
    }
    yield page;
    offset += page.rows.length;
    if (page.rows.length < limit || offset >= page.total_rows) return;
    progress({ done: offset, total: page.total_rows, unit: 'rows' });
    await service.pause();
  }
}

function toResultRow({ row_digest, raw_data_row, evaluations }: ResultsPage['rows'][number]): ResultRow {
  const runs = new Map<string, RowInRun>();
  for (const { evaluation_call_id, trials } of evaluations) {
    const [first] = trials;
    if (!first) continue;
    const error = trials.find((trial) => trial.error)?.error;
    const scorerError = Object.entries(trials.find((trial) => trial.scorer_errors)?.scorer_errors ?? {})[0];
    const message = error ?? (scorerError && `${scorerError[0]}: ${scorerError[1]}`);
    runs.set(evaluation_call_id, {
      trials: trials.map(({ model_output: _, ...trial }) => trial),
      scores: rowScores(trials),
      output: cutValue(first.model_output ?? undefined, maxKeptChars),
      call_id: first.predict_and_score_call_id,
      ...(message && { error: String(cutValue(message, maxKeptChars)) }),
    });
  }
  return { digest: row_digest, datasetRow: raw_data_row, runs };
}

/**
 * Reads the figures that the service computes for runs, by run, and its warnings.
 * @param judges what the judges of the runs have shown, by run.
 */
export async function readFigures(
  runIds: readonly string[],
  project: string,
  { service }: Access,
  judges: ReadonlyMap<string, JudgesOfRun> = new Map(),
): Promise<{ figures: Map<string, RunFigures>; warnings: string[] }> {
  const query = {
    evaluation_run_ids: [...runIds],
    include_rows: false,
    include_summary: true,
    include_costs: true,
  };
  const { summary, warnings } = await service.call('queryEvaluationResults', {
    path: splitProjectId(project),
    body: query,
  });
  const figures = new Map(
    summary?.evaluations.map((one) => {
      const id = one.evaluation_call_id;
      return [id, summarizedFigures(one, judges.get(id))] as const;
    }),
  );
  return { figures, warnings: warnings ?? [] };
}

/**
 * Returns a run with its figures. A service calls a run complete that has ended; here it is so only if the model replied every
 * time, and it has failed if the model never did.
 * @param rows the results of the run, for the commonest error.
 */
export function withFigures<Run extends Pick<RunWithFigures, 'run_id' | 'status'>>(
  run: Run,
  figures: RunFigures | undefined,
  rows: readonly ResultRow[] = [],
): Run & Partial<RunFigures> & Pick<RunWithFigures, 'error'> {
  const { predictions = 0, errors = 0 } = figures ?? {};
  if (run.status !== 'complete' || errors === 0) return { ...run, ...figures };
  const error = commonestError(rows.flatMap(({ runs }) => runs.get(run.run_id)?.trials ?? []));
  return {
    ...run,
    ...figures,
    status: errors < predictions ? `complete with ${pluralize(errors, 'error')}` : 'failed',
    ...(error !== undefined && { error }),
  };
}

function commonestError(trials: readonly ScoredTrial[]): string | undefined {
  const commonest = commonestOf(trials.flatMap(({ error }) => error || []));
  return commonest && String(cutValue(commonest, maxKeptChars));
}

/** Returns the error for a run that a project does not have, with the nearest names of baselines and evaluations. */
export async function unknownRun(
  runId: string,
  project: string,
  service: ServiceClient,
  baselines: readonly string[] = [],
): Promise<HeddleError> {
  const next = 'Call read_evaluation with one of them for its runs.';
  const evaluations = await nearestEvaluations(runId, project, service, next);
  return new HeddleError({
    code: 'not_found',
    message: `Project ${project} has no run ${JSON.stringify(shortName(runId))}.`,
    hint: `${nearestSentence('baselines', runId, baselines)} ${evaluations}`.trim(),
  });
}

/** Replaces references to rows by the rows. A reference that cannot be read stays. */
export async function resolveRows(rows: readonly Pick<ResultRow, 'datasetRow'>[], { service }: Access): Promise<void> {
  const unread = rows.filter(
    ({ datasetRow }) => typeof datasetRow === 'string' && parsePartReference(datasetRow) !== undefined,
  );
  const references = unread.map(({ datasetRow }) => datasetRow as string);
  const values = await ifSupported(readValues(references, service));
  for (const row of unread) row.datasetRow = values?.get(row.datasetRow as string) ?? row.datasetRow;
}

/** Reads the facts about runs: their progress, evaluation and model, and the beginning of the prompt. */
export async function runFacts(
  runs: readonly EvaluationRun[],
  project: string,
  access: Access,
): Promise<RunWithFigures[]> {
  const models = await readModels(
    runs.flatMap(({ model }) => model ?? []),
    access,
  );
  return Promise.all(
    runs.map(async (run): Promise<RunWithFigures> => {
      const status = statuses.get(run.status ?? '') ?? run.status ?? 'unknown';
      return {
        run_id: run.evaluation_run_id,
        status,
        ...(status !== 'complete' && (await currentStatus(run.evaluation_run_id, project, access))),
        ...(run.evaluation && { evaluation: nameInReference(run.evaluation) }),
        ...(run.model && (models.get(run.model) ?? { model: nameInReference(run.model) })),
        ...(run.started_at && { started_at: run.started_at }),
      };
    }),
  );
}

/** Reads how far a run is; a service that cannot tell leaves that to the list of runs. */
async function currentStatus(call_id: string, project_id: string, { service }: Access) {
  const found = await ifSupported(service.call('evaluationStatus', { body: { project_id, call_id } }));
  if (!found) return {};
  const { code, completed_rows, total_rows, error } = found.status;
  return {
    ...(code !== 'not_found' && { status: code }),
    ...(code === 'running' && { completed: completed_rows ?? 0, ...(total_rows && { total: total_rows }) }),
    ...(error && { error: String(cutValue(error, maxKeptChars)) }),
  };
}

type ModelFacts = Pick<RunWithFigures, 'model' | 'prompt'>;

async function readModels(references: readonly string[], { service }: Access): Promise<Map<string, ModelFacts>> {
  const known = references.filter((text) => parsePartReference(text) !== undefined);
  const values = await readValues(known, service).catch((error) => void asServiceFailure(error, service));
  return new Map([...(values ?? [])].flatMap(([reference, val]) => modelFacts(val, reference)));
}

function modelFacts(val: unknown, reference: string): [string, ModelFacts][] {
  const model = parseLlmModel(val);
  if (!model) return [];
  const { messages_template, prompt } = model.default_params ?? {};
  const texts = messages_template?.map(({ content }) =>
    typeof content === 'string' ? content : JSON.stringify(content),
  );
  const text = texts?.join(' / ') || prompt;
  return [[reference, { model: model.llm_model_id, ...(text && { prompt: String(cutValue(text, maxPromptChars)) }) }]];
}
