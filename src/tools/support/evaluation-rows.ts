import { type ClassPair, cohensKappa, confusionTable, countAgreed, percentAgreement } from './agreement.ts';
import { cutValue } from './call-values.ts';
import { changeOf, type RowChange, type RowScores, rowScores } from './compare-runs.ts';
import type { ResultRow, RowOfRun } from './evaluation-results.ts';
import { type ScoreValue, scoreNumber, scoreValues } from './score-figures.ts';

/** Columns of a row, and scores, that are shown. */
const maxColumns = 20;
/** Values of a scorer that a confusion table has. */
const maxClasses = 10;
/** A scorer with more different values than this measures something; it is not compared with judgements. */
const maxJudgementClasses = 50;

/** Rows that a result shows: the worst first, those that failed, or those that differ between two runs. */
export type RowChoice = 'worst' | 'failed' | 'changed';

/** A row as a result shows it. What differs between runs is a list in the order of the runs. */
export interface ShownRow {
  /** Id of the recorded call in the last run that has the row. */
  call_id: string;
  call_ids?: (string | null)[];
  inputs?: Record<string, unknown>;
  output?: unknown;
  outputs?: unknown[];
  /** Scores by scorer: a value, or a list of the values in each run. */
  scores: Record<string, unknown>;
  /** Scorers whose value is another in the last run than in the first. */
  changes?: Record<string, RowChange>;
  trials?: number;
  error?: string;
  errors?: (string | null)[];
}

/** A row, and what decides its place. */
interface RankedRow {
  row: ResultRow;
  /** The scores in each run; undefined where the run does not have the row. */
  scores: (RowScores | undefined)[];
  changes: Record<string, RowChange>;
  rank: number;
}

/** Agreement of a scorer with a column of the dataset. */
export interface ColumnAgreement {
  run_id: string;
  scorer: string;
  /** Rows in which both have a value. */
  n: number;
  percent: number;
  kappa?: number;
  /** Says why there is no kappa. */
  no_kappa?: string;
  classes: string[];
  /** A row for each class of the column, a column for each of the scorer. */
  confusion: number[][];
  other_classes?: number;
}

/** A column of judgements, and the scorers of the last run that can be compared with it. */
export interface JudgedColumn {
  column: string;
  scorers: readonly string[];
  runId: string;
}

/** Name under which the output itself is compared, like a scorer. */
const outputName = 'output';

export interface RankOptions {
  only: RowChoice;
  expected: JudgedColumn | undefined;
  /** Scorers whose values are compared between runs. */
  compared: ReadonlySet<string>;
}

/** Returns the scores of a row in each run. */
export function scoresOfRuns(row: ResultRow, runIds: readonly string[]): (RowScores | undefined)[] {
  return runIds.map((id) => {
    const run = row.runs.get(id);
    return run && rowScores(run.trials);
  });
}

/** Chooses rows and puts them into their order: failed predictions, then the lowest scores, or the largest losses. */
export function rankRows(
  rows: readonly ResultRow[],
  runIds: readonly string[],
  { only, expected, compared }: RankOptions,
): RankedRow[] {
  const ranked = rows.map((row): RankedRow => {
    const scores = scoresOfRuns(row, runIds);
    const [first, last] = [scores[0], scores.at(-1)];
    const changes = Object.fromEntries(
      [...(last ?? [])].flatMap(([name, value]) => {
        const change = runIds.length > 1 ? changeOf(first?.get(name), value) : undefined;
        // A text that is no label, like a reason, nearly always differs.
        const isCompared = typeof value !== 'string' || compared.has(name);
        return change === undefined || change === 'same' || !isCompared ? [] : [[name, change] as const];
      }),
    );
    return { row, scores, changes, rank: 0 };
  });
  const last = runIds.at(-1)!;
  const rankOf = only === 'changed' ? gainOf(ranked) : qualityOf(ranked, last, expected);
  for (const entry of ranked) entry.rank = rankOf(entry);
  const chosen = ranked.filter((entry) => {
    if (only === 'changed') return Object.keys(entry.changes).length > 0;
    if (only === 'failed') return hasFailed(entry, last, expected);
    return entry.row.runs.has(last);
  });
  return chosen.sort((a, b) => a.rank - b.rank || (a.row.digest < b.row.digest ? -1 : 1));
}

