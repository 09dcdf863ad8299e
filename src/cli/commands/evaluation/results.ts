import { rounded } from '../../../core/statistics/rounded.ts';
import type { RunWithFigures } from '../../../evaluations/evaluation-results.ts';
import type { ShownRow } from '../../../evaluations/evaluation-rows.ts';
import type { RunFigures } from '../../../evaluations/score-figures.ts';
import { tools } from '../../../tools/definition/registry.ts';
import type { EvaluationResult } from '../../../tools/read-evaluation.ts';
import { isForPeople, type OutputForm } from '../../terminal/output-form.ts';
import { printAligned, printJson } from '../../terminal/print.ts';
import { UsageError } from '../../terminal/report-failure.ts';
import type { ToolRunner } from './tool-runner.ts';

/** A run as read_evaluation returns it. */
export type Run = RunWithFigures & RunFigures;

/** The result of read_evaluation for runs, with their rows. */
export type Results = Omit<EvaluationResult, 'runs'> & { runs: Run[]; rows: ShownRow[] };

/** Rows that one call reads. */
const rowsPerCall = 1000;

/** Reads runs with their rows: the first `limit` of them, or all. */
export async function readResultsOf(
  runIds: readonly string[],
  limit: number,
  runner: ToolRunner,
  args: Record<string, unknown>,
): Promise<Results> {
  const rows: ShownRow[] = [];
  for (;;) {
    const page = Math.min(rowsPerCall, limit - rows.length);
    const part = { run_ids: runIds, limit: Math.max(1, page), offset: rows.length, max_value_chars: 1000 };
    const results: Results = await runner.run('read_evaluation', { ...args, ...part });
    rows.push(...results.rows);
    if (rows.length >= limit || results.next_offset === undefined) return { ...results, rows: rows.slice(0, limit) };
  }
}

/** Prints what a tool returned: for people the text that a model reads too, else JSON. */
export async function printResult(name: string, result: object, form: OutputForm): Promise<void> {
  if (!isForPeople(form)) return printJson(result);
  const tool = await tools.find((each) => each.name === name)!.load();
  printAligned(tool.render(result));
}

/** The thresholds that a run must reach. */
export interface Thresholds {
  minPassRate?: number;
  minMean?: number;
  /** Scorers that must reach it; all by default. */
  scorers: readonly string[];
}

/**
 * Returns what a run has not reached. A missing score counts as not passed.
 * @throws UsageError for a threshold that no scorer can reach or miss.
 */
export function missedThresholds({ scorers, predictions }: Run, thresholds: Thresholds): string[] {
  const { minPassRate, minMean, scorers: names } = thresholds;
  const unknown = names.find((name) => !scorers.some(({ scorer }) => scorer === name));
  if (unknown !== undefined) {
    throw new UsageError(
      `no scorer ${unknown}; scorers of the run: ${scorers.map(({ scorer }) => scorer).join(', ') || 'none'}`,
    );
  }
  const chosen = scorers.filter(({ scorer }) => names.length === 0 || names.includes(scorer));
  // A scorer that always failed has neither figure, and must not pass.
  const judged = chosen.filter(({ n }) => n === 0);
  const passing = chosen.filter(({ pass_rate }) => pass_rate !== undefined);
  const measured = chosen.filter(({ mean }) => mean !== undefined);
  if (minPassRate !== undefined && passing.length + judged.length === 0 && predictions > 0) {
    throw new UsageError('--min-pass-rate: no scorer of the run passes or fails');
  }
  if (minMean !== undefined && measured.length + judged.length === 0 && predictions > 0) {
    throw new UsageError('--min-mean: no scorer of the run gives numbers');
  }
  if (minPassRate === undefined && minMean === undefined) return [];
  const missed = judged.map(({ scorer }) => `${scorer} has no score`);
  if (predictions === 0) missed.push('the run has no predictions');
  if (minPassRate !== undefined) {
    for (const { scorer, pass_rate = 0, n, errors = 0 } of passing) {
      const rate = (pass_rate * n) / (n + errors);
      // The rate has four digits.
      if (rate < minPassRate - 0.00005)
        missed.push(`${scorer} passes ${percent(rate)}, less than ${percent(minPassRate)}`);
    }
  }
  if (minMean !== undefined) {
    for (const { scorer, mean = 0, errors = 0 } of measured) {
      if (mean < minMean - 0.00005) missed.push(`${scorer} has a mean of ${mean}, less than ${minMean}`);
      if (errors > 0) missed.push(`${scorer} lacks ${errors} scores`);
    }
  }
  return missed;
}

function percent(share: number): string {
  return `${rounded(100 * share, 2)}%`;
}
