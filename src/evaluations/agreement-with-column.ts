import * as z from 'zod';
import { appendTo } from '../core/append-to.ts';
import { parseFencedJson } from '../core/json/fenced-json.ts';
import { isJsonObject } from '../core/json/json-object.ts';
import { ownMember } from '../core/json/member-at.ts';
import { agreementFigures } from '../core/statistics/agreement.ts';
import type { ClassPair } from '../core/statistics/kappa.ts';
import type { ScoreValue } from '../core/statistics/score-lists.ts';
import { cutValue } from '../text/call-values.ts';
import { rowScores } from './compare-runs.ts';
import type { ResultRow } from './read-run-results.ts';

/** Maximum number of classes that a confusion table shows. */
const maxClasses = 10;
/** A scorer with more different values than this is a measurement, not a label; it is not compared with the expected column. */
const maxComparedClasses = 50;

/** Agreement of a scorer with the expected column. */
export const scorerAgreement = z.object({
  run_id: z.string(),
  scorer: z.string(),
  n: z.int().describe('Rows in which both have a value.'),
  percent: z.number(),
  kappa: z.number().optional(),
  kappa_interval: z.tuple([z.number(), z.number()]).optional().describe('95 %.'),
  no_kappa: z.string().optional().describe('Why kappa is undefined.'),
  classes: z.array(z.string()),
  confusion: z.array(z.array(z.int())).describe('Row: class of the expected column. Column: class of the scorer.'),
  other_classes: z.int().optional(),
});
export type ScorerAgreement = z.output<typeof scorerAgreement>;

/** The column of the dataset that says what is right, and the scorers of the last run that can be compared with it. */
export interface ExpectedColumn {
  column: string;
  scorers: readonly string[];
}

/** Name under which the output itself is compared, like a scorer. */
const outputName = 'output';

/** Returns whether a scorer that is compared with the expected column gave another value in the last run. */
export function disagrees(row: ResultRow, lastRunId: string, { column, scorers }: ExpectedColumn): boolean {
  const expectedClass = classOf(columnValue(row, column));
  if (expectedClass === undefined) return false;
  // The output and its members are compared like scorers; a score of the same name comes first.
  const run = row.runs.get(lastRunId);
  const valueOfScorer = (name: string): unknown => run?.scores.get(name) ?? outputValues(run?.output).get(name);
  return scorers.some((name) => {
    const given = classOf(valueOfScorer(name));
    return given !== undefined && given !== expectedClass;
  });
}

/** Returns the value of a row in a column; undefined if it has none. */
export function columnValue({ datasetRow }: ResultRow, column: string): unknown {
  return ownMember(datasetRow, column);
}

/** Returns the names of the columns that the rows have. */
export function rowColumnsOf(rows: readonly ResultRow[]): string[] {
  const names = rows.flatMap(({ datasetRow }) => (isJsonObject(datasetRow) ? Object.keys(datasetRow) : []));
  return [...new Set(names)];
}

/** Returns the named values of an output: the members of a JSON object, as judges reply, or else the whole as `output`. */
function outputValues(output: unknown): ReadonlyMap<string, ScoreValue> {
  const reply = typeof output === 'string' ? parseFencedJson(output)?.value : undefined;
  return rowScores([{ scores: { [outputName]: isJsonObject(reply) ? reply : output } }]);
}

/** Returns the class of a value, which is its text: 5 and "5" are one class, and so are true and "true". */
export function classOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value.trim() : JSON.stringify(value);
}

/**
 * Compares every scorer of a run, and the output itself, with the expected column. Those that never give an
 * expected class, or that give more than {@link maxComparedClasses} classes, are left out.
 */
export function agreementWithExpected(rows: readonly ResultRow[], runId: string, column: string): ScorerAgreement[] {
  const comparable = rows.flatMap((row) => {
    const run = row.runs.get(runId);
    const expectedClass = classOf(columnValue(row, column));
    return run && expectedClass !== undefined ? [{ run, expectedClass }] : [];
  });
  const expectedClasses = new Set(comparable.map(({ expectedClass }) => expectedClass));
  const pairs = new Map<string, ClassPair[]>();
  for (const { run, expectedClass } of comparable) {
    for (const [name, value] of [...run.scores, ...outputValues(run.output)]) {
      const given = classOf(value);
      if (given === undefined) continue;
      appendTo(pairs, name, [expectedClass, given]);
    }
  }
  return [...pairs].flatMap(([scorer, list]) => {
    const given = new Set(list.map(([, value]) => value));
    const isComparable = given.size <= maxComparedClasses && [...given].some((value) => expectedClasses.has(value));
    return isComparable ? [agreementOf(runId, scorer, list)] : [];
  });
}

function agreementOf(run_id: string, scorer: string, pairs: readonly ClassPair[]): ScorerAgreement {
  const noKappa = `all ${pairs.length} values are the same one`;
  const { classes, ...figures } = agreementFigures(pairs, maxClasses, noKappa);
  return {
    run_id,
    scorer,
    n: pairs.length,
    ...figures,
    classes: classes.map((name) => String(cutValue(name, 100))),
  };
}