/**
 * Returns a function for the place of a row: its mean score in the last run, each score scaled from 0 for the least to 1 for
 * the greatest. A failed prediction is before all; with `expected`, rows that disagree are before the others.
 */
function qualityOf(ranked: readonly RankedRow[], last: string, expected: JudgedColumn | undefined) {
  const ranges = new Map<string, { min: number; max: number }>();
  for (const { scores } of ranked) {
    for (const [name, number] of numbersOf(scores.at(-1))) {
      const { min, max } = ranges.get(name) ?? { min: number, max: number };
      ranges.set(name, { min: Math.min(min, number), max: Math.max(max, number) });
    }
  }
  return (entry: RankedRow): number => {
    if (entry.row.runs.get(last)?.error !== undefined) return -1;
    if (expected !== undefined) return disagrees(entry, expected) ? 0 : 1;
    const shares = numbersOf(entry.scores.at(-1)).map(([name, number]) => {
      const { min, max } = ranges.get(name)!;
      if (max > min) return (number - min) / (max - min);
      return typeof entry.scores.at(-1)!.get(name) === 'boolean' ? number : 1;
    });
    return shares.length === 0 ? 1 : shares.reduce((sum, share) => sum + share, 0) / shares.length;
  };
}

/** Returns a function for the place of a row by its change: the largest loss first, the largest gain last. */
function gainOf(ranked: readonly RankedRow[]) {
  const largest = new Map<string, number>();
  const differenceOf = ({ scores }: RankedRow): [string, number][] =>
    numbersOf(scores.at(-1)).flatMap(([name, number]) => {
      const before = scores[0]?.get(name);
      const first = before === undefined ? undefined : scoreNumber(before);
      return first === undefined ? [] : [[name, number - first]];
    });
  for (const entry of ranked) {
    for (const [name, difference] of differenceOf(entry)) {
      largest.set(name, Math.max(largest.get(name) ?? 0, Math.abs(difference)));
    }
  }
  return (entry: RankedRow): number =>
    differenceOf(entry).reduce((sum, [name, difference]) => sum + difference / (largest.get(name) || 1), 0);
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
function hasFailed(entry: RankedRow, last: string, expected: JudgedColumn | undefined): boolean {
  const run = entry.row.runs.get(last);
  if (!run) return false;
  if (run.error !== undefined) return true;
  if (expected !== undefined) return disagrees(entry, expected);
  return run.trials.some(({ scores }) => [...rowScores([{ scores }]).values()].includes(false));
}

/** Returns whether a scorer that is compared with the column gave another value than the column in the last run. */
function disagrees({ row, scores }: RankedRow, { column, scorers, runId }: JudgedColumn): boolean {
  const wanted = classOf(columnOf(row, column));
  if (wanted === undefined) return false;
  const valueOfScorer = (name: string): unknown =>
    scores.at(-1)?.get(name) ?? new Map(outputValues(row.runs.get(runId)?.output)).get(name);
  return scorers.some((name) => {
    const given = classOf(valueOfScorer(name));
    return given !== undefined && given !== wanted;
  });
}

/** Returns a chosen row in the form that results have. */
export function toShownRow({ row, scores, changes }: RankedRow, runIds: readonly string[], maxChars: number): ShownRow {
  const runs = runIds.map((id) => row.runs.get(id));
  const [first] = runs;
  const cut = (value: unknown): unknown => cutValue(value, maxChars);
  const several = runIds.length > 1;
  const trials = Math.max(...runs.map((run) => run?.trials.length ?? 0));
  const names = [...new Set(scores.flatMap((known) => [...(known?.keys() ?? [])]))].slice(0, maxColumns);
  const inputs = inputsOf(row, cut);
  const scoreOf = (known: RowScores | undefined, name: string): unknown => {
    const value = known?.get(name);
    return typeof value === 'number' ? Number(value.toPrecision(6)) : cut(value);
  };
  return {
    call_id: (runs.findLast((run) => run !== undefined) as RowOfRun).call_id,
    ...(several && { call_ids: runs.map((run) => run?.call_id ?? null) }),
    ...(inputs && { inputs }),
    ...(several
      ? { outputs: runs.map((run) => cut(run?.output) ?? null) }
      : first?.output !== undefined && { output: cut(first.output) }),
    scores: Object.fromEntries(
      names.map((name) => [
        name,
        several ? scores.map((known) => scoreOf(known, name) ?? null) : scoreOf(scores[0], name),
      ]),
    ),
    ...(Object.keys(changes).length > 0 && { changes }),
    ...(trials > 1 && { trials }),
    ...(several
      ? runs.some((run) => run?.error) && { errors: runs.map((run) => run?.error ?? null) }
      : first?.error && { error: first.error }),
  };
}

function inputsOf({ raw }: ResultRow, cut: (value: unknown) => unknown): Record<string, unknown> | undefined {
  if (raw === undefined || raw === null) return undefined;
  if (typeof raw !== 'object' || Array.isArray(raw)) return { row: cut(raw) };
  return Object.fromEntries(
    Object.entries(raw)
      .slice(0, maxColumns)
      .map(([name, value]) => [name, cut(value)]),
  );
}

function columnOf({ raw }: ResultRow, column: string): unknown {
  if (typeof raw !== 'object' || raw === null || !Object.hasOwn(raw, column)) return undefined;
  return (raw as Record<string, unknown>)[column];
}

/** Returns the names of the columns that the rows have. */
export function rowColumnsOf(rows: readonly ResultRow[]): string[] {
  const names = rows.flatMap(({ raw }) =>
    typeof raw === 'object' && raw !== null && !Array.isArray(raw) ? Object.keys(raw) : [],
  );
  return [...new Set(names)];
}

/** Returns an output by name: each member if it is a JSON object, as judges reply, or else the whole as `output`. */
function outputValues(output: unknown): [string, ScoreValue][] {
  if (typeof output !== 'string') return [...scoreValues({ [outputName]: output })];
  const text = output
    .trim()
    .replace(/^```(json)?\n/, '')
    .replace(/\n```$/, '');
  if (!text.startsWith('{')) return [[outputName, output]];
  try {
    return [...scoreValues({ [outputName]: JSON.parse(text) })];
  } catch {
    return [[outputName, output]];
  }
}

/** Returns the text that stands for a value: 5 and "5" are one class, true and "true" as well. */
function classOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value.trim() : JSON.stringify(value);
}

