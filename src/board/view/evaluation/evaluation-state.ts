import type { RowChoice, ShownRow } from '../../../evaluations/rank-rows.ts';
import type { EvaluationResult } from '../../../tools/read-evaluation.ts';
import type { Arguments } from '../shared/host.ts';
import { countOf } from '../shared/labels.ts';
import type { ViewState } from '../shared/view.ts';
import { keyOf } from './row-outcomes.ts';

/** A row of the dataset, and what the person has opened of it. */
export interface OpenableRow {
  row: ShownRow;
  isOpen: boolean;
  isLoading: boolean;
  problem?: string | undefined;
  /** Whole values by the key of their call and path; those that were read alone cannot be longer. */
  wholes: ReadonlyMap<string, { value: unknown; isAlone: boolean }>;
}

/** The state of the results of evaluations: runs side by side with their rows, or a list of runs to choose from. */
export interface EvaluationState extends ViewState {
  /** The last page that was read, with the runs of every page of a list. */
  page?: EvaluationResult;
  /** The rows to show, and the column that scorers are compared with. */
  choice: RowChoice;
  expected?: string;
  /** By the id of their call, in their order. */
  rows: ReadonlyMap<string, OpenableRow>;
  /** Ids of the runs that the person has chosen to compare. */
  chosen: ReadonlySet<string>;
}

/** The state of the View before its first page. */
export const noResults: Omit<EvaluationState, keyof ViewState> = {
  choice: 'worst',
  rows: new Map(),
  chosen: new Set(),
};

/** Returns the names of the evaluations whose runs are shown. */
export function evaluationsOf({ runs }: EvaluationResult): string[] {
  return [...new Set(runs.flatMap(({ evaluation }) => evaluation ?? []))];
}

/** Returns the title of a page. */
export function titleOf(page: EvaluationResult): string {
  return evaluationsOf(page).join(', ') || 'Evaluation';
}

/** Shows the first page; rows that it has too stay open, and runs stay chosen. */
export function withFirstResults(
  state: EvaluationState,
  page: EvaluationResult,
  { only, expected }: Arguments,
): EvaluationState {
  const isCompared = page.runs.length > 1 && expected === undefined;
  const shown = {
    ...state,
    page,
    choice: (only as RowChoice | undefined) ?? (isCompared ? 'changed' : 'worst'),
    ...(expected !== undefined && { expected: String(expected) }),
    rows: new Map(page.rows?.map((row) => [row.call_id, withRow(state.rows.get(row.call_id), row)])),
    chosen: new Set(page.runs.map(({ run_id }) => run_id).filter((id) => state.chosen.has(id))),
  };
  return { ...shown, message: countSentence(shown) };
}

/** Adds a further page. */
export function withMoreResults(state: EvaluationState, page: EvaluationResult): EvaluationState {
  const { runs = [], rows } = state.page ?? {};
  const known = new Set(runs.map(({ run_id }) => run_id));
  const added = page.runs.filter(({ run_id }) => !known.has(run_id));
  const shown = {
    ...state,
    page: { ...page, runs: rows ? page.runs : [...runs, ...added] },
    rows: new Map(state.rows),
  };
  for (const row of page.rows ?? []) shown.rows.set(row.call_id, withRow(state.rows.get(row.call_id), row));
  return { ...shown, message: countSentence(shown) };
}

/** Returns the number of rows, or of runs in a list, that are shown. */
export function shownCount({ page, rows }: EvaluationState): number {
  return page?.rows ? rows.size : (page?.runs.length ?? 0);
}

function countSentence(state: EvaluationState): string {
  const { page, formats } = state;
  const { total = 0, rows } = page ?? {};
  const noun = rows ? 'row' : 'run';
  if (total === 0) return `There are no such ${noun}s.`;
  return `${formats.number(shownCount(state))} of ${countOf(total, noun, formats)} shown.`;
}

function withRow(known: OpenableRow | undefined, row: ShownRow): OpenableRow {
  return known ? { ...known, row } : { row, isOpen: false, isLoading: false, wholes: new Map() };
}

/** Changes what is open of a row. */
export function changeRow(state: EvaluationState, id: string, change: Partial<OpenableRow>): EvaluationState {
  const known = state.rows.get(id);
  return known ? { ...state, rows: new Map([...state.rows, [id, { ...known, ...change }]]) } : state;
}

/** Keeps whole values of a recorded call; a path at which it has none is known too. */
export function withWholes(
  state: EvaluationState,
  id: string,
  callId: string,
  paths: readonly string[],
  values: ReadonlyMap<string, unknown>,
): EvaluationState {
  const isAlone = paths.length === 1;
  const read = paths.map((path) => [keyOf(callId, path), { value: values.get(path), isAlone }] as const);
  return changeRow(state, id, { wholes: new Map([...(state.rows.get(id)?.wholes ?? []), ...read]) });
}

/** Chooses a run to compare, or no longer; no more than two can be chosen. */
export function toggleRun(state: EvaluationState, id: string): EvaluationState {
  const chosen = new Set(state.chosen);
  if (!chosen.delete(id) && chosen.size < 2) chosen.add(id);
  return { ...state, chosen };
}

/** Returns the chosen runs, the older one first. */
export function runsToCompare({ page, chosen }: EvaluationState): string[] {
  const ids = page?.runs.map(({ run_id }) => run_id) ?? [];
  return ids.filter((id) => chosen.has(id)).reverse();
}
