import type { RecordedCall } from '../../contract/calls.ts';
import { objectOrEmpty } from '../../core/json/json-object.ts';
import { meanOf, ScoreLists } from '../../core/statistics/score-lists.ts';
import type { RequestBudget } from '../request-budget.ts';
import { recordEvents } from '../storage/call-events.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { sumUsage } from './predict-and-score.ts';
import { operationReference, readTrials, runOperations } from './recorded-runs.ts';
import { scoresOf } from './recorded-trials.ts';
import { summaryOf } from './score-statistics.ts';

/**
 * Summarizes the trials of a run: the scores in the form in which SDKs record them, and the tokens and failures of its calls
 * in the form of the summary of a call.
 */
export async function summarizeTrials(
  database: Database,
  project_id: string,
  runId: string,
  budget: RequestBudget,
): Promise<{ output: Record<string, unknown>; summary: Record<string, unknown> }> {
  const lists = new ScoreLists({ keepsTexts: false });
  const latencies: number[] = [];
  const status_counts = { success: 0, error: 0 };
  let usage: ReturnType<typeof sumUsage> = {};
  let reused_scores = 0;
  for await (const calls of readTrials(database, project_id, [runId], budget, ['output', 'summary'])) {
    for (const call of calls) {
      lists.add(scoresOf(call));
      const summary = objectOrEmpty(call.summary);
      usage = sumUsage([usage, objectOrEmpty(summary.usage)]);
      const { success, error } = objectOrEmpty(summary.status_counts);
      status_counts.success += Number(success ?? 0);
      status_counts.error += Number(error ?? 0);
      reused_scores += Number(summary.reused_scores ?? 0);
      const { mean } = objectOrEmpty(objectOrEmpty(call.output).model_latency);
      if (typeof mean === 'number') latencies.push(mean);
    }
  }
  const mean = meanOf(latencies);
  const model_latency = mean === undefined ? {} : { model_latency: { mean } };
  return {
    output: { ...summaryOf(lists), ...model_latency },
    summary: { usage, status_counts, ...(reused_scores > 0 && { reused_scores }) },
  };
}

/** Records the start of a run, in a write transaction. */
export async function startRun(
  transaction: Transaction,
  run: {
    project_id: string;
    id: string;
    account: string;
    started_at: string;
    display_name?: string | null;
    evaluation: string | null;
    model: string | null;
    /** Further facts about the run that the service records. */
    attributes: Record<string, unknown>;
  },
): Promise<void> {
  const { account, evaluation, model, attributes, ...call } = run;
  const start = {
    ...call,
    trace_id: run.id,
    op_name: await operationReference(transaction, { project_id: run.project_id, name: runOperations.run, account }),
    attributes: { weave: { evaluation_run: 'true', evaluation, model, ...attributes } },
    inputs: { self: evaluation, model },
  };
  await recordEvents(transaction, account, { starts: [start], ends: [] });
}

/** Ends a run that has not ended, and records the call that summarizes it, in a write transaction. */
export async function endRun(
  transaction: Transaction,
  run: {
    project_id: string;
    run: Pick<RecordedCall, 'id' | 'inputs' | 'trace_id'>;
    account: string;
    output: unknown;
    summary: Record<string, unknown>;
    exception?: string;
  },
): Promise<void> {
  const { project_id, account, output, summary, exception = null } = run;
  const { id, inputs, trace_id } = run.run;
  const summarize = {
    project_id,
    // Derived from the run, so that a run that is ended twice has one.
    id: `${id}-summary`,
    trace_id: trace_id ?? id,
    parent_id: id,
    op_name: await operationReference(transaction, { project_id, name: runOperations.summarize, account }),
    started_at: new Date().toISOString(),
    attributes: {},
    inputs: { self: objectOrEmpty(inputs).self ?? null },
  };
  const ended = { project_id, ended_at: new Date().toISOString(), output, exception };
  await recordEvents(transaction, account, {
    starts: [summarize],
    ends: [
      { ...ended, id: summarize.id, summary: {} },
      { ...ended, id, summary },
    ],
  });
}
