import type { ScorerComparison } from '../../../evaluations/compare-runs.ts';
import type { RunFacts } from '../../../evaluations/evaluation-results.ts';
import type { ShownRow } from '../../../evaluations/evaluation-rows.ts';
import { renderFigures } from '../../../evaluations/render-runs.ts';
import type { RunFigures } from '../../../evaluations/score-figures.ts';
import { UsageError } from '../../terminal/report-failure.ts';
import { drawTable } from '../../terminal/table.ts';
import { resultWidth } from '../../terminal/terminal.ts';
import type { ToolRunner } from './tool-runner.ts';

/** A run as read_evaluation returns it. */
export type Run = RunFacts & RunFigures;

/** The result of read_evaluation for runs. */
export interface Results {
  runs: Run[];
  rows: ShownRow[];
  total: number;
  next_offset?: number;
  comparisons?: { baseline: string; run_id: string; shared_rows: number; scorers: ScorerComparison[] }[];
  note?: string;
  warnings?: string[];
}

/** Rows that one call reads. */
const rowsPerCall = 1000;

/** Reads runs with their rows: the first `limit` of them, or all. */
export async function readResultsOf(
  runIds: readonly string[],
  limit: number,
  tools: ToolRunner,
  args: Record<string, unknown>,
): Promise<Results> {
  const rows: ShownRow[] = [];
  for (;;) {
    const page = Math.min(rowsPerCall, limit - rows.length);
    const part = { run_ids: runIds, limit: Math.max(1, page), offset: rows.length, max_value_chars: 1000 };
    const results: Results = await tools.run('read_evaluation', { ...args, ...part });
    rows.push(...results.rows);
    if (rows.length >= limit || results.next_offset === undefined) return { ...results, rows: rows.slice(0, limit) };
  }
}

/** Describes a run in one line. */
export function describeRun({ run_id, status, error, model, prompt, predictions, errors, tokens, cost }: Run): string {
  return [
    `${run_id} ${status}${error ? `: ${error}` : ''}`,
    ...(model ? [`model ${model}`] : []),
    ...(prompt ? [`prompt ${JSON.stringify(prompt)}`] : []),
    `${predictions} predictions`,
    ...(errors ? [`${errors} of them failed`] : []),
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ...(cost === undefined ? [] : [`cost ${cost}`]),
  ].join(', ');
}

/** Formats the figures of the scorers, a column for each run. */
export function figuresTable(runs: readonly Run[]): string {
  const names = [...new Set(runs.flatMap(({ scorers }) => scorers.map(({ scorer }) => scorer)))];
  if (names.length === 0) return 'No scores.';
  return tableOf(
    ['scorer', ...runs.map(({ run_id }) => (runs.length === 1 ? 'result' : run_id))],
    names.map((name) => [
      name,
      ...runs.map(({ scorers }) => {
        const figures = scorers.find(({ scorer }) => scorer === name);
        return figures && renderFigures(figures);
      }),
    ]),
  );
}

/** Draws rows under headings, as wide as the terminal, or for a file. */
export function tableOf(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const records = rows.map((row) => Object.fromEntries(headings.map((heading, column) => [heading, row[column]])));
  return drawTable(records, {
    width: resultWidth(),
    order: headings,
    uncut: ['run'],
  });
}

/** Formats rows, as many columns as there are inputs, outputs and scores. */
export function rowsTable(rows: readonly ShownRow[]): string {
  const inputs = [...new Set(rows.flatMap(({ inputs: row = {} }) => Object.keys(row)))];
  const scores = [...new Set(rows.flatMap((row) => Object.keys(row.scores)))];
  const hasChanges = rows.some(({ changes }) => changes !== undefined);
  const hasErrors = rows.some(({ error, errors }) => error !== undefined || errors !== undefined);
  const headings = [
    ...inputs,
    'output',
    ...scores,
    ...(hasChanges ? ['changes'] : []),
    ...(hasErrors ? ['error'] : []),
  ];
  const cells = rows.map((row) => [
    ...inputs.map((name) => row.inputs?.[name]),
    row.outputs ?? row.output,
    ...scores.map((name) => row.scores[name]),
    ...(hasChanges
      ? [
          Object.entries(row.changes ?? {})
            .map(([name, change]) => `${name} ${change}`)
            .join(', '),
        ]
      : []),
    ...(hasErrors ? [row.error ?? row.errors] : []),
  ]);
  return tableOf(headings, cells);
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
  return `${Number((100 * share).toFixed(2))}%`;
}
