import * as z from 'zod';
import { meanOf, scoreNumber } from '../core/statistics/score-lists.ts';
import { cutValue } from '../text/call-values.ts';
import { disagrees, type ExpectedColumn } from './agreement-with-column.ts';
import { changeOf, type RowChange, type RowScores, rowChange, rowScores } from './compare-runs.ts';
import type { ResultRow, RowInRun } from './read-run-results.ts';
import { withoutCommonBeginning } from './result-words.ts';

/** Maximum number of columns of a row, and of scores, that are shown. */
const maxColumns = 20;
/**
 * Rows that a result shows: all, the worst first; those that failed; those with an error; those whose trials differ; or those
 * that differ between two runs.
 */
export const rowChoice = z.enum(['worst', 'failed', 'errors', 'flaky', 'changed']);
export type RowChoice = z.output<typeof rowChoice>;

/** A row as a result shows it. What differs between runs is a list in the order of the runs. */
export const shownRow = z.object({
  call_id: z.string().describe('Id of the recorded call in the last run that has the row.'),
  call_ids: z.array(z.string().nullable()).optional(),
  inputs: z.record(z.string(), z.unknown()).optional(),
  output: z.unknown().optional(),
  outputs: z.array(z.unknown()).optional(),
  scores: z.record(z.string(), z.unknown()).describe('By scorer: a value, or a list of the values in each run.'),
  changes: z
    .record(z.string(), rowChange)
    .optional()
    .describe('Scorers whose value is another in the last run than in the first.'),
  trials: z.int().optional(),
  error: z.string().optional(),
  errors: z.array(z.string().nullable()).optional(),
});
export type ShownRow = z.output<typeof shownRow>;

/** A row, and what decides its place. */
interface RankedRow {
  row: ResultRow;
  changes: Record<string, RowChange>;
  rank: number;
}

export interface RankOptions {
  only: RowChoice;
  expectedColumn: ExpectedColumn | undefined;
  /** Scorers whose values are compared between runs. */
  comparedScorers: ReadonlySet<string>;
  /** Scorers whose values are compared between the trials of a row. */
  flakyScorers: ReadonlySet<string>;
}

/** Digits to which ranks count: equal differences are not exactly equal. */
const rankDigits = 9;
/** Characters of a row's inputs that decide its place among rows of the same rank. */
const maxOrderedChars = 200;

/** Chooses rows and puts them into their order: failed predictions, then the lowest scores, or the largest losses. */
export function rankRows(
  rows: readonly ResultRow[],
  runIds: readonly string[],
  { only, expectedColumn, comparedScorers, flakyScorers }: RankOptions,
): RankedRow[] {
  const [firstRunId, lastRunId] = [runIds[0]!, runIds.at(-1)!];
  const ranked = rows.map((row): RankedRow => {
    const [firstScores, lastScores] = [row.runs.get(firstRunId)?.scores, row.runs.get(lastRunId)?.scores];
    const changes = Object.fromEntries(
      [...(lastScores ?? [])].flatMap(([name, value]) => {
        const change = runIds.length > 1 ? changeOf(firstScores?.get(name), value) : undefined;
        // A text that is no label, like a reason, nearly always differs.
        const isCompared = typeof value !== 'string' || comparedScorers.has(name);
        return change === undefined || change === 'same' || !isCompared ? [] : [[name, change] as const];
      }),
    );
    return { row, changes, rank: 0 };
  });
  const rankOf = only === 'changed' ? gainOf(rows, firstRunId, lastRunId) : qualityOf(rows, lastRunId, expectedColumn);
  for (const entry of ranked) entry.rank = Number(rankOf(entry.row).toFixed(rankDigits));
  const chosen = ranked.filter((entry) => {
    if (only === 'changed') return Object.keys(entry.changes).length > 0;
    if (only === 'failed') return hasFailed(entry.row, lastRunId, expectedColumn);
    const run = entry.row.runs.get(lastRunId);
    if (only === 'errors') return run?.error !== undefined;
    if (only === 'flaky') return run !== undefined && isFlaky(run, flakyScorers);
    return run !== undefined;
  });
  return chosen.sort((a, b) => a.rank - b.rank || (a.row.digest < b.row.digest ? -1 : 1));
}

/** Returns ranked rows whose inputs were read, those of the same rank in the order of their inputs. */
export function orderByInputs(rows: readonly RankedRow[]): RankedRow[] {
  const { compare } = new Intl.Collator('en', { numeric: true });
  return rows
    .map((entry) => ({ entry, inputs: JSON.stringify(entry.row.datasetRow)?.slice(0, maxOrderedChars) ?? '' }))
    .sort((a, b) => a.entry.rank - b.entry.rank || compare(a.inputs, b.inputs))
    .map(({ entry }) => entry);
}

/**
 * Returns a function for the place of a row in the last run. A failed prediction comes first. With an expected column, only
 * agreement with it counts. Otherwise the place is the mean score, each score scaled from 0 for the least to 1 for the greatest.
 */
function qualityOf(rows: readonly ResultRow[], lastRunId: string, expectedColumn: ExpectedColumn | undefined) {
  const ranges = new Map<string, { min: number; max: number }>();
  for (const { runs } of rows) {
    for (const [name, number] of numbersOf(runs.get(lastRunId)?.scores)) {
      const { min, max } = ranges.get(name) ?? { min: number, max: number };
      ranges.set(name, { min: Math.min(min, number), max: Math.max(max, number) });
    }
  }
  return (row: ResultRow): number => {
    const run = row.runs.get(lastRunId);
    if (run?.error !== undefined) return -1;
    if (expectedColumn !== undefined) return disagrees(row, lastRunId, expectedColumn) ? 0 : 1;
    const shares = numbersOf(run?.scores).map(([name, number]) => {
      const { min, max } = ranges.get(name)!;
      if (max > min) return (number - min) / (max - min);
      // Where all rows have the same score, only true or false tells whether that score is good.
      return typeof run!.scores.get(name) === 'boolean' ? number : 1;
    });
    return meanOf(shares) ?? 1;
  };
}

