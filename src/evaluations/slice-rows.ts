import * as z from 'zod';
import { groupBy } from '../core/append-to.ts';
import { invalidArgument } from '../core/errors.ts';
import { cutValue } from '../text/call-values.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import { classOf, columnValue, rowColumnsOf } from './agreement-with-column.ts';
import type { ResultRow } from './read-run-results.ts';
import { figuresOf, type JudgesOfRun, scorerFigures } from './score-figures.ts';

/** Slices that a result shows, the largest first. */
const maxSlices = 20;
const maxValueChars = 100;

/** Figures of the rows that have one value in a column. */
export const slice = z.object({
  value: z.string(),
  rows: z.int(),
  runs: z.array(z.object({ run_id: z.string(), scorers: z.array(scorerFigures) })),
});
export type Slice = z.output<typeof slice>;

/**
 * Divides the rows of runs by their values in a column and returns the figures of each part, the largest first.
 * @param judges what the judges of the runs have shown, by run.
 * @param pause lets other work run between two parts.
 * @throws HeddleError `invalid_arguments` for a column that no row has.
 */
export async function sliceRows(
  rows: readonly ResultRow[],
  runIds: readonly string[],
  column: string,
  judges: ReadonlyMap<string, JudgesOfRun>,
  pause: () => Promise<void>,
): Promise<{ slices: Slice[]; others: number }> {
  if (rows.length > 0) requireColumn('slice_by', column, rowColumnsOf(rows));
  const byValue = groupBy(rows, (row) => classOf(columnValue(row, column)) ?? '');
  const largest = [...byValue].sort(([a, first], [b, second]) => second.length - first.length || (a < b ? -1 : 1));
  const slices: Slice[] = [];
  for (const [value, found] of largest.slice(0, maxSlices)) {
    await pause();
    const runs = runIds.map((run_id) => {
      const trials = found.map((row) => row.runs.get(run_id)?.trials ?? []);
      return { run_id, scorers: figuresOf(trials, judges.get(run_id)).scorers };
    });
    slices.push({ value: String(cutValue(value, maxValueChars)), rows: found.length, runs });
  }
  return { slices, others: largest.length - slices.length };
}

/**
 * Checks that a column is one of those that the rows have.
 * @throws HeddleError `invalid_arguments` with the nearest columns.
 */
export function requireColumn(argument: string, column: string, columns: readonly string[]): void {
  if (columns.includes(column)) return;
  throw invalidArgument(argument, {
    fault: `No row has the column ${JSON.stringify(shortName(column))}`,
    hint: nearestSentence('columns', column, columns) || 'The rows have no columns.',
  });
}
