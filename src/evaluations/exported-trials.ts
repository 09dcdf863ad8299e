import type { CallContext } from '../records/call-context.ts';
import { readResultPages, resolveRows } from './read-run-results.ts';

/** One trial of a row in a run, with whole values. */
export interface ExportedTrial {
  inputs: unknown;
  /** Number of the trial of its row, from 1. */
  trial: number;
  output?: unknown;
  error?: string;
  /** Scores by scorer. */
  scores: Record<string, unknown>;
  /** The reasons of missing scores, by scorer. */
  scorer_errors?: Record<string, string>;
  latency_seconds?: number;
  tokens?: number;
  cost?: number;
  call_id: string;
}

/** Reads the trials of a run page by page. Rows that came on an earlier page are left out. */
export async function* exportedTrials(
  runId: string,
  project: string,
  context: Pick<CallContext, 'service' | 'progress'>,
): AsyncGenerator<ExportedTrial[]> {
  const seen = new Set<string>();
  for await (const { rows } of readResultPages([runId], project, context)) {
    const fresh = rows.filter(({ row_digest }) => !seen.has(row_digest));
    for (const { row_digest } of fresh) seen.add(row_digest);
    const read = fresh.map((row) => ({ row, datasetRow: row.raw_data_row as unknown }));
    await resolveRows(read, context);
    yield read.flatMap(({ row, datasetRow }) => {
      const trials = row.evaluations.filter((run) => run.evaluation_call_id === runId).flatMap((run) => run.trials);
      return trials.map((trial, index): ExportedTrial => {
        const { scores, scorer_errors, error, model_output, predict_and_score_call_id } = trial;
        const { model_latency_seconds, total_tokens, total_cost } = trial;
        return {
          inputs: datasetRow ?? null,
          trial: index + 1,
          ...(model_output !== undefined && { output: model_output }),
          ...(error && { error }),
          scores: scores ?? {},
          ...(scorer_errors && { scorer_errors }),
          ...(typeof model_latency_seconds === 'number' && { latency_seconds: model_latency_seconds }),
          ...(typeof total_tokens === 'number' && { tokens: total_tokens }),
          ...(typeof total_cost === 'number' && { cost: total_cost }),
          call_id: predict_and_score_call_id,
        };
      });
    });
  }
}