/** Returns a function for the place of a row by its change: the largest loss first, the largest gain last. */
function gainOf(rows: readonly ResultRow[], firstRunId: string, lastRunId: string) {
  const largest = new Map<string, number>();
  const differenceOf = ({ runs }: ResultRow): [string, number][] =>
    numbersOf(runs.get(lastRunId)?.scores).flatMap(([name, number]) => {
      const before = runs.get(firstRunId)?.scores.get(name);
      const first = before === undefined ? undefined : scoreNumber(before);
      return first === undefined ? [] : [[name, number - first]];
    });
  for (const row of rows) {
    for (const [name, difference] of differenceOf(row)) {
      largest.set(name, Math.max(largest.get(name) ?? 0, Math.abs(difference)));
    }
  }
  return (row: ResultRow): number =>
    differenceOf(row).reduce((sum, [name, difference]) => sum + difference / (largest.get(name) || 1), 0);
}

function numbersOf(scores: RowScores | undefined): [string, number][] {
  return [...(scores ?? [])].flatMap(([name, value]) => {
    const number = scoreNumber(value);
    return number === undefined ? [] : [[name, number]];
  });
}

/**
 * Returns whether a row failed in the last run: its prediction failed, or it disagrees with the expected column if there is
 * one, or else one of its scores is false.
 */
function hasFailed(row: ResultRow, lastRunId: string, expectedColumn: ExpectedColumn | undefined): boolean {
  const run = row.runs.get(lastRunId);
  if (!run) return false;
  if (run.error !== undefined) return true;
  if (expectedColumn !== undefined) return disagrees(row, lastRunId, expectedColumn);
  return run.trials.some(({ scores }) => [...rowScores([{ scores }]).values()].includes(false));
}

/** Returns whether the trials of a row do not all have the same value of one of the scorers. */
function isFlaky({ trials }: RowInRun, scorers: ReadonlySet<string>): boolean {
  const ofTrials = trials.map((trial) => rowScores([trial]));
  return [...scorers].some((scorer) => new Set(ofTrials.flatMap((scores) => scores.get(scorer) ?? [])).size > 1);
}

/** Returns chosen rows in the form that results have. */
export function toShownRows(rows: readonly RankedRow[], runIds: readonly string[], maxChars: number): ShownRow[] {
  const firstOutputs = cutOutputs(
    rows.map(({ row }) => row.runs.get(runIds[0]!)?.output),
    maxChars,
  );
  return rows.map((row, index) => toShownRow(row, firstOutputs[index], runIds, maxChars));
}

function toShownRow(
  { row, changes }: RankedRow,
  output: unknown,
  runIds: readonly string[],
  maxChars: number,
): ShownRow {
  const runs = runIds.map((id) => row.runs.get(id));
  const [first] = runs;
  const cut = (value: unknown): unknown => cutValue(value, maxChars);
  const several = runIds.length > 1;
  const trials = Math.max(...runs.map((run) => run?.trials.length ?? 0));
  const names = [...new Set(runs.flatMap((run) => [...(run?.scores.keys() ?? [])]))].slice(0, maxColumns);
  const inputs = inputsOf(row, cut);
  const scoreOf = (run: RowInRun | undefined, name: string): unknown => {
    const value = run?.scores.get(name);
    return typeof value === 'number' ? Number(value.toPrecision(6)) : cut(value);
  };
  return {
    call_id: (runs.findLast((run) => run !== undefined) as RowInRun).call_id,
    ...(several && { call_ids: runs.map((run) => run?.call_id ?? null) }),
    ...(inputs && { inputs }),
    ...(several
      ? {
          outputs: cutOutputs(
            runs.map((run) => run?.output ?? null),
            maxChars,
          ),
        }
      : output !== undefined && { output }),
    scores: Object.fromEntries(
      names.map((name) => [name, several ? runs.map((run) => scoreOf(run, name) ?? null) : scoreOf(first, name)]),
    ),
    ...(Object.keys(changes).length > 0 && { changes }),
    ...(trials > 1 && { trials }),
    ...(several
      ? runs.some((run) => run?.error) && { errors: runs.map((run) => run?.error ?? null) }
      : first?.error && { error: first.error }),
  };
}

/** Cuts the outputs of several runs or rows. Where one is too long, all lose the beginning that they have in common. */
function cutOutputs(outputs: readonly unknown[], maxChars: number): unknown[] {
  const cut = outputs.map((output) => cutValue(output, maxChars));
  if (cut.every((output, index) => output === outputs[index])) return cut;
  return withoutCommonBeginning(outputs).map((output, index) => {
    const missing = String(outputs[index]).length - String(output).length;
    return missing > 0 ? cutValue(`${output}…[+${missing} characters]`, maxChars) : cut[index];
  });
}

function inputsOf({ datasetRow }: ResultRow, cut: (value: unknown) => unknown): Record<string, unknown> | undefined {
  if (datasetRow === undefined || datasetRow === null) return undefined;
  if (typeof datasetRow !== 'object' || Array.isArray(datasetRow)) return { row: cut(datasetRow) };
  return Object.fromEntries(
    Object.entries(datasetRow)
      .slice(0, maxColumns)
      .map(([name, value]) => [name, cut(value)]),
  );
}