/**
 * Compares every scorer of a run, and the output itself, with a column that says what is right. Those that never have a
 * value of the column are left out.
 */
export function agreementWithColumn(rows: readonly ResultRow[], runId: string, column: string): ColumnAgreement[] {
  const judged = rows.flatMap((row) => {
    const run = row.runs.get(runId);
    const wanted = classOf(columnOf(row, column));
    return run && wanted !== undefined ? [{ run, wanted }] : [];
  });
  const wantedClasses = new Set(judged.map(({ wanted }) => wanted));
  const pairs = new Map<string, ClassPair[]>();
  for (const { run, wanted } of judged) {
    const values = new Map<string, ScoreValue | undefined>(rowScores(run.trials));
    const found = [...values, ...outputValues(run.output)];
    for (const [name, value] of found) {
      const given = classOf(value);
      if (given === undefined) continue;
      const list = pairs.get(name) ?? [];
      list.push([wanted, given]);
      pairs.set(name, list);
    }
  }
  return [...pairs].flatMap(([scorer, list]) => {
    const given = new Set(list.map(([, value]) => value));
    const isComparable = given.size <= maxJudgementClasses && [...given].some((value) => wantedClasses.has(value));
    return isComparable ? [agreementOf(runId, scorer, list)] : [];
  });
}

function agreementOf(run_id: string, scorer: string, pairs: readonly ClassPair[]): ColumnAgreement {
  const kappa = cohensKappa(pairs);
  const { classes, counts, otherClasses } = confusionTable(pairs, maxClasses);
  return {
    run_id,
    scorer,
    n: pairs.length,
    percent: Number(percentAgreement(pairs)!.toFixed(1)),
    ...(kappa === undefined
      ? { no_kappa: `all ${countAgreed(pairs)} values are the same one` }
      : { kappa: Number(kappa.toFixed(3)) }),
    classes: classes.map((name) => String(cutValue(name, 100))),
    confusion: counts,
    ...(otherClasses > 0 && { other_classes: otherClasses }),
  };
}
